"""What `openclaw agent --json` prints."""

from openclaw.commands.agent import as_json
from openclaw.reply import Reply


def test_the_error_of_a_turn_that_failed_has_the_shape_of_every_other_error() -> None:
    told = as_json(Reply("", "agent:main:x", "local/model", "error", "The model is away."))
    assert (told["stopped"], told["error"]) == (
        "error",
        {"code": "failed", "message": "The model is away.", "hint": "", "exitCode": 1},
    )
    assert as_json(Reply("Hello.", "agent:main:x", "local/model")).keys().isdisjoint({"stopped", "error"})

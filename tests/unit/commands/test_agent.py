"""What `openclaw agent --json` prints."""

from pathlib import Path

from openclaw.commands.agent import as_json
from openclaw.reply import Reply
from parts.command_line import Home
from parts.commands_here import run_here


def test_the_error_of_a_turn_that_failed_has_the_shape_of_every_other_error() -> None:
    told = as_json(Reply("", "agent:main:x", "local/model", "error", "The model is away."))
    assert (told["stopped"], told["error"]) == (
        "error",
        {"code": "failed", "message": "The model is away.", "hint": "", "exitCode": 1},
    )
    assert as_json(Reply("Hello.", "agent:main:x", "local/model")).keys().isdisjoint({"stopped", "error"})


async def test_what_is_allowed_for_a_run_and_refused_by_a_rule_is_said_before_it(tmp_path: Path) -> None:
    home = Home(tmp_path, tools={"deny": ["write"]})
    done = await run_here(home, "agent", "--allow", "exec", "--allow", "write", "--allow", "read", "hello")
    assert done.code == 0
    assert done.err.splitlines()[:2] == [
        '--allow exec lets nothing run: exec is off until tools.allow names it or the profile is "coding".',
        '--allow write lets nothing run: deny "write" (openclaw.json:3 tools.deny).',
    ]
    assert "--allow read" not in done.err

"""What docs/how-to/answer-questions.md shows is what a person sees."""

import re
from pathlib import Path

import pytest

from openclaw.control.dialogue_steps import Screen
from openclaw.control.question_dialogue import dialogue
from openclaw.conversation import AskedCall, Offer, Question

PAGE = Path(__file__).parents[2] / "docs/how-to/answer-questions.md"
CALL = AskedCall(
    "mail__send",
    "send",
    "mail",
    {
        "to": "mark@example.net",
        "subject": "Your invoice",
        "body": "Dear Mark,\nplease find the invoice below.",
    },
    reasons=('it changes things and no rule allows it (tools.approval.mode "writes")',),
    sources=("mcp:web",),
    origins={"to": "mcp:web"},
    claims=("it only reads",),
    offers=(Offer("once", "y", "once", "once"), Offer("session", "s", "in this conversation", "session")),
)
FIELDS = {
    "environment": {"type": "string", "enum": ["staging", "production"], "default": "staging"},
    "replicas": {"type": "integer", "minimum": 1, "maximum": 20, "default": 2},
    "notify": {"type": "boolean", "default": True},
}
FORM = Question("form", "Where should I deploy?", asker="deploy", schema={"type": "object", "properties": FIELDS})
ADDRESS = "https://connect.xn--bnk-link-16g.example/s/7f3a"


@pytest.mark.parametrize(
    ("place", "question", "typed"),
    [
        (0, Question("approval", options=("once", "session"), approval=CALL), ()),
        (1, FORM, ("", "40", "5", "n")),
        (2, Question("url", "Connect your bank to continue.", asker="payments", url=ADDRESS), ()),
    ],
)
def test_the_page_shows_what_a_person_sees(place: int, question: Question, typed: tuple[str, ...]) -> None:
    steps = dialogue(question, Screen())
    shown = next(steps).shown
    for one in typed:
        # The terminal shows what is typed.
        shown += f"{one}\n{steps.send(one).shown}"
    block = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[place]
    assert [line.rstrip() for line in shown.splitlines()] == [line.rstrip() for line in block.splitlines()]

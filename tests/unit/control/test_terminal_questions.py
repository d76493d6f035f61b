"""Questions of a gateway at a terminal: what becomes of one that cannot be shown there."""

import pytest

from openclaw.control import wire
from openclaw.control.dialogue_steps import Screen
from openclaw.control.questions import GivenAnswer, question_frame, read_answer
from openclaw.control.terminal_questions import TerminalQuestions
from openclaw.conversation import NO_ANSWER, AskedCall, Offer, Question

OFFER = Offer("once", "y", "once", "once")
CALL = Question("approval", approval=AskedCall("files__write", "write", "files", offers=(OFFER,)), options=("once",))
FORM = Question("form", "Who?", asker="shop", schema={"type": "object", "properties": {"name": {"type": "string"}}})
PAGE = Question("url", "Pay.", asker="shop", url="https://shop.test/pay")


class Broken(Screen, frozen=True):
    """A screen on which every dialogue fails."""

    def bold(self, text: str) -> str:
        raise ValueError("text of a server")


@pytest.mark.parametrize("question", [CALL, FORM, PAGE], ids=lambda one: one.kind)
def test_a_dialogue_that_fails_leaves_its_question_unanswered_and_says_so_in_one_line(question: Question) -> None:
    shown: list[str] = []
    sent: list[bytes] = []
    questions = TerminalQuestions(shown.append, sent.append, lambda address: True, Broken())
    # The second is asked when the first is over: nothing ended with it.
    for number in ("1", "2"):
        questions.ask(payload_of(question_frame(number, question)))
    assert "".join(shown) == "\nThis question cannot be shown (ValueError): it is left unanswered.\n" * 2
    answers = [read_answer(payload_of(frame)) for frame in sent]
    assert answers == [GivenAnswer("1", NO_ANSWER), GivenAnswer("2", NO_ANSWER)]
    assert not questions.is_open


def payload_of(frame: bytes) -> bytes:
    found = wire.take(bytearray(frame))
    assert found is not None
    return found[1]

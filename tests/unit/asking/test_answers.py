"""What the words of an answer mean, and which of them are none."""

from typing import Any

import pytest

from openclaw.asking.answers import Given, UnfitAnswerError, answer_to, digest_of, shown
from openclaw.content import Framed
from openclaw.conversation import Answer, AskedCall, Offer, Question

OFFERS = (
    Offer("once", "y", "once", "once"),
    Offer("session", "s", "in this conversation", "session"),
    Offer("always", "a", "always below /notes", "always"),
    Offer("any", "t", "always, any arguments", "always"),
)
CALL = AskedCall("files__write", "write", "files", {"path": "/notes/a", "content": "x"}, ("write",), offers=OFFERS)
APPROVAL = Question("approval", approval=CALL, options=("once", "session", "always", "any"), agent="main", since=3.0)
FORM = Question(
    "form",
    "Who?",
    "shop",
    schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (Given("allow-once"), Answer("accept", {"option": "once"})),
        (Given("Allow-Always"), Answer("accept", {"option": "always"})),
        (Given("session"), Answer("accept", {"option": "session"})),
        (Given("any"), Answer("accept", {"option": "any"})),
        (Given("always", offer="any"), Answer("accept", {"option": "any"})),
        (Given("allow-always", offer="any"), Answer("accept", {"option": "any"})),
        (Given("accept", offer="always"), Answer("accept", {"option": "always"})),
        (Given("deny", note="Not there."), Answer("decline", note="Not there.")),
        (Given("cancel"), Answer("cancel")),
    ],
)
def test_a_word_names_one_of_the_offers(given: Given, answer: Answer) -> None:
    assert answer_to(APPROVAL, given) == answer


@pytest.mark.parametrize(
    ("question", "given", "sentence"),
    [
        (APPROVAL, Given("yes"), "'yes' is no answer"),
        (APPROVAL, Given(""), "'' is no answer"),
        (APPROVAL, Given("once", offer="nothing"), "'nothing' is no answer"),
        (APPROVAL, Given("once", offer="any"), "The offer any is not what the choice says."),
        (APPROVAL, Given("deny", note="x" * 3_000), "The note is longer"),
        (Question("approval", "Go on?"), Given("allow-always"), "Use accept, decline, cancel."),
        (Question("approval", "Go on?"), Given("accept", content={"a": 1}), "This question takes no fields."),
        (FORM, Given("once"), "'once' is no answer"),
        (FORM, Given("accept"), "name"),
        (FORM, Given("accept", content={"name": 5}), "name"),
        (Question("sign-in", server="shop"), Given("accept"), "only be answered where it was asked"),
    ],
)
def test_what_is_no_answer_is_refused_with_a_sentence(question: Question, given: Given, sentence: str) -> None:
    with pytest.raises(UnfitAnswerError) as refused:
        answer_to(question, given)
    assert sentence in str(refused.value)


def test_a_word_never_means_an_offer_that_reaches_further_than_it_says() -> None:
    even = (
        Offer("once", "y", "once", "once"),
        Offer("even", "u", "always, also after text that nobody checked", "always"),
    )
    question = Question("approval", approval=AskedCall("exec", "exec", offers=even), options=("once", "even"))
    with pytest.raises(UnfitAnswerError) as refused:
        answer_to(question, Given("allow-always"))
    assert str(refused.value) == "'allow-always' is no answer to this question. Use once, even, decline."
    assert answer_to(question, Given("even")) == Answer("accept", {"option": "even"})


def test_plain_questions_forms_and_addresses_take_a_yes() -> None:
    url = Question("url", "Pay.", "shop", url="https://shop.test")
    assert answer_to(Question("approval", "Go on?"), Given("allow-once")) == Answer("accept")
    assert answer_to(url, Given("yes")) == Answer("accept")
    assert answer_to(FORM, Given("accept", content={"name": "Yü"})) == Answer("accept", {"name": "Yü"})


def test_the_digest_is_that_of_everything_shown_and_of_nothing_else() -> None:
    def other(**changes: Any) -> str:
        return digest_of(Question(**{name: getattr(APPROVAL, name) for name in APPROVAL.__struct_fields__} | changes))

    assert other(since=4.0, seconds=5.0) == digest_of(APPROVAL)
    changed = AskedCall(
        "files__write", "write", "files", {"path": "/notes/b", "content": "x"}, ("write",), offers=OFFERS
    )
    assert len({digest_of(APPROVAL), other(approval=changed), other(agent="b"), other(text=Framed("x"))}) == 4
    assert shown(Question("approval", "Go on?", seconds=5.0)) == {"kind": "approval", "text": "Go on?"}

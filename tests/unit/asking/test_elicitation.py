"""Questions of servers: who is asked, what is refused before anybody is, and what is never told to anybody but the server."""

import asyncio
import logging
from typing import Any

import pytest

from openclaw.asking.elicitation import MOST_A_CALL, MOST_A_MINUTE, MOST_TRIES, Elicitation
from openclaw.config.servers import ServerSpec
from openclaw.conversation import Answer, Conversation, Nobody, Question
from openclaw.errors import RpcError
from openclaw.tool import Invocation
from parts.clock import Clock
from parts.person import Person, agrees, declines

SHOP = ServerSpec("shop")
ASKED = "shop asked a question nobody was there to answer."
TABLE = {
    "message": "How many?",
    "requestedSchema": {"properties": {"people": {"type": "integer", "maximum": 9, "default": 2}}},
}
PAGE = {"mode": "url", "message": "Sign here.", "url": "https://sign.example.org/a?b=c#d", "elicitationId": "1"}


def asking(seconds: float = 60.0, **options: Any) -> Elicitation:
    return Elicitation(lambda: seconds, **options)


def call(asker: Any, number: str = "1", told: list[str] | None = None) -> Invocation:
    return Invocation(Conversation("main", "s", asker=asker), number, (told if told is not None else []).append)


async def test_a_form_is_shown_as_the_servers_and_its_answer_carries_the_defaults() -> None:
    person, made = Person(agrees), call(None)
    made = call(person)
    assert await asking().create(SHOP, TABLE, made) == {"action": "accept", "content": {"people": 2}}
    schema = {
        "type": "object",
        "properties": {"people": {"type": "integer", "maximum": 9, "default": 2}},
        "required": [],
    }
    assert person.asked == [Question("form", "How many?", "shop", "1", schema=schema, seconds=60.0)]
    assert made.notes == ["The person answered a question of shop."]


async def test_a_no_is_a_no_and_no_answer_is_none() -> None:
    for answer, action, note in (
        (Answer("decline"), "decline", "The person declined a question of shop."),
        (Answer("cancel"), "cancel", "The person left a question of shop unanswered."),
        (Answer("cancel", why="nobody"), "cancel", ASKED),
        (Answer("cancel", why="expired"), "cancel", "A question of shop was not answered in time."),
    ):
        made = call(Person(lambda _, answer=answer: answer))  # type: ignore[misc]  # bound now, not when it is asked
        assert await asking().create(SHOP, TABLE, made) == {"action": action}
        assert made.notes == [note]


async def test_where_nobody_can_be_asked_the_answer_is_cancel_and_the_sentence_says_so() -> None:
    told: list[str] = []
    for asker in (Nobody(), Person(agrees, kinds=["url"])):
        made = call(asker, told=told)
        assert await asking().create(SHOP, TABLE, made) == {"action": "cancel"}
        assert made.notes == [ASKED]
    assert told == [ASKED, ASKED]
    assert await asking().create(SHOP, TABLE, None) == {"action": "cancel"}


async def test_an_answer_that_does_not_fit_is_asked_for_again_and_in_the_end_given_up() -> None:
    told: list[str] = []
    wrong = Person(lambda _: Answer("accept", {"people": 40}))
    assert await asking().create(SHOP, TABLE, call(wrong, told=told)) == {"action": "cancel"}
    assert (len(wrong.asked), len(told)) == (MOST_TRIES, MOST_TRIES)
    assert told[0].startswith("That answer does not fit: 'people': ")
    assert "40" not in "".join(told)
    second = iter([Answer("accept", {"people": 40}), Answer("accept", {"people": 4})])
    answer = await asking().create(SHOP, TABLE, call(Person(lambda _: next(second))))
    assert answer == {"action": "accept", "content": {"people": 4}}


async def test_a_form_for_a_secret_is_declined_unseen_unless_the_server_may() -> None:
    person, told = Person(lambda _: Answer("accept", {"password": "x"})), list[str]()
    form = {"message": "Log in", "requestedSchema": {"properties": {"password": {"type": "string"}}}}
    assert await asking().create(SHOP, form, call(person, told=told)) == {"action": "decline"}
    assert told == [
        "This server (shop) asked for a secret in a plain form. That is not allowed; it should use its web page."
    ]
    assert person.asked == []
    trusted = ServerSpec("shop", allow_secret_forms=True)
    answer = await asking().create(trusted, form, call(person))
    assert answer == {"action": "accept", "content": {"password": "x"}}


async def test_a_page_is_shown_whole_and_agreeing_sends_nothing_but_that() -> None:
    person = Person(agrees)
    assert await asking().create(SHOP, PAGE, call(person)) == {"action": "accept"}
    address = "https://sign.example.org/a?b=c#d"
    assert person.asked == [Question("url", "Sign here.", "shop", "1", url=address, seconds=60.0)]


@pytest.mark.parametrize(
    "address",
    [
        "http://sign.example.org/",
        "https://user:word@sign.example.org/",
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://localhost/",
        "https://169.254.169.254/latest",
        "https://2130706433/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "",
    ],
)
async def test_a_page_that_no_server_may_lead_a_browser_to_is_refused_and_nobody_asked(address: str) -> None:
    person = Person(agrees)
    with pytest.raises(RpcError) as refused:
        await asking().create(SHOP, {**PAGE, "url": address}, call(person))
    assert (refused.value.code, person.asked) == (-32602, [])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"mode": "voice", "message": "m"}, "Questions are of mode form or url."),
        (
            {"message": "m", "requestedSchema": {"properties": {"where": {"type": "object"}}}},
            "The field 'where' is neither text, number, yes or no, nor a choice.",
        ),
    ],
)
async def test_what_is_no_question_is_refused_with_what_is_wrong(params: dict[str, Any], words: str) -> None:
    with pytest.raises(RpcError) as refused:
        await asking().create(SHOP, params, call(Person(agrees)))
    assert (refused.value.code, refused.value.message) == (-32602, words)


async def test_a_server_may_ask_so_often_in_a_minute_and_another_as_often_again() -> None:
    clock, person, told = Clock(), Person(declines), list[str]()
    questions = asking(clock=clock)
    for number in range(MOST_A_MINUTE + 1):
        last = await questions.create(SHOP, TABLE, call(person, f"{number}", told))
    assert (last, len(person.asked)) == ({"action": "cancel"}, MOST_A_MINUTE)
    assert told == ["shop asks more than 10 questions a minute; the person is not asked more."]
    assert await questions.create(ServerSpec("other"), TABLE, call(person, "o")) == {"action": "decline"}
    of_another_agent = ServerSpec("shop", owner="kim")
    assert await questions.create(of_another_agent, TABLE, call(person, "k")) == {"action": "decline"}
    clock.now += 61
    assert await questions.create(SHOP, TABLE, call(person, "later")) == {"action": "decline"}


async def test_one_call_is_asked_about_so_often_whatever_the_time() -> None:
    clock, person = Clock(), Person(declines)
    questions = asking(clock=clock)
    made = call(person)
    for _ in range(MOST_A_CALL + 2):
        clock.now += 61
        last = await questions.create(SHOP, TABLE, made)
    assert (last, len(person.asked)) == ({"action": "cancel"}, MOST_A_CALL)


async def test_who_does_not_answer_in_time_is_not_asked_about_that_call_again() -> None:
    person, questions, told = Person(lambda _: Answer("cancel", why="expired")), asking(), list[str]()
    made = call(person, told=told)
    assert await questions.create(SHOP, TABLE, made) == {"action": "cancel"}
    assert await questions.create(SHOP, TABLE, made) == {"action": "cancel"}
    assert len(person.asked) == 1
    assert made.notes == [
        "A question of shop was not answered in time.",
        "shop asked again about a call for which the person was asked enough.",
    ]
    # At a terminal the question only went away.
    assert told == made.notes


async def test_a_question_goes_with_the_turn_that_asked_it() -> None:
    person = Person()
    task = asyncio.create_task(asking().create(SHOP, TABLE, call(person)))
    await person.question()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (task.cancelled(), len(person.withdrawn)) == (True, 1)


async def test_whether_they_have_finished_is_a_question_without_an_address() -> None:
    for says, expected in ((agrees, True), (declines, False)):
        person = Person(says)
        assert await asking().finished(SHOP, call(person)) is expected
        assert person.asked == [Question("url", asker="shop", call="1", seconds=60.0)]
    assert await asking().finished(SHOP, call(Nobody())) is False


async def test_neither_the_log_nor_the_model_hears_what_was_answered(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    form = {"message": "m", "requestedSchema": {"properties": {"dish": {"type": "string"}}}}
    told: list[str] = []
    made = call(Person(lambda _: Answer("accept", {"dish": "canary-7311"})), told=told)
    answer = await asking().create(SHOP, form, made)
    assert answer == {"action": "accept", "content": {"dish": "canary-7311"}}
    assert "canary-7311" not in "".join((caplog.text, *made.notes, *told))


async def test_the_words_of_a_server_are_cleaned_and_bounded_before_anybody_sees_them() -> None:
    person = Person(agrees)
    message = "\x1b[31mPay now\x07 " + "x" * 5_000
    await asking().create(SHOP, {**TABLE, "message": message}, call(person))
    (question,) = person.asked
    assert question.text.startswith("Pay now xxx")
    assert len(question.text) <= 2_000

"""`openclaw approvals list|show|answer`, `/approvals` and `/approve`: the questions that wait for a person, and the answer to one.

They wait in the process that asks them: this is for a running gateway, and for all that share a database. What a question holds was chosen
by models and servers: each value is printed as JSON on one line, so that none can pass for a line of ours. An answer counts like any other,
if it is the first.
"""

import time
from collections.abc import Iterator
from typing import Any

import msgspec

from openclaw.asking.answers import Given
from openclaw.asking.open_question import QuestionChanged, ShownQuestion, changed_json
from openclaw.asking.questions import AlreadyEndedError, Questions
from openclaw.commands.console import Console, clock_time, duration
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.content import to_json
from openclaw.conversation import Question
from openclaw.errors import UsageError
from openclaw.log import one_line
from openclaw.security.external import escape_json
from openclaw.security.foreign import source_text

_SHOWN_NAME = 60
_NONE_HERE = "No question waits. They wait in a running gateway: `openclaw gateway status` says whether there is one."


async def list_questions(context: Context, parsed: Parsed) -> int:
    async with context.open_engine() as engine:
        if parsed.flag("recent"):
            await _show_recent(context.console, engine.questions, as_json=parsed.flag("json"))
        else:
            await engine.questions.look()
            pending = engine.questions.pending()
            if parsed.flag("json"):
                context.console.data([one.as_json() for one in pending])
            elif not pending and context.surface == "terminal":
                context.console.line(_NONE_HERE)
            else:
                show_pending(context.console, engine.questions)
    return 0


def show_pending(console: Console, questions: Questions) -> None:
    pending = questions.pending()
    if not pending:
        console.line("No question waits.")
    now = time.time()
    rows = [
        (one.id, one.question.kind, one.question.agent, duration(max(0.0, now - one.asked)), _about(one.question))
        for one in pending
    ]
    console.table(("id", "kind", "agent", "waits", "about"), rows)


async def _show_recent(console: Console, questions: Questions, *, as_json: bool) -> None:
    recent = await questions.recent()
    if as_json:
        console.data([changed_json(one) for one in recent])
        return
    if not recent:
        console.line("No question was asked yet.")
    rows = [
        (clock_time(one.ended), one.kind, one.agent, one.option or one.state, one.by or "–", _name(one))
        for one in recent
    ]
    console.table(("time", "kind", "agent", "answer", "by", "about"), rows)


async def show(context: Context, parsed: Parsed) -> int:
    async with context.open_engine() as engine:
        try:
            one = await engine.questions.find(parsed.text("id"))
        except AlreadyEndedError as error:
            if not parsed.flag("json"):
                raise
            context.console.data(changed_json(error.ended))
            return 1
        if parsed.flag("json"):
            context.console.data(one.as_json())
        else:
            for line in described(one):
                context.console.line(line)
    return 0


async def answer(context: Context, parsed: Parsed) -> int:
    async with context.open_engine() as engine:
        content = _content(parsed.text("content"))
        given = Given(parsed.text("word"), parsed.text("offer"), content, parsed.text("note"))
        ended = await answer_question(engine.questions, parsed.text("id"), given, parsed.text("digest"))
    if parsed.flag("json"):
        context.console.data(changed_json(ended))
    else:
        context.console.line(told(ended))
    return 0


async def answer_question(questions: Questions, name: str, given: Given, digest: str = "") -> QuestionChanged:
    """Answer by the id, which names one question and never another; a digest besides is held against what it asks. Raises UsageError."""
    one = await questions.find(name)
    return await questions.answer(one.id, digest or one.digest, given, by="command")


def told(ended: QuestionChanged) -> str:
    option = f" ({ended.option})" if ended.option else ""
    return f"{ended.state.capitalize()}{option}: {_name(ended)}."


def described(one: ShownQuestion) -> Iterator[str]:
    """A question line by line."""
    question, call = one.question, one.question.approval
    yield f"{question.kind} {one.id}, agent {one_line(question.agent, _SHOWN_NAME)}"
    if question.asker or question.server:
        yield f"  server     {_json(question.asker or question.server)}"
    if question.text:
        yield f"  text       {_json(question.text)}"
    if question.url:
        yield f"  address    {_json(question.url)}"
    if question.schema is not None:
        yield f"  form       {_json(question.schema)}"
    if call is not None:
        yield f"  tool       {_json(call.tool)}"
        if call.server:
            yield f"  server     {_json(call.server)}"
        for name, value in call.arguments.items():
            origin = f"   ← from {_json(source_text(call.origins[name]))}" if name in call.origins else ""
            yield f"  argument   {_json(name)}: {_json(value)}{origin}"
        # Values within values, and those that are only counted.
        nested = ((place, source) for place, source in call.origins.items() if place not in call.arguments)
        yield from (f"  value      {_json(place)}   ← from {_json(source_text(source))}" for place, source in nested)
        yield from (f"  because    {_json(reason.removeprefix('Asked because '))}" for reason in call.reasons)
        yield from (f"  it claims  {_json(claim)}" for claim in call.claims)
        yield from (f"  answer     {offer.id}: {one_line(offer.text)}" for offer in call.offers)
    elif question.options:
        yield from (f"  answer     {_json(option)}" for option in question.options)
    else:
        yield "  answer     accept"
    yield "  answer     decline, cancel"
    yield f"  digest     {one.digest}"
    if one.is_answerable:
        yield f"  until      {clock_time(one.expires)}"


def _about(question: Question) -> str:
    call = question.approval
    name = call.tool if call is not None else question.asker or question.server
    return one_line(name or question.text, _SHOWN_NAME)


def _name(changed: QuestionChanged) -> str:
    return one_line(changed.tool or changed.asker or changed.kind, _SHOWN_NAME)


def _json(value: Any) -> str:
    return escape_json(to_json(value).decode())


def _content(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raise UsageError("--content needs the fields of the form as a JSON object.") from None

"""The person behind a client, as somebody to ask: a question of ours or of a server as `session/request_permission`, or by elicitation.

Owns what the client is shown, and what its answer means: a choice that was offered, and nothing else. An unknown choice, an error,
something unreadable and a client that leaves are all a no. A question that belongs to no call the client knows is shown as one of its own.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET

from openclaw.acp import wire
from openclaw.acp.connection import Connection, RequestError
from openclaw.acp.planned import planned
from openclaw.acp.updates import NATIVE_KINDS, locations_of, title_of
from openclaw.content import to_json
from openclaw.control.shown_text import quoted, value_text
from openclaw.conversation import NO_ANSWER, Answer, AskedCall, Question, QuestionKind
from openclaw.json_schema import Checker
from openclaw.redact import redact
from openclaw.security.external import clean_label, clean_terminal, clean_text
from openclaw.security.foreign import source_text

_BY = "client"
NO = "no"
_YES = "yes"
_KINDS: dict[str, wire.OptionKind] = {"once": "allow_once", "session": "allow_always", "always": "allow_always"}
# Characters: of a name, of a sentence, of all that is said about a call.
_LONGEST_NAME = 200
_LONGEST_SENTENCE = 2_000
_LONGEST_CALL = 100_000
_FINISHED = "Have you finished at the page that was opened?"

_numbers = itertools.count(1)


class ClientAsker:
    """`show` sends an update of the session. `knows` says whether the client was told of a call."""

    def __init__(
        self,
        connection: Connection,
        session: str,
        client: wire.ClientCapabilities,
        folders: Sequence[Path],
        *,
        show: Callable[[wire.Update], None],
        knows: Callable[[str], bool],
    ) -> None:
        self._connection = connection
        self._session = session
        self._client = client
        self._folders = folders
        self._show = show
        self._knows = knows

    def can(self, kind: QuestionKind) -> bool:
        match kind:
            case "approval":
                return True
            case "form":
                return self._client.shows_forms
            case "url":
                return self._client.opens_addresses
            case _:
                return False

    async def ask(self, question: Question) -> Answer:
        try:
            if question.kind == "approval" or (question.kind == "url" and not question.url):
                return await self._permission(question)
            if self.can(question.kind):
                return await self._elicited(question)
        except RequestError:
            # It cannot be asked, or it left: nobody said yes.
            pass
        return NO_ANSWER

    async def choose(
        self, call: wire.ToolCallFields, options: list[wire.PermissionOption]
    ) -> wire.PermissionOption | None:
        """The option the client chose; None when it was none of them. Raises RequestError."""
        asked = wire.PermissionRequest(self._session, call, options)
        given = await self._connection.request(wire.REQUEST_PERMISSION, asked, wire.PermissionAnswer)
        outcome = given.outcome
        if outcome.outcome != "selected":
            return None
        return next((one for one in options if one.option_id == outcome.option_id), None)

    async def _permission(self, question: Question) -> Answer:
        call = _call_of(question, self._folders)
        is_own = not self._knows(call.tool_call_id)
        if is_own:
            # A call that is only asked about is not to be seen for longer than the question.
            call = _renamed(call, f"question-{next(_numbers)}")
            self._show(_announced(call))
        answer = NO_ANSWER
        try:
            chosen = await self.choose(call, _options(question))
            answer = _answered(question, chosen)
        finally:
            if is_own:
                status: wire.ToolStatus = "completed" if answer.is_yes else "failed"
                self._show(wire.ToolCallUpdate(call.tool_call_id, status=status))
        return answer

    async def _elicited(self, question: Question) -> Answer:
        said = redact(clean_text(question.text, _LONGEST_SENTENCE))
        message = f"[{clean_label(question.asker, _LONGEST_NAME)}] {said}" if question.asker else said
        tool_call = question.call if question.call and self._knows(question.call) else UNSET
        if question.kind == "url":
            asked = wire.ElicitationRequest(
                self._session, message, "url", tool_call, elicitation_id=f"page-{next(_numbers)}", url=question.url
            )
        else:
            schema = form_of(question.schema or {})
            asked = wire.ElicitationRequest(self._session, message, "form", tool_call, requested_schema=schema)
        given = await self._connection.request(wire.ELICIT, asked, wire.ElicitationAnswer)
        if given.action == "decline":
            return Answer("decline", by=_BY)
        if given.action != "accept":
            return Answer("cancel", by=_BY)
        if question.kind == "url":
            return Answer("accept", {"opened": True}, by=_BY)
        content = given.content or {}
        fault = Checker(to_json(question.schema or {}), what="answers").check(content)
        return Answer("accept", content, by=_BY) if fault is None else NO_ANSWER


def form_of(schema: Any) -> dict[str, Any]:
    """A server's form with its words cleaned."""
    fields = {}
    for name, given in schema.get("properties", {}).items():
        cleaned = {key: clean_text(given[key], _LONGEST_NAME) for key in ("title", "description") if key in given}
        fields[name] = {**given, **cleaned}
    return {**schema, "properties": fields}


def _call_of(question: Question, folders: Sequence[Path]) -> wire.ToolCallFields:
    call = question.approval
    if call is None:
        text = redact(clean_text(question.text or _FINISHED, _LONGEST_CALL))
        title = f"{clean_label(question.asker, _LONGEST_NAME)}: {text}" if question.asker else text
        return wire.ToolCallFields(
            question.call,
            title=clean_label(title, _LONGEST_NAME),
            kind="other",
            status="pending",
            content=[wire.Shown(wire.Text(text))],
        )
    return wire.ToolCallFields(
        question.call,
        title=title_of(
            call.tool,
            call.arguments,
            f"MCP: {call.server}/{call.title or call.tool}" if call.server else "",
            # All of it: some editors show nothing but the title.
            room=_LONGEST_SENTENCE,
        ),
        # Some clients answer by the kind, and guess one from the title where there is none: a server's tool is none that they may know.
        kind="other" if call.server else NATIVE_KINDS.get(call.tool, "other"),
        status="pending",
        content=[
            *([] if call.server else planned(call.tool, call.arguments, folders)),
            wire.Shown(wire.Text(asked_text(call))),
        ],
        locations=locations_of(call.tool, call.arguments, folders[0]),
        raw_input=call.arguments,
    )


def asked_text(call: AskedCall) -> str:
    """What is asked, each value whole and on a line of its own, with what cannot be seen written as an escape."""
    return redact(clean_terminal("\n".join(_lines(call))))[:_LONGEST_CALL]


def _lines(call: AskedCall) -> Iterator[str]:
    of = f" of server {clean_label(call.server, _LONGEST_NAME)}" if call.server else ""
    yield f"OpenClaw asks whether it may call {clean_label(call.tool, _LONGEST_NAME)}{of}."
    if sources := dict.fromkeys((*call.sources, *call.origins.values())):
        named = ", ".join(map(source_text, sources))
        yield f"Careful: in this conversation there is text that nobody checked, from {named}."
    for name, value in call.arguments.items():
        origin = f"  ← this value came from {source_text(call.origins[name])}" if name in call.origins else ""
        yield f"  {clean_label(name, _LONGEST_NAME) or quoted(name)}: {value_text(value)}{origin}"
    inner = (place for place in call.origins if place not in call.arguments)
    yield from (
        f"  {clean_label(place, _LONGEST_NAME)}  ← came from {source_text(call.origins[place])}" for place in inner
    )
    yield from (clean_label(reason, _LONGEST_SENTENCE) for reason in call.reasons)
    yield from (f"The server says of it: {clean_label(claim, _LONGEST_SENTENCE)}" for claim in call.claims)


def _options(question: Question) -> list[wire.PermissionOption]:
    """Programs choose by the kind, people by the name. There is always a way to say yes once, and one to say no."""
    refusal = wire.PermissionOption(NO, "Reject", "reject_once")
    if question.approval is None or not question.approval.offers:
        first = question.options[0] if question.options else _YES
        return [wire.PermissionOption(first, "Allow", "allow_once"), refusal]
    offers = question.approval.offers
    told = [
        wire.PermissionOption(offer.id, clean_label(f"Allow {offer.text}", _LONGEST_NAME), _KINDS[offer.lasts])
        for offer in offers
    ]
    return [*told, refusal]


def _answered(question: Question, chosen: wire.PermissionOption | None) -> Answer:
    if chosen is None:
        return Answer("cancel", by=_BY)
    if chosen.option_id == NO:
        return Answer("decline", by=_BY)
    return Answer("accept", {"option": chosen.option_id} if question.options else {}, by=_BY)


def _renamed(call: wire.ToolCallFields, id: str) -> wire.ToolCallFields:
    return wire.ToolCallFields(id, call.title, kind=call.kind, status=call.status, content=call.content)


def _announced(call: wire.ToolCallFields) -> wire.ToolCall:
    return wire.ToolCall(call.tool_call_id, call.title, kind=call.kind, status="pending", content=call.content)

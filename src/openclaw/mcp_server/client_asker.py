"""Who ordered, as somebody to ask: a question of ours or of a server as MCP's elicitation, and the client's answer to it.

Owns what the client is shown: the words, cleaned, masked and cut, with the server in front whose words they are; an approval as a form with
one choice, `decision`. Refuses what its client did not declare, and in 2025-06-18 what that revision's forms do not have. An answer that
does not fit the question is none.
"""

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.content import to_json
from openclaw.control.approval_dialogue import tool_text
from openclaw.control.shown_text import cut, is_seen, quoted, value_text
from openclaw.conversation import NO_ANSWER, Answer, AskedCall, Question, QuestionKind
from openclaw.json_schema import Checker
from openclaw.mcp_server.client_requests import ClientRequest
from openclaw.mcp_server.dialogue import Ability
from openclaw.mcp_server.under_way import UnderWay
from openclaw.protocol.eras import MODERN
from openclaw.redact import redact
from openclaw.security.external import clean_label, clean_text
from openclaw.security.foreign import source_text

_NEEDS: Mapping[QuestionKind, Ability] = {"approval": "form", "form": "form", "url": "url"}
# The property of an approval's form, and the choice that means no.
DECISION = "decision"
DECLINE = "no"
_YES = "yes"
_FINISHED = "Have you finished at the page that was opened?"
# The first revision whose forms name their mode, and have choices with titles and choices of several.
_TITLED_SINCE = "2025-11-25"

# Characters: of a server's words, of all that we say of a call, of one argument, of names and of what stands beside a field.
_LONGEST_TEXT = 2_000
_LONGEST_CALL = 20_000
_LONGEST_VALUE = 500
_LONGEST_NAME = 100
_LONGEST_NOTE = 300
# A text that is cleaned may become so many times as long: what stands in place of a token has 23 characters, and the shortest token five.
_MOST_GROWN = 5
_MOST_ARGUMENTS = 20
_MOST_SOURCES = 3
_KEY_BYTES = 8


class ClientAsker:
    """The client of one call. What it can show is what the request that waits now declared."""

    def __init__(self, call: UnderWay) -> None:
        self._call = call

    def can(self, kind: QuestionKind) -> bool:
        return kind in _NEEDS and _NEEDS[kind] in self._call.declared

    async def ask(self, question: Question) -> Answer:
        request = elicitation(question, self._call.version) if self.can(question.kind) else None
        if request is None:
            return NO_ANSWER
        self._call.tell("Waiting for an answer")
        answer: Answer | None = await self._call.ask(request)
        return answer or NO_ANSWER


def elicitation(question: Question, version: str) -> ClientRequest | None:
    """The question as a client of this revision is asked it; None when it has no way to show it."""
    # Of the approvals and forms of one call; nobody can answer one before it was asked.
    key = f"{clean_label(question.asker or 'openclaw', _LONGEST_NAME)}/{question.kind}-{secrets.token_hex(_KEY_BYTES)}"
    told: dict[str, Any] = {"message": message(question)}
    if question.kind == "url" and question.url:
        told |= {"mode": "url", "url": question.url} | ({} if version in MODERN else {"elicitationId": key})
    else:
        schema = _form(question.schema or {}, version) if question.kind == "form" else _decision(question, version)
        if schema is None:
            return None
        told |= {"requestedSchema": schema} | ({"mode": "form"} if version >= _TITLED_SINCE else {})
    needs: Ability = "url" if "url" in told else "form"
    return ClientRequest(key, "elicitation/create", told, needs, lambda given: read(question, given))


class _Given(msgspec.Struct):
    action: str
    content: dict[str, Any] | None = None


def read(question: Question, given: Raw) -> Answer | None:
    """What the client's result means; None when it is no answer to this question. Raises what msgspec raises."""
    answer = msgspec.json.decode(given, type=_Given)
    match answer.action, question.kind:
        case "decline", _:
            return Answer("decline", by="client")
        case "cancel", _:
            return Answer("cancel", by="client")
        case "accept", "url" if question.url:
            return Answer("accept", {"opened": True}, by="client")
        case "accept", "approval" | "url":
            return _decided(question, answer.content or {})
        case "accept", _:
            content = answer.content or {}
            fault = Checker(to_json(question.schema or {}), what="answers").check(content)
            return Answer("accept", content, by="client") if fault is None else None
        case _:
            return None


def _decided(question: Question, content: Mapping[str, Any]) -> Answer | None:
    match content.get(DECISION):
        case str(option) if option in question.options:
            return Answer("accept", {"option": option}, by="client")
        case "yes" if not question.options:
            return Answer("accept", by="client")
        case "no":
            return Answer("decline", by="client")
        case _:
            return None


def message(question: Question) -> str:
    """What is said above the form."""
    if question.approval is not None:
        return redact(clean_text("\n".join(_call_lines(question.approval)), _LONGEST_CALL))
    waits_for_page = question.kind == "url" and not question.url
    text = question.text or (_FINISHED if waits_for_page else "")
    # A prompt of a server that wants to ask a model: what is agreed to is seen whole. Whoever asks has bounded it.
    longest = _MOST_GROWN * len(text) if question.kind == "approval" else _LONGEST_TEXT
    said = redact(clean_text(text, longest)).strip()
    return f"[{clean_label(question.asker, _LONGEST_NAME)} via OpenClaw] {said}" if question.asker else said


def _call_lines(call: AskedCall) -> Iterator[str]:
    """Each value on a line of its own, with what cannot be seen written as an escape: what is agreed to is what is called."""
    of = f" of server {clean_label(call.server, _LONGEST_NAME)}" if call.server else ""
    yield f"OpenClaw asks whether it may call {tool_text(call)}{of}."
    if sources := dict.fromkeys((*call.sources, *call.origins.values())):
        named = ", ".join(source_text(source) for source in list(sources)[:_MOST_SOURCES])
        others = f" and {len(sources) - _MOST_SOURCES} more" if len(sources) > _MOST_SOURCES else ""
        yield f"Careful: in this conversation there is text that nobody checked, from {named}{others}."
    shown = list(call.arguments)[:_MOST_ARGUMENTS]
    for argument in shown:
        yield f"  {_name(argument)}: {_shown(call.arguments[argument])}{_origin(call, argument)}"
    if (more := len(call.arguments) - len(shown)) > 0:
        yield f"  (and {more} more)"
    # Values within values, and those that are only counted.
    yield from (f"  {_name(place)}{_origin(call, place)}" for place in call.origins if place not in shown)
    yield from (clean_label(reason, _LONGEST_TEXT) for reason in call.reasons)
    yield from (f"The server says of it: {clean_label(claim, _LONGEST_NOTE)}" for claim in call.claims)


def _name(argument: str) -> str:
    return cut(argument if argument and is_seen(argument) else quoted(argument), _LONGEST_NAME)


def _origin(call: AskedCall, place: str) -> str:
    return f"  ← this value came from {source_text(call.origins[place])}" if place in call.origins else ""


def _shown(value: Any) -> str:
    text = redact(value_text(value))
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE].rstrip()}… ({len(text):,} characters)"


def _decision(question: Question, version: str) -> dict[str, Any]:
    titles = {offer.id: offer.text for offer in question.approval.offers} if question.approval else {}
    choices = {option: titles.get(option, option) for option in question.options} or {_YES: "Yes"}
    choices[DECLINE] = "No"
    cleaned = {id: clean_label(title, _LONGEST_NOTE) for id, title in choices.items()}
    field = {"type": "string", "title": "Decision", **_choice(cleaned, version)}
    return {"type": "object", "properties": {DECISION: field}, "required": [DECISION]}


def _choice(titles: Mapping[str, str], version: str) -> dict[str, Any]:
    if version >= _TITLED_SINCE:
        return {"oneOf": [{"const": id, "title": title} for id, title in titles.items()]}
    return {"enum": list(titles), "enumNames": list(titles.values())}


def _form(schema: Mapping[str, Any], version: str) -> dict[str, Any] | None:
    """A server's form with its words cleaned; in 2025-06-18, choices as that knows them."""
    properties: dict[str, Any] = {}
    for name, given in schema.get("properties", {}).items():
        field = dict(given)
        for key in ("title", "description"):
            if isinstance(field.get(key), str):
                field[key] = clean_text(field[key], _LONGEST_NOTE)
        if version < _TITLED_SINCE:
            if field.get("type") == "array":
                return None
            if "oneOf" in field:
                titles = {one["const"]: one.get("title", one["const"]) for one in field.pop("oneOf")}
                field |= _choice(titles, version)
        properties[name] = field
    return {**schema, "properties": properties}

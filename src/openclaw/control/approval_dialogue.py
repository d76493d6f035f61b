"""A call that needs a yes, as a dialogue at a terminal: what would be done, why it is asked, and one key. Pure.

Every value of the call is shown, long ones cut with their length, and all of each with `d`. What a server says of its tool is marked as its
own word, and a value that came from foreign text is named. No key is preselected.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from openclaw.control.dialogue_steps import (
    BAR,
    BY,
    DECLINED,
    LONGEST_NAME,
    NOT_ANSWERED,
    Dialogue,
    Finished,
    Screen,
    Step,
    accepted,
    choices,
    paged,
    pressed,
    prose,
)
from openclaw.control.questions import LONGEST_NOTE
from openclaw.control.shown_text import columns, cut, folded, is_seen, many, padded, quoted, value_text
from openclaw.conversation import Answer, AskedCall, Offer, Question
from openclaw.security.external import clean_label, clean_text
from openclaw.security.foreign import source_text

# Whole up to here, in characters: an address, a path, a name. Of what is longer the beginning is shown.
_WHOLE, _BEGINNING = 200, 160
# More arguments than this, and more sources, are counted.
_MOST_ARGUMENTS, _MOST_SOURCES = 12, 3
_LONGEST_SENTENCE = 1_000
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{0,3})?$")
_INDENT = "  "
# The names of arguments take at most this part of the screen.
_NAME_SHARE = 3
_LEAST_ROOM = 20
_NO, _REASON, _DETAILS = "n", "r", "d"
_SPARE_KEYS = "123456789"
_CLASSES = {"read": "reads", "write": "changes things", "exec": "runs programs"}


def approval_dialogue(question: Question, call: AskedCall, screen: Screen) -> Dialogue:
    offers = _keyed(call.offers)
    meanings = {key: clean_label(offer.text, LONGEST_NAME * 2) for key, offer in offers.items()}
    meanings |= {_NO: "no", _REASON: "no, with a reason", _DETAILS: "details"}
    asked, before = choices(screen, meanings), ""
    while True:
        key = yield from pressed(before + _shown(question, call, screen), tuple(meanings), asked)
        if key is None:
            return NOT_ANSWERED
        if key == _NO:
            return DECLINED
        if key == _REASON:
            return (yield from _declined_with_a_reason())
        if key != _DETAILS:
            return Finished(accepted(option=offers[key].id))
        rest = yield from paged(_details(question, call, screen), screen)
        if rest is None:
            return NOT_ANSWERED
        before = f"{rest}\n"


def _keyed(offers: Sequence[Offer]) -> Mapping[str, Offer]:
    """The offers by the keys that choose them: none takes a key of ours or of another."""
    keyed: dict[str, Offer] = {}
    spare = iter(_SPARE_KEYS)
    for offer in offers:
        key = offer.key.casefold()
        is_free = len(key) == 1 and key.isascii() and key.isalnum() and key not in (_NO, _REASON, _DETAILS, *keyed)
        keyed[key if is_free else next(one for one in spare if one not in keyed)] = offer
    return keyed


def _declined_with_a_reason() -> Generator[Step, str | None, Finished]:
    typed = yield Step("What should it be told? ", "line")
    note = clean_text(typed or "", LONGEST_NOTE)
    return Finished(Answer("decline", note=note, by=BY), "Declined.\n")


# --- the text ------------------------------------------------------------------------------------------------------------------


def _shown(question: Question, call: AskedCall, screen: Screen) -> str:
    rows = [*_careful(call, screen), *_head(question, call, screen), *_arguments(call, screen)]
    rows += [*_claims(call, screen), *_reasons(call, screen)]
    return "".join(f"{row}\n" for row in rows)


def _sources(call: AskedCall) -> Sequence[str]:
    return tuple(dict.fromkeys((*call.sources, *call.origins.values())))


def _careful(call: AskedCall, screen: Screen) -> list[str]:
    sources = _sources(call)
    if not sources:
        return []
    named = [source_text(source) for source in sources[:_MOST_SOURCES]]
    if len(sources) > _MOST_SOURCES:
        named.append(many(len(sources) - _MOST_SOURCES, "other"))
    listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    return prose(f"Careful: in this conversation {listed} sent text that nobody checked.", screen, screen.warning)


def _head(question: Question, call: AskedCall, screen: Screen) -> list[str]:
    server = clean_label(call.server, LONGEST_NAME)
    agent = f"Agent {clean_label(question.agent, LONGEST_NAME)}" if question.agent else "The agent"
    if call.skill:
        skill = clean_label(call.skill, LONGEST_NAME)
        return prose(f"{agent} wants to use the skill {skill}, which {server} offers", screen, screen.bold)
    return prose(f"{server or agent} wants to call {tool_text(call)}", screen, screen.bold)


def tool_text(call: AskedCall) -> str:
    """The tool of a call, as people are told of it. What it calls itself may say anything: it stands beside the name that counts."""
    tool, title = clean_label(call.tool, LONGEST_NAME), clean_label(call.title, LONGEST_NAME)
    if not title:
        return tool
    return title if tool == title or tool.endswith(f"__{title}") else f'{tool}, which calls itself "{title}"'


def _claims(call: AskedCall, screen: Screen) -> list[str]:
    if not call.claims:
        return []
    said = ", ".join(clean_label(claim, _LONGEST_SENTENCE).rstrip(".") for claim in call.claims)
    server = clean_label(call.server, LONGEST_NAME) or "Its server"
    return prose(f"{server} says: {said}. Nobody checked that.", screen, screen.dim)


def _reasons(call: AskedCall, screen: Screen) -> list[str]:
    rows = []
    for number, reason in enumerate(call.reasons):
        text = clean_label(reason, _LONGEST_SENTENCE).rstrip(".").removeprefix("Asked because ")
        # What comes behind the reason is a sentence of its own.
        rows += prose(f"{text}." if number else f"Asked because {text}.", screen)
    return rows


def _name(name: str) -> str:
    return name if name and is_seen(name) else quoted(name)


def _arguments(call: AskedCall, screen: Screen) -> list[str]:
    if not call.arguments:
        return [f"{_INDENT}(no arguments)", *_lost_origins(call, screen)]
    named = [(name, _name(name)) for name in call.arguments][:_MOST_ARGUMENTS]
    widest = min(max(columns(shown) for _, shown in named), screen.width // _NAME_SHARE)
    rows = []
    for name, shown in named:
        value = _shortened(call.arguments[name])
        rows += _row(cut(shown, widest), widest, value, _origin(call, name), screen)
    if left := len(call.arguments) - _MOST_ARGUMENTS:
        rows += [f"{_INDENT}… and {many(left, 'more argument')}: d shows them"] if left > 0 else []
    return [*rows, *_lost_origins(call, screen)]


def _row(name: str, widest: int, value: str, origin: str, screen: Screen) -> list[str]:
    room = screen.width - len(_INDENT) - widest - 2 - 1
    indent = " " * (screen.width - room - 1)
    if room < _LEAST_ROOM:
        room, indent = screen.width - 2 * len(_INDENT) - 1, 2 * _INDENT
        rows = [f"{_INDENT}{name}", *(indent + row for row in folded(value, room))]
    else:
        first, *others = folded(value, room)
        rows = [f"{_INDENT}{padded(name, widest)}  {first}", *(indent + row for row in others)]
    if not origin:
        return rows
    marked = f"   {origin}"
    if columns(rows[-1] + marked) < screen.width:
        return [*rows[:-1], rows[-1] + screen.warning(marked)]
    return [*rows, *(screen.warning(indent + row) for row in folded(origin, room))]


def _shortened(value: Any) -> str:
    text = value_text(value)
    if len(text) <= _WHOLE:
        return text
    length = len(value) if isinstance(value, str) else len(text)
    beginning = _HALF_ESCAPE.sub("", text[:_BEGINNING]).rstrip()
    return f"{beginning} … ({many(length, 'character')})"


def _origin(call: AskedCall, name: str) -> str:
    source = call.origins.get(name)
    if source is None:
        return ""
    return f"← this value came from {'that text' if len(_sources(call)) == 1 else source_text(source)}"


def _lost_origins(call: AskedCall, screen: Screen) -> list[str]:
    """Values within values, and those of arguments that are counted only."""
    seen = list(call.arguments)[:_MOST_ARGUMENTS]
    rows = []
    for name in call.origins:
        if name not in seen:
            rows += _row(cut(_name(name), screen.width // 2), 0, "", _origin(call, name), screen)
    return rows


def _details(question: Question, call: AskedCall, screen: Screen) -> list[str]:
    """All of every value."""
    does = [_CLASSES.get(one, f"sends data to {one.partition(':')[2]}") for one in call.classes]
    facts = {
        "tool": call.tool,
        "title": call.title,
        "server": call.server,
        "agent": question.agent,
        "session": question.session,
        "does": ", ".join(does),
        "sources": ", ".join(map(source_text, _sources(call))),
    }
    widest = max(map(len, facts))
    rows = [""]
    for name, text in facts.items():
        rows += _row(name, widest, value_text(text), "", screen) if text else []
    for name, value in call.arguments.items():
        rows += _whole(_name(name), value, _origin(call, name), screen)
    return rows


def _whole(name: str, value: Any, origin: str, screen: Screen) -> list[str]:
    if isinstance(value, str) and value:
        lines = [line if is_seen(line) else quoted(line) for line in value.split("\n")]
        size = many(len(value), "character") + (f", {len(lines):,} lines" if len(lines) > 1 else "")
        head = f"{name} ({size})"
    else:
        head, lines = name, [value_text(value)]
    rows = [screen.bold(row) for row in folded(head, screen.width - 1)]
    rows += [screen.warning(row) for row in folded(origin, screen.width - 1)] if origin else []
    return [*rows, *(f"{BAR}{row}" for line in lines for row in folded(line, screen.width - len(BAR) - 1))]

"""A sentence and a tool's schema to arguments: what `models/offline.py` calls a tool with.

Owns which parameter takes which clue: what is written out (a JSON object, `key=value`) comes first; then addresses, paths, numbers,
choices and switches go where their name and type say; the rest of the sentence goes to the one string that is still empty.
Guesses nothing it cannot see in the text: a required parameter without a clue is reported as missing.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from openclaw.models.clues import CLUE_CHARACTERS, Clues, Span, domains, without
from openclaw.ranking import DESCRIPTION_CHARACTERS, SYNONYMS, query_words, stem, words

# Parameters that are looked at: beyond this a tool is not one that a sentence can fill.
MOST_PARAMETERS = 60
# Characters before and after a number in which its neighbour word stands.
NEAR = 40

Role = Literal["url", "path", "pattern", "text", "number", "flag", "choice", "list", "other"]

_ROLE_WORDS: tuple[tuple[Role, frozenset[str]], ...] = (
    ("url", frozenset({"url", "uri", "link", "href", "website", "webpage"})),
    ("path", frozenset(map(stem, ("path", "file", "filename", "filepath", "dir", "directory", "folder", "pathname")))),
    ("pattern", frozenset(map(stem, ("pattern", "query", "search", "term", "keyword", "regex", "needle", "q")))),
)
_COUNTS = frozenset(map(stem, ("limit", "count", "max", "number", "n", "lines", "results", "size", "top")))
_FIRST = re.compile(r"\b(?:first|top|last|only|max(?:imum)?|up to)\s+(\d+)\b", re.IGNORECASE)
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_LEAD = re.compile(
    r"^\W*(?:(?:hey|hi|hello|ok|okay|so|now|please|kindly|just|then|(?:can|could|would|will) you"
    r"|i(?:'d| would) like (?:you )?to|i (?:want|need) (?:you )?to|let'?s|try to|go|help me|tell me|give me|let me)\b[\s,]*)+",
    re.IGNORECASE,
)
_TAIL = re.compile(r"[\s,]*\b(?:please|for me|thanks|thank you|right now)?[\s?!.,;]*$", re.IGNORECASE)
_FILLERS = (
    "a about all an and any are as can contain containing do does every everything find for from get give has have in inside "
    "is it its look me mention mentioned my of on our out please s show some that the there this to up use using used what where "
    "which who with word text string phrase term line lines occurrence occurrences file files place places named called tool"
)
_FILLER_STEMS = frozenset(map(stem, _FILLERS.split()))
# Between an act and its object: "forecast for Paris", "a note that says …".
_CONNECTORS = frozenset({"for", "in", "of", "to", "about", "with", "on", "at", "from", "saying", "that"})
_LAST_WORDS = frozenset(
    {"defined", "used", "declared", "mentioned", "called", "implemented", "occur", "appear", "come"}
)
# `grep -i word`: habits of the shell, and no part of what is searched.
_SWITCH = re.compile(r"-[A-Za-z]{1,4}")
# "Lines 5 to 10", for a tool that takes where to start and how many.
_LINES = re.compile(r"\blines?\s+(\d{1,9})\s*(?:-|–|to|through|until)\s*(\d{1,9})\b", re.IGNORECASE)
# "The first 20 lines": a count that goes to another parameter, and no part of what is searched.
_COUNTED = re.compile(r"\b(?:first|last|top)\s+\d+\s+\w+(?:\s+of\b)?", re.IGNORECASE)


class Parameter(msgspec.Struct, frozen=True):
    name: str
    role: Role
    required: bool
    type: str
    choices: tuple[Any, ...] = ()


class Filled(msgspec.Struct, frozen=True):
    """`missing` are required parameters without a clue; `written` says that every argument was written out by the user.
    `unused` counts what the sentence says besides: a tool that leaves much unheard is hardly the one that was meant."""

    arguments: dict[str, Any]
    missing: tuple[str, ...]
    written: bool
    roles: frozenset[Role]
    unused: int


def parameters_of(schema: Mapping[str, Any]) -> list[Parameter]:
    """The parameters of a JSON Schema object, required ones first."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    required = schema.get("required")
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    found = [
        _parameter(name, spec if isinstance(spec, Mapping) else {}, required=name in needed)
        for name, spec in list(properties.items())[:MOST_PARAMETERS]
    ]
    return sorted(found, key=lambda parameter: not parameter.required)


def _parameter(name: str, spec: Mapping[str, Any], *, required: bool) -> Parameter:
    kind = _type_of(spec)
    choices = spec.get("enum")
    if isinstance(choices, list) and choices:
        return Parameter(name, "choice", required, kind, tuple(choices))
    by_type: dict[str, Role] = {"integer": "number", "number": "number", "boolean": "flag", "array": "list"}
    role: Role = by_type.get(kind, "text" if kind == "string" else "other")
    if role == "text":
        if spec.get("format") in ("uri", "url"):
            role = "url"
        else:
            said = set(words(name))
            role = next((role for role, names in _ROLE_WORDS if said & names), "text")
    return Parameter(name, role, required, kind)


def _type_of(spec: Mapping[str, Any]) -> str:
    """The first type that is not null, also of alternatives; a parameter that says nothing takes text."""
    branches = [branch for key in ("anyOf", "oneOf") for branch in _list(spec.get(key)) if isinstance(branch, Mapping)]
    for kinds in (spec.get("type"), *(branch.get("type") for branch in branches)):
        for kind in _list(kinds) or [kinds]:
            if isinstance(kind, str) and kind != "null":
                return kind
    return "string"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def fill(schema: Mapping[str, Any], tool_name: str, description: str, clues: Clues) -> Filled:
    parameters = parameters_of(schema)
    arguments = _written(parameters, clues)
    written = clues.json is not None
    unused = 0
    if not written:
        given = len(arguments)
        filling = _Filling(parameters, arguments, clues, tool_name)
        filling.run()
        unused = filling.unused(description)
        written = bool(given) and given == len(arguments)
    missing = tuple(p.name for p in parameters if p.required and p.name not in arguments)
    roles = frozenset(p.role for p in parameters if p.name in arguments)
    return Filled(arguments, missing, written, roles, unused)


def _written(parameters: list[Parameter], clues: Clues) -> dict[str, Any]:
    if clues.json is not None:
        return dict(clues.json)
    arguments: dict[str, Any] = {}
    for parameter in parameters:
        key = parameter.name.lower().replace("-", "_")
        value = coerced(clues.pairs[key], parameter) if key in clues.pairs else None
        if value is not None:
            arguments[parameter.name] = value
    return arguments


def coerced(value: Any, parameter: Parameter) -> Any:
    """`value` as the type a parameter asks for; None when it cannot be."""
    if parameter.choices:
        return next((choice for choice in parameter.choices if str(choice).casefold() == str(value).casefold()), None)
    if not isinstance(value, str):
        return value
    match parameter.type:
        case "integer" | "number":
            try:
                return int(value) if parameter.type == "integer" or value.lstrip("+-").isdigit() else float(value)
            except ValueError:
                return None
        case "boolean":
            folded = value.casefold()
            return True if folded in _TRUE else False if folded in _FALSE else None
        case "array":
            return [piece.strip() for piece in value.split(",") if piece.strip()]
        case "object":
            return None
        case _:
            return value


class _Filling:
    """One tool's parameters being filled from one sentence; each clue is used once."""

    def __init__(self, parameters: list[Parameter], arguments: dict[str, Any], clues: Clues, tool_name: str) -> None:
        self._parameters = parameters
        self._arguments = arguments
        self._clues = clues
        named = frozenset(words(tool_name))
        self._acts = named.union(*(SYNONYMS.get(word, frozenset()) for word in named))
        self._rest_used = False
        self._used: list[Span] = list(clues.here)
        self._quoted = list(clues.quoted)
        self._numbers = list(clues.numbers)

    def run(self) -> None:
        self._range()
        for role, step in (
            ("choice", self._choice),
            ("flag", self._flag),
            ("url", self._url),
            ("number", self._number),
            ("path", self._path),
            ("list", self._list),
        ):
            for parameter in self._open(role):
                step(parameter)
        self._texts()

    def unused(self, description: str) -> int:
        """Quotations and telling words that went into no argument: not verbs, and nothing the tool itself is about."""
        said = [] if self._rest_used else query_words(without(self._clues.plain, tuple(self._used)))
        known = self._acts | _FILLER_STEMS | SYNONYMS.keys() | set(words(description[:DESCRIPTION_CHARACTERS]))
        return len(self._quoted) + sum(word not in known for word in said)

    def _open(self, *roles: str) -> list[Parameter]:
        return [p for p in self._parameters if p.role in roles and p.name not in self._arguments]

    def _set(self, parameter: Parameter, value: Any, *spans: Span) -> None:
        self._arguments[parameter.name] = value
        self._used += spans

    def _choice(self, parameter: Parameter) -> None:
        said = self._clues.plain.casefold()
        for choice in parameter.choices:
            match = re.search(rf"(?<!\w){re.escape(str(choice).casefold())}(?!\w)", said) if str(choice) else None
            if match is not None:
                self._set(parameter, choice, Span(match[0], match.start(), match.end()))
                return

    def _flag(self, parameter: Parameter) -> None:
        pattern = r"[\s_-]+".join(re.escape(word) for word in re.split(r"[_\s-]+", parameter.name) if word)
        match = re.search(rf"\b{pattern}\b", self._clues.plain, re.IGNORECASE) if pattern else None
        if match is not None:
            self._set(parameter, True, Span(match[0], match.start(), match.end()))

    def _url(self, parameter: Parameter) -> None:
        spans = [span for span in self._clues.urls if span not in self._used]
        if spans:
            self._set(parameter, spans[0].value, spans[0])
            return
        bare = [span for span in domains(self._clues.plain) if span not in self._used]
        if bare and parameter.required:
            self._set(parameter, f"https://{bare[0].value}", bare[0])

    def _range(self) -> None:
        match = _LINES.search(self._clues.plain[:CLUE_CHARACTERS])
        open_numbers = {parameter.name: parameter for parameter in self._open("number")}
        if match is None or not {"offset", "limit"} <= open_numbers.keys():
            return
        first, last = int(match[1]), int(match[2])
        self._set(open_numbers["offset"], first, Span(match[0], match.start(), match.end()))
        self._set(open_numbers["limit"], max(last - first + 1, 1))
        self._numbers = [span for span in self._numbers if not match.start() <= span.start < match.end()]

    def _number(self, parameter: Parameter) -> None:
        """A number next to the parameter's name; for a count, "first N"; else, when it must be there, the next one in order."""
        plain = self._clues.plain[:CLUE_CHARACTERS]
        named = set(words(parameter.name))
        for span in self._numbers:
            near = (
                words(plain[max(0, span.start - NEAR) : span.start])[-1:] + words(plain[span.end : span.end + NEAR])[:1]
            )
            counted = named & _COUNTS and any(match.start(1) == span.start for match in _FIRST.finditer(plain))
            if counted or named & set(near):
                self._take_number(parameter, span)
                return
        if parameter.required and self._numbers:
            self._take_number(parameter, self._numbers[0])

    def _take_number(self, parameter: Parameter, span: Span) -> None:
        value = coerced(span.value, parameter)
        if value is not None:
            self._numbers.remove(span)
            self._set(parameter, value, span)

    def _path(self, parameter: Parameter) -> None:
        target = self._clues.target
        if target is not None and target.span not in self._used:
            # "find README.md": with nothing else to search for, the file name is what is searched.
            sought = any(p.required for p in self._open("pattern", "text"))
            if not sought or self._quoted or target.kind == "folder" or self._rest("pattern", target.span):
                self._set(parameter, target.span.value, target.span)
                self._quoted = [span for span in self._quoted if span != target.span]
            return
        if self._quoted and parameter.required:
            self._set(parameter, self._quoted[0].value, self._quoted.pop(0))
            return
        word = self._rest("path")
        alone = len(word.split()) == 1 and not any(p.required for p in self._open("pattern", "text"))
        if alone and self._directly_named(word):
            self._set(parameter, word)
            self._rest_used = True

    def _directly_named(self, word: str) -> bool:
        """`ls docs`, `read the notes`: the word stands right behind the act and ends the sentence."""
        said = _TAIL.sub("", _LEAD.sub("", self._clues.plain)).split()
        said = [piece for piece in said if piece.casefold() not in {"the", "file"}]
        return len(said) == 2 and said[1].strip("?!.,;") == word and not self._acts.isdisjoint(words(said[0]))

    def _list(self, parameter: Parameter) -> None:
        if parameter.required and self._quoted:
            spans = tuple(self._quoted)
            self._quoted.clear()
            self._set(parameter, [span.value for span in spans], *spans)

    def _texts(self) -> None:
        waiting = [p for p in self._open("pattern", "text") if p.required]
        for parameter in waiting:
            if self._quoted:
                span = self._quoted.pop(0)
                self._set(parameter, span.value, span)
        waiting = [p for p in waiting if p.name not in self._arguments]
        if len(waiting) == 1:
            rest = self._rest(waiting[0].role)
            if rest:
                self._set(waiting[0], rest)
                self._rest_used = True

    def _rest(self, role: Role, *more: Span) -> str:
        """What the sentence says beyond its courtesies, its verb and the clues already used."""
        plain = without(self._clues.plain, (*self._used, *more))
        plain = _COUNTED.sub(" ", plain) if not self._numbers else plain
        said = _TAIL.sub("", _LEAD.sub("", plain)).split()
        kept = [word for word in said[self._opening(said, role) :] if role == "text" or not _SWITCH.fullmatch(word)]
        while kept and kept[-1].strip("?!.,;").casefold() in _LAST_WORDS:
            kept.pop()
        return " ".join(kept).strip(" \t\n?!.,;:")

    def _opening(self, said: list[str], role: Role) -> int:
        """How many words come before the object. A free text keeps its own small words: "echo the end" says "the end"."""
        acts = self._acts
        start = last_act = 0
        while start < len(said) and all(word in acts or word in _FILLER_STEMS for word in words(said[start])):
            start += 1
            if not acts.isdisjoint(words(said[start - 1])):
                last_act = start
        if role != "text" or not last_act:
            return start
        while last_act < start and said[last_act].casefold() in _CONNECTORS:
            last_act += 1
        return last_act

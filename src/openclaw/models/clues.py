"""What a sentence points at: a JSON object, `key=value` pairs, quoted strings, addresses, numbers, and the file or folder meant.

Pure and linear. Knows nothing of tools: `models/arguments.py` holds these clues against a tool's schema.
"""

import json
import re
from typing import Any, Literal

import msgspec

# A typed request fits many times; a pasted page is not searched for paths and quotations to its end.
CLUE_CHARACTERS = 4_000
# Braces that are tried as the start of a JSON object: prose and code have many that are not.
JSON_STARTS = 16

TargetKind = Literal["file", "folder", "unknown"]

_URL = re.compile(r"\b(?:https?|ftp|file|wss?)://[^\s<>\"'`]+", re.IGNORECASE)
_DOMAIN = re.compile(
    r"(?<![\w@./-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:com|org|net|edu|gov|io|dev|app|ai|co|info|eu|uk|de|fr|nl|ch)"
    r"(?::\d+)?(?:/[^\s<>\"'`]*)?(?![\w-])",
    re.IGNORECASE,
)
# An apostrophe opens a quotation only where a word could start, and closes one only where a word ends.
_QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|`([^`]+)`|(?<![\w'])'([^']+(?:'\w[^']*)*)'(?!\w)|(?<!\w)‘([^’]+)’(?!\w)"
)
_PAIR = re.compile(r"(?<![\w?&/.:-])(?:--)?([A-Za-z_][\w-]*)(?:\s?[=:]\s?|(?<=\w)\s)(?=\S)")
_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?![\w]|\.\d)")
_TRAILING = ".,;:!?)]}"
_EXTENSION = re.compile(r"[^\s/\\]*\.[A-Za-z][A-Za-z0-9_+-]{0,9}")
_SEPARATED = re.compile(r"[\w.@+~-]+(?:[/\\][\w.@+~*-]*)+")
# Dates, fractions and alternatives have slashes too.
_FRACTION = re.compile(r"[\d/]+|and/or|either/or|yes/no|he/she|s/he")
_KNOWN_FILES = frozenset(
    {"makefile", "dockerfile", "license", "licence", "readme", "changelog", "contributing", "gemfile", "procfile"}
    | {"authors", "notice", "jenkinsfile", "rakefile", "vagrantfile", "justfile", "codeowners"}
)
# Dots that end abbreviations, not file names.
_NOT_FILES = frozenset({"e.g", "i.e", "etc", "vs", "a.m", "p.m", "u.s"})
_ARTICLE = r"(?:(?:the|my|our|your|this|that|a)\s+)*"
_FOLDER = r"(?:folder|directory|dir|subfolder|subdirectory)"
# The end of the sentence, give or take a courtesy. Possessive: it cannot go back over what it has read.
_END = r"(?=[\s?.!,;]*+(?:please|for me|thanks|thank you|now|too)?[\s?.!,;]*+$)"
_HERE = re.compile(
    rf"\b(?:(?:in|inside|of|from|at|under)\s+)?(?:here|(?:the|this|my|our)\s+(?:current\s+|working\s+)?(?:{_FOLDER}|workspace|project"
    rf"|repo|repository|codebase|code)|(?:the\s+)?(?:current|working)\s+{_FOLDER})(?:{_END}|(?=\s+for\s))",
    re.IGNORECASE,
)
_PARENT = re.compile(rf"\b(?:(?:in|inside|of|from)\s+)?(?:the\s+)?parent\s+{_FOLDER}\b", re.IGNORECASE)
_NAMED_FOLDER = re.compile(
    rf"(?:\b(?:in|inside|of|from|under|within)\s+)?{_ARTICLE}(?<![\w./~-])(?P<name>[\w./~-]++)\s+{_FOLDER}\b",
    re.IGNORECASE,
)
_FOLDER_NAMED = re.compile(rf"\b{_FOLDER}\s+(?:named\s+|called\s+)?(?P<name>[\w./~-]+)", re.IGNORECASE)
_PLACE = re.compile(
    rf"\b(?:in|inside|within|under|from|of|through|across|into)\s+{_ARTICLE}(?:file\s+)?(?P<name>[\w./~@+-]+)(?:\s+files?)?{_END}",
    re.IGNORECASE,
)
_SEARCHED = re.compile(
    rf"\b(?:search|grep|scan|look|check)\s+(?:in\s+|through\s+|inside\s+)?{_ARTICLE}(?P<name>[\w./~@+-]+)\s+for\s",
    re.IGNORECASE,
)
_NO_NAMES = (
    "the this that a an my our your current working each every which what any all some no me it them there here new same "
    "parent whole entire file files folder folders directory directories for in of with and or to by are is please "
    "project workspace repo repository code codebase everything list show open search find ls what's whats "
    "web internet net online google life"
)
_NOT_NAMES = frozenset(_NO_NAMES.split())


class Span(msgspec.Struct, frozen=True):
    """A piece of the sentence: its value and where it stands, so that it can be taken out of the rest."""

    value: str
    start: int
    end: int


class PathTarget(msgspec.Struct, frozen=True):
    """The file or folder a sentence is about. `placed` when it stands in a clause of its own ("in docs", "the src folder")."""

    span: Span
    kind: TargetKind
    placed: bool


class Clues(msgspec.Struct, frozen=True):
    text: str
    json: dict[str, Any] | None
    pairs: dict[str, Any]
    # The text that JSON, pairs, addresses and quotations leave, blanked out in place.
    plain: str
    urls: tuple[Span, ...]
    quoted: tuple[Span, ...]
    numbers: tuple[Span, ...]
    target: PathTarget | None
    # "here", "in the current directory": words to take out, that name no path.
    here: tuple[Span, ...]


def read_clues(text: str) -> Clues:
    found_json, plain = _take_json(text)
    pairs, plain = _take_pairs(plain)
    urls = tuple(
        Span(match[0].rstrip(_TRAILING), match.start(), match.end())
        for match in _URL.finditer(plain, 0, CLUE_CHARACTERS)
    )
    plain = without(plain, urls)
    quoted = tuple(
        Span(next(group for group in match.groups() if group is not None), match.start(), match.end())
        for match in _QUOTED.finditer(plain, 0, CLUE_CHARACTERS)
    )
    plain = without(plain, quoted)
    start = plain[:CLUE_CHARACTERS]
    here = tuple(_span(match, match[0]) for match in _HERE.finditer(start))
    target = _target(without(start, here), quoted)
    numbers = tuple(_span(match, match[0]) for match in _NUMBER.finditer(start))
    return Clues(text, found_json, pairs, plain, urls, quoted, numbers, target, here)


def domains(plain: str) -> tuple[Span, ...]:
    """Host names without a scheme ("example.com/docs"): an address only for a tool that wants one, else a file name."""
    return tuple(_span(match, match[0].rstrip(_TRAILING)) for match in _DOMAIN.finditer(plain))


def without(text: str, spans: tuple[Span, ...]) -> str:
    """`text` with these pieces blanked out, so that every other piece keeps its place."""
    pieces: list[str] = []
    end = 0
    for span in sorted(spans, key=lambda span: span.start):
        pieces += (text[end : span.start], " " * (span.end - max(span.start, end)))
        end = max(end, span.end)
    return "".join([*pieces, text[end:]])


def _span(match: re.Match[str], value: str) -> Span:
    return Span(value, match.start(), match.start() + len(value))


def _take_json(text: str) -> tuple[dict[str, Any] | None, str]:
    """The first JSON object in the text that is not the value of a pair, and the text without it."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    for _ in range(JSON_STARTS):
        if start < 0:
            break
        try:
            if start and text[start - 1] == "=":
                raise ValueError("the value of a pair")
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(value, dict):
            return value, without(text, (Span("", start, end),))
        break
    return None, text


def _take_pairs(text: str) -> tuple[dict[str, Any], str]:
    """`key=value`, `key: value` and `--key value`; values may be quoted, or JSON. `key value` without dashes is prose."""
    pairs: dict[str, Any] = {}
    taken: list[Span] = []
    end = 0
    for match in _PAIR.finditer(text):
        dashed = match[0].startswith("--")
        assigned = match[0].rstrip()[-1] in "=:"
        if match.start() < end or not (dashed or assigned):
            continue
        value, stop = _value_at(text, match.end())
        # "note: this is prose" is a pair only when a tool has such a parameter; only `=` and `--` are taken out of the rest.
        pairs.setdefault(match[1].lower().replace("-", "_"), value)
        if dashed or "=" in match[0]:
            taken.append(Span("", match.start(), stop))
            end = stop
    return pairs, without(text, tuple(taken))


def _value_at(text: str, start: int) -> tuple[Any, int]:
    mark = text[start]
    if mark in "\"'":
        close = text.find(mark, start + 1)
        if close > 0:
            return text[start + 1 : close], close + 1
    if mark in "[{":
        try:
            return json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
    word = _WORD.match(text, start)
    return (word[0].rstrip(",;"), word.end()) if word else ("", start)


def _target(plain: str, quoted: tuple[Span, ...]) -> PathTarget | None:
    """The clearest sign wins: a quoted path, a named folder, a word that looks like a path, then the last "in …"."""
    for span in quoted:
        if looks_like_path(span.value):
            placed = bool(re.search(r"\b(?:in|inside|of|from|under|within)\s+$", plain[: span.start], re.IGNORECASE))
            return PathTarget(span, kind_of(span.value), placed)
    parent = _PARENT.search(plain)
    if parent is not None:
        return PathTarget(Span("..", parent.start(), parent.end()), "folder", placed=True)
    for pattern in (_NAMED_FOLDER, _FOLDER_NAMED):
        for match in pattern.finditer(plain):
            if _is_name(match["name"]):
                return PathTarget(Span(match["name"], match.start(), match.end()), "folder", placed=True)
    for pattern in (_PLACE, _SEARCHED):
        places = [match for match in pattern.finditer(plain) if _is_name(match["name"])]
        if places:
            match = places[-1]
            name = match["name"].rstrip(_TRAILING) or match["name"]
            return PathTarget(Span(name, match.start(), match.end("name")), kind_of(name), placed=True)
    return _path_word(plain)


def _path_word(plain: str) -> PathTarget | None:
    """The last word that can only be a path, with "in" or "of" before it when they are there."""
    found: PathTarget | None = None
    for match in re.finditer(r"(?:\b(?P<place>in|inside|within|under|from|of|through|into)\s+)?(?P<name>\S+)", plain):
        name = match["name"].strip("(<[").rstrip(_TRAILING) or match["name"]
        if looks_like_path(name):
            start = match.start() if match["place"] else plain.index(name, match.start("name"))
            end = plain.index(name, match.start("name")) + len(name)
            found = PathTarget(Span(name, start, end), kind_of(name), placed=bool(match["place"]))
    return found


def _is_name(word: str) -> bool:
    return word.casefold().rstrip(_TRAILING) not in _NOT_NAMES and not word.isdigit()


def looks_like_path(word: str) -> bool:
    """Whether a word can only be a file or folder: a separator, an extension, a leading dot or tilde, or a well-known name."""
    if not word or any(character.isspace() for character in word):
        return False
    if word in {".", "..", "~"} or word.startswith(("./", "../", "~/", "/", ".\\")):
        return True
    if "/" in word or "\\" in word:
        return bool(_SEPARATED.fullmatch(word)) and not _FRACTION.fullmatch(word.casefold())
    if word.casefold() in _KNOWN_FILES:
        return not word.islower() or word.casefold().endswith("file")
    if word.casefold().rstrip(".") in _NOT_FILES:
        return False
    return bool(_EXTENSION.fullmatch(word)) and not word.endswith("...")


def kind_of(path: str) -> TargetKind:
    """What a path most likely names, by its looks alone."""
    last = re.split(r"[/\\]", path)[-1]
    if last in {"", ".", "..", "~"}:
        return "folder"
    if last.casefold() in _KNOWN_FILES or _EXTENSION.fullmatch(last):
        return "file"
    return "unknown"

"""Which values of a call came from text that neither the person nor we wrote. Pure.

A value is foreign when it stands in foreign text of its conversation and not in what the person wrote: whole (up to 200 characters), or as
a telling part of a longer one: an address, a file name, a number, an IBAN. A number of up to three digits is theirs only where they wrote
of what it is one: `file 13` for an argument `file_id`. Compared without case, invisible characters and kinds of blank,
and as escapes and entities read. Where not all foreign text is kept, every value counts that the person did not write. Much text takes its
time: whoever has some looks in a thread, which this module allows.

What was paraphrased or encoded on the way is not found: that is said in docs/explain/what-is-untrusted.md. What follows from a foreign
value is security/approval.py's to say.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from openclaw.conversation import MEDIA, ForeignSources
from openclaw.security.external import clean_label
from openclaw.security.risk import leaves
from openclaw.security.unframe import without_frames

# A longer value is a text of its own: its telling parts count, not the whole.
MOST_VALUE = 200
# A shorter value is found as a word of its own, not within one: two letters stand in every text.
_WHOLE_WORD_BELOW = 4
# Shorter parts tell nothing.
_LEAST_PART = 4
# Values and parts of one call that are looked for, and characters that are gone through for all of them: less than a second. Who sends
# more has the rest counted as foreign.
_MOST_SEARCHES = 1_000
_MOST_GONE_THROUGH = 500_000_000
# Places within longer words at which a value is found before it counts as standing there by itself: a text of nothing else would take
# minutes.
_MOST_WITHIN_WORDS = 1_000

_SOURCES = {"mcp": "server", "plugin": "plugin", "web": "the page at", "file": "the kept result"}
# Of a source, as it is shown.
_LONGEST_NAME = 100

_CHUNK = re.compile(r"[^\s\"'`<>()\[\]{}|,;]+")
_NUMBER = re.compile(r"\d{4,}")
_EDGES = ".:!?*_~-=&#/\\"
# An address, a file name, an identifier, a number with its marks.
_TELLING = re.compile(r"[@/\\]|\d|[^\W_]\.[^\W_]|_")
_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrtbf])|([\"/\\']))")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


def source_text(source: str) -> str:
    """A foreign source, as people are told of it: `mcp:files` is `server files`."""
    if source.startswith(MEDIA):
        return f"a picture or recording of {source_text(source.removeprefix(MEDIA))}"
    kind, mark, name = source.partition(":")
    word = _SOURCES.get(kind) if mark else None
    return f"{word} {clean_label(name, _LONGEST_NAME)}" if word else clean_label(source, _LONGEST_NAME)


def foreign_values(arguments: Mapping[str, Any], foreign: ForeignSources, written: Sequence[str]) -> Mapping[str, str]:
    """The arguments with a foreign value in them, each with the source it came from."""
    if not foreign:
        return {}
    own = _Own(written)
    index = _index_of(foreign)
    found: dict[str, str] = {}
    left = _Left(index.length + own.length)
    for name, argument in arguments.items():
        for text in _texts_of(name, argument):
            if source := index.source_of(text, own, name, left):
                found[name] = source
                break
    return found


def written_hosts(hosts: Iterable[str], written: Sequence[str]) -> frozenset[str]:
    """Those of `hosts` that the person wrote, as a host and not as a part of another one or of a mail address."""
    own = [normal(text) for text in written]
    return frozenset(
        host
        for host in hosts
        if any(re.search(rf"(?<![\w.@-]){re.escape(host)}(?![\w-]|\.\w)", text) is not None for text in own)
    )


def normal(text: str) -> str:
    """A text for comparing: case, kinds of blank, wide forms and invisible characters make no difference."""
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(text.casefold().split())


class _Left:
    """How much of one call may still be looked for, where each search goes through `length` characters."""

    def __init__(self, length: int) -> None:
        self._searches = min(_MOST_SEARCHES, _MOST_GONE_THROUGH // max(length, 1))

    def take(self) -> bool:
        """Whether there may be one more search. It counts."""
        self._searches -= 1
        return self._searches >= 0


class _Own:
    """What the person wrote, to look values up in."""

    def __init__(self, written: Sequence[str]) -> None:
        self._texts = [normal(text) for text in written]
        self.length = sum(map(len, self._texts))

    def has(self, value: str) -> bool:
        return any(_has_word(text, value, in_doubt=False) for text in self._texts)

    def names(self, value: str, argument: str) -> bool:
        """Whether they wrote it, and meant this. Who wrote of June 13 did not choose file 13: a short number needs its word before it."""
        if not (value.isdigit() and len(value) < _WHOLE_WORD_BELOW):
            return self.has(value)
        words = {word.casefold() for word in _NAME_WORDS.findall(argument)}
        before = (re.findall(rf"(?<![^\W\d_])([^\W\d_]+)[\W_]{{1,3}}{value}(?!\w)", text) for text in self._texts)
        return any(word in words for found in before for word in found)


class _Index:
    """The foreign texts of one conversation, ready to be searched. Grows as they do, in one thread at a time."""

    def __init__(self) -> None:
        self._growing = Lock()
        self.length = 0
        self._texts: list[tuple[str, str]] = []
        self._read = 0
        self._last = ""
        self._is_whole = True

    def read(self, foreign: ForeignSources) -> None:
        """Take in what has been added since."""
        with self._growing:
            self._take_in(foreign)

    def _take_in(self, foreign: ForeignSources) -> None:
        texts, sources = tuple(foreign.texts), list(foreign)
        silent = set(sources) - {source for source, _ in texts}
        # Of a source without a text (a picture, a conversation of before) nobody knows what it said.
        self._is_whole = foreign.is_whole and not silent
        self._last = next(iter(silent), "") or sources[-1]
        if not self._is_whole:
            # Nothing is searched for.
            return
        for source, text in texts[self._read :]:
            # The words of a frame are ours.
            for form in _forms(without_frames(text)):
                self._texts.append((source, normal(form)))
                self.length += len(form)
        self._read = len(texts)

    def source_of(self, text: str, own: _Own, name: str, left: _Left) -> str:
        """Where a value came from; empty when it is not foreign. When nothing is `left` to search with, it counts unless the person wrote
        it."""
        value = normal(text)
        if not value:
            return ""
        if not self._is_whole or not left.take():
            return "" if own.has(value) else self._last
        if len(value) <= MOST_VALUE and (source := self._source_where(_has, value)) and not own.names(value, name):
            return source
        for part in _parts(value):
            if own.has(part):
                continue
            if not left.take():
                return self._last
            if source := self._source_where(_has_word, part):
                return source
        return ""

    def _source_where(self, has: Callable[[str, str], bool], value: str) -> str:
        return next((source for source, text in self._texts if has(text, value)), "")


_indexes: WeakKeyDictionary[ForeignSources, _Index] = WeakKeyDictionary()


def _index_of(foreign: ForeignSources) -> _Index:
    index = _indexes.get(foreign)
    if index is None:
        index = _indexes[foreign] = _Index()
    index.read(foreign)
    return index


def _texts_of(name: str, argument: Any) -> Iterable[str]:
    """Every text and number in an argument, the names within it included: a model chose those too. Switches say nothing."""
    for _, value in leaves({name: argument}):
        if isinstance(value, str):
            yield value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{value:g}" if isinstance(value, float) and value.is_integer() and abs(value) < 1e6 else str(value)
    if isinstance(argument, Mapping | list):
        yield from _keys(argument)


def _keys(argument: Any) -> Iterable[str]:
    waiting = [argument]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from map(str, value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _has(text: str, value: str) -> bool:
    return _has_word(text, value) if len(value) < _WHOLE_WORD_BELOW else value in text


def _has_word(text: str, value: str, *, in_doubt: bool = True) -> bool:
    """Whether the value stands in the text with no letter or digit right before or behind it. `in_doubt` is the answer where it stands
    within so many longer words that nobody looks further."""
    start = text.find(value)
    for _ in range(_MOST_WITHIN_WORDS):
        if start < 0:
            return False
        end = start + len(value)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (before.isalnum() and value[0].isalnum()) and not (after.isalnum() and value[-1].isalnum()):
            return True
        start = text.find(value, start + 1)
    return in_doubt


def _parts(value: str) -> Iterator[str]:
    """The telling parts of a text in normal form, each once."""
    found: set[str] = set()
    for chunk in _CHUNK.finditer(value):
        if not _TELLING.search(chunk.group()):
            continue
        part = chunk.group().strip(_EDGES)
        pieces = (one for one in re.split(r"[=:/?&#]+", part) if _TELLING.search(one))
        for one in (part, *_NUMBER.findall(part), *pieces):
            if len(one) >= _LEAST_PART and one not in found:
                found.add(one)
                yield one


def _forms(text: str) -> Iterable[str]:
    """A text as it stands, and as it reads once its escapes and entities are resolved: a model resolves them."""
    yield text
    if "\\" in text:
        yield _ESCAPE.sub(_unescaped, text)
    if "&" in text:
        from html import unescape

        if (plain := unescape(text)) != text:
            yield plain


def _unescaped(match: re.Match[str]) -> str:
    code, blank, mark = match.groups()
    return chr(int(code, 16)) if code else " " if blank else mark

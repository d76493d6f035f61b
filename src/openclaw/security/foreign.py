"""Which values of a call came from text that neither the person nor we wrote. Pure.

A value is foreign when it stands in foreign text of its conversation and not in what the person wrote: whole (up to 200 characters), or as
a telling part of a longer one: an address, a file name, a number, an IBAN. A number of up to three digits is theirs only where they wrote
of what it is one: `file 13` for an argument `file_id`. Compared without case, invisible characters and kinds of blank, and as escapes and
entities read; accounts and long numbers however they are grouped. Where not all foreign text is kept, every value counts that the person
did not write. Of a call that code makes (`tools/code/`) every value counts that neither the person wrote nor the code says in so many
words: code may have put it together from what it read. Much text takes its time: this module says so
(`takes_long`), and allows to look in a thread.

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
from openclaw.late_pattern import late_pattern
from openclaw.security.external import clean_label
from openclaw.security.risk import leaves
from openclaw.security.unframe import without_frames

# A longer value is a text of its own: its telling parts count, not the whole.
MOST_VALUE = 200
# A shorter value is found as a word of its own, not within one: two letters stand in every text.
_WHOLE_WORD_BELOW = 4
# Shorter parts tell nothing.
_LEAST_PART = 4
# Values and parts of one call that are looked for, and characters that are gone through for all of them: less than a second. What is
# beyond that counts as foreign.
_MOST_SEARCHES = 1_000
_MOST_GONE_THROUGH = 500_000_000
# Places within longer words at which a value is found before it counts as standing there by itself: a text of nothing else would take
# minutes.
_MOST_WITHIN_WORDS = 1_000

# Characters of new text that are made ready to be searched, and characters that are gone through, in some milliseconds.
_TAKEN_IN_AT_ONCE = 100_000
_GONE_THROUGH_AT_ONCE = 10_000_000
# Of a value, one search for each so many characters: more than its telling parts need.
_CHARACTERS_A_SEARCH = 16
# Texts are searched in blocks of so many characters: most values stand in none of them, and are not looked for in each text then.
_BLOCK = 16_384
# Between the texts of a block. Stands in no text in normal form, and in no value.
_BETWEEN = "\n"

_SOURCES = {
    "mcp": "server",
    "plugin": "plugin",
    "web": "the page at",
    "program": "the program",
    "file": "the kept result",
    "code": "code that had read text of",
}
# Of a source, as it is shown.
_LONGEST_NAME = 100
# Of a value that may be written in groups (DE89 3704 0044, 1,000,000): so many digits, and no more characters.
_LEAST_DIGITS, _MOST_IN_GROUPS = 6, 64
# What joins two numbers of one list.
_JOINS = frozenset({"and", "or"})

_CHUNK = late_pattern(r"[^\s\"'`<>()\[\]{}|,;]+")
_NUMBER = re.compile(r"\d{4,}")
_EDGES = ".:!?*_~-=&#/\\"
# An address, a file name, an identifier, a number with its marks.
_TELLING = re.compile(r"[@/\\]|\d|[^\W_]\.[^\W_]|_")
_DIGIT = re.compile(r"\d")
_MARKS = re.compile(r"[\W_]+")
_WORD_OR_NUMBER = late_pattern(r"[^\W\d_]+|\d+")
# Between a number and the word that says what it is one of: no end of a sentence.
_NEAR = late_pattern(r"[^\w.;!?]{1,3}|_")
_NAME_WORDS = late_pattern(r"[A-Z]?[a-z]+|[A-Z]+")
_ESCAPE = late_pattern(r"\\(?:u([0-9a-fA-F]{4})|([nrtbf])|([\"/\\']))")
_INVISIBLE = late_pattern("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


def source_text(source: str) -> str:
    """A foreign source, as people are told of it: `mcp:files` is `server files`."""
    if source.startswith(MEDIA):
        return f"a picture or recording of {source_text(source.removeprefix(MEDIA))}"
    kind, mark, name = source.partition(":")
    word = _SOURCES.get(kind) if mark else None
    return f"{word} {clean_label(name, _LONGEST_NAME)}" if word else clean_label(source, _LONGEST_NAME)


def foreign_values(
    arguments: Mapping[str, Any], foreign: ForeignSources, written: Sequence[str], code: str = ""
) -> Mapping[str, str]:
    """The arguments with a foreign value in them, each with the source it came from. `code` is the program that makes the call, if one
    does."""
    if not foreign:
        return {}
    own = _Own(written)
    index = _index_of(foreign)
    found: dict[str, str] = {}
    left = _Left(index.length + own.length)
    spelled = normal(code)
    for name, argument in arguments.items():
        for text in _texts_of(name, argument):
            if source := _made(normal(text), spelled, own, name, index) or index.source_of(text, own, name, left):
                found[name] = source
                break
    return found


def takes_long(arguments: Mapping[str, Any], foreign: ForeignSources, written: Sequence[str]) -> bool:
    """Whether everybody else would wait while `foreign_values` looks. Does not take long itself where the arguments have few values
    (`risk.has_many_values`)."""
    index = _indexes.get(foreign)
    if foreign.length - (index.taken_in if index is not None else 0) > _TAKEN_IN_AT_ONCE:
        return True
    searches = sum(
        1 + len(value) // _CHARACTERS_A_SEARCH if isinstance(value, str) else 1 for _, value in leaves(arguments)
    )
    return searches * (foreign.length + sum(map(len, written))) > _GONE_THROUGH_AT_ONCE


def _made(value: str, code: str, own: "_Own", name: str, index: "_Index") -> str:
    """Where a value came from that code put together; empty when it did not, or no code makes the call."""
    if not value or not code or _has(code, value) or own.names(value, name):
        return ""
    return index.last


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
        self._squeezed = [_squeezed(text) for text in self._texts]
        self.length = sum(map(len, self._texts))

    def has(self, value: str) -> bool:
        if any(_has_word(text, value, in_doubt=False) for text in self._texts):
            return True
        return _is_in_groups(value) and any(_squeezed(value) in text for text in self._squeezed)

    def names(self, value: str, argument: str) -> bool:
        """Whether they wrote it, and meant this.

        A number of one to three digits stands in most texts by chance, as a date, a time or a count: who wrote of June 13 did not choose
        file 13. So it needs a word of the argument's name before it, or before the numbers before it: `files 12 and 13`. Where the
        person said it in other words they are asked once more than they need be.
        """
        if not (value.isdigit() and len(value) < _WHOLE_WORD_BELOW):
            return self.has(value)
        words = {_singular(word.casefold()) for word in _NAME_WORDS.findall(argument)}
        return any(_singular(word) in words for text in self._texts for word in _words_before(value, text))


class _Block:
    """Some texts as one, and where that of which source stands in it."""

    def __init__(self) -> None:
        self.joined = ""
        self._places: list[tuple[str, int, int]] = []

    def add(self, source: str, text: str) -> None:
        start = len(self.joined) + len(_BETWEEN)
        self._places.append((source, start, start + len(text)))
        # Last: whoever searches meanwhile and finds a value in there finds its place too.
        self.joined = f"{self.joined}{_BETWEEN}{text}"

    def source_where(self, has: Callable[[str, str], bool], value: str) -> str:
        if value not in self.joined:
            return ""
        return next((source for source, start, end in self._places if has(self.joined[start:end], value)), "")


class _Texts:
    """Texts with their sources, to find values in. Only grows."""

    def __init__(self) -> None:
        self._blocks = [_Block()]

    def add(self, source: str, text: str) -> None:
        if len(self._blocks[-1].joined) > _BLOCK:
            self._blocks.append(_Block())
        self._blocks[-1].add(source, text)

    def source_where(self, has: Callable[[str, str], bool], value: str) -> str:
        """The source of the first text that has the value; empty when none does. `has` is true only of texts that the value stands in."""
        return next((source for block in self._blocks if (source := block.source_where(has, value))), "")


class _Index:
    """The foreign texts of one conversation, ready to be searched. Grows as they do, in one thread at a time.

    `taken_in` is how many characters of what was read are in here, `length` how many are gone through for each value.
    """

    def __init__(self) -> None:
        self._growing = Lock()
        self.length = self.taken_in = 0
        self._texts = _Texts()
        # The same without marks and blanks.
        self._squeezed = _Texts()
        self._read = 0
        # The sources of what was read.
        self._heard: set[str] = set()
        self.last = ""
        self._is_whole = True

    def read(self, foreign: ForeignSources) -> None:
        """Take in what has been added since."""
        with self._growing:
            self._take_in(foreign)

    def _take_in(self, foreign: ForeignSources) -> None:
        sources, fresh = list(foreign), foreign.texts[self._read :]
        self._heard.update(source for source, _ in fresh)
        silent = [source for source in sources if source not in self._heard]
        # Of a source without a text (a picture, a conversation of before) nobody knows what it said.
        self._is_whole = foreign.is_whole and not silent
        self.last = silent[0] if silent else sources[-1]
        if not self._is_whole:
            # Nothing is searched for.
            return
        for source, text in fresh:
            # The words of a frame are ours.
            for form in _forms(without_frames(text)):
                plain = normal(form)
                self._texts.add(source, plain)
                self._squeezed.add(source, _squeezed(plain))
                self.length += len(form)
        self._read += len(fresh)
        self.taken_in += sum(len(text) for _, text in fresh)

    def source_of(self, text: str, own: _Own, name: str, left: _Left) -> str:
        """Where a value came from; empty when it is not foreign. When nothing is `left` to search with, it counts unless the person wrote
        it."""
        value = normal(text)
        if not value:
            return ""
        if not self._is_whole or not left.take():
            return "" if own.names(value, name) else self.last
        if (
            len(value) <= MOST_VALUE
            and (source := self._texts.source_where(_has, value))
            and not own.names(value, name)
        ):
            return source
        for part in _parts(value):
            if own.has(part):
                continue
            if not left.take():
                return self.last
            if source := self._texts.source_where(_has_word, part) or self._source_in_groups(part):
                return source
        return "" if len(value) > MOST_VALUE or own.has(value) else self._source_in_groups(value)

    def _source_in_groups(self, value: str) -> str:
        """The same for an account or a number that is written with other marks and blanks between its groups."""
        if not _is_in_groups(value):
            return ""
        return self._squeezed.source_where(str.__contains__, _squeezed(value))


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


def _is_in_groups(value: str) -> bool:
    """Whether a value may be an account, a telephone number, an amount: what people write in groups."""
    return len(value) <= _MOST_IN_GROUPS and len(_DIGIT.findall(value)) >= _LEAST_DIGITS


def _squeezed(text: str) -> str:
    return _MARKS.sub("", text)


def _singular(word: str) -> str:
    return word.removesuffix("s")


def _words_before(number: str, text: str) -> Iterator[str]:
    """The word before each place of a number; of several numbers in a list, the word before the first."""
    tokens = list(_WORD_OR_NUMBER.finditer(text)) if number in text else []
    for place, token in enumerate(tokens):
        if token.group() != number:
            continue
        while place > 0 and _NEAR.fullmatch(text, tokens[place - 1].end(), token.start()):
            place, token = place - 1, tokens[place - 1]
            word = token.group()
            if not word.isdigit() and word not in _JOINS:
                yield word
                break


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

"""Text to best matching tools, by words alone: the search over many tools, and how the offline model picks one.

Owns how words are cut (camelCase, snake_case, plurals, scripts without spaces), which everyday verbs mean the same, and how a match is
weighed: BM25 over all that is known of a tool in one bag of words, those of its name three times. Also how rankings of several kinds are
joined, for whoever ranks by meaning besides. Pure, no language model.
Decides nothing: whether a score is good enough, and what to call a tool with, is `models/offline.py`.
"""

import heapq
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import log
from typing import Any

import msgspec

# A word of the name counts as often as this many in the rest.
NAME_COUNT = 3
# Of BM25: how soon more of the same word adds nothing, and how much a long text is held against a tool. Measured (docs/benchmarks.md).
SATURATION, LENGTH_SHARE = 1.2, 0.4
# What a synonym counts for the offline model: it says nearly the same, but the word itself is the better sign.
SYNONYM_WEIGHT = 0.6
# Enough of each text to tell what a tool does; the rest is usage notes, and an attacker's room.
DESCRIPTION_CHARACTERS, PARAMETER_CHARACTERS, SERVER_CHARACTERS = 1_000, 2_000, 300
# Values of one enumeration that are read, and schemas within schemas that are gone through.
ENUM_VALUES, SCHEMA_DEPTH = 20, 8
# Of reciprocal rank fusion: the usual constant, by which the first places of a ranking do not outweigh all others.
FUSION = 60
# Words of a question that are looked at: a pasted page must not cost more than a question.
QUERY_WORDS = 200
# In an index this big, a word that half of all tools use tells nothing and costs a walk over all of them.
LARGE_INDEX = 1_000
# Stems kept in memory: a vocabulary of this size covers the descriptions of any tool list.
STEM_CACHE = 65_536

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
# Chinese, Japanese kana, Korean, Thai: words stand without spaces, so pairs of characters are compared.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")

# Words that every sentence has, and what is left of "what's" and "I'd" when they are cut.
_STOP_WORDS = (
    "a an and any are as at be by can could do does for from give has have hello hi how i if in into is it its let like "
    "me my of on or our out please so some tell than thank thanks that the their them then there these they this those "
    "to us want was we were what when which who will with would you your s t re ve ll d m"
)

# Everyday words for the same act, the names of common tools among them.
_GROUPS = (
    "read show print open cat view display content inside see dump type head tail output",
    # To open, show or look inside means either: what is named (a file, a folder) tells them apart, not the verb.
    "list ls dir directory folder file entry enumerate tree show display content inside",
    "search find grep locate lookup query match occurrence mention contain where seek rg",
    "write create save make put store compose",
    "edit change replace modify update substitute rename patch",
    "exec execute run launch start command shell bash terminal spawn",
    "fetch download get retrieve browse visit web url link website page http https site curl",
    "delete remove erase drop destroy rm",
    "send post publish submit message mail email",
    "add sum plus total",
)

# Two words that mean one act; what they become. Words are stemmed.
_PHRASES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("look", "for"): ("search",),
    ("look", "at"): ("read",),
    ("look", "up"): ("search",),
    ("what", "in"): ("insid",),
    ("s", "in"): ("insid",),
    ("is", "in"): ("insid",),
}


@lru_cache(maxsize=STEM_CACHE)
def stem(word: str) -> str:
    """A light stem: `files` and `file`, `searching` and `search`, `directories` and `directory` become one."""
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def words(text: str) -> list[str]:
    """The words of `text`, cut and stemmed, in order."""
    spaced = _CAMEL.sub(" ", text if text.isascii() else unicodedata.normalize("NFKC", text))
    found: list[str] = []
    for word in _WORD.findall(spaced.casefold()):
        if word.isascii():
            # A number is its own stem, and there are too many to remember.
            found.append(word if word.isdigit() else stem(word))
        else:
            found += _pieces(word)
    return found


def _pieces(word: str) -> list[str]:
    """A word with characters outside ASCII; runs of an unspaced script become overlapping pairs."""
    pieces: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            pieces.append(stem(word[end : run.start()]))
        characters = run[0]
        pieces += [first + second for first, second in pairwise(characters)] or [characters]
        end = run.end()
    if end < len(word):
        pieces.append(stem(word[end:]))
    return pieces


def _synonyms() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for group in _GROUPS:
        stems = frozenset(stem(word) for word in group.split())
        for word in stems:
            table[word] = table.get(word, frozenset()) | stems
    return table


SYNONYMS: Mapping[str, frozenset[str]] = _synonyms()
_STOP_STEMS = frozenset(stem(word) for word in _STOP_WORDS.split())


def same_act(word: str, other: str) -> bool:
    """Whether two words, in any form, name the same act (`show` and `read`, `ls` and `listing`)."""
    first, second = stem(word.casefold()), stem(other.casefold())
    return first == second or second in SYNONYMS.get(first, frozenset())


class Document(msgspec.Struct, frozen=True):
    """A tool as it is searched for. `parameters` is a text (`parameter_text`), `server` its name and the beginning of its instructions."""

    name: str
    description: str = ""
    title: str = ""
    parameters: str = ""
    server: str = ""


def parameter_text(schema: Any) -> str:
    """What a tool's JSON Schema says about its parameters in words: names, titles, descriptions, values of enumerations."""
    return " ".join(_parameter_words(schema, SCHEMA_DEPTH))


def _parameter_words(schema: Any, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict) or not depth:
        return
    for key in ("title", "description"):
        if isinstance(text := schema.get(key), str):
            yield text
    if isinstance(values := schema.get("enum"), list):
        yield from (value for value in values[:ENUM_VALUES] if isinstance(value, str))
    if isinstance(properties := schema.get("properties"), dict):
        for name, inner in properties.items():
            yield str(name)
            yield from _parameter_words(inner, depth - 1)
    yield from _parameter_words(schema.get("items"), depth - 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(inner := schema.get(key), list):
            yield from chain.from_iterable(_parameter_words(one, depth - 1) for one in inner)


class _Postings(msgspec.Struct):
    """The tools a word stands in, and how often."""

    tools: "array[int]" = msgspec.field(default_factory=lambda: array("L"))
    counts: "array[int]" = msgspec.field(default_factory=lambda: array("H"))


class Part(msgspec.Struct, frozen=True, eq=False):
    """The words of some tools, such as those of one server: made once, and joined with others to an index."""

    names: Sequence[str]
    postings: Mapping[str, _Postings]
    lengths: "array[int]"


class Index(msgspec.Struct, frozen=True, eq=False):
    """Made by `build` or `joined`, then asked often. Values of the fields are nobody's business but `rank`'s."""

    names: Sequence[str]
    # Each with the number of its first tool among all.
    parts: Sequence[tuple[int, Part]]
    # By how much the length of each tool's text holds a match down.
    norms: "array[float]"

    def holders(self, word: str) -> int:
        """How many tools have a word."""
        return sum(len(found.tools) for _, part in self.parts if (found := part.postings.get(word)) is not None)


def build(documents: Iterable[Document]) -> Index:
    return joined([part_of(documents)])


def part_of(documents: Iterable[Document]) -> Part:
    names: list[str] = []
    postings: dict[str, _Postings] = {}
    lengths = array("L")
    for number, document in enumerate(documents):
        names.append(document.name)
        length = 0
        for word, count in _counts(document).items():
            length += count
            posting = postings.get(word)
            if posting is None:
                posting = postings[word] = _Postings()
            posting.tools.append(number)
            posting.counts.append(count)
        lengths.append(length)
    return Part(names, postings, lengths)


def joined(parts: Iterable[Part]) -> Index:
    """One index over several parts. Quick: what a part has is left as it is, so that one may be made anew without the others."""
    names: list[str] = []
    lengths = array("L")
    kept: list[tuple[int, Part]] = []
    for part in parts:
        kept.append((len(names), part))
        names += part.names
        lengths += part.lengths
    average = sum(lengths) / (len(lengths) or 1) or 1.0
    fixed, share = SATURATION * (1 - LENGTH_SHARE), SATURATION * LENGTH_SHARE / average
    return Index(names, kept, array("f", [fixed + share * length for length in lengths]))


def _counts(document: Document) -> dict[str, int]:
    counts: dict[str, int] = {}
    for text in (
        document.title[:DESCRIPTION_CHARACTERS],
        document.description[:DESCRIPTION_CHARACTERS],
        document.parameters[:PARAMETER_CHARACTERS],
        document.server[:SERVER_CHARACTERS],
    ):
        for word in words(text):
            counts[word] = counts.get(word, 0) + 1
    for word in _STOP_STEMS.intersection(counts):
        del counts[word]
    for word in words(document.name[:DESCRIPTION_CHARACTERS]):
        counts[word] = counts.get(word, 0) + NAME_COUNT
    return counts


def _rarity(tools_with_word: int, tools: int) -> float:
    return log(1 + (tools - tools_with_word + 0.5) / (tools_with_word + 0.5))


def query_words(text: str) -> list[str]:
    """The words of a question that say something, each once, phrases replaced by the act they mean."""
    found = words(text)[:QUERY_WORDS]
    kept: list[str] = []
    second_half = False
    for word, following in zip(found, [*found[1:], ""], strict=False):
        if second_half:
            second_half = False
        elif (phrase := _PHRASES.get((word, following))) is not None:
            kept += phrase
            second_half = True
        else:
            kept.append(word)
    return [word for word in dict.fromkeys(kept) if word not in _STOP_STEMS]


def rank(index: Index, text: str, limit: int = 10, *, synonym_weight: float = 0.0) -> list[tuple[str, float]]:
    """The best tools for `text`, best first, at most `limit`; tools without any match are left out.

    A score of 1 is one word that no other tool has, found once in a tool of average length. With a `synonym_weight`, each word of the
    question counts as itself or as the best of its synonyms. Equal scores keep the order of the index.
    """
    totals: dict[int, float] = {}
    for word in query_words(text):
        for tool, score in _matches(index, word, synonym_weight).items():
            totals[tool] = totals.get(tool, 0.0) + score
    best = heapq.nsmallest(limit, totals.items(), key=lambda item: (-item[1], item[0]))
    unit = _rarity(1, len(index.names)) or 1.0
    return [(index.names[tool], score / unit) for tool, score in best]


def _matches(index: Index, word: str, synonym_weight: float) -> dict[int, float]:
    """Each tool's score for one word of the question: its best hit among the word and its synonyms."""
    found = _hits(index, word, 1.0)
    if synonym_weight:
        for synonym in SYNONYMS.get(word, frozenset()) - {word}:
            for tool, score in _hits(index, synonym, synonym_weight).items():
                if score > found.get(tool, 0.0):
                    found[tool] = score
    return found


def _hits(index: Index, word: str, weight: float) -> dict[int, float]:
    holders, count = index.holders(word), len(index.names)
    if not holders or (count > LARGE_INDEX and holders * 2 > count):
        return {}
    factor = _rarity(holders, count) * (SATURATION + 1) * weight
    norms = index.norms
    found: dict[int, float] = {}
    for first, part in index.parts:
        if (posting := part.postings.get(word)) is not None:
            for tool, times in zip(posting.tools, posting.counts, strict=True):
                found[first + tool] = factor * times / (times + norms[first + tool])
    return found


def fused(rankings: Iterable[Sequence[str]], limit: int = 10) -> list[str]:
    """Several rankings of the same tools as one, by reciprocal rank: for a ranking by meaning beside the one by words."""
    totals: dict[str, float] = {}
    for ranking in rankings:
        for place, name in enumerate(ranking, 1):
            totals[name] = totals.get(name, 0.0) + 1 / (FUSION + place)
    return sorted(totals, key=lambda name: -totals[name])[:limit]

"""Text to best matching tools, by words alone: the offline model's ear, and the search over many tools.

Owns how words are cut (camelCase, snake_case, plurals, scripts without spaces), which everyday verbs mean the same, and how a match
is weighed: rare words count more than common ones, a tool's name more than its description. Pure, linear, no language model.
Decides nothing: whether a score is good enough, and what to call a tool with, is `models/offline.py`.
"""

import heapq
import re
import unicodedata
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import log, sqrt

import msgspec

# A hit in a name of one word counts as much as this many hits in a description.
NAME_WEIGHT = 3.0
# A synonym says nearly the same, but the word itself is the better sign.
SYNONYM_WEIGHT = 0.6
# Enough of a description to tell what a tool does; the rest is usage notes, and an attacker's room.
DESCRIPTION_CHARACTERS = 1_000
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
            found.append(stem(word))
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


class _Postings(msgspec.Struct):
    """The tools a word stands in, and what it weighs there."""

    tools: "array[int]" = msgspec.field(default_factory=lambda: array("L"))
    weights: "array[float]" = msgspec.field(default_factory=lambda: array("f"))


class Index(msgspec.Struct, frozen=True):
    """Made once by `build`, then asked often. Values of the fields are nobody's business but `rank`'s."""

    names: Sequence[str]
    postings: Mapping[str, _Postings]
    # What a word that stands in one tool alone weighs: scores are counted in this unit.
    unit: float


def build(tools: Iterable[tuple[str, str]]) -> Index:
    """An index over (name, description) pairs."""
    names: list[str] = []
    postings: dict[str, _Postings] = {}
    for number, (name, description) in enumerate(tools):
        names.append(name)
        for word, weight in _weights(name, description).items():
            posting = postings.get(word)
            if posting is None:
                posting = postings[word] = _Postings()
            posting.tools.append(number)
            posting.weights.append(weight)
    return Index(names, postings, _rarity(1, len(names)) or 1.0)


def _weights(name: str, description: str) -> dict[str, float]:
    weights = dict.fromkeys(words(description[:DESCRIPTION_CHARACTERS]), 1.0)
    in_name = dict.fromkeys(words(name))
    # A long name is spread over its words: `read` is more about reading than `drive__read_shared_file` is.
    share = NAME_WEIGHT / sqrt(len(in_name) or 1)
    for word in in_name:
        weights[word] = max(share, 1.0)
    return {word: weight for word, weight in weights.items() if word not in _STOP_STEMS or word in in_name}


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


def rank(index: Index, text: str, limit: int = 10) -> list[tuple[str, float]]:
    """The best tools for `text`, best first, at most `limit`; tools without any match are left out.

    A score of 1 is one rare word found in a description; a rare word that is the whole name gives `NAME_WEIGHT`.
    Equal scores keep the order of the index.
    """
    totals: dict[int, float] = {}
    for word in query_words(text):
        for tool, score in _matches(index, word).items():
            totals[tool] = totals.get(tool, 0.0) + score
    best = heapq.nsmallest(limit, totals.items(), key=lambda item: (-item[1], item[0]))
    return [(index.names[tool], score / index.unit) for tool, score in best]


def _matches(index: Index, word: str) -> dict[int, float]:
    """Each tool's score for one word of the question: its best hit among the word and its synonyms."""
    count = len(index.names)
    best: dict[int, float] = {}
    for form in {word} | SYNONYMS.get(word, frozenset()):
        posting = index.postings.get(form)
        if posting is None or (count > LARGE_INDEX and len(posting.tools) * 2 > count):
            continue
        factor = _rarity(len(posting.tools), count) * (1.0 if form == word else SYNONYM_WEIGHT)
        for tool, weight in zip(posting.tools, posting.weights, strict=True):
            score = factor * weight
            if score > best.get(tool, 0.0):
                best[tool] = score
    return best

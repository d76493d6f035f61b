"""The ranker that the search over tools began with, measured beside today's: names and descriptions alone, every match of a word once.

Kept as it was but for what both share (`openclaw.ranking` cuts the words and knows the synonyms).
"""

import heapq
from collections.abc import Sequence
from math import log, sqrt

from openclaw.ranking import SYNONYMS, Document, query_words, words

NAME_WEIGHT, SYNONYM_WEIGHT = 3.0, 0.6
DESCRIPTION_CHARACTERS = 1_000


class Before:
    def __init__(self, tools: Sequence[Document]) -> None:
        self._names = [tool.name for tool in tools]
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for number, tool in enumerate(tools):
            for word, weight in _weights(tool).items():
                self._postings.setdefault(word, []).append((number, weight))

    def rank(self, text: str, limit: int) -> list[str]:
        totals: dict[int, float] = {}
        for word in query_words(text):
            for tool, score in self._matches(word).items():
                totals[tool] = totals.get(tool, 0.0) + score
        best = heapq.nsmallest(limit, totals.items(), key=lambda item: (-item[1], item[0]))
        return [self._names[tool] for tool, _ in best]

    def _matches(self, word: str) -> dict[int, float]:
        count = len(self._names)
        best: dict[int, float] = {}
        for form in {word} | SYNONYMS.get(word, frozenset()):
            posting = self._postings.get(form, [])
            factor = log(1 + (count - len(posting) + 0.5) / (len(posting) + 0.5))
            factor *= 1.0 if form == word else SYNONYM_WEIGHT
            for tool, weight in posting:
                best[tool] = max(best.get(tool, 0.0), factor * weight)
        return best


def _weights(tool: Document) -> dict[str, float]:
    # Where a tool is known by a number alone, its title says what it is called.
    name = tool.title if tool.name.isdigit() else tool.name
    weights = dict.fromkeys(words(tool.description[:DESCRIPTION_CHARACTERS]), 1.0)
    in_name = dict.fromkeys(words(name))
    share = NAME_WEIGHT / sqrt(len(in_name) or 1)
    for word in in_name:
        weights[word] = max(share, 1.0)
    return weights

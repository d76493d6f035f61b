"""Tools by what their words mean: vectors of their texts, kept, and which of them are nearest to a question.

For a program that has an embedding model (`App(embed=…)`); nothing here knows one. Vectors that do not come, or are none, cost a search its
second opinion and nothing else: the first, by words, is `ranking.py`'s.
"""

import asyncio
import heapq
import logging
from array import array
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from math import hypot
from operator import mul
from typing import Final

_log = logging.getLogger(__name__)

# Is given texts, gives a vector for each. May raise.
Embed = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]

# Places that count beside those by words: what is further down is no opinion.
DEPTH: Final = 50
# Seconds for all vectors of one search. Those that came are kept for the next.
PATIENCE: Final = 10.0
# Texts that are handed over at a time, and vectors that are kept.
BATCH: Final = 256
MOST_KEPT: Final = 100_000


class Meaning:
    """One for all searches of a program: equal texts have one vector. `patience` is how many seconds a search waits for them."""

    def __init__(self, embed: Embed, *, patience: float = PATIENCE) -> None:
        self._embed = embed
        self._patience = patience
        # Of length one, so that their product says how near two are.
        self._vectors: dict[str, array[float]] = {}

    async def ranked(self, question: str, texts: Mapping[str, str]) -> list[str]:
        """The names of the nearest texts, the nearest first; empty when there are no vectors to compare. `texts` are by name."""
        try:
            async with asyncio.timeout(self._patience):
                (asked,) = await self._unit_vectors([question])
                await self._learn(texts.values())
        except Exception as error:
            # Whatever another program raises: words alone find most tools too.
            _log.warning("Tools are found by their words alone: %s: %s", type(error).__name__, error)
            return []
        vectors = {name: self._vectors[text] for name, text in texts.items()}
        # Some ten microseconds for each tool.
        return await asyncio.to_thread(_nearest, asked, vectors)

    async def _learn(self, texts: Iterable[str]) -> None:
        wanted = dict.fromkeys(texts)
        if len(self._vectors) + len(wanted) > MOST_KEPT:
            self._vectors = {text: self._vectors[text] for text in wanted if text in self._vectors}
        unknown = [text for text in wanted if text not in self._vectors]
        for start in range(0, len(unknown), BATCH):
            batch = unknown[start : start + BATCH]
            self._vectors.update(zip(batch, await self._unit_vectors(batch), strict=True))

    async def _unit_vectors(self, texts: Sequence[str]) -> list["array[float]"]:
        vectors = [_unit(vector) for vector in await self._embed(texts)]
        if len(vectors) != len(texts):
            raise ValueError(f"{len(vectors)} vectors came for {len(texts)} texts")
        return vectors


def _unit(vector: Sequence[float]) -> "array[float]":
    length = hypot(*vector)
    return array("f", [value / length for value in vector] if length else vector)


def _nearest(asked: "array[float]", vectors: Mapping[str, "array[float]"]) -> list[str]:
    near = {name: sum(map(mul, asked, vector)) for name, vector in vectors.items() if len(vector) == len(asked)}
    return heapq.nlargest(DEPTH, near, key=lambda name: near[name])

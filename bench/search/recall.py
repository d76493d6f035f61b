"""How much of what is right is among the first tools found: of today's search and of the one before, question by question. Prints JSON.

    python -m bench.search.recall FOLDER

Also how long a question takes among 5,000 tools, and what an index of 100,000 takes to make and to hold: over the tools of the sets, each
as often as needed.
"""

import json
import sys
import time
import tracemalloc
from itertools import cycle, islice
from pathlib import Path
from statistics import fmean, stdev

import msgspec

from bench.search.before import Before
from bench.search.sets import Question, QuestionSet, read_sets
from openclaw.ranking import Document, build, rank

PLACES = (1, 3, 5, 10, 20)
MANY, VERY_MANY = 5_000, 100_000
# 95 in 100 of a normal distribution lie within so many deviations.
DEVIATIONS = 1.96


def recall(question: Question, found: list[str], places: int) -> float:
    return len(question.right.intersection(found[:places])) / len(question.right)


def compared(questions: list[Question], before: list[list[str]], after: list[list[str]]) -> list[dict[str, float]]:
    """For each number of places: both means, and how far the true difference may be from theirs (95 in 100)."""
    rows = []
    for places in PLACES:
        old = [recall(one, found, places) for one, found in zip(questions, before, strict=True)]
        new = [recall(one, found, places) for one, found in zip(questions, after, strict=True)]
        differences = [more - less for less, more in zip(old, new, strict=True)]
        error = DEVIATIONS * stdev(differences) / len(differences) ** 0.5
        rows.append({"places": places, "before": fmean(old), "after": fmean(new), "error": error})
    return rows


def judged(one: QuestionSet) -> dict[str, object]:
    questions = [question for question in one.questions if question.is_held_out]
    old, index = Before(one.tools), build(one.tools)
    before = [old.rank(question.text, PLACES[-1]) for question in questions]
    after = [[name for name, _ in rank(index, question.text, PLACES[-1])] for question in questions]
    return {
        "title": one.title,
        "tools": len(one.tools),
        "questions": len(questions),
        "rows": compared(questions, before, after),
    }


def timed(sets: list[QuestionSet]) -> dict[str, float]:
    """Processor seconds of a question, median and worst of all held out; seconds and bytes of a very large index."""
    tools = [tool for one in sets for tool in one.tools]
    index = build(_many(tools, MANY))
    taken = []
    for question in (question for one in sets for question in one.questions if question.is_held_out):
        begun = time.process_time()
        rank(index, question.text, PLACES[-1])
        taken.append(time.process_time() - begun)
    taken.sort()
    begun = time.process_time()
    build(_many(tools, VERY_MANY))
    built = time.process_time() - begun
    tracemalloc.start()
    kept = build(_many(tools, VERY_MANY))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return {
        "query": taken[len(taken) // 2],
        "worst": taken[-1],
        "build": built,
        "bytes": held,
        "indexed": len(kept.names),
    }


def _many(tools: list[Document], count: int) -> list[Document]:
    """So many tools: the same ones again under other names."""
    return [
        msgspec.structs.replace(tool, name=f"{tool.name}_{number}")
        for number, tool in enumerate(islice(cycle(tools), count))
    ]


if __name__ == "__main__":
    all_sets = list(read_sets(Path(sys.argv[1])))
    if not all_sets:
        sys.exit(f"{sys.argv[1]} has none of the sets.")
    print(json.dumps({"sets": [judged(one) for one in all_sets], "speed": timed(all_sets)}))

"""docs/search-figures.md, from what bench/search/recall.py found. Knows no measuring."""

from statistics import fmean
from typing import Any

HEAD = """# How well tools are found

<!-- Written by `make bench ONLY=search`. -->

OpenClaw finds tools by the words of a question (`src/openclaw/ranking.py`; the offline model picks by it). This page says how much of what
is right is among the first 1, 3, 5, 10 and 20 tools found, on public sets of tools and questions: with today's index (BM25 over a tool's
name three times, title, description, parameters and server), and with the ranker before it (names and descriptions, synonyms). Only
questions that were never used for a choice: half of each set, by the hash of their text. Behind today's figure stands how far the true
difference to the one before may be from the difference shown, in 95 of 100 such sets.
"""

OTHERS = """## What others publish

For orientation; their sets and counts differ. ToolRet (43,215 tools): nDCG@10 is 27.0 for BM25, 33.8 for the embeddings of NV-Embed-v1,
68.6 for a model trained on it. Tool-to-Agent Retrieval reports a recall@5 of 0.83 to 0.85 on LiveMCPBench, where the right server counts as
found. Arcade found the right one of 4,027 tools for 56 % of 25 tasks by regular expressions and for 64 % by BM25.
"""


def page(found: dict[str, Any], machine: dict[str, str]) -> str:
    places = [int(row["places"]) for row in found["sets"][0]["rows"]]
    lines = [HEAD, "| set | tools | questions | | " + " | ".join(f"@{one}" for one in places) + " |"]
    lines.append("|---|---|---|---|" + "---|" * len(places))
    for one in found["sets"]:
        before = " | ".join(f"{row['before']:.3f}" for row in one["rows"])
        after = " | ".join(f"{row['after']:.3f} ± {row['error']:.3f}" for row in one["rows"])
        lines.append(f"| {one['title']} | {one['tools']:,} | {one['questions']:,} | before | {before} |")
        lines.append(f"| | | | today | {after} |")
    for word, key in (("before", "before"), ("today", "after")):
        means = [fmean(one["rows"][number][key] for one in found["sets"]) for number in range(len(places))]
        lines.append(f"| mean of all sets | | | {word} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    speed = found["speed"]
    took = f"{speed['query'] * 1000:.1f} ms in the middle, {speed['worst'] * 1000:.1f} ms at worst"
    made = f"{speed['build']:.1f} s and takes {speed['bytes'] / 2**20:.0f} MB"
    lines += [
        "",
        "## Speed and size",
        "",
        f"Processor time of one question among 5,000 tools: {took}. An index of {speed['indexed']:,} tools is made in {made}; when one",
        "server's list changes, its part alone is made anew.",
        "",
        f"Measured on {machine['processor']}, {machine['system']}, Python {machine['python']}, {machine['date']}.",
        "",
        OTHERS,
    ]
    return "\n".join(lines)

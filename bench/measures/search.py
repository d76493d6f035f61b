"""How well tools are found, and how quickly: docs/search-figures.md. The sets are read from the folder that SEARCH_DATA names."""

import os

from bench.parts import ROOT
from bench.processes import Failed
from bench.run import Run, report_of
from bench.search.page import page

PAGE = ROOT / "docs" / "search-figures.md"
FOLDER = "SEARCH_DATA"
# Some thousand questions, each against two rankers.
PATIENCE = 900.0


def measure(run: Run) -> None:
    if not run.wants("ours"):
        return
    folder = os.environ.get(FOLDER)
    if not folder:
        run.note("search", "ours", "skipped", f"{FOLDER} names no folder with the sets (bench/README.md).")
        run.say(f"search: skipped, {FOLDER} names no folder with the sets (bench/README.md)")
        return
    run.say("search: ours, and the ranker before")
    try:
        found = report_of("bench.search.recall", os.path.abspath(folder), patience=PATIENCE)
    except Failed as error:
        run.failed("search", "ours", error)
        return
    written = page(found, run.results.machine)
    if run.is_whole:
        PAGE.write_text(written, encoding="utf-8")
    else:
        print(written)

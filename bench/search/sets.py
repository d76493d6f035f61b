"""Public sets of tools and of questions that name the right ones, read from a folder. None of their text is kept here.

The folder has a checkout of each repository below, under its own name. Half of each set's questions, by the hash of their text, may be used
to choose between ways of searching; the other half judges them.
"""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw.ranking import Document, parameter_text

# MetaTool has 20,614 questions about 199 tools: each tenth is enough.
METATOOL_SHARE = 10
_NUMBERED = re.compile(r"^\s*\d+\.\s*")


@dataclass(frozen=True)
class Question:
    text: str
    right: frozenset[str]

    @property
    def is_held_out(self) -> bool:
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


@dataclass(frozen=True)
class QuestionSet:
    title: str
    tools: list[Document]
    questions: list[Question]


def read_sets(folder: Path) -> Iterator[QuestionSet]:
    """Every set that is there. Raises OSError, ValueError or KeyError for one that is not what it was."""
    for repository, read in READERS.items():
        if (folder / repository).is_dir():
            yield from read(folder / repository)


def _live_mcp(folder: Path) -> Iterator[QuestionSet]:
    tools: dict[str, Document] = {}
    for entry in _json(folder / "tools/LiveMCPTool/tools.json"):
        for server in entry["tools"].values():
            about = f"{server['server_name']} {entry['description']}"
            for tool in server["tools"]:
                found = _document(tool["name"], tool.get("description"), tool.get("inputSchema"), about)
                tools.setdefault(found.name, found)
    tasks: list[Question] = []
    steps: list[Question] = []
    for task in _json(folder / "annotated_data/all_annotations.json"):
        about = task["Annotator Metadata"]
        right, said = _listed(about["Tools"]), _listed(about["Steps"])
        if known := frozenset(right) & tools.keys():
            tasks.append(Question(task["Question"], known))
        if len(right) == len(said):
            # Where there are as many tools as steps, they are in the same order.
            steps += [
                Question(step, frozenset({tool})) for step, tool in zip(said, right, strict=True) if tool in tools
            ]
    yield QuestionSet("LiveMCPBench, tasks", list(tools.values()), tasks)
    yield QuestionSet("LiveMCPBench, steps", list(tools.values()), steps)


def _seal_tools(folder: Path) -> Iterator[QuestionSet]:
    place = folder / "Seal-Tools_Dataset"
    tools = {
        tool["api_name"]: _document(
            tool["api_name"], tool["api_description"], {"properties": tool["parameters"]}, tool["field"]
        )
        for tool in _lines(place / "tool.jsonl")
    }
    asked = [one for name in ("test_in_domain", "test_out_domain") for one in _lines(place / f"{name}.jsonl")]
    questions = [Question(one["query"], frozenset(call["api"] for call in one["calling"])) for one in asked]
    yield QuestionSet("Seal-Tools", list(tools.values()), _answerable(questions, tools))


def _meta_tool(folder: Path) -> Iterator[QuestionSet]:
    tools = {name: Document(name, text) for name, text in _json(folder / "dataset/plugin_des.json").items()}
    with (folder / "dataset/data/all_clean_data.csv").open(encoding="utf-8") as file:
        rows = [(row["Query"], row["Tool"]) for row in csv.DictReader(file)]
    questions = [Question(text, frozenset({tool})) for text, tool in rows[::METATOOL_SHARE]]
    yield QuestionSet("MetaTool", list(tools.values()), _answerable(questions, tools))


def _tool_lens(folder: Path) -> Iterator[QuestionSet]:
    place = folder / "datasets/ToolLens"
    tools = {one["_id"]: _lens_tool(one["_id"], one["text"]) for one in _lines(place / "corpus.jsonl")}
    texts = {one["_id"]: one["text"] for one in _lines(place / "queries.jsonl")}
    right: dict[str, set[str]] = {}
    for line in (place / "qrels/test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, tool, _ = line.split("\t")
        right.setdefault(query, set()).add(tool)
    questions = [Question(texts[query], frozenset(found)) for query, found in right.items()]
    yield QuestionSet("ToolLens", list(tools.values()), _answerable(questions, tools))


_LENS = re.compile(
    r"category_name:(.*?), tool_name:(.*?), api_name:(.*?), api_description:(.*?), "
    r"required_params: (.*?), optional_params: (.*?), return_schema:",
    re.DOTALL,
)


def _lens_tool(name: str, text: str) -> Document:
    """Known by its number; what stands for its name is in the text."""
    found = _LENS.match(text)
    if found is None:
        return Document(name, text)
    category, tool, api, about, required, optional = found.groups()
    return Document(
        name, about, title=" ".join([api] * 3), parameters=f"{required} {optional}", server=f"{tool} {category}"
    )


READERS: dict[str, Callable[[Path], Iterator[QuestionSet]]] = {
    "LiveMCPBench": _live_mcp,
    "Seal-Tools": _seal_tools,
    "MetaTool": _meta_tool,
    "COLT": _tool_lens,
}


def _document(name: str, description: str | None, schema: Any, server: str) -> Document:
    return Document(name, description or "", parameters=parameter_text(schema), server=server)


def _answerable(questions: Iterable[Question], tools: dict[str, Document]) -> list[Question]:
    return [one for one in questions if one.right <= tools.keys()]


def _listed(text: str) -> list[str]:
    return [_NUMBERED.sub("", line).strip() for line in text.splitlines() if line.strip()]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> Iterator[Any]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())

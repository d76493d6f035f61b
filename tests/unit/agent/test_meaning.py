"""Tools that are found by their meaning, beside those that are found by their words."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from openclaw.agent.deferral import SearchSettings, split
from openclaw.agent.meaning import BATCH, Embed, Meaning
from openclaw.agent.tool_search import SearchTools, ToolSearch
from openclaw.conversation import Conversation
from openclaw.tool import Invocation, Tool, ToolResult, parameters

# What three words of the world are about: sending, money, weather.
ABOUT = {"letter": 0, "post": 0, "bill": 1, "invoice": 1, "rain": 2, "umbrella": 2}


class Embedding:
    """Knows which words mean alike, and what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        vectors = [[0.01, 0.01, 0.01] for _ in texts]
        for vector, text in zip(vectors, texts, strict=True):
            for word, place in ABOUT.items():
                vector[place] += text.count(word)
        return vectors


async def never(arguments: object, invocation: Invocation) -> ToolResult:
    raise AssertionError("nobody calls it here")


def tool(name: str, description: str) -> Tool:
    words = f"[MCP server: s] {description}"
    return Tool(f"s__{name}", words, parameters({"type": "object"}), never, kind="mcp", origin="s")


TOOLS = [tool("send", "Hands a letter over."), tool("pay", "Settles a bill."), tool("sky", "Says whether rain comes.")]


async def found(meaning: Meaning | None, query: str, tools: Sequence[Tool] = TOOLS) -> tuple[str, ...]:
    find, *_ = SearchTools(ToolSearch(meaning), split(tools, SearchSettings("on")), {}).tools()
    return (await find.run({"query": query, "limit": 2}, Invocation(Conversation()))).found


async def test_a_question_in_other_words_finds_the_tool_that_means_it() -> None:
    assert await found(None, "do I need an umbrella") == ()
    assert (await found(Meaning(Embedding()), "do I need an umbrella"))[0] == "s__sky"


async def test_what_both_find_comes_before_what_one_finds() -> None:
    assert (await found(Meaning(Embedding()), "settle the invoice"))[0] == "s__pay"


async def test_a_text_is_handed_over_once_and_in_batches() -> None:
    embed = Embedding()
    one = Meaning(embed)
    texts = {f"t{number}": f"text {number}" for number in range(BATCH + 1)}
    await one.ranked("post", texts)
    await one.ranked("rain", {**texts, "new": "a new one", "same": "a new one"})
    assert [len(asked) for asked in embed.asked] == [1, BATCH, 1, 1, 1]
    assert embed.asked[-1] == ["a new one"]


async def fails(texts: Sequence[str]) -> list[list[float]]:
    raise OSError("no model here")


async def too_few(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0]] if len(texts) == 1 else []


async def hangs(texts: Sequence[str]) -> list[list[float]]:
    await asyncio.Event().wait()
    return []


@pytest.mark.parametrize("embed", [fails, too_few, hangs])
async def test_without_vectors_the_words_alone_decide_and_the_log_says_so(
    embed: Embed, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert await found(Meaning(embed, patience=0.05 if embed is hangs else 60.0), "settle a bill") == ("s__pay",)
    assert "Tools are found by their words alone" in caplog.text


async def test_vectors_of_another_length_are_no_neighbours() -> None:
    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "post" in text else [1.0] for text in texts]

    assert await Meaning(embed).ranked("post", {"near": "a post", "far": "a letter", "none": ""}) == ["near"]

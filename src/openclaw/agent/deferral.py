"""Which tools a model is shown, and which it has to find: one pure decision.

Owns when searching begins and ends (`is_on`), and what is always shown (`split`): our own tools, what `tools.search.keep` names, the few
that a conversation used most before it was shortened. Knows nothing of how tools are found (`tool_search.py`) or carried to a model
(`models/provider.py`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from openclaw.content import BYTES_PER_TOKEN, Message, ToolMessage
from openclaw.tool import SEARCH_TOOLS, Tool
from openclaw.wildcard import first_match

# Definitions that take more than this share of the model's window, or this many tokens, are searched for; so are more tools than this:
# models choose worse among more.
WINDOW_SHARE: Final = 0.05
MOST_TOKENS: Final = 20_000
MOST_TOOLS: Final = 40
# Searching ends below this part of what began it, so that a server that comes and goes does not change every prompt.
END_SHARE: Final = 0.5
# Tools of a shortened conversation that stay shown.
MOST_USED: Final = 5


class SearchSettings(msgspec.Struct, frozen=True):
    """What `tools.search` says."""

    mode: Literal["auto", "on", "off"] = "auto"
    keep: tuple[str, ...] = ()


class Offer(msgspec.Struct, frozen=True, eq=False):
    """What a model is given: tools it is shown, and those it may find, by name."""

    shown: tuple[Tool, ...]
    deferred: Mapping[str, Tool] = {}

    def labels(self, names: Iterable[str]) -> dict[str, str]:
        """What a person is shown of the tools that are called by these names."""
        shown = {tool.name: tool for tool in self.shown}
        found = ((name, shown.get(name) or self.deferred.get(name)) for name in names)
        return {name: tool.label for name, tool in found if tool is not None}


def is_on(settings: SearchSettings, *, tools: int, tokens: int, window: int, was_on: bool) -> bool:
    """Whether tools are searched for. `tokens` is what all definitions take, `was_on` what was decided before."""
    if settings.mode != "auto":
        return settings.mode == "on"
    part = END_SHARE if was_on else 1.0
    return tools > MOST_TOOLS * part or tokens > most_tokens(window) * part


def why_on(settings: SearchSettings, *, tools: int, tokens: int, window: int) -> str:
    """Why tools are searched for, as the end of a sentence."""
    if settings.mode == "on":
        return 'tools.search.mode is "on"'
    if tools > MOST_TOOLS:
        return f"there are {tools:,} tools, more than {MOST_TOOLS}"
    if tokens > most_tokens(window):
        return f"their definitions take about {tokens:,} tokens, more than {most_tokens(window):,}"
    return f"there were more tools before: it ends below {int(MOST_TOOLS * END_SHARE)} tools"


def most_tokens(window: int) -> int:
    return int(min(window * WINDOW_SHARE, MOST_TOKENS))


def tokens_of(tools: Collection[Tool]) -> int:
    """About how many tokens the definitions take."""
    sizes = (len(tool.name) + len(tool.description) + memoryview(tool.parameters).nbytes for tool in tools)
    return sum(sizes) // BYTES_PER_TOKEN


def always_shown(tool: Tool, settings: SearchSettings, used: Collection[str] = ()) -> str:
    """Why a tool is shown though others are searched for, as the end of a sentence; empty when it is searched for."""
    if tool.kind == "native":
        return "it is built in"
    if pattern := first_match(settings.keep, tool.name):
        return f'tools.search.keep names it ("{pattern}")'
    return "the conversation used it most" if tool.name in used else ""


def split(tools: Sequence[Tool], settings: SearchSettings, used: Collection[str] = ()) -> Offer:
    shown = tuple(tool for tool in tools if always_shown(tool, settings, used))
    names = {tool.name for tool in shown}
    return Offer(shown, {tool.name: tool for tool in tools if tool.name not in names})


def left_behind(before: Mapping[str, int], messages: Sequence[Message], kept: Sequence[Message]) -> dict[str, int]:
    """How often each tool was called in what is no longer part of a conversation: `before`, and now that only `kept` of it stays."""
    staying = {message.call_id for message in kept if isinstance(message, ToolMessage)}
    counts = dict(before)
    for message in messages:
        if isinstance(message, ToolMessage) and message.call_id not in staying and message.name not in SEARCH_TOOLS:
            counts[message.name] = counts.get(message.name, 0) + 1
    return counts


def most_used(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The tools of `counts` that are shown from now on: those called most, in the order of their names, which changes least."""
    best = sorted(counts, key=lambda name: (-counts[name], name))[:MOST_USED]
    return tuple(sorted(best))

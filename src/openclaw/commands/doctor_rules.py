"""Rules about tools that leave an agent or a server nothing, or that name nothing."""

from collections.abc import Iterator, Sequence

from openclaw.commands.check import Check
from openclaw.security.external import clean_label
from openclaw.security.policy import Decision, NamePatterns, Policy, PolicyLayer, key_of
from openclaw.tool import Tool

_LONGEST_NAME = 100


def rule_checks(agent: str, layers: Sequence[PolicyLayer], offered: Sequence[Tool]) -> Iterator[Check]:
    """`offered` is all that there is for an agent, allowed or not."""
    what = f"Agent {agent}"
    policy = Policy(layers)
    refused = [(tool, decision) for tool in offered if not (decision := policy.decide(tool)).allowed]
    if offered and len(refused) == len(offered):
        sentence = f"its rules leave it none of {len(offered)} tools: {_reasons(refused)}"
        yield Check(what, "failed", sentence, "Look: openclaw tools list")
    else:
        yield from _servers_without(what, offered, refused)
    yield from _names_of_nothing(what, layers, offered)


def _servers_without(what: str, offered: Sequence[Tool], refused: Sequence[tuple[Tool, Decision]]) -> Iterator[Check]:
    for server in dict.fromkeys(tool.origin for tool in offered if tool.kind == "mcp"):
        own = [pair for pair in refused if pair[0].kind == "mcp" and pair[0].origin == server]
        count = sum(tool.kind == "mcp" and tool.origin == server for tool in offered)
        if len(own) == count:
            name = clean_label(server, _LONGEST_NAME)
            sentence = f"its rules leave it no tool of server {name}, which has {count}: {_reasons(own)}"
            yield Check(what, "warning", sentence, "Look: openclaw tools list")


def _reasons(refused: Sequence[tuple[Tool, Decision]]) -> str:
    """The rules that refuse, each once."""
    return "; ".join(dict.fromkeys(str(decision) for _, decision in refused))


def _names_of_nothing(what: str, layers: Sequence[PolicyLayer], offered: Sequence[Tool]) -> Iterator[Check]:
    keys = [key_of(tool) for tool in offered]
    for layer in layers:
        for rule, written in (("allow", layer.allow), ("alsoAllow", layer.also_allow), ("deny", layer.deny)):
            for name in written:
                pattern = NamePatterns([name])
                # A group is a word of ours, and may be empty today.
                if name.strip().startswith("group:") or any(pattern.match(key) is not None for key in keys):
                    continue
                sentence = f'{rule} "{clean_label(name, _LONGEST_NAME)}" names no tool that is there now'
                fix = "Its server may be down, or the name wrong: openclaw tools list"
                yield Check(what, "warning", f"{sentence} ({layer.place(rule)})", fix)

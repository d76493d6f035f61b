"""What the rules say of a tool before it is called: whether its calls are asked about, and by which rule of which line. Pure.

Also finds patterns that can match no call, because their tool has no such argument, and those of `--allow` that let nothing run, because
another rule refuses what they name.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from openclaw.config.call_pattern import text_of
from openclaw.grant import Grant
from openclaw.security.approval import Case, Rules, bound_to, confirmed_to_read, decide
from openclaw.security.patterns import Pattern
from openclaw.security.policy import OTHER_NAMES, Decision, Named, ToolRef, key_of
from openclaw.security.risk import risk_of
from openclaw.tool import Tool
from openclaw.wildcard import is_pattern

_WORDS = {"run": "runs without a question", "ask": "is asked about", "refuse": "is refused"}


class _Object(msgspec.Struct, rename="camel"):
    """As much of a schema as says which arguments there are."""

    properties: dict[str, msgspec.Raw] | None = None
    additional_properties: bool | dict[str, msgspec.Raw] = False


def approval_line(tool: Tool, agent: str, rules: Rules, grants: Sequence[Grant]) -> str:
    """`is asked about: it changes things and no rule allows it (tools.approval.mode "writes")`, and what makes a difference."""
    facts = tool.facts() if tool.facts else None
    reads = confirmed_to_read(tool, facts, agent, grants) is not None
    verdict = decide(Case(tool, facts, {}, agent, risk_of(tool, facts, {}, reads=reads), rules, grants))
    named = [
        f'{word} "{one.text}" ({one.where})'
        for word, patterns in (("deny", [rules.deny]), ("ask", [rules.ask]), ("allow", rules.allow))
        for group in patterns
        for one in group.of(tool)
        if one.arguments
    ]
    bound = bound_to(tool, facts)
    named += [
        f"grant {one.id} {text_of('', one.arguments)}"
        for one in grants
        if one.arguments and (one.server, one.tool, one.definition) == bound and one.agent in ("", agent)
    ]
    more = f"; its arguments decide: {', '.join(named)}" if named else ""
    return f"{_WORDS[verdict.action]}: {verdict}{more}"


def idle_patterns(rules: Rules, tools: Iterable[Tool]) -> list[tuple[Pattern, str]]:
    """Patterns that match no call of any tool they name, with the argument that none of those has; an empty one when none is there."""
    known = list(tools)
    found: list[tuple[Pattern, str]] = []
    for one in (*rules.deny.patterns, *rules.ask.patterns, *(one for group in rules.allow for one in group.patterns)):
        named = [tool for tool in known if one.is_of(key_of(tool))]
        if not named and one.arguments:
            found.append((one, ""))
        for argument, _ in one.arguments:
            if named and not any(_takes(tool, argument) for tool in named):
                found.append((one, argument))
    return found


def idle_allowances(
    patterns: Iterable[Pattern],
    decide: Callable[[Named], Decision],
    rules: Rules,
    *,
    native: Sequence[str],
    has_plugins: bool,
) -> list[tuple[Pattern, str]]:
    """Patterns of `--allow` of which every tool is refused by a rule that it does not lift, and that rule. Says nothing of one that may
    name tools nobody knows of: by a wildcard, or a plugin's, which may call its tools anything."""
    found: list[tuple[Pattern, str]] = []
    for one in patterns:
        refusals = [_refusal(tool, decide, rules) for tool in _named(one, native, has_plugins=has_plugins)]
        if refusals and all(refusals):
            found.append((one, refusals[0]))
    return found


def _named(pattern: Pattern, native: Sequence[str], *, has_plugins: bool) -> list[ToolRef]:
    name = pattern.name
    if is_pattern(name):
        return []
    if found := [tool for tool in map(ToolRef, native) if pattern.is_of(key_of(tool))]:
        return found
    return [] if has_plugins or name.strip().casefold() in OTHER_NAMES else [ToolRef(name, "mcp")]


def _refusal(tool: Named, decide: Callable[[Named], Decision], rules: Rules) -> str:
    """The rule by which no call of a tool runs; empty when there is none."""
    decision = decide(tool)
    if not decision.allowed:
        return str(decision)
    denying = next((one for one in rules.deny.of(tool) if not one.arguments), None)
    return f'deny "{denying.text}" names it ({denying.where})' if denying is not None else ""


def _takes(tool: Tool, argument: str) -> bool:
    try:
        schema = msgspec.json.decode(tool.parameters, type=_Object)
    except msgspec.MsgspecError:
        return True
    if argument in (schema.properties or {}):
        return True
    # A tool that names none takes anything, and so does one that says so.
    return schema.properties is None or schema.additional_properties is not False

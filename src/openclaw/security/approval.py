"""Whether a call runs, has to be asked about, or is refused: one table of eleven rows, one function over values. Pure.

    1  policy denies (tools/invoke.py)                                                                refused
    2  the arguments do not fit (tools/invoke.py)                                                     refused, nobody is asked
    3  a `deny` pattern, or the server's `approval: "deny"`                                           refused
    4  the same call was declined earlier in this turn                                                refused
    5  the call does not only read and names a place of ours: config, state (security/own_places.py)  asked (refused: mode "deny", nobody)
    5  an `ask` pattern, or the server's `approval: "ask"` and the call does not only read            asked
    6  foreign text was read, and it runs a program, or sends data to a host that nobody named        asked (refused: mode or taint "deny")
    7  foreign text was read, and it changes something with a value from there that no pattern covers asked (refused: mode or taint "deny")
    8  an `allow` pattern, the server's `approval: "allow"`, a grant                                  runs
    9  mode `off`, or mode `writes` and it only reads, and is no skill of a server                    runs
    10 mode `deny`                                                                                    refused
    11 otherwise                                                                                      asked

The first row that answers wins. Layers of an agent only narrow: their `deny` and `ask` are added, their `allow` must agree as well, and of
mode, taint, fallback and time the stricter counts. What is offered with a question is offers.py's; asking itself is asking/approver.py's.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

import msgspec

from openclaw.config.call_pattern import Glob, glob
from openclaw.errors import UsageError
from openclaw.grant import Grant
from openclaw.security.foreign import MOST_VALUE, source_text
from openclaw.security.patterns import (
    Paths,
    Pattern,
    PatternSet,
    covers_call,
    has_inline_code,
    names_host,
    touches_call,
)
from openclaw.security.policy import key_of
from openclaw.security.risk import Risk, leaves
from openclaw.tool import Tool, ToolFacts

Mode = Literal["off", "writes", "always", "deny"]
Taint = Literal["off", "ask", "deny"]
Fallback = Literal["allow", "untainted", "deny"]

# The rows by what they are about, as `Verdict.step` has them.
DENY_ROW: Final = 3
DECLINED_ROW: Final = 4
ASK_ROW: Final = 5
FOREIGN_REACH_ROW: Final = 6
FOREIGN_VALUE_ROW: Final = 7
ALLOW_ROW: Final = 8
LENIENT_MODE_ROW: Final = 9
DENY_MODE_ROW: Final = 10
LAST_ROW: Final = 11

# From the most lenient to the strictest, as layers are compared.
MODES: tuple[Mode, ...] = ("off", "writes", "always", "deny")
TAINTS: tuple[Taint, ...] = ("off", "ask", "deny")
FALLBACKS: tuple[Fallback, ...] = ("allow", "untainted", "deny")
# Seconds to answer a question in.
DEFAULT_TIMEOUT = 300.0
# The same where only those see it who watch a gateway: they may have to be fetched first.
DEFAULT_PENDING = 1_800.0
# The `server` of a grant that is of no tool but of a host that a person approved in a conversation.
HOST = "host"

Globs = Sequence[tuple[str, Glob]]


class Rules(msgspec.Struct, frozen=True, eq=False):
    """What the config says for one agent. `allow` has one set for each layer that names any: all of them must agree.

    `fallback` is by surface, with `default` for the others. `places` say where mode, taint and fallback are written.
    """

    mode: Mode = "writes"
    allow: tuple[PatternSet, ...] = ()
    ask: PatternSet = PatternSet()
    deny: PatternSet = PatternSet()
    taint: Taint = "ask"
    timeout: float = DEFAULT_TIMEOUT
    pending: float = DEFAULT_PENDING
    fallback: Mapping[str, Fallback] = msgspec.field(default_factory=lambda: {"default": "untainted"})
    places: Mapping[str, str] = msgspec.field(default_factory=dict)

    def place(self, setting: str) -> str:
        return self.places.get(setting) or f"tools.approval.{setting}"

    def fallback_at(self, surface: str) -> Fallback:
        return self.fallback.get(surface) or self.fallback.get("default", "untainted")


class Case(msgspec.Struct, frozen=True, eq=False):
    """All that is known about a call. `grants` are those that last and the conversation's own, `allow` the patterns of this run.

    `sources` are those of foreign text that was read, `origins` the arguments with a value from there; `known_hosts` those that the person
    wrote. `paths` are where the paths among the arguments of a native tool really lead. `names_own`: an argument is a place of ours.
    `reads_only`: the person said that nothing may be changed in this conversation.
    """

    tool: Tool
    facts: ToolFacts | None
    arguments: Mapping[str, Any]
    agent: str
    risk: Risk
    rules: Rules
    grants: Sequence[Grant] = ()
    allow: Sequence[Pattern] = ()
    sources: Sequence[str] = ()
    origins: Mapping[str, str] = msgspec.field(default_factory=dict)
    known_hosts: Collection[str] = ()
    declined: bool = False
    reads_only: bool = False
    surface: str = ""
    paths: Paths = msgspec.field(default_factory=dict)
    names_own: bool = False


class Verdict(msgspec.Struct, frozen=True):
    """`step` is the row of the table, `rule` the reason as the end of a sentence, `where` the place it is written at, if it is.

    `by_foreign`: only because of foreign text. `is_fixed`: no setting makes it run, only a person's yes. `grant` is the id of the one that
    let it run. Without `depends_on_call`, every call of the same tool and agent ends the same way, as long as rules and grants are the
    same, nothing was declined in the turn, the call names no place of ours, unless it only reads, and the conversation has read no foreign
    text either, or the call has no hosts (`risk.hosts_of`).
    """

    action: Literal["run", "ask", "refuse"]
    step: int
    rule: str
    where: str = ""
    by_foreign: bool = False
    is_fixed: bool = False
    grant: str = ""
    depends_on_call: bool = True

    def __str__(self) -> str:
        return f"{self.rule} ({self.where})" if self.where else self.rule


def decide(case: Case) -> Verdict:
    rules, facts = case.rules, case.facts
    setting = facts.approval if facts else "inherit"
    if case.reads_only and not case.risk.only_reads:
        return Verdict("refuse", DENY_ROW, "the person set this conversation to only read")
    if (refusing := _touching(rules.deny, case)) is not None:
        return Verdict("refuse", DENY_ROW, f'deny "{refusing.text}" names it', refusing.where)
    if setting == "deny":
        return Verdict("refuse", DENY_ROW, 'its server says approval "deny"', depends_on_call=False)
    if case.declined:
        return Verdict("refuse", DECLINED_ROW, "the person declined the same call in this turn")
    if case.names_own and not case.risk.only_reads:
        # Nobody is asked in mode `deny`.
        action: Literal["ask", "refuse"] = "refuse" if rules.mode == "deny" else "ask"
        return Verdict(action, ASK_ROW, "it may change OpenClaw's own config or state", is_fixed=True)
    if (asking := _touching(rules.ask, case)) is not None:
        return Verdict("ask", ASK_ROW, f'ask "{asking.text}" names it', asking.where)
    if setting == "ask" and not case.risk.only_reads:
        return Verdict("ask", ASK_ROW, 'its server says approval "ask"', depends_on_call=False)
    if case.sources and rules.taint != "off" and (doubt := _doubt(case)) is not None:
        return doubt
    return _allowed(case) or _by_mode(case)


def fallen_back(case: Case, verdict: Verdict) -> Verdict:
    """What becomes of a question when nobody can be asked."""
    if verdict.action != "ask":
        return verdict
    fallback = case.rules.fallback_at(case.surface)
    # What a rule asks about was meant to be asked about: only the mode's own question is for the one who ordered the call. Nobody orders
    # a skill: it is the model that wants it, and a server that gives it words to act by.
    is_ordered = verdict.step == LAST_ROW and not _is_skill(case)
    if not verdict.is_fixed and (fallback == "allow" or (fallback == "untainted" and is_ordered)):
        return msgspec.structs.replace(
            verdict,
            action="run",
            rule=f'nobody can be asked, and fallback is "{fallback}"',
            where=_fallback_place(case),
        )
    return msgspec.structs.replace(verdict, action="refuse")


def confirmed_to_read(tool: Tool, facts: ToolFacts | None, agent: str, grants: Sequence[Grant]) -> Grant | None:
    """The grant by which a person said that the tool only reads."""
    bound = bound_to(tool, facts)
    return next((one for one in grants if one.as_read and _is_bound(one, bound, agent)), None)


def bound_to(tool: Tool, facts: ToolFacts | None) -> tuple[str, str, str]:
    """What a grant of a tool is bound to: the server's identity, the tool's own name, its definition."""
    if facts is not None:
        return facts.identity, facts.name, facts.definition
    return f"{tool.kind}:{tool.origin}", tool.name, ""


def covers(grant: Grant, case: Case) -> bool:
    """Whether a grant allows this call."""
    facts = case.facts
    # Most grants are of other tools, and there may be many.
    if facts is not None and (grant.tool != facts.name or grant.server != facts.identity):
        return False
    if grant.as_read or not _is_bound(grant, bound_to(case.tool, facts), case.agent):
        return False
    if is_exec(case.tool) and (not grant.arguments or not is_plain_command(case)):
        return False
    globs = globs_of(grant)
    return globs is not None and covers_call(globs, case.arguments, case.paths)


def new_hosts(case: Case) -> tuple[str, ...]:
    """The hosts that data would be sent to and that nobody named: neither the person nor a pattern nor an approval of before."""
    if not case.risk.hosts:
        return ()
    known = {*case.known_hosts, *(one.arguments["host"] for one in case.grants if one.server == HOST)}
    unknown = sorted(case.risk.hosts - known)
    if not unknown:
        return ()
    return tuple(host for host in unknown if not _some_pattern(case, partial(_name_host, host)))


# Rows 6 to 11


def _doubt(case: Case) -> Verdict | None:
    """Rows 6 and 7: what foreign text may have set off. A grant that holds after such text says nothing of other hosts than it names."""
    risk, rules = case.risk, case.rules
    holds_even_so = any(one.even_after_untrusted and covers(one, case) for one in case.grants)
    if risk.exec and holds_even_so:
        # A program reaches what it likes.
        return None
    action: Literal["ask", "refuse"] = "refuse" if "deny" in (rules.taint, rules.mode) else "ask"
    # Nobody is asked in mode `deny` either: foreign text must not loosen it.
    where = rules.place("mode" if rules.mode == "deny" and rules.taint != "deny" else "taint")
    if risk.exec:
        return Verdict(
            action,
            FOREIGN_REACH_ROW,
            f"it runs a program {_once_read(case)}",
            where,
            by_foreign=True,
            depends_on_call=False,
        )
    if hosts := new_hosts(case):
        sentence = f"it would send data to {_listed(hosts)}, which nobody named, {_once_read(case)}"
        return Verdict(action, FOREIGN_REACH_ROW, sentence, where, by_foreign=True)
    if risk.write and case.origins and not holds_even_so and not _is_named(case):
        told = [f"the value of {name} came from {source_text(source)}" for name, source in case.origins.items()]
        return Verdict(action, FOREIGN_VALUE_ROW, _listed(told), where, by_foreign=True)
    return None


def _once_read(case: Case) -> str:
    return f"after text of {_listed([source_text(one) for one in case.sources])} was read"


def _is_named(case: Case) -> bool:
    """Whether a pattern covers the call and names every argument with a short foreign value. What stands inside a long text is content:
    the pattern says where it may go."""
    needed = {name for name in case.origins if is_short(case.arguments.get(name))}

    def names_them(globs: Globs) -> bool:
        named = {name for name, wanted in globs if not wanted.is_anything}
        return bool(named) and needed <= named

    return _some_pattern(case, names_them)


def is_short(argument: Any) -> bool:
    return any(not isinstance(value, str) or len(value) <= MOST_VALUE for _, value in leaves({"": argument}))


def _allowed(case: Case) -> Verdict | None:
    """Row 8."""
    for pattern in case.allow:
        if _covering(pattern, case, stored=False):
            # Of this run alone: nobody may keep it for another one.
            return Verdict("run", ALLOW_ROW, f'this run allows "{pattern.text}"')
    if case.rules.allow and (allowing := _allowing_layers(case)):
        needs_arguments = any(one.arguments for one in allowing) or _depends(case)
        first = allowing[0]
        return Verdict("run", ALLOW_ROW, f'allow "{first.text}" names it', first.where, depends_on_call=needs_arguments)
    if case.facts and case.facts.approval == "allow":
        return Verdict("run", ALLOW_ROW, 'its server says approval "allow"', depends_on_call=_depends(case))
    for grant in case.grants:
        if covers(grant, case):
            told = "it was granted in this conversation" if grant.scope == "session" else f"grant {grant.id} allows it"
            return Verdict(
                "run", ALLOW_ROW, told, grant=grant.id, depends_on_call=bool(grant.arguments) or _depends(case)
            )
    return None


def _by_mode(case: Case) -> Verdict:
    """Rows 9 to 11."""
    mode, where = case.rules.mode, f'{case.rules.place("mode")} "{case.rules.mode}"'
    if mode == "off":
        return Verdict("run", LENIENT_MODE_ROW, "nothing asks", where, depends_on_call=_depends(case))
    if mode == "writes" and case.risk.only_reads and not _is_skill(case):
        return Verdict("run", LENIENT_MODE_ROW, "it only reads", where, depends_on_call=_depends(case))
    if mode == "deny":
        return Verdict("refuse", DENY_MODE_ROW, "no rule allows it", where)
    told = "it changes things and no rule allows it" if not case.risk.only_reads else "no rule allows it"
    if not case.risk.only_reads and case.facts is not None and case.facts.read_only:
        # Its server says otherwise, and the person reads both.
        told = "it may change things and no rule allows it"
    if _is_skill(case):
        told = "a model acts by what a skill says, and nobody allowed this one as it is now"
    return Verdict("ask", LAST_ROW, told, where)


def _is_skill(case: Case) -> bool:
    return case.facts is not None and bool(case.facts.skill)


def _depends(case: Case) -> bool:
    """Whether another call of the tool might have met a row before 8."""
    rules = case.rules
    if rules.deny.of(case.tool) or rules.ask.of(case.tool):
        return True
    is_doubted = bool(case.sources) and rules.taint != "off"
    return is_doubted and (not case.risk.only_reads or bool(case.risk.hosts))


# Patterns against a case


def is_exec(tool: Tool) -> bool:
    return tool.kind == "native" and tool.name == "exec"


def is_plain_command(case: Case) -> bool:
    """Whether what a program is given says what it will do: no shell, no program on the command line."""
    command = case.arguments.get("command")
    return isinstance(command, list | tuple) and not case.arguments.get("shell") and not has_inline_code(command)


def globs_of(grant: Grant) -> Globs | None:
    """None for patterns that nobody could have been offered: somebody wrote them into the file."""
    try:
        return tuple((name, glob(text)) for name, text in grant.arguments.items())
    except UsageError:
        return None


def _is_bound(grant: Grant, bound: tuple[str, str, str], agent: str) -> bool:
    return (grant.server, grant.tool, grant.definition) == bound and grant.agent in ("", agent)


def _touching(patterns: PatternSet, case: Case) -> Pattern | None:
    for one in patterns.of(case.tool):
        if touches_call(one.arguments, case.arguments, case.paths):
            return one
    return None


def _covering(pattern: Pattern, case: Case, *, stored: bool = True) -> bool:
    if is_exec(case.tool) and stored and (not pattern.arguments or not is_plain_command(case)):
        return False
    return pattern.is_of(key_of(case.tool)) and covers_call(pattern.arguments, case.arguments, case.paths)


def _allowing_layers(case: Case) -> list[Pattern]:
    """The pattern of each layer that allows the call; none when one layer does not."""
    found: list[Pattern] = []
    for layer in case.rules.allow:
        one = next((pattern for pattern in layer.of(case.tool) if _covering(pattern, case)), None)
        if one is None:
            return []
        found.append(one)
    return found


def _some_pattern(case: Case, fits: Callable[[Globs], bool]) -> bool:
    """Whether something that allows the call does it by patterns that fit: a grant, this run, or every layer of the config."""
    if any(one.arguments and covers(one, case) and fits(globs_of(one) or ()) for one in case.grants):
        return True
    if any(_covering(one, case, stored=False) and fits(one.arguments) for one in case.allow):
        return True
    layers = case.rules.allow
    return bool(layers) and all(
        any(_covering(one, case) and fits(one.arguments) for one in layer.of(case.tool)) for layer in layers
    )


def _name_host(host: str, globs: Globs) -> bool:
    return any(names_host(wanted, host) for _, wanted in globs)


def _listed(names: Sequence[str]) -> str:
    *others, last = names or ("",)
    return f"{', '.join(others)} and {last}" if others else last


def _fallback_place(case: Case) -> str:
    return case.rules.place("fallback")

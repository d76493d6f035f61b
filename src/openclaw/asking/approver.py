"""The approval of a call: what the rules say of it, a question where they leave it to a person, and what becomes of the answer.

Owns the `Approve` step of every call (`tools/invoke.py`): the verdict comes from security/approval.py, and one that holds for every call
of a tool is kept until the rules or the grants behind it change, so that a call which needs no question costs next to nothing. A tool
that only reads is marked on what policy says of it, and its calls pass us by, with grants behind it for as long as those are known to be
there; what they are held against then stands twice, in `approve` and in `Invoke`. The calls of one turn are asked about one after the
other, and each is decided anew when its turn comes: what was granted meanwhile runs, what was declined is not asked again. Only an offer
that was made is a yes; nothing else is. Shows nothing: that is the asker's business. What is said is approval_words.py's.
"""

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import msgspec

from openclaw.content import to_sorted_json
from openclaw.conversation import PANEL, Conversation, Declined
from openclaw.errors import StoreError
from openclaw.event_hub import EventHub
from openclaw.grant import Grant
from openclaw.log import iso_time, one_line, short_hash
from openclaw.security.approval import (
    DECLINED_ROW,
    FOREIGN_REACH_ROW,
    FOREIGN_VALUE_ROW,
    Case,
    Rules,
    Verdict,
    confirmed_to_read,
    decide,
    fallen_back,
)
from openclaw.security.foreign import foreign_values, takes_long, written_hosts
from openclaw.security.grants import Grants
from openclaw.security.own_places import OwnPlaces
from openclaw.security.patterns import Paths, Pattern, parse
from openclaw.security.policy import Decision
from openclaw.security.risk import Risk, has_many_values, hosts_of, names_a_place, reaches_nobody, risk_of
from openclaw.standstill import paused
from openclaw.tool import SEARCH_TOOLS, Tool, ToolFacts
from openclaw.tools.invoke import Call

_log = logging.getLogger(__name__)

# Verdicts and facts of tools that are kept. More than an agent of many servers has; beyond that they are made anew.
_MOST_KEPT = 4_096
# Names of arguments that are remembered for a tool. More than a schema has; a model may think of others without end.
_MOST_NAMES = 64
# Characters that a person may have written before a call is looked at beside everything else: some milliseconds.
_MUCH_WRITTEN = 100_000
_LONGEST_TEXT = 200
# The arguments of native tools that are places in the file system.
_PLACES = ("path", "cwd")
# What the audit trail says of rules whose sentence names hosts, arguments or sources.
_RULES_OF_FOREIGN = {
    FOREIGN_REACH_ROW: "a program or a new host after foreign text",
    FOREIGN_VALUE_ROW: "a foreign value",
}


class ApprovalDecided(msgspec.Struct, frozen=True):
    """A call was asked about, or refused by a rule. `seconds` is how long a person was waited for; None when none was asked."""

    tool_kind: str
    answer: str
    seconds: float | None = None


class Audit(Protocol):
    def noted(self, event: str, facts: Mapping[str, Any]) -> None: ...


class _Kept(msgspec.Struct, frozen=True, eq=False):
    """A verdict "run" that holds for every call of `tool` by `agent`, and with `revision` only as long as the grants are the same.

    Without `own` the tool only reads; else calls that name one of these places are looked at by themselves. `plain_names` are those of
    arguments that say nothing of a host; without them the tool reaches no host at all.
    """

    tool: Tool
    agent: str
    revision: int | None
    own: OwnPlaces | None
    plain_names: set[str] | None


class _Known(msgspec.Struct, frozen=True, eq=False):
    """What is known about a call before its values are looked at. Of a conversation that goes on meanwhile, what may change is copied."""

    tool: Tool
    facts: ToolFacts | None
    arguments: Mapping[str, Any]
    rules: Rules
    grants: Sequence[Grant]
    allow: Sequence[Pattern]
    conversation: Conversation
    sources: Sequence[str]
    written: Sequence[str]
    declined: frozenset[str]
    own: OwnPlaces

    @property
    def takes_long(self) -> bool:
        """Whether everybody else would wait while the call is looked at."""
        return has_many_values(self.arguments) or (bool(self.sources) and sum(map(len, self.written)) > _MUCH_WRITTEN)

    @property
    def is_doubted(self) -> bool:
        """Whether foreign text may have set it off."""
        return bool(self.sources) and self.rules.taint != "off"


class Approver:
    """`approver.approve` is an `Approve`: why a call may not be made, in words that end a sentence; None when it may.

    `rules` gives those of an agent, the same object for as long as they are the same; `own` what is ours. Whoever changes either says so
    (`forget`), and so does who knows that tools are others by now: a turn may still call one as it was offered. `home` is what `~/` in
    patterns stands for. `decision` is what policy says of a tool and an agent, the same object at every call of it and at those alone:
    what needs nobody's approval is marked there. To be left out where others approve in our place.
    """

    def __init__(
        self,
        *,
        rules: Callable[[str], Rules],
        grants: Grants,
        audit: Callable[[], Audit],
        events: EventHub,
        home: str = "",
        own: Callable[[], OwnPlaces] = OwnPlaces,
        clock: Callable[[], float] = time.monotonic,
        decision: Callable[[Tool, str], Decision] | None = None,
    ) -> None:
        self._rules = rules
        self._grants = grants
        self._audit = audit
        self._events = events
        self._home = home
        self._own = own
        self._clock = clock
        self._decision = decision
        # Those that have a mark of ours, by their id.
        self._cleared: dict[int, Decision] = {}
        if decision is not None:
            grants.follow(self._unclear)
        # By whether foreign text was read, and then by the tool's id; what is kept holds the tool, so that no other gets its id.
        self._kept: tuple[dict[int, _Kept], dict[int, _Kept]] = ({}, {})
        self._facts: dict[int, tuple[Tool, ToolFacts | None]] = {}
        # The calls of one turn that wait for a person.
        self._lines: WeakKeyDictionary[Declined, asyncio.Lock] = WeakKeyDictionary()

    def forget(self) -> None:
        """Keep no verdict any longer: rules, places of ours, or what is known of tools are others from now on."""
        for kept in self._kept:
            kept.clear()
        self._facts.clear()
        self._unclear()

    def _unclear(self) -> None:
        for decision in self._cleared.values():
            decision.clear(None)
        self._cleared.clear()

    def approve(self, call: Call) -> Awaitable[str | None] | None:
        """None at once for a call that is known to need nothing."""
        # What costs is memory that is touched, right after others had the processor: nothing is called or looked up that need not be.
        # Nothing was declined in this turn, so there is no row to end either.
        conversation = call.invocation.conversation
        is_tainted = conversation.foreign.was_read
        kept = self._kept[is_tainted].get(id(call.tool))
        if (
            kept is None
            or kept.agent != conversation.agent
            or not conversation.declined.is_empty
            or (kept.revision is not None and kept.revision != self._grants.revision)
        ):
            return self._decided(call, conversation)
        if is_tainted and (plain_names := kept.plain_names) is not None:
            for name, value in call.request.arguments.items():
                if type(value) is not str or ":" in value or name not in plain_names:
                    if self._may_send_data(plain_names, call.request.arguments):
                        return self._decided(call, conversation)
                    break
        if kept.own is None:
            self._clear(kept)
        elif self._may_change_ours(kept.own, call, conversation):
            return self._decided(call, conversation)
        return None

    def _may_send_data(self, plain_names: set[str], arguments: Mapping[str, Any]) -> bool:
        """Whether a call names hosts, or more than can be looked at here. Otherwise its names are plain ones from now on."""
        if has_many_values(arguments) or hosts_of(arguments):
            return True
        if len(plain_names) < _MOST_NAMES:
            plain_names.update(_plain_names(arguments))
        return False

    def _may_change_ours(self, own: OwnPlaces, call: Call, conversation: Conversation) -> bool:
        """Of a call that does not only read."""
        arguments = call.request.arguments
        return (
            conversation.reads_only
            or has_many_values(arguments)
            or own.named_in(call.tool, arguments, conversation.workspace)
        )

    async def _decided(self, call: Call, conversation: Conversation) -> str | None:
        if call.tool.kind == "native" and call.tool.name in SEARCH_TOOLS:
            # Searching does nothing yet: the call of a tool that is found is decided by itself.
            return None
        case, verdict = await self._judged(call, conversation)
        match verdict.action:
            case "run":
                self._run(case, verdict, conversation)
                return None
            case "refuse":
                return self._refuse(call, case, verdict)
            case "ask":
                if conversation.says_yes:
                    self._note(call, case, verdict, "accepted", by="command")
                    conversation.declined.end_row()
                    return None
                if not conversation.asker.can("approval"):
                    return self._without_anybody(call, case, verdict)
                async with paused(conversation.asker), self._line(conversation.declined):
                    return await self._ask(call, conversation)

    async def _judged(self, call: Call, conversation: Conversation) -> tuple[Case, Verdict]:
        """All that is known about a call, and what follows. What takes long is done beside everything else, and nothing else is: to get
        there and back costs more than most calls."""
        arguments, foreign, code = call.request.arguments, conversation.foreign, conversation.code
        known = self._known(call.tool, arguments, conversation)
        if known.takes_long:
            return await asyncio.to_thread(_judge, known)
        risk = _risk_of(known)
        origins: Mapping[str, str] = {}
        if known.is_doubted and not risk.only_reads:
            if takes_long(arguments, foreign, known.written):
                origins = await asyncio.to_thread(foreign_values, arguments, foreign, known.written, code)
            else:
                origins = foreign_values(arguments, foreign, known.written, code)
        case = _case_of(known, risk, origins)
        return case, decide(case)

    def case(self, tool: Tool, arguments: Mapping[str, Any], conversation: Conversation) -> Case:
        """All that is known about a call now."""
        return _judge(self._known(tool, arguments, conversation))[0]

    def _known(self, tool: Tool, arguments: Mapping[str, Any], conversation: Conversation) -> _Known:
        return _Known(
            tool=tool,
            facts=self._facts_of(tool),
            arguments=arguments,
            rules=self._rules(conversation.agent),
            grants=(*self._grants.all(), *conversation.granted),
            allow=_patterns(conversation.allow, self._home),
            conversation=conversation,
            sources=tuple(conversation.foreign),
            written=tuple(conversation.written),
            declined=frozenset(conversation.declined.calls),
            own=self._own(),
        )

    def _facts_of(self, tool: Tool) -> ToolFacts | None:
        if tool.facts is None:
            return None
        known = self._facts.get(id(tool))
        if known is None:
            if len(self._facts) >= _MOST_KEPT:
                self._facts.clear()
            known = self._facts[id(tool)] = (tool, tool.facts())
        return known[1]

    def _line(self, declined: Declined) -> asyncio.Lock:
        line = self._lines.get(declined)
        if line is None:
            line = self._lines[declined] = asyncio.Lock()
        return line

    def _run(self, case: Case, verdict: Verdict, conversation: Conversation) -> None:
        conversation.declined.end_row()
        reads = confirmed_to_read(case.tool, case.facts, case.agent, case.grants)
        used = [one for one in (verdict.grant, reads.id if reads is not None else "") if one]
        if any(one.id in used for one in conversation.granted):
            # Of this conversation alone.
            return
        if used:
            self._was_used(used)
        # A native tool is made anew for every turn: what is kept of it would never be asked for again, and holds on to the turn.
        if not verdict.depends_on_call and case.tool.kind != "native":
            all_kept = self._kept[bool(case.sources)]
            if len(all_kept) >= _MOST_KEPT:
                all_kept.clear()
            revision = self._grants.revision if used else None
            if (
                (used and not self._grants.has(used))
                or case.rules is not self._rules(case.agent)
                or case.facts is not self._facts_of(case.tool)
            ):
                # Revoked, ruled otherwise or changed by its server since it was looked up.
                return
            own = None if case.risk.only_reads else self._own()
            plain_names = None if reaches_nobody(case.facts) else _plain_names(case.arguments)
            kept = _Kept(case.tool, case.agent, revision, own, plain_names)
            all_kept[id(case.tool)] = kept
            if own is None:
                self._clear(kept)

    def _clear(self, kept: _Kept) -> None:
        """Let calls pass by without asking us at all, until grants that were looked up for it may be others. Of a tool that only reads it
        makes no difference whether foreign text was read, but for hosts."""
        if self._decision is None:
            return
        if len(self._cleared) >= _MOST_KEPT:
            self._unclear()
        decision = self._decision(kept.tool, kept.agent)
        self._cleared[id(decision)] = decision
        decision.clear(kept.tool, kept.plain_names, until=None if kept.revision is None else self._grants.good_until)

    def _was_used(self, ids: Sequence[str]) -> None:
        try:
            self._grants.used(ids)
        except StoreError as error:
            _log.warning("It cannot be noted that a grant was used: %s", error)

    def _refuse(self, call: Call, case: Case, verdict: Verdict) -> str:
        self._note(call, case, verdict, "refused", by="rule")
        if verdict.step == DECLINED_ROW:
            # Whoever insists gets no further than by asking.
            call.invocation.conversation.declined.add(_digest(case.tool, case.arguments))
        return f"{verdict}."

    def _without_anybody(self, call: Call, case: Case, verdict: Verdict) -> str | None:
        if fallen_back(case, verdict).action == "run":
            call.invocation.conversation.declined.end_row()
            return None
        self._note(call, case, verdict, "nobody")
        from openclaw.asking.approval_words import nobody

        return nobody(case, verdict)

    # A person

    async def _ask(self, call: Call, conversation: Conversation) -> str | None:
        """Whatever was decided before others were asked about is decided anew."""
        case, verdict = await self._judged(call, conversation)
        if verdict.action == "run":
            self._run(case, verdict, conversation)
            return None
        if verdict.action == "refuse":
            return self._refuse(call, case, verdict)
        if conversation.declined.is_enough:
            self._note(call, case, verdict, "declined", by="rule")
            return "the person declined the calls before it."
        from openclaw.asking.approval_words import question_about, refusal, told
        from openclaw.security.offers import granted, offers

        began = self._clock()
        answer = await conversation.asker.ask(
            question_about(
                call.request.id,
                case,
                verdict,
                typed=conversation.surface == "call",
                by_panel=conversation.surface == PANEL,
            )
        )
        waited = self._clock() - began
        option = answer.content.get("option") if answer.is_yes else None
        if not isinstance(option, str) or option not in {offer.id for offer in offers(case, verdict)}:
            conversation.declined.add(_digest(case.tool, case.arguments))
            self._note(call, case, verdict, told(answer), by=answer.by, waited=waited)
            return refusal(answer, case, verdict)
        if call.tool.facts is not None and call.tool.facts() != case.facts:
            # What would be called now is not what they said yes to.
            self._facts.pop(id(call.tool), None)
            self._note(call, case, verdict, "changed", by=answer.by, waited=waited)
            return "its server changed it while the person was asked; they said yes to what it was before."
        # The rules may be others by now.
        now = decide(msgspec.structs.replace(case, rules=self._rules(case.agent)))
        if now.action == "refuse":
            return self._refuse(call, case, now)
        given = granted(case, verdict, option, by=answer.by, created=iso_time(time.time()))
        await self._grant(call, conversation, given)
        lasting = next((one.id for one in given if one.tool), "")
        self._note(call, case, verdict, option, by=answer.by, waited=waited, grant=lasting)
        conversation.declined.end_row()
        return None

    async def _grant(self, call: Call, conversation: Conversation, given: Sequence[Grant]) -> None:
        conversation.granted.extend(one for one in given if one.scope == "session")
        lasting = [one for one in given if one.scope == "always"]
        if not lasting:
            return
        try:
            await self._grants.add(*lasting)
        except StoreError as error:
            # They said yes to this call all the same.
            _log.warning("A grant is not kept: %s", error)
            call.invocation.progress(f"This is allowed once: {error}")

    def _note(
        self,
        call: Call,
        case: Case,
        verdict: Verdict,
        answer: str,
        *,
        by: str = "",
        waited: float | None = None,
        grant: str = "",
    ) -> None:
        """A line in the audit trail, without a value of the call."""
        tool = case.tool
        rule = _RULES_OF_FOREIGN[verdict.step] if verdict.by_foreign else verdict.rule
        classes = [one for one in case.risk.classes if not one.startswith("egress:")]
        facts: dict[str, Any] = {
            "call": one_line(call.request.id, _LONGEST_TEXT),
            "agent": one_line(case.agent, _LONGEST_TEXT),
            "session": short_hash(call.invocation.session),
            "kind": tool.kind,
            "origin": one_line(tool.origin, _LONGEST_TEXT),
            "tool": one_line(tool.name, _LONGEST_TEXT),
            "classes": [*classes, *(["egress"] if case.risk.hosts else [])],
            "answer": answer,
            "by": by,
            "rule": one_line(rule, _LONGEST_TEXT),
            "where": one_line(verdict.where, _LONGEST_TEXT),
            "tainted": bool(case.sources),
        }
        if waited is not None:
            facts["waitMs"] = round(waited * 1000)
        if grant:
            facts["grant"] = grant
        self._audit().noted("approval", facts)
        self._events.send(ApprovalDecided(tool.kind, answer, waited))


def _risk_of(known: _Known) -> Risk:
    reads = confirmed_to_read(known.tool, known.facts, known.conversation.agent, known.grants) is not None
    return risk_of(known.tool, known.facts, known.arguments, reads=reads)


def _case_of(known: _Known, risk: Risk, origins: Mapping[str, str]) -> Case:
    tool, arguments, conversation = known.tool, known.arguments, known.conversation
    return Case(
        tool=tool,
        facts=known.facts,
        arguments=arguments,
        agent=conversation.agent,
        risk=risk,
        rules=known.rules,
        grants=known.grants,
        allow=known.allow,
        sources=known.sources,
        origins=origins,
        known_hosts=written_hosts(risk.hosts, known.written) if risk.hosts and known.is_doubted else (),
        declined=bool(known.declined) and _digest(tool, arguments) in known.declined,
        reads_only=conversation.reads_only,
        surface=conversation.surface,
        paths=_real_paths(tool, arguments, conversation),
        names_own=not risk.only_reads and known.own.named_in(tool, arguments, conversation.workspace),
    )


def _judge(known: _Known) -> tuple[Case, Verdict]:
    """All that there is to know about a call, and what follows. May run in a thread."""
    risk = _risk_of(known)
    looks_up = known.is_doubted and not risk.only_reads
    case = _case_of(
        known,
        risk,
        foreign_values(known.arguments, known.conversation.foreign, known.written, known.conversation.code)
        if looks_up
        else {},
    )
    return case, decide(case)


def _plain_names(arguments: Mapping[str, Any]) -> set[str]:
    """The names among these that say nothing of a host; none when there are too many to remember."""
    return set() if len(arguments) > _MOST_NAMES else {name for name in arguments if not names_a_place(name)}


@lru_cache(64)
def _patterns(texts: tuple[str, ...], home: str) -> tuple[Pattern, ...]:
    return tuple(parse(text, "--allow", home=home) for text in texts)


def _digest(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """The same for the same call: of the tool by that name, with these arguments."""
    return hashlib.sha256(to_sorted_json([tool.name, arguments])).hexdigest()


def _real_paths(tool: Tool, arguments: Mapping[str, Any], conversation: Conversation) -> Paths:
    """Where the paths among the arguments of a native tool lead."""
    if tool.kind != "native" or conversation.workspace is None:
        return {}
    given = {name: arguments[name] for name in _PLACES if isinstance(arguments.get(name), str)}
    return {name: _forms_of_path(value, conversation.workspace) for name, value in given.items()}


def _forms_of_path(value: str, workspace: Path) -> tuple[str, ...]:
    """Where a path really leads: absolute, and from the workspace when it is in there, as patterns may have it either way."""
    expanded = os.path.expanduser(value) if value == "~" or value.startswith("~/") else value
    try:
        root = os.path.realpath(workspace)
        real = os.path.realpath(os.path.join(root, expanded))
    except (OSError, ValueError):
        # No path at all: the tool will say so.
        return (value,)
    return (real, os.path.relpath(real, root)) if real.startswith(os.path.join(root, "")) else (real,)

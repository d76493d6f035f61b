"""What is known of one server's tools and skills, across connections and runs.

Owns the present toolset, the checks a listed tool passes on its way there (definition.py, pins.py, mirrored headers), and remembering
it all (cache.py, pin_store.py), so that a known server's tools can be offered before it is connected. Asks the server nothing:
server/listing.py hands in what was listed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw, structs

from openclaw.config.servers import ServerSpec
from openclaw.errors import OpenClawError, ProtocolError, StoreError, UsageError
from openclaw.json_schema import Checker
from openclaw.mcp.cache import Remembered, ToolCache
from openclaw.mcp.client import Client
from openclaw.mcp.instructions import clean_instructions
from openclaw.mcp.paging import Pages
from openclaw.mcp.pin_store import Pins, PinStore
from openclaw.mcp.resources import UTILITIES
from openclaw.mcp.skills import MOST_SKILLS, SkillEntry, read_entries
from openclaw.mcp.tools.definition import (
    NOTHING,
    Definition,
    RefusedTool,
    ToolReading,
    is_null,
    name_of,
    read_definitions,
    schema_of,
)
from openclaw.mcp.tools.pins import Change, Upgrade, digest_of, pin_of, weigh
from openclaw.mcp.tools.registry import Toolset
from openclaw.mcp.wording import trust_command
from openclaw.protocol.headers import ANNOTATION, ParamHeader, mirrored, param_headers
from openclaw.redact import redact
from openclaw.security.external import clean_label

_log = logging.getLogger(__name__)

# Checking a tool takes some ten microseconds; longer lists are checked in a thread, so that nobody waits for them.
_INLINE_TOOLS = 200
# Of one list: tools that cannot be offered and are named one by one.
MAX_REFUSALS = 1_000
# Of what a server said when it was asked for its tools: enough to find the fault.
MAX_TROUBLE = 300
MAX_VERSION = 60


class Learned(msgspec.Struct, frozen=True):
    """What asking for the list brought: whether anything is different, which changes have not been announced yet, or why none came."""

    is_new: bool
    announce: tuple[Change, ...] = ()
    trouble: str = ""


class Catalog:
    def __init__(self, spec: ServerSpec, cache: ToolCache, pins: PinStore) -> None:
        remembered = cache.recall(spec)
        self.toolset = Toolset(
            offered=tuple(Definition(name_of(raw), raw) for raw in remembered.offered),
            refusals=tuple(remembered.refusals),
            changes=tuple(remembered.changes),
            utilities=UTILITIES if remembered.has_resources else (),
            upgrade=remembered.upgrade,
            hidden=tuple(Definition(name_of(raw), raw) for raw in remembered.hidden),
        )
        # As the server listed them last, and what was made of that.
        self._listed_skills: list[Raw] = list(remembered.skills)
        self.skills: tuple[SkillEntry, ...] = read_entries(remembered.skills)
        # What it says about how to use it, clean and cut.
        self.instructions = remembered.instructions
        # How the server was reached the last time; empty when it never was.
        self.revision = remembered.revision
        self.transport = remembered.transport
        self.names: dict[str, str] = dict(remembered.names)
        # Whether it used up its connect timeout and has not come up since: known to be bad, until its entry changes.
        self.is_overdue = remembered.overdue
        # Whether its launcher was left to fetch it: once is enough for one that never ends.
        self.was_left_fetching = remembered.fetching
        # Whether its first list of tools came, and it is not known yet whether it has resources.
        self.awaits_resources = False
        # Whether the server listed its tools in this run: until then what is known may be out of date.
        self.was_listed = False
        # Why the last list did not come, as a sentence; empty when it came.
        self.trouble = ""
        self._spec = spec
        self._cache = cache
        self._pins = pins
        # As the server describes its tools now; a pinned tool is offered as it was.
        self._live: dict[str, Definition] = {}
        self._mirrors: dict[str, tuple[ParamHeader, ...]] = {}
        self._output_checks: dict[str, tuple[Definition, Checker | None]] = {}
        # Held while a large result is checked.
        self.checking = asyncio.Lock()

    @property
    def is_known(self) -> bool:
        """Whether this server's tools were ever listed."""
        return bool(self.revision)

    async def take(self, pages: Pages, client: Client, take_over: Callable[[], Awaitable[None]]) -> Learned:
        """Take over what the server lists now, and have others do so (`take_over`) if that is much. Whether it has resources is heard
        later (`take_resources`)."""
        if pages.note:
            _log.warning("MCP server '%s': %s; the rest is left out.", self._spec.name, pages.note)
        known = self._live or {definition.name: definition for definition in self.toolset.offered}
        version = clean_label(redact(str(client.agreement.server_info.get("version", ""))), MAX_VERSION)
        examine = partial(self._examine, pages.items, known, self.toolset.utilities, version, mirrors=client.mirrors)
        try:
            found = await self._pinned(examine, is_long=len(pages.items) > _INLINE_TOOLS)
        except StoreError as error:
            # Without its pins nobody can tell what of it was trusted.
            before_that, learned = self.trouble, self.miss(error)
            if self.trouble != before_that:
                _log.warning("MCP server '%s': %s", self._spec.name, self.trouble)
            return learned
        before = (self.toolset, self.revision, self.transport, self.instructions, self.is_overdue)
        self.awaits_resources = not self.is_known
        self._live, self._mirrors = found.live, found.mirrors
        # An equal one stays the same object: whoever took it over has nothing to do.
        self.toolset = self.toolset if found.toolset == self.toolset else found.toolset
        self.revision, self.transport = client.agreement.version, client.connection.link.facts.name
        self.instructions = clean_instructions(client.agreement.instructions)
        self.was_listed, self.is_overdue, self.trouble = True, False, ""
        if before == (self.toolset, self.revision, self.transport, self.instructions, False):
            return Learned(is_new=False)
        if len(pages.items) > _INLINE_TOOLS:
            await take_over()
            await asyncio.to_thread(self._remember)
        else:
            self._remember()
        if found.repeated:
            names = clean_label(", ".join(found.repeated), MAX_TROUBLE)
            _log.warning("MCP server '%s' lists more than once, in the same words: %s", self._spec.name, names)
        return Learned(is_new=True, announce=found.announce)

    async def _pinned(self, examine: "Callable[[Pins], _Found]", *, is_long: bool) -> "_Found":
        """What an examination brings, once everything it saw for the first time is kept. Raises StoreError."""
        pins = await self._pins.read(self._spec) if self._spec.trust != "follow" else Pins()

        def look() -> "tuple[_Found, bool]":
            found = examine(pins)
            return found, found.pins == pins

        while True:
            found, is_known = await asyncio.to_thread(look) if is_long else look()
            if is_known:
                return found
            held = await self._pins.add(self._spec, pins, found.pins)
            if held is found.pins or held.tools == found.pins.tools:
                return found
            # Somebody else who shares the pins saw it before us: theirs counts.
            pins = held

    def take_resources(self, *, is_there: bool) -> Learned:
        """Whether the server has a resource or a template to look at: then there are tools of ours to do so."""
        self.awaits_resources = False
        utilities = UTILITIES if is_there else ()
        if utilities == self.toolset.utilities:
            return Learned(is_new=False)
        self.toolset = structs.replace(self.toolset, utilities=utilities)
        self._remember()
        return Learned(is_new=True)

    def take_skills(self, pages: Pages) -> Learned:
        """Take over the skills that the server lists now."""
        listed = pages.items[:MOST_SKILLS]
        if listed == self._listed_skills:
            return Learned(is_new=False)
        # Without the rest of the message that they came in.
        self._listed_skills = [item.copy() for item in listed]
        self.skills = read_entries(self._listed_skills)
        self._remember()
        return Learned(is_new=True)

    def miss(self, error: OpenClawError) -> Learned:
        """The list did not come: what is known stays, and the reason is kept. It may be the server's own words."""
        # What to do about our own files is said nowhere else.
        said = str(error) if isinstance(error, StoreError) else error.message
        self.trouble = f"Its tools could not be listed: {clean_label(redact(said), MAX_TROUBLE).rstrip('.')}."
        return Learned(is_new=False, trouble=self.trouble)

    def mark_overdue(self) -> None:
        """It used up its connect timeout: no turn waits for it again, until its list came."""
        if not self.is_overdue:
            self.is_overdue = True
            self._remember()

    def mark_left_fetching(self) -> None:
        """Its launcher goes on without us; no other does, until the entry changed."""
        self.was_left_fetching = True
        self._remember()

    def forget(self, tool: str) -> bool:
        """Take out a tool the server says it does not have, until it lists it again."""
        offered = tuple(definition for definition in self.toolset.offered if definition.name != tool)
        if len(offered) == len(self.toolset.offered):
            return False
        self.toolset = structs.replace(self.toolset, offered=offered)
        self._live.pop(tool, None)
        return True

    async def trust(self, shown: str) -> tuple[Change, ...]:
        """Accept the changes that were shown, named by their digest (`digest_of`). What changed with that.

        Raises UsageError when the server says something else by now, or has not said in this run what it offers; StoreError when it cannot
        be kept.
        """
        accepted = self.toolset.changes
        if shown != digest_of(accepted) or not self._live:
            raise UsageError(
                f"MCP server '{self._spec.name}' describes its tools in other words than those that were shown; nothing was accepted.",
                hint=f"Look at them again: {trust_command(self._spec.name, self._spec.owner, self._spec.commands)}",
            )
        changed = {change.tool for change in accepted}
        live_now, upgrade = self._live, self.toolset.upgrade
        pins = await self._pins.read(self._spec)
        fresh = {name: pin_of(live) for name, live in live_now.items() if name in changed}
        version = upgrade.now if upgrade else pins.version
        await self._pins.accept(self._spec, Pins({**pins.tools, **fresh}, [], version))
        if self._live is not live_now:
            # Listed anew meanwhile, and held against one or the other: the next list is held against what was accepted.
            return accepted
        offered = {definition.name: definition for definition in self.toolset.offered}
        self.toolset = structs.replace(
            self.toolset,
            # What did not change is offered as it was, also where the server words it in another way now (a default).
            offered=tuple(live if name in changed else offered[name] for name, live in self._live.items()),
            changes=(),
            upgrade=None,
        )
        self._remember()
        return accepted

    def keep_names(self, unusual: dict[str, str]) -> None:
        """Remember which tools could not have their usual name."""
        if unusual != self.names:
            self.names = unusual
            self._remember()

    def headers(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, str] | None:
        """The headers that mirror arguments of a call; None when the tool asks for none."""
        mirrors = self._mirrors.get(tool)
        return mirrored(mirrors, arguments) if mirrors else None

    def output_schema(self, tool: str) -> Raw:
        """What the tool says its structured results are like; JSON null when it does not say."""
        live = self._live.get(tool)
        return live.details().output_schema if live else NOTHING

    def output_check(self, tool: str) -> Callable[[Any], str | None] | None:
        """What holds structured results against the tool's output schema; None when it declares none."""
        live = self._live.get(tool)
        if live is None:
            return None
        known = self._output_checks.get(tool)
        if known is None or known[0] is not live:
            schema = self.output_schema(tool)
            known = self._output_checks[tool] = (live, None if is_null(schema) else Checker(schema, what="results"))
        return known[1].check if known[1] else None

    def _examine(
        self,
        items: Sequence[Raw],
        known: Mapping[str, Definition],
        utilities: tuple[Definition, ...],
        version: str,
        pins: Pins,
        *,
        mirrors: bool,
    ) -> "_Found":
        """Everything about a list that takes time. May run in a thread: changes nothing."""
        reading = _with_few_refusals(read_definitions(items, known))
        params: dict[str, tuple[ParamHeader, ...]] = {}
        if mirrors:
            reading, params = _with_mirrors(reading)
        live = {definition.name: definition for definition in reading.definitions}
        if self._spec.trust == "follow":
            toolset = Toolset(reading.definitions, reading.refusals, (), utilities, None, reading.hidden)
            return _Found(live, params, toolset, (), reading.repeated, pins)
        verdict = weigh(reading.definitions, pins.tools)
        # Nothing is known of the version at which older pins were made.
        upgraded = bool(verdict.changes and pins.version) and version != pins.version
        upgrade = Upgrade(pins.version, version) if upgraded else None
        after = Pins(
            {**pins.tools, **verdict.added},
            [change.form for change in verdict.changes],
            pins.version if verdict.changes else version,
        )
        toolset = Toolset(verdict.offered, reading.refusals, verdict.changes, utilities, upgrade, reading.hidden)
        announce = tuple(change for change in verdict.changes if change.form not in pins.told)
        return _Found(live, params, toolset, announce, reading.repeated, after)

    def _remember(self) -> None:
        toolset = self.toolset
        self._cache.remember(
            self._spec,
            Remembered(
                self.revision,
                self.transport,
                [definition.raw for definition in toolset.offered],
                list(toolset.refusals),
                list(toolset.changes),
                bool(toolset.utilities),
                self.names,
                self.is_overdue,
                toolset.upgrade,
                self.was_left_fetching,
                self._listed_skills,
                [definition.raw for definition in toolset.hidden],
                self.instructions,
            ),
        )


class _Found(msgspec.Struct, frozen=True):
    """What an examination of a list brought."""

    live: dict[str, Definition]
    mirrors: dict[str, tuple[ParamHeader, ...]]
    toolset: Toolset
    announce: tuple[Change, ...]
    repeated: tuple[str, ...]
    # Those there are with what this brought.
    pins: Pins


def _with_few_refusals(reading: ToolReading) -> ToolReading:
    """The reading with as many refusals as somebody may look at: everything that is known of a server is gone through at every change."""
    more = len(reading.refusals) - MAX_REFUSALS
    if more <= 0:
        return reading
    rest = RefusedTool(f"({more:,} more)", "they are refused for reasons like these")
    return structs.replace(reading, refusals=(*reading.refusals[:MAX_REFUSALS], rest))


def _with_mirrors(reading: ToolReading) -> tuple[ToolReading, dict[str, tuple[ParamHeader, ...]]]:
    """The headers tools ask for, and the list without the tools whose annotations are malformed: over HTTP they cannot be called right."""
    mirrors: dict[str, tuple[ParamHeader, ...]] = {}
    refusals: list[RefusedTool] = []
    for definition in (*reading.definitions, *reading.hidden):
        if ANNOTATION.encode() not in bytes(definition.raw):
            continue
        try:
            mirrors[definition.name] = param_headers(msgspec.json.decode(schema_of(definition.details())))
        except ProtocolError as error:
            refusals.append(RefusedTool(definition.name, error.message.rstrip(".")))
    bad = {refusal.name for refusal in refusals}
    kept, hidden = (
        tuple(definition for definition in some if definition.name not in bad)
        for some in (reading.definitions, reading.hidden)
    )
    refused = (*reading.refusals, *refusals)
    return structs.replace(reading, definitions=kept, refusals=refused, hidden=hidden), mirrors

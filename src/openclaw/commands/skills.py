"""`openclaw skills`: what an agent can be told how to do, by whom, and what of it a person allowed.

Reading a skill of a server here is for the person: no model sees it, and nothing is allowed by it.
"""

import asyncio

import msgspec

from openclaw.app import App
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.commands.waiting import told_of_waiting
from openclaw.config.agents import AgentSpec
from openclaw.config.wording import nearest
from openclaw.errors import UsageError
from openclaw.log import one_line
from openclaw.mcp.cache import identity
from openclaw.mcp.skills import ServedSkill
from openclaw.security.external import clean_label, clean_terminal
from openclaw.skills.catalog import Skills
from openclaw.skills.command import instructions
from openclaw.skills.served import ServedSkills
from openclaw.skills.skill import SkillFault

_SHOWN = 200


class Row(msgspec.Struct, frozen=True):
    """One skill. `origin` is the kind of folder it lies in, or `mcp SERVER`; `state` what becomes of it; `digest` that of all files of a
    server's."""

    name: str
    origin: str
    state: str
    description: str
    digest: str = ""


class _Found(msgspec.Struct, frozen=True):
    app: App
    spec: AgentSpec
    local: Skills
    served: ServedSkills


async def _found(context: Context, app: App, agent: str) -> _Found:
    """Once the servers have said what they have."""
    spec = app.engine.agent(agent)
    manager = await app.engine.manager()
    async with told_of_waiting(context.console, manager, spec.id):
        await app.settled(spec.id)
        # What is remembered of them may have changed: whoever looks wants to know what they offer now. One that is away shows as it was.
        offering = [server for server in manager.servers(spec.id) if server.skills]
        await asyncio.gather(*(server.refresh() for server in offering), return_exceptions=True)
    local = await asyncio.to_thread(app.workplace(spec, context.cwd).skills)
    return _Found(app, spec, local, await app.served_skills(spec))


async def list_skills(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        rows = _rows(await _found(context, app, parsed.text("agent")))
    if parsed.flag("json"):
        context.console.data(rows)
    elif rows:
        shown = [(row.name, row.origin, row.state, one_line(row.description)) for row in rows]
        context.console.table(("skill", "from", "state", "what it is for"), shown)
    else:
        context.console.line("There is no skill.")
    return 0


def _rows(found: _Found) -> list[Row]:
    local, served = found.local, found.served
    rows = [Row(skill.name, skill.source, "ready", skill.description) for skill in local.skills]
    rows += [Row(one.name or str(one.path), "file", f"not used: {one.reason}", "") for one in local.skipped]
    for name, skill in served.all().items():
        why = served.kept_back(name, skill)
        state = f"not used: {why}" if why else _state(found.app, found.spec, skill)
        rows.append(
            Row(
                clean_label(name, _SHOWN),
                f"mcp {skill.server}",
                state,
                clean_label(skill.entry.description, _SHOWN),
                skill.entry.digest if skill.entry.files else "",
            )
        )
    return rows


def _state(app: App, spec: AgentSpec, skill: ServedSkill) -> str:
    """What a person has said of a skill of a server."""
    given = [
        grant
        for grant in app.engine.grants.all()
        if (grant.server, grant.tool) == (identity(skill.spec), skill.entry.uri) and grant.agent in ("", spec.id)
    ]
    if any(grant.definition == skill.entry.digest for grant in given):
        return "allowed"
    return "asks first: changed since you allowed it" if given else "asks first"


async def show(context: Context, parsed: Parsed) -> int:
    name = parsed.text("name")
    async with context.open_app() as app:
        found = await _found(context, app, parsed.text("agent"))
        local = found.local.find(name)
        served = found.served.all().get(name)
        if local is None and served is None:
            known = [*(skill.name for skill in found.local.skills), *found.served.all()]
            raise UsageError(
                f"There is no skill {one_line(name, _SHOWN)!r}.",
                hint=nearest(name, known) or "`openclaw skills` lists them.",
            )
        try:
            if local is not None:
                document: dict[str, object] = {"name": local.skill.name, "path": str(local.skill.path)}
                text = await asyncio.to_thread(instructions, local.skill)
            else:
                assert served is not None  # one of both was found
                if served.entry.fault:
                    raise SkillFault(f"{served.entry.fault}.")
                document = _document(name, served)
                text = await found.served.text(served)
        except SkillFault as fault:
            raise UsageError(f"{one_line(name, _SHOWN)} cannot be used: {fault}") from None
    if parsed.flag("json"):
        context.console.data({**document, "text": text})
        return 0
    for label, value in document.items():
        for line in value if isinstance(value, list) else [value]:
            context.console.note(context.console.dim(f"{label}: {clean_terminal(str(line))}"))
    context.console.line(clean_terminal(text))
    return 0


def _document(name: str, skill: ServedSkill) -> dict[str, object]:
    entry = skill.entry
    files = [f"{clean_label(entry.path(file), _SHOWN)} ({file.size:,} bytes, {file.digest})" for file in entry.files]
    return {
        "name": name,
        "server": skill.server,
        "uri": clean_label(entry.uri, _SHOWN),
        "digest": entry.digest,
        "file": files,
    }

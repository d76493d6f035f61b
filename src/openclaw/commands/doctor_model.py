"""Whether the models of agents answer, asked for one word each: all of them at the same time, for a bounded time."""

import asyncio
from collections.abc import Iterable, Mapping

import msgspec

from openclaw.app import App
from openclaw.commands.models import Tried, catalog_of, try_model
from openclaw.config.agents import AgentSpec
from openclaw.errors import OpenClawError
from openclaw.models.catalog import Selection
from openclaw.models.naming import OFFLINE

# A model on a machine of one's own may have to be loaded first; who waits longer does not use it in a chat either.
PATIENCE = 30.0


class AgentModel(msgspec.Struct, frozen=True):
    """The model of an agent: which one, or why there is none, and how it answered; None where nobody asked it."""

    selection: Selection | None
    error: OpenClawError | None = None
    tried: Tried | None = None


async def models_of(app: App, agents: Iterable[AgentSpec], *, asks: bool) -> dict[str, AgentModel]:
    """The model of each agent, by its id; asked, unless it is no language model or cannot work as things are."""
    found = {spec.id: await _selected(app, spec) for spec in agents}
    names = {
        one.selection.name
        for one in found.values()
        if asks and one.selection is not None and not one.selection.problem and one.selection.name != OFFLINE
    }
    answers = await _asked(app, names)
    return {
        agent: msgspec.structs.replace(one, tried=answers.get(one.selection.name) if one.selection else None)
        for agent, one in found.items()
    }


async def _selected(app: App, spec: AgentSpec) -> AgentModel:
    try:
        return AgentModel(await app.selection(spec))
    except OpenClawError as error:
        return AgentModel(None, error)


async def _asked(app: App, names: Iterable[str]) -> Mapping[str, Tried]:
    wanted = sorted(names)
    if not wanted:
        return {}
    async with catalog_of(app.engine) as models:

        async def one(name: str) -> Tried:
            try:
                async with asyncio.timeout(PATIENCE):
                    return await try_model(models, name)
            except TimeoutError:
                return Tried(name, f"It did not answer within {PATIENCE:g} s.")

        return dict(zip(wanted, await asyncio.gather(*map(one, wanted)), strict=True))

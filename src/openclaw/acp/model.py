"""Whether there is a model to answer a client with. Owns the sentence for when there is none, and remembers what was found."""

import asyncio

from openclaw.acp import model_mark
from openclaw.app import App
from openclaw.models.catalog import OFFLINE
from openclaw.sessions.key import agent_of


async def missing_model(app: App, agent: str, session: str) -> str:
    """What is missing, for the agent and the conversation that the command line names; empty when nothing is. Raises OpenClawError."""
    selection = await app.selection(app.engine.agent(agent or agent_of(session)))
    is_missing = selection.name == OFFLINE and selection.found != ""
    config = str(app.paths.config_file)
    await asyncio.to_thread(model_mark.note, app.engine.env, config, agent, session, is_there=not is_missing)
    if not is_missing:
        return ""
    return (
        f"OpenClaw has no model to answer with: {selection.found}. Set agents.defaults.model in {config}, or the key of a vendor in the "
        f"environment; `openclaw doctor` says more."
    )

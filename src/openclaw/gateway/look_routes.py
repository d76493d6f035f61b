"""`/v1/agents`, `/v1/status`, `/v1/doctor`, `/v1/tools/explain` and `/v1/audit`: how everything stands, in the words of the commands."""

import asyncio

from aiohttp import web

from openclaw.app import App
from openclaw.commands.audit import last_records
from openclaw.config.agents import agent as agent_spec
from openclaw.config.agents import agent_ids
from openclaw.errors import UsageError
from openclaw.gateway.command_answer import MakeContext, answer_of
from openclaw.gateway.http import json_response
from openclaw.models.configured import model_names

# Lines of the audit trail in one answer.
MOST_RECORDS = 10_000


class LookRoutes:
    """`context` makes what a command needs, for a surface that nobody sits at."""

    def __init__(self, app: App, context: MakeContext) -> None:
        self._app = app
        self._context = context

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/v1/agents", self.agents, allow_head=False),
            web.get("/v1/status", self.status, allow_head=False),
            web.get("/v1/doctor", self.doctor, allow_head=False),
            web.get("/v1/tools/explain", self.explain, allow_head=False),
            web.get("/v1/audit", self.audit, allow_head=False),
        ]

    async def agents(self, request: web.Request) -> web.Response:
        """The agents, the default one first, and the models that the config names."""
        config = self._app.config
        specs = [agent_spec(config, name) for name in agent_ids(config)]
        shown = [{"id": spec.id, "name": spec.name, "model": spec.model} for spec in specs]
        return json_response({"agents": shown, "models": model_names(config, self._app.engine.env)})

    async def status(self, request: web.Request) -> web.Response:
        return await answer_of(self._context, ["status"], finds=True)

    async def doctor(self, request: web.Request) -> web.Response:
        """With `offline`, no server and no model is asked."""
        return await answer_of(
            self._context, ["doctor"], ["--offline"] if "offline" in request.query else [], finds=True
        )

    async def explain(self, request: web.Request) -> web.Response:
        tool = request.query.get("tool", "")
        if not tool:
            raise UsageError("`tool` is the name of a tool.")
        agent = request.query.get("agent", "")
        return await answer_of(
            self._context, ["tools", "explain"], [f"--agent={agent}"] if agent else [], [tool], finds=True
        )

    async def audit(self, request: web.Request) -> web.Response:
        """The last lines of the trail, newest first."""
        text = request.query.get("limit", "200")
        if not text.isdecimal() or len(text) > 6:
            raise UsageError("`limit` is a number.")
        # What happened a moment ago is in it too.
        self._app.engine.audit.flush()
        count = min(int(text), MOST_RECORDS)
        found = await asyncio.to_thread(last_records, self._app.paths.audit_dir, count)
        return json_response({"records": found[::-1]})

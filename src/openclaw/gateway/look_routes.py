"""`/v1/agents`, `/v1/status`, `/v1/doctor`, `/v1/tools/explain` and `/v1/audit`: how everything stands, in the words of the commands."""

from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web

from openclaw.app import App
from openclaw.config.agents import agent as agent_spec
from openclaw.config.agents import agent_ids
from openclaw.gateway.command_answer import MakeContext, answer_of
from openclaw.gateway.http import MOST_NUMBER, json_response, read_query
from openclaw.gateway.route import Route
from openclaw.models.configured import model_names

# Lines of the audit trail in one answer.
MOST_RECORDS = 10_000


class SaidAs(msgspec.Struct):
    format: Annotated[
        Literal["json", "text"], msgspec.Meta(description="`text`: what a person is told at a terminal")
    ] = "json"


class DoctorWanted(SaidAs):
    offline: Annotated[bool, msgspec.Meta(description="ask no server and no model")] = False


class ExplainWanted(SaidAs, kw_only=True):
    tool: Annotated[str, msgspec.Meta(min_length=1, description="the name of a tool")]
    agent: Annotated[str, msgspec.Meta(description="another agent than the default one")] = ""


class AuditWanted(msgspec.Struct):
    limit: Annotated[int, msgspec.Meta(ge=0, le=MOST_NUMBER, description="so many, and never more than 10,000")] = 200
    search: Annotated[
        str, msgspec.Meta(description="words that a line has to hold, in any case; none of those after a `-`")
    ] = ""


class AuditRecords(msgspec.Struct):
    """`total` is how many lines fit, of which these are the newest. `more`: the trail is so long that its older part was not looked at."""

    records: list[dict[str, Any]]
    total: int
    more: bool = False


class AgentList(msgspec.Struct):
    agents: list[dict[str, Any]]
    models: list[str]


class LookRoutes:
    """`context` makes what a command needs, for a surface that nobody sits at."""

    def __init__(self, app: App, context: MakeContext) -> None:
        self._app = app
        self._context = context

    def routes(self) -> list[Route]:
        return [
            Route(
                "GET",
                "/v1/agents",
                self.agents,
                "The agents with their models, and the models that the config names",
                gives=AgentList,
            ),
            Route(
                "GET",
                "/v1/status",
                self.status,
                "What `openclaw status --json` prints; with `?format=text` what it says to a person, as `text`",
                query=SaidAs,
            ),
            Route(
                "GET",
                "/v1/doctor",
                self.doctor,
                "What `openclaw doctor --json` prints; with `?offline=1` no server and no model is asked",
                query=DoctorWanted,
            ),
            Route(
                "GET",
                "/v1/tools/explain",
                self.explain,
                "Why an agent has the tool of `?tool=NAME`, or has it not, as `openclaw tools explain` says it",
                query=ExplainWanted,
            ),
            Route(
                "GET",
                "/v1/audit",
                self.audit,
                "The last `?limit=N` lines of the [audit trail](../explain/what-is-untrusted.md), newest first;"
                " `?search=WORDS`: those that hold all words, and none that is written `-WORD`",
                query=AuditWanted,
                gives=AuditRecords,
            ),
        ]

    async def agents(self, request: web.Request) -> web.Response:
        """The agents, the default one first, and the models that the config names."""
        config = self._app.config
        specs = [agent_spec(config, name) for name in agent_ids(config)]
        shown = [{"id": spec.id, "name": spec.name, "model": spec.model} for spec in specs]
        return json_response(AgentList(shown, [*model_names(config, self._app.engine.env)]))

    async def status(self, request: web.Request) -> web.Response:
        return await answer_of(self._context, ["status"], finds=True, as_text=_as_text(request, SaidAs))

    async def doctor(self, request: web.Request) -> web.Response:
        """With `offline`, no server and no model is asked."""
        offline = ["--offline"] if read_query(request, DoctorWanted).offline else []
        return await answer_of(self._context, ["doctor"], offline, finds=True, as_text=_as_text(request, DoctorWanted))

    async def explain(self, request: web.Request) -> web.Response:
        wanted = read_query(request, ExplainWanted)
        options = [f"--agent={wanted.agent}"] if wanted.agent else []
        return await answer_of(
            self._context,
            ["tools", "explain"],
            options,
            [wanted.tool],
            finds=True,
            as_text=_as_text(request, ExplainWanted),
        )

    async def audit(self, request: web.Request) -> web.Response:
        """The last lines of the trail, newest first."""
        wanted = read_query(request, AuditWanted)
        # What happened a moment ago is in it too.
        audit = self._app.engine.audit
        audit.flush()
        found = await audit.trail.matching(min(wanted.limit, MOST_RECORDS), wanted.search.split())
        return json_response(AuditRecords(found.records[::-1], found.total, not found.is_whole))


def _as_text(request: web.Request, type: type[SaidAs]) -> bool:
    return read_query(request, type).format == "text"

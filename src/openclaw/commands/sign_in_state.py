"""How it stands with the sign-in to each server, added to its status: whether there is one, and until when its access lasts.

Reads what is stored and asks nobody. A server whose tokens cannot be opened cannot be used, and is shown as that.
"""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from openclaw.config.agents import agent_ids
from openclaw.config.servers import ServerSpec, server_specs
from openclaw.engine import Engine
from openclaw.errors import OpenClawError
from openclaw.mcp.status import ServerStatus


async def with_sign_ins(engine: Engine, found: Sequence[ServerStatus]) -> list[ServerStatus]:
    """The same servers, those that a person can sign in to with how that stands."""
    if not any(status.auth in ("none", "oauth") and status.transport != "stdio" for status in found):
        return list(found)
    specs = {
        (spec.name, spec.owner): spec for name in agent_ids(engine.config) for spec in server_specs(engine.config, name)
    }
    return list(
        await asyncio.gather(*(_with(engine, status, specs.get((status.name, status.owner))) for status in found))
    )


async def _with(engine: Engine, status: ServerStatus, spec: ServerSpec | None) -> ServerStatus:
    if spec is None or not spec.url or status.auth not in ("none", "oauth"):
        return status
    if status.state == "needs-auth":
        return replace(status, auth="oauth")
    try:
        stands = await engine.credentials.status(spec)
    except OpenClawError as error:
        failed = replace(status, auth="oauth", state="failed", reason=str(error))
        return replace(status, auth="oauth") if status.state == "ready" else failed
    if stands.state == "none":
        return status
    return replace(status, auth="oauth", auth_expires_at=stands.expires_at, auth_renews=stands.renewable)

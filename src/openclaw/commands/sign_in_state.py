"""How it stands with the sign-in to each server, added to its status: whether there is one, and until when its access lasts.

Reads what is stored and asks nobody. A server whose tokens cannot be opened cannot be used, and is shown as that. Where the key to
them does not come at once the servers are shown without.
"""

import asyncio
import logging
from collections.abc import Sequence

from msgspec.structs import replace

from openclaw.config.agents import agent_ids
from openclaw.config.servers import ServerSpec, server_specs
from openclaw.engine import Engine
from openclaw.errors import OpenClawError
from openclaw.mcp.status import ServerStatus

_log = logging.getLogger(__name__)

# A keychain that waits for a person to unlock it must not keep back how everything else stands.
PATIENCE = 2.0


async def with_sign_ins(
    engine: Engine, found: Sequence[ServerStatus], *, patience: float = PATIENCE
) -> list[ServerStatus]:
    """The same servers, those that a person can sign in to with how that stands, if it can be read within `patience` seconds."""
    specs = {
        (spec.name, spec.owner): spec for name in agent_ids(engine.config) for spec in server_specs(engine.config, name)
    }
    try:
        async with asyncio.timeout(patience):
            return list(
                await asyncio.gather(
                    *(_with(engine, status, specs.get((status.name, status.owner))) for status in found)
                )
            )
    except TimeoutError:
        _log.warning("The keychain does not answer; how long sign-ins last is not known.")
        return list(found)


async def _with(engine: Engine, status: ServerStatus, spec: ServerSpec | None) -> ServerStatus:
    if spec is None or not spec.url or spec.facts.is_process or status.auth not in ("none", "oauth"):
        return status
    if status.state == "needs-auth":
        return replace(status, auth="oauth")
    try:
        stands = await engine.credentials.status(spec)
    except OpenClawError as error:
        failed = replace(status, auth="oauth", state="failed", reason=str(error), remedy="", tools=0)
        return replace(status, auth="oauth") if status.state == "ready" else failed
    if stands.state == "none":
        return status
    return replace(status, auth="oauth", auth_expires_at=stands.expires_at, auth_renews=stands.renewable)

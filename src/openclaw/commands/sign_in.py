"""`openclaw mcp auth`: sign in to a server, finish a sign-in that was started elsewhere, sign out.

A browser is opened from a terminal or chat only, and the whole address is always shown. Without a screen, with `--no-browser` or with
`--json` the address is printed and the command ends: `--code` finishes it, here or in another process.
"""

import time
from typing import Any

from openclaw.auth.browser import open_browser
from openclaw.auth.login import SignedIn, Started
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.agents import agent as agent_spec
from openclaw.config.servers import ServerSpec
from openclaw.engine import Engine
from openclaw.errors import OpenClawError, UsageError
from openclaw.security.external import clean_terminal


async def auth(context: Context, parsed: Parsed) -> int:
    name = parsed.text("name")
    async with context.open_engine() as engine:
        agent = agent_spec(engine.config, parsed.text("agent")).id
        spec = await _spec(engine, name, agent)
        if parsed.flag("print-client-metadata"):
            context.console.data(await engine.credentials.client_metadata(spec))
            return 0
        if parsed.flag("logout"):
            return await _logout(context, parsed, engine, spec)
        if parsed.text("code"):
            return await _finished(context, parsed, engine, spec, agent, parsed.text("code"))
        if parsed.flag("json") or parsed.flag("no-browser") or context.surface == "http":
            return _printed(context, parsed, await engine.credentials.start(spec), name)
        await sign_in(context, engine, name, agent)
    return 0


async def sign_in(context: Context, engine: Engine, name: str, agent: str) -> None:
    """Sign a person in through a browser on this machine, or by the address they paste. Raises AuthError."""
    spec = await _spec(engine, name, agent)

    async def show(started: Started) -> None:
        _announce(context, started)
        if not await open_browser(started.authorization_url, context.env):
            context.console.note("No browser could be opened here. Open the address in any browser on this machine,")
            context.console.note(f"or, from elsewhere, finish with: openclaw mcp auth {name} --code 'CALLBACK ADDRESS'")

    done = await engine.credentials.sign_in(spec, show)
    _said(context, done)
    await _recover(engine, name, agent)


async def _spec(engine: Engine, name: str, agent: str) -> ServerSpec:
    spec = (await engine.manager()).server(name, agent).spec
    if not spec.url:
        raise UsageError(f"{name} is a program on this machine: there is nothing to sign in to.")
    return spec


def _announce(context: Context, started: Started) -> None:
    context.console.note(f"Sign in at {context.console.bold(clean_terminal(started.host))}:")
    context.console.note(f"  {clean_terminal(started.authorization_url)}")
    if started.warning:
        context.console.note(context.console.bad(started.warning))


def _printed(context: Context, parsed: Parsed, started: Started, name: str) -> int:
    if parsed.flag("json") or context.surface == "http":
        context.console.data(
            {"authorizationUrl": started.authorization_url, "host": started.host, "warning": started.warning}
        )
        return 0
    _announce(context, started)
    context.console.line(f"Then, within 10 minutes: openclaw mcp auth {name} --code 'THE ADDRESS THE BROWSER ENDS AT'")
    return 0


async def _finished(
    context: Context, parsed: Parsed, engine: Engine, spec: ServerSpec, agent: str, callback: str
) -> int:
    done = await engine.credentials.finish(spec, callback)
    if parsed.flag("json"):
        context.console.data(_as_json(done))
    else:
        _said(context, done)
    await _recover(engine, spec.name, agent)
    return 0


async def _recover(engine: Engine, name: str, agent: str) -> None:
    """Let the server come back with its new credentials; how that went is its status."""
    try:
        await (await engine.manager()).server(name, agent).refresh()
    except OpenClawError:
        return


async def _logout(context: Context, parsed: Parsed, engine: Engine, spec: ServerSpec) -> int:
    done = await engine.credentials.logout(spec)
    if parsed.flag("json"):
        context.console.data({"wasSignedIn": done.was_signed_in, "revoked": done.revoked})
    elif not done.was_signed_in:
        context.console.line(f"Nobody was signed in to {spec.name}.")
    else:
        told = "revoked and forgotten" if done.revoked else "forgotten here; the authorization server could not be told"
        context.console.line(f"Signed out of {spec.name}: its tokens are {told}.")
    return 0


def _as_json(done: SignedIn) -> dict[str, Any]:
    return {"server": done.server, "scopes": done.scopes, "expiresAt": done.expires_at, "renewable": done.renewable}


def _said(context: Context, done: SignedIn) -> None:
    scopes = clean_terminal(" ".join(done.scopes)) or "none named"
    context.console.line(f"Signed in to {done.server}. Scopes: {scopes}. Expires: {_when(done.expires_at)}.")


def _when(expires_at: float | None) -> str:
    if expires_at is None:
        return "the server does not say"
    minutes = max(0, round((expires_at - time.time()) / 60))
    return f"in {minutes} min" if minutes < 120 else f"in {round(minutes / 60)} h"

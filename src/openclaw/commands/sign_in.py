"""`openclaw mcp auth`: sign in to a server, finish a sign-in that was started elsewhere, sign out.

A browser is opened where a person sits who has a screen, and the whole address is always shown. Without a screen, with `--no-browser` or
with `--json` the address is printed and the command ends: `--code` finishes it, here or in another process. Where tokens are and what
makes them good is `auth/`'s business.
"""

import time
from collections.abc import Mapping
from typing import Any

from openclaw.auth.login import LISTEN_LIFE, SignedIn, Started
from openclaw.commands.console import Write, duration
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.agents import agent as agent_spec
from openclaw.config.servers import ServerSpec
from openclaw.engine import Engine
from openclaw.errors import OpenClawError, UsageError
from openclaw.protocol.oauth.registration import client_metadata_document
from openclaw.security.external import clean_terminal
from openclaw.typed_words import quote_word


async def auth(context: Context, parsed: Parsed) -> int:
    name = parsed.text("name")
    if not name:
        if not parsed.flag("print-client-metadata"):
            raise UsageError("openclaw mcp auth: NAME is missing.", hint="Try: openclaw mcp auth --help")
        _show_metadata(context, client_metadata_document(""), "your servers")
        return 0
    async with context.open_engine() as engine:
        agent = agent_spec(engine.config, parsed.text("agent")).id
        spec = await _spec(engine, name, agent)
        if parsed.flag("print-client-metadata"):
            await _print_metadata(context, engine, spec)
        elif parsed.flag("logout"):
            await _logout(context, parsed, engine, spec, agent)
        else:
            await _sign_in(context, parsed, engine, spec, agent)
    return 0


async def _sign_in(context: Context, parsed: Parsed, engine: Engine, spec: ServerSpec, agent: str) -> None:
    _check(engine, spec)
    if parsed.text("code"):
        await _finish(context, parsed, engine, spec, agent)
    elif parsed.flag("json") or context.surface == "http":
        _show_data(context, await engine.credentials.start(spec))
    elif parsed.flag("no-browser"):
        _show(context, await engine.credentials.start(spec), spec, context.console.line)
    else:
        await sign_in(context, engine, spec.name, agent, context.console.line)
        return
    await _warn(context, engine)


async def sign_in(
    context: Context, engine: Engine, name: str, agent: str, say: Write, *, patience: float = LISTEN_LIFE
) -> bool:
    """Sign a person in to a server of an agent, which then connects anew; otherwise as `sign_in_to`."""
    done = await sign_in_to(context, engine, await _spec(engine, name, agent), say, patience=patience)
    if done:
        await recover(engine, name, agent)
    return done


async def sign_in_to(
    context: Context, engine: Engine, spec: ServerSpec, say: Write, *, patience: float = LISTEN_LIFE
) -> bool:
    """Sign a person in through the browser in front of them. Without a screen the address is shown, to be finished with `--code`, and
    the answer is False. Raises AuthError, also when nobody came back from the browser within `patience` seconds."""
    if not await context.console.browse(""):
        _show(context, await engine.credentials.start(spec), spec, say)
        await _warn(context, engine)
        return False
    done = await engine.credentials.sign_in(spec, lambda started: _open(context, started, spec), patience=patience)
    say(_said(done))
    await _warn(context, engine)
    return True


async def _warn(context: Context, engine: Engine) -> None:
    """Warn when the key of the stored tokens is kept in a file."""
    warning = await engine.credentials.key_warning()
    if warning:
        context.console.note(warning)


async def _spec(engine: Engine, name: str, agent: str) -> ServerSpec:
    spec = (await engine.manager()).server(name, agent).spec
    if spec.facts.is_process:
        raise UsageError(f"{name} is a program on this machine: there is nothing to sign in to.")
    return spec


async def spec_to_sign_in(engine: Engine, name: str, agent: str) -> ServerSpec:
    """The spec of a server that a person may sign in to. Raises UsageError."""
    spec = await _spec(engine, name, agent)
    _check(engine, spec)
    return spec


def _check(engine: Engine, spec: ServerSpec) -> None:
    """Raises UsageError when a sign-in would not be used. Signing out is always possible: there may be tokens from before."""
    if engine.credentials.authorizer(spec) is None:
        raise UsageError(
            f"{spec.name} is used with the credential in its config: there is nothing to sign in to.",
            hint="Take out its `apiKey` or Authorization header to sign in instead.",
        )


async def _print_metadata(context: Context, engine: Engine, spec: ServerSpec) -> None:
    document = await engine.credentials.client_metadata(spec)
    hosted = spec.auth is not None and spec.auth.client_metadata_url
    _show_metadata(context, document, "" if hosted else clean_terminal(spec.name))


def _show_metadata(context: Context, document: Mapping[str, Any], whose: str) -> None:
    """Print the document. `whose` names the server whose setting is to point at it; empty when that is done."""
    context.console.data(document)
    if whose:
        context.console.note(
            "Host this document at an https address of your own, with that address as its client_id in place of"
        )
        context.console.note(f"{document['client_id']}, and set auth.clientMetadataUrl of {whose} to it.")


async def _open(context: Context, started: Started, spec: ServerSpec) -> None:
    _announce(context, started, context.console.note)
    if not await context.console.browse(started.authorization_url):
        context.console.note("No browser could be opened here. Open the address in any browser on this machine,")
        context.console.note(f"or, from elsewhere, finish with: {_command(spec)}")


def _show(context: Context, started: Started, spec: ServerSpec, say: Write) -> None:
    _announce(context, started, say)
    say(f"Then, within 10 minutes: {_command(spec)}")


def _announce(context: Context, started: Started, say: Write) -> None:
    say(f"Sign in at {context.console.bold(clean_terminal(started.host))}:")
    say(f"  {clean_terminal(started.authorization_url)}")
    if started.warning:
        say(context.console.bad(started.warning))


def _command(spec: ServerSpec) -> str:
    agent = f" --agent {spec.owner}" if spec.owner else ""
    return f"openclaw mcp auth {quote_word(spec.name)}{agent} --code {quote_word('THE ADDRESS THE BROWSER ENDS AT')}"


def _show_data(context: Context, started: Started) -> None:
    context.console.data(
        {"authorizationUrl": started.authorization_url, "host": started.host, "warning": started.warning}
    )


async def _finish(context: Context, parsed: Parsed, engine: Engine, spec: ServerSpec, agent: str) -> None:
    done = await engine.credentials.finish(spec, parsed.text("code"))
    if parsed.flag("json"):
        context.console.data(as_json(done))
    else:
        context.console.line(_said(done))
    await recover(engine, spec.name, agent)


async def recover(engine: Engine, name: str, agent: str) -> None:
    """Reconnect the server with its new credentials. How that went is in its status."""
    try:
        await (await engine.manager()).server(name, agent).refresh()
    except OpenClawError:
        return


async def _logout(context: Context, parsed: Parsed, engine: Engine, spec: ServerSpec, agent: str) -> None:
    done = await engine.credentials.logout(spec)
    await _leave(engine, spec.name, agent)
    if parsed.flag("json"):
        context.console.data({"wasSignedIn": done.was_signed_in, "revoked": done.revoked})
    elif not done.was_signed_in:
        context.console.line(f"Nobody was signed in to {spec.name}.")
    else:
        told = "revoked and forgotten" if done.revoked else "forgotten here; the authorization server could not be told"
        context.console.line(f"Signed out of {spec.name}: its tokens are {told}.")


async def _leave(engine: Engine, name: str, agent: str) -> None:
    """End a connection that was made with the tokens that are forgotten now."""
    server = (await engine.manager()).server(name, agent)
    if not server.has_client:
        return
    try:
        await server.restart()
    except OpenClawError:
        # It wants a sign-in again, as it should.
        return


def as_json(done: SignedIn) -> dict[str, Any]:
    return {"server": done.server, "scopes": done.scopes, "expiresAt": done.expires_at, "renewable": done.renewable}


def _said(done: SignedIn) -> str:
    scopes = clean_terminal(" ".join(done.scopes)) or "none named"
    return f"Signed in to {done.server}. Scopes: {scopes}. Expires: {_when(done.expires_at)}."


def _when(expires_at: float | None) -> str:
    if expires_at is None:
        return "the server does not say"
    return f"in {duration(max(0.0, expires_at - time.time()))}"

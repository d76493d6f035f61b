"""`openclaw secrets`: do the references of the config work, and which credentials stand there in plain sight.

Prints names and places, never a value.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.load import Config, load_config
from openclaw.errors import SecretError
from openclaw.redact import redact
from openclaw.secrets.inventory import references
from openclaw.secrets.plaintext import Finding, plaintext_findings
from openclaw.secrets.resolve import Resolver


class CheckedReference(msgspec.Struct, frozen=True):
    """One reference: whether it can be resolved, and who uses it."""

    reference: str
    ok: bool
    used: tuple[str, ...]
    error: str = ""


async def check(context: Context, parsed: Parsed) -> int:
    """Resolve every reference of the config. Exit code 1 when one fails."""
    found = await checked(load_config(context.paths, context.env), context.env)
    ok = all(one.ok for one in found)
    console = context.console
    if parsed.flag("json"):
        console.data({"ok": ok, "references": found})
        return 0 if ok else 1
    if not found:
        console.line("The config holds no secret references.")
    for one in found:
        mark = console.good("ok    ") if one.ok else console.bad("failed")
        console.line(f"{mark}  {one.reference if one.ok else one.error}")
        for place in one.used:
            console.line(console.dim(f"        used at {place}"))
    return 0 if ok else 1


async def checked(config: Config, env: Mapping[str, str]) -> list[CheckedReference]:
    """Every reference of a config, tried."""
    resolver = Resolver.of(config, env)

    async def one(reference: str, used: tuple[str, ...]) -> CheckedReference:
        try:
            await resolver.resolve(reference)
        except SecretError as error:
            return CheckedReference(reference, False, used, redact(str(error)))
        return CheckedReference(reference, True, used)

    return list(await asyncio.gather(*(one(reference, used) for reference, used in references(config).items())))


async def audit(context: Context, parsed: Parsed) -> int:
    """List credentials in plain sight. With `--check`, exit code 1 when there is one."""
    config = load_config(context.paths, context.env)
    found = plaintext_findings(config)
    console = context.console
    if parsed.flag("json"):
        console.data({"ok": not found, "findings": found})
    elif not found:
        console.line(f"No credential stands in plain sight in {config.file}.")
    else:
        for finding in found:
            console.line(f"{finding.file}:{finding.line}  {finding.path}{_whose(finding)}")
        console.note(
            "Put each into a secret store and write its secret:// reference instead: docs/reference/secrets.md"
        )
    return 1 if found and parsed.flag("check") else 0


def _whose(finding: Finding) -> str:
    words = {"server": "MCP server", "provider": "model provider", "setting": ""}[finding.kind]
    return f"  ({words} {finding.name})" if words else ""

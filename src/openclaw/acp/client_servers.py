"""The MCP servers that a client hands over with a session: what each would run or reach, and whether it may.

A list of servers is a list of commands to run, and a file of a workspace may have put them there: so a person is asked, and shown all of
what would run. What they allow for good is remembered by a keyed fingerprint, so that another command, argument or value asks again, and no
value can be guessed from what is kept. One that the config has anyway is not asked about: the configured one is used.
"""

import hashlib
import hmac
import logging
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec import structs

from openclaw.acp import wire
from openclaw.acp.connection import RequestError
from openclaw.config.servers import ServerSpec, read_server
from openclaw.content import to_json
from openclaw.control.shown_text import shell_word
from openclaw.errors import ConfigError, ProcessError
from openclaw.grant import EDITOR, Grant
from openclaw.process.find_program import find_program
from openclaw.protocol.jsonrpc import INVALID_PARAMS
from openclaw.redact import MASK, SECRET_SCHEME
from openclaw.security.external import clean_label, clean_terminal
from openclaw.security.offers import new_id

_log = logging.getLogger(__name__)

MOST_SERVERS = 32
MOST_ARGUMENTS = 64
MOST_ARGUMENT_BYTES = 8_192
_LONGEST_NAME = 100
ONCE, ALWAYS, NO = "once", "always", "no"
OPTIONS = [
    wire.PermissionOption(ONCE, "Start once", "allow_once"),
    wire.PermissionOption(ALWAYS, "Always start exactly this", "allow_always"),
    wire.PermissionOption(NO, "Do not start", "reject_once"),
]


class Given(msgspec.Struct, frozen=True):
    """One server as it was given. `fault` says why it cannot be started, whatever a person says."""

    name: str
    spec: ServerSpec | None = None
    fault: str = ""


def given_servers(servers: Sequence[wire.McpServer], cwd: str, configured: Sequence[ServerSpec] = ()) -> list[Given]:
    """Each under a name that no other has, a configured one least of all: it is asked about and shown as what its tools are called.

    Raises RequestError for a list that is too long to be one."""
    if len(servers) > MOST_SERVERS:
        raise RequestError(INVALID_PARAMS, f"A session has {MOST_SERVERS} MCP servers at most.")
    taken = {spec.name.casefold() for spec in configured}
    found = []
    for server in servers:
        name = _free_name(clean_label(server.name, _LONGEST_NAME) or "server", taken)
        taken.add(name.casefold())
        found.append(_given(name, server, cwd))
    return found


def _given(name: str, server: wire.McpServer, cwd: str) -> Given:
    arguments = server.args or []
    if len(arguments) > MOST_ARGUMENTS or any(
        len(one.encode("utf-8", "replace")) > MOST_ARGUMENT_BYTES for one in arguments
    ):
        return Given(
            name,
            fault=f"it has more than {MOST_ARGUMENTS} arguments, or one of more than {MOST_ARGUMENT_BYTES:,} bytes",
        )
    pairs = [*(server.env or ()), *(server.headers or ())]
    texts = [server.command, server.url, *arguments, *(pair.value for pair in pairs)]
    if any(SECRET_SCHEME in text for text in texts):
        return Given(name, fault="it names a secret of this machine, which an editor may not use")
    if server.type in ("", "stdio"):
        env = {pair.name: pair.value for pair in server.env or ()}
        entry: dict[str, object] = {"command": server.command, "args": arguments, "env": env, "cwd": cwd}
    elif server.type in ("http", "sse"):
        headers = {pair.name: pair.value for pair in server.headers or ()}
        entry = {"transport": server.type, "url": server.url, "headers": headers}
    else:
        return Given(name, fault=f"there is no transport {clean_label(server.type, _LONGEST_NAME)}")
    try:
        return Given(name, structs.replace(read_server(name, entry), commands="editor"))
    except ConfigError as error:
        return Given(name, fault="; ".join(clean_terminal(problem.message).rstrip(".") for problem in error.problems))


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free.casefold() in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def is_configured(spec: ServerSpec, configured: Iterable[ServerSpec]) -> bool:
    """Whether the agent has the same server anyway: the same command with the same words and variables, or the same address."""
    if spec.url:
        return any(one.enabled and one.url == spec.url for one in configured)
    said = spec.command, spec.args, sorted(spec.env)
    return any(one.enabled and not one.url and (one.command, one.args, sorted(one.env)) == said for one in configured)


def fingerprint(spec: ServerSpec, key: bytes, search_path: str) -> str:
    """What a yes that lasts is bound to: the program as it is found, every word, variable and value, and the folder; of an address, where
    it leads."""
    if spec.url:
        parts = urlsplit(spec.url)
        told: list[object] = ["http", parts.scheme, parts.hostname, parts.port, parts.path]
    else:
        told = ["stdio", program_of(spec, search_path), list(spec.args), sorted(map(list, spec.env)), spec.cwd]
    return hmac.new(key, to_json(told), hashlib.sha256).hexdigest()


def program_of(spec: ServerSpec, search_path: str) -> str:
    """The file that would be started; as it was said when there is none."""
    try:
        return find_program(spec.command, search_path=search_path, cwd=spec.cwd or None)
    except ProcessError:
        return spec.command


def question(spec: ServerSpec, id: str, search_path: str) -> wire.ToolCallFields:
    """What a person is asked: all of what would run, and nothing of what is secret in it."""
    return wire.ToolCallFields(
        id,
        title=clean_label(f'Start MCP server "{spec.name}"', 2 * _LONGEST_NAME),
        kind="fetch" if spec.url else "execute",
        status="pending",
        content=[wire.Shown(wire.Text(_told(spec, search_path)))],
    )


def _told(spec: ServerSpec, search_path: str) -> str:
    if spec.url:
        lines = [
            "Your editor sent this server. OpenClaw would connect to it, and the model would get its tools:",
            f"  {_address(spec.url)}",
        ]
        named = [f"  {shell_word(name)}: {MASK}" for name, _ in spec.headers]
        return "\n".join([*lines, *(["headers:", *named] if named else [])])
    words = " ".join(shell_word(word) for word in (spec.command, *spec.args))
    lines = [
        "Your editor sent this server. It would run on this computer with your rights, and the model would get its tools:",
        f"  {words}",
    ]
    program = program_of(spec, search_path)
    if program != spec.command:
        lines.append(f"program: {shell_word(program)}")
    if spec.env:
        lines.append("environment: " + " ".join(f"{shell_word(name)}={MASK}" for name, _ in spec.env))
    return "\n".join([*lines, f"directory: {shell_word(spec.cwd)}"])


def _address(url: str) -> str:
    """Without what may be a credential in it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    place = f"{host}:{parts.port}" if parts.port else host
    return clean_label(f"{parts.scheme}://{place}{parts.path}{'?' + MASK if parts.query else ''}", 2_000)


def is_granted(spec: ServerSpec, mark: str, grants: Iterable[Grant]) -> bool:
    return any(one.server == EDITOR and one.definition == mark and one.tool == spec.name for one in grants)


def grant_of(spec: ServerSpec, mark: str, *, created: str) -> Grant:
    return Grant(new_id(), spec.name, EDITOR, mark, created=created, by="client")

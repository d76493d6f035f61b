"""What a program writes that embeds the client: its servers, as values of Python or as a config that it has.

Owns `Server` (lists, mappings and paths in, a `ServerSpec` out), what counts as a config (`read_servers`), and the sentences for what is
written wrongly: each says what, of which server, and what to write instead. Opens nothing. manager.py takes both; in_process.py runs a
server that is an object of the program.
"""

import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec
from msgspec import structs

from openclaw.config.load import load_config, parse_config
from openclaw.config.loaded import Config
from openclaw.config.paths import Paths
from openclaw.config.servers import ServersOptions, ServerSpec, server_specs, servers_options, shown_fields
from openclaw.errors import ConfigError, Problem, UsageError
from openclaw.mcp.connect import Resolve
from openclaw.protocol.transports import TransportName
from openclaw.redact import SECRET_SCHEME

_log = logging.getLogger(__name__)
# A program that did not set up logging does not want ours on its standard error.
logging.getLogger("openclaw").addHandler(logging.NullHandler())

Text = str | os.PathLike[str]
TransportWord = Literal["stdio", "http", "streamable-http", "sse"]
Isolation = Literal["shared", "session"]
Trust = Literal["pin", "follow"]
_W = TypeVar("_W", bound=str)
# What makes a mapping the entry of one server, in any program's config.
_ENTRY_KEYS = frozenset({"command", "url", "serverUrl", "httpUrl"})
# What a mapping may be made of.
_PLAIN = "Use texts, numbers, lists and mappings."
# Progress extends a call up to this many times its own time, unless the server says otherwise.
_TOTAL_FACTOR = 10


class Server:
    """One MCP server that a `Manager` is to keep available. It is one of three things:

    - a program: `command`, with `args`, `env` and `cwd`. It gets little of our environment: name in `pass_env` what else it needs.
    - an address: `url`, with `headers` or an `api_key` (sent as a bearer token). `transport` says which of the two HTTP transports is tried
      first, Streamable HTTP unless given; a server that speaks the other one is found out.
    - an object of this program: `in_process`, a server made with FastMCP or with the official SDK.

    Times are seconds; an interval of 0 means never. A call ends after `call_timeout` without an answer; each sign of progress starts that
    time anew, up to `max_total_timeout` in all (ten times as long, unless given). `tool_include` and `tool_exclude` choose tools by their
    own names, with `*` as a wildcard. A server that is `lazy` starts with its first call, and once before that when its tools are not known
    yet (a `state` of the manager remembers them). `trust` is what becomes of a tool whose definition changes: it keeps the one first seen
    (`"pin"`), or takes the new one (`"follow"`). `isolation="session"` gives each session its own connection.
    """

    __slots__ = ("in_process", "spec")

    def __init__(
        self,
        name: str,
        *,
        command: Text = "",
        args: Iterable[Text] = (),
        env: Mapping[str, Text] | None = None,
        pass_env: Iterable[str] = (),
        allow_env: Iterable[str] = (),
        cwd: Text = "",
        url: str = "",
        transport: TransportWord | None = None,
        headers: Mapping[str, str] | None = None,
        api_key: str = "",
        ssl_verify: bool = True,
        ca_cert: Text = "",
        client_cert: Text = "",
        client_key: Text = "",
        in_process: object | None = None,
        enabled: bool = True,
        lazy: bool = False,
        connect_timeout: float = 30.0,
        call_timeout: float = 60.0,
        max_total_timeout: float | None = None,
        restart_on_crash: bool = True,
        max_restarts: int = 5,
        health_interval: float = 30.0,
        discovery_interval: float = 300.0,
        idle_timeout: float | None = None,
        isolation: Isolation = "shared",
        trust: Trust = "pin",
        parallel_calls: bool = True,
        max_in_flight: int = 64,
        max_message_bytes: int = 64 * 1024 * 1024,
        tool_prefix: str = "",
        tool_include: Iterable[str] = (),
        tool_exclude: Iterable[str] = (),
    ) -> None:
        check = _Check(name)
        given = [key for key, value in (("command", command), ("url", url), ("in_process", in_process)) if value]
        if len(given) != 1:
            raise check.wrong_kinds(given)
        words = check.texts("args", args)
        call_seconds = check.seconds("call_timeout", call_timeout)
        self.in_process = in_process
        self.spec = ServerSpec(
            check.name,
            commands="manager",
            enabled=check.switch("enabled", enabled),
            transport=check.transport(given[0], transport),
            command=check.program(command, words),
            args=words,
            env=check.pairs("env", env),
            pass_env=check.texts("pass_env", pass_env),
            allow_env=check.texts("allow_env", allow_env),
            cwd=check.text("cwd", cwd),
            url=check.address(url),
            headers=check.pairs("headers", headers),
            api_key=check.text("api_key", api_key),
            ssl_verify=check.switch("ssl_verify", ssl_verify),
            ca_cert=check.text("ca_cert", ca_cert),
            client_cert=check.text("client_cert", client_cert),
            client_key=check.text("client_key", client_key),
            connect_timeout=check.seconds("connect_timeout", connect_timeout),
            call_timeout=call_seconds,
            max_total_timeout=check.seconds(
                "max_total_timeout", call_seconds * _TOTAL_FACTOR if max_total_timeout is None else max_total_timeout
            ),
            restart_on_crash=check.switch("restart_on_crash", restart_on_crash),
            max_restarts=check.count("max_restarts", max_restarts, least=0),
            health_interval=check.seconds("health_interval", health_interval, least="zero"),
            discovery_interval=check.seconds("discovery_interval", discovery_interval, least="zero"),
            idle_timeout=None if idle_timeout is None else check.seconds("idle_timeout", idle_timeout),
            lazy=check.switch("lazy", lazy),
            isolation=check.word("isolation", isolation, get_args(Isolation)),
            trust=check.word("trust", trust, get_args(Trust)),
            parallel_calls=check.switch("parallel_calls", parallel_calls),
            max_in_flight=check.count("max_in_flight", max_in_flight, least=1),
            max_message_bytes=check.count("max_message_bytes", max_message_bytes, least=1),
            tool_prefix=check.text("tool_prefix", tool_prefix),
            tool_include=check.texts("tool_include", tool_include),
            tool_exclude=check.texts("tool_exclude", tool_exclude),
        )

    @property
    def name(self) -> str:
        return self.spec.name

    def __repr__(self) -> str:
        """What was said of it, credentials masked."""
        return f"Server({shown_fields(self.spec)})"


class _Check:
    """What was written for one server, as a spec has it. Raises UsageError that names the server and the argument."""

    def __init__(self, name: object) -> None:
        if not isinstance(name, str) or not name.strip():
            raise UsageError(
                f"The name of a server must be a text, not {kind_of(name)}.",
                hint="Its name comes first: Server('files', command='npx', args=[…]).",
            )
        self.name = name

    def refusal(self, sentence: str, hint: str) -> UsageError:
        return UsageError(f"Server '{self.name}': {sentence}", hint=hint)

    def wrong_kinds(self, given: Sequence[str]) -> UsageError:
        if given:
            return self.refusal(
                f"{' and '.join(given)} were both given.", "A server has one of them: make two servers."
            )
        return self.refusal(
            "it says neither what to start nor where it is.", "Give it a command, a url, or an object as in_process."
        )

    def text(self, key: str, value: object, write: str = "{key}='…'") -> str:
        if isinstance(value, str | os.PathLike):
            return os.fsdecode(value)
        raise self.refusal(f"{key} must be a text or a path, not {kind_of(value)}.", f"Write {write.format(key=key)}.")

    def texts(self, key: str, values: object) -> tuple[str, ...]:
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise self.refusal(f"{key} must be a list of texts, not {kind_of(values)}.", f"Write {key}=['…', '…'].")
        return tuple(self.text(f"each of {key}", value, f"{key}=['…', '…']") for value in values)

    def pairs(self, key: str, values: object) -> tuple[tuple[str, str], ...]:
        if values is None:
            return ()
        if not isinstance(values, Mapping):
            raise self.refusal(
                f"{key} must be a mapping of texts, not {kind_of(values)}.", f"Write {key}={{'NAME': '…'}}."
            )
        return tuple(
            (self.text(f"each name of {key}", name), self.text(f"{key}[{name!r}]", values[name])) for name in values
        )

    def seconds(self, key: str, value: object, *, least: Literal["zero", "above zero"] = "above zero") -> float:
        lowest = 0.0 if least == "zero" else sys.float_info.min
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= lowest:
            return float(value)
        what = "seconds above zero" if least == "above zero" else "seconds, or 0 for never"
        raise self.refusal(f"{key} must be a number of {what}, not {kind_of(value)}.", f"Write {key}=30.0.")

    def count(self, key: str, value: object, *, least: int) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        what = f"a whole number, at least {least}"
        raise self.refusal(f"{key} must be {what}, not {kind_of(value)}.", f"Write one, or leave {key} out.")

    def switch(self, key: str, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise self.refusal(f"{key} must be True or False, not {kind_of(value)}.", f"Write {key}=True.")

    def word(self, key: str, value: _W, words: Sequence[_W]) -> _W:
        if value in words:
            return value
        choice = " or ".join(repr(one) for one in words)
        shown = repr(value) if isinstance(value, str) else kind_of(value)
        raise self.refusal(f"{key} must be {choice}, not {shown}.", f"Write {key}={words[0]!r}.")

    def program(self, command: object, args: Sequence[str]) -> str:
        program = self.text("command", command)
        if not args and len(words := program.split()) > 1 and not os.path.exists(program):
            written = f"command={words[0]!r}, args={words[1:]!r}"
            raise self.refusal(f"there is no program named {program!r}.", f"Give its words as args: {written}.")
        return program

    def address(self, url: object) -> str:
        address = self.text("url", url)
        if address and not address.lower().startswith(("http://", "https://")):
            raise self.refusal("url must begin with http:// or https://.", "Write url='https://…/mcp'.")
        return address

    def transport(self, kind: str, word: TransportWord | None) -> TransportName:
        if word is not None and word not in get_args(TransportWord):
            words = ", ".join(repr(one) for one in get_args(TransportWord))
            raise self.refusal(f"there is no transport {word!r}.", f"Leave it out, or choose one of {words}.")
        match kind, word:
            case "command", None | "stdio":
                return "stdio"
            case "in_process", None:
                return "memory"
            case "url", None | "http" | "streamable-http":
                return "streamable-http"
            case "url", "sse":
                return "sse"
        raise self.refusal(f"a server with {kind} does not speak {word}.", "Leave transport out.")


def kind_of(value: object) -> str:
    """What something is, in a sentence that says what it should be. Never the value: it may be a credential."""
    match value:
        case None:
            return "None"
        case str():
            return "a text" if value else "an empty text"
        case Mapping():
            return "a mapping"
        case list() | tuple() | set():
            return "a list"
        case bool():
            return str(value)
        case int() | float():
            return f"the number {value}"
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeio" else f"a {name}"


def check_call(name: object, arguments: object, timeout: object, on_progress: object) -> None:
    """Raises UsageError for what is no call at all."""
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise UsageError(
            "A tool is called by its name and a mapping of arguments.",
            hint="Write: await manager.call('files__read', {'path': 'notes.md'}).",
        )
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0):
        raise UsageError(
            f"timeout must be a number of seconds above zero, not {kind_of(timeout)}.", hint="Write timeout=10.0."
        )
    check_plain("on_progress", on_progress, "progress", "total", "message")


def check_plain(key: str, function: object, *given: str) -> None:
    """Raises UsageError for what is not called at once, what would have to be awaited, and what does not take the values named in `given`:
    an error in it would be logged and nothing else."""
    if function is None:
        return
    if not callable(function) or iscoroutinefunction(function):
        what = "an async one" if callable(function) else kind_of(function)
        raise UsageError(f"{key} must be a plain function, not {what}.", hint=f"Write {key}=print, to begin with.")
    if not _takes(function, given):
        raise UsageError(
            f"{key} cannot be called with {', '.join(given)}.", hint=f"Write: def {key}({', '.join(given)}): …"
        )


def check_asked(**functions: object) -> None:
    """Raises UsageError for what cannot be called to answer a server. Whether it is async is seen by what it gives."""
    for key, function in functions.items():
        if function is None:
            continue
        hint = f"Write: async def {key}(request): …"
        if not callable(function):
            raise UsageError(f"{key} must be a function, not {kind_of(function)}.", hint=hint)
        if not _takes(function, ("request",)):
            raise UsageError(f"{key} cannot be called with a request.", hint=hint)


def _takes(function: Callable[..., object], given: Sequence[str]) -> bool:
    """Whether a function can be called with so many values; True when nobody can tell."""
    try:
        found = signature(function)
    except (TypeError, ValueError):
        # One that is written in C need not say.
        return True
    try:
        found.bind(*given)
    except TypeError:
        return False
    return True


def check_patience(patience: object) -> None:
    if isinstance(patience, bool) or not isinstance(patience, int | float):
        raise UsageError(f"patience must be a number of seconds, not {kind_of(patience)}.", hint="Write patience=10.0.")


def folder(key: str, value: object) -> Path | None:
    """A folder as it was written; None when there is none."""
    if value is None or isinstance(value, str | os.PathLike):
        return None if value is None else Path(value)
    raise UsageError(f"{key} must be a path, not {kind_of(value)}.", hint=f"Write {key}=Path('…').")


def names(key: str, values: object) -> frozenset[str]:
    """A list of names. A text is one too, of its letters: nobody means that."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise UsageError(f"{key} must be a list of names, not {kind_of(values)}.", hint=f"Write {key}=['…'].")
    return frozenset(values)


def checked_servers(servers: object) -> tuple[Server | ServerSpec, ...]:
    """A list of servers with names of their own. Raises UsageError for anything else."""
    if isinstance(servers, Server | ServerSpec):
        raise UsageError("A manager takes a list of servers, not one.", hint="Write Manager([server]).")
    if isinstance(servers, str | bytes | os.PathLike | Mapping) or not isinstance(servers, Iterable):
        hint = "Write Manager([Server('files', command=…)]), or Manager.from_config(…) for a path or a mapping."
        raise UsageError(f"A manager takes a list of servers, not {kind_of(servers)}.", hint=hint)
    listed = tuple(servers)
    for one in listed:
        if not isinstance(one, Server | ServerSpec):
            hint = "Make one: Server('files', command='npx', args=[…])."
            raise UsageError(f"{kind_of(one).capitalize()} is no server.", hint=hint)
    named = Counter(one.name for one in listed)
    if twice := next((name for name, times in named.items() if times > 1), None):
        raise UsageError(f"Two servers are named '{twice}'.", hint="Give each a name of its own.")
    return listed


class Configured(msgspec.Struct, frozen=True):
    """The servers that a config names."""

    specs: tuple[ServerSpec, ...]
    options: ServersOptions
    config: Config


def read_servers(
    source: Text | Mapping[str, Any], *, agent: str = "", environ: Mapping[str, str] | None = None
) -> Configured:
    """The servers of an `openclaw.json` or of any program's `mcpServers` or `servers` (a file, or a mapping of the same form), or of such a
    block alone. `${NAME}` is taken from `environ`. Raises ConfigError with every problem, and UsageError when no server is named."""
    variables = os.environ if environ is None else environ
    if isinstance(source, Mapping):
        config, where = _given(source, variables), "The mapping"
    elif isinstance(source, str | os.PathLike):
        config, where = _loaded(Path(source), variables), str(source)
    else:
        raise UsageError(
            f"A config must be a path or a mapping, not {kind_of(source)}.",
            hint="Write Manager.from_config('.mcp.json').",
        )
    for warning in config.warnings:
        _log.warning("%s", warning)
    specs = server_specs(config, agent)
    if not specs:
        raise UsageError(f"{where} names no MCP server.", hint="They stand under mcpServers, servers or mcp.servers.")
    named = not isinstance(source, Mapping)
    return Configured(
        tuple(structs.replace(spec, commands="manager", where=spec.where if named else "") for spec in specs),
        servers_options(config),
        config,
    )


def _loaded(path: Path, environ: Mapping[str, str]) -> Config:
    if not path.is_file():
        what = f"{path} is a folder." if path.is_dir() else f"There is no file {path}."
        raise UsageError(what, hint="Give the path of a config that names MCP servers.")
    return load_config(structs.replace(Paths.from_env(environ), config_file=path.absolute()), environ)


def _given(source: Mapping[str, Any], environ: Mapping[str, str]) -> Config:
    is_block = bool(source) and all(isinstance(one, Mapping) and _ENTRY_KEYS & one.keys() for one in source.values())
    try:
        text = json.dumps({"mcpServers": source} if is_block else source, default=_path_or_refusal)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The mapping cannot be written as JSON: {error}.", hint=_PLAIN) from None
    try:
        config = parse_config(text, env=environ, file=str(Path.cwd() / "openclaw.json"))
    except ConfigError as error:
        raise ConfigError(_placeless(error.problems)) from None
    refused = {path: _placeless(problems) for path, problems in config.refused.items()}
    return structs.replace(config, warnings=_placeless(config.warnings), refused=refused)


def _path_or_refusal(value: object) -> str:
    """What becomes of a value that JSON has no form for."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    hint = "Write servers=[server] beside the config." if isinstance(value, Server) else _PLAIN
    raise UsageError(f"The mapping holds {kind_of(value)}, which JSON has no form for.", hint=hint)


def _placeless(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """The same without lines of a file that nobody has."""
    return tuple(structs.replace(one, file="", line=0, column=0) for one in problems)


def secrets_of(config: Config, environ: Mapping[str, str]) -> Resolve:
    """What looks up the `secret://` references of a config, as it says; loaded with the first of them."""

    async def resolve(value: str) -> str:
        from openclaw.secrets.resolve import Resolver

        return await Resolver.of(config, environ).resolve(value) if SECRET_SCHEME in value else value

    return resolve

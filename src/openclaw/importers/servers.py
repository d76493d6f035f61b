"""What the readers share: walking the servers of a file, a program to start, an address to reach, tools to take, an OAuth client.

A reader is a function from the `Fields` of one entry to our entry. Owns what several programs write in the same way; what only one
writes is in that program's module.
"""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from openclaw.importers.fields import Fields
from openclaw.importers.reading import Entry, Origin, Reading, Skipped, Unusable
from openclaw.importers.references import Syntax, Translator
from openclaw.log import one_line

# A value of an entry as it is written into our file.
Value = dict[str, Any]
ReadEntry = Callable[[Fields, Origin], Value]
# More servers than this in one file are a mistake or an attack.
MOST_SERVERS = 500
# Names are shown, and become parts of tool names.
LONGEST_NAME = 100
# What each approval setting of another program comes down to here.
APPROVALS = "which calls are asked about is said by tools.approval here"
ENV_FILE = "envFile"


def read_servers(raw: Any, read: ReadEntry, syntax: Syntax, origin: Origin, key: str) -> Reading:
    """The servers of one object, each by itself: one that cannot be carried over costs no other."""
    if raw is None:
        return Reading()
    if not isinstance(raw, dict):
        return Reading(notes=(f"{key} is not an object, so no server was read",))
    entries: list[Entry] = []
    skipped: list[Skipped] = []
    for name, value in list(raw.items())[:MOST_SERVERS]:
        try:
            entries.append(_entry(str(name), value, read, syntax, origin))
        except Unusable as error:
            skipped.append(Skipped(one_line(str(name), LONGEST_NAME), str(error)))
    more = len(raw) - MOST_SERVERS
    notes = (f"{more} servers past the first {MOST_SERVERS} were not read",) if more > 0 else ()
    return Reading(tuple(entries), tuple(skipped), notes)


def _entry(name: str, value: Any, read: ReadEntry, syntax: Syntax, origin: Origin) -> Entry:
    if not isinstance(value, dict):
        raise Unusable("it is not an object")
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise Unusable("its name cannot be used here")
    translator = Translator(syntax, origin)
    fields = Fields(value, translator)
    made = read(fields, origin)
    env_file = made.pop(ENV_FILE, "")
    notes = dict.fromkeys([*fields.rest(), *translator.notes])
    return Entry(name, made, tuple(notes), translator.defaults, env_file)


def joined(*readings: Reading) -> Reading:
    """Several parts of one file; of two entries with one name the first counts, and the other is named."""
    entries: dict[str, Entry] = {}
    skipped: list[Skipped] = []
    for reading in readings:
        for entry in reading.entries:
            if entry.name in entries:
                skipped.append(Skipped(entry.name, "another of this name in the same file counts before it"))
            else:
                entries[entry.name] = entry
        skipped += reading.skipped
    notes = tuple(note for reading in readings for note in reading.notes)
    return Reading(tuple(entries.values()), tuple(skipped), notes)


def process(
    fields: Fields, origin: Origin, *, command: str = "", args: list[str] | None = None, env: str = "env"
) -> Value:
    """A program to start: `command`, `args`, `env`, `cwd` and `envFile` as most programs have them."""
    command = command or fields.text("command")
    args = fields.texts("args") if args is None else args
    if not command.strip():
        raise Unusable("it has neither a command nor an address")
    command, args = _unwrapped(fields, command, args, origin)
    # A bare name is looked for on the PATH.
    value: Value = {"command": anchored(command, origin) if command.startswith(".") else command}
    if args:
        value["args"] = args
    if variables := fields.pairs(env):
        value["env"] = variables
    cwd = fields.text("cwd")
    if cwd:
        value["cwd"] = anchored(cwd, origin)
    elif origin.project:
        # Where the other program starts it: relative paths in its arguments mean this folder.
        value["cwd"] = origin.project
    if env_file := fields.text(ENV_FILE):
        value[ENV_FILE] = anchored(env_file, origin)
    return value


def _unwrapped(fields: Fields, command: str, args: list[str], origin: Origin) -> tuple[str, list[str]]:
    """`cmd /c npx …` is how Windows starts a script; nobody else has `cmd`."""
    program = PurePath(command.replace("\\", "/")).name.lower().removesuffix(".exe")
    if origin.windows or program != "cmd" or len(args) < 2 or args[0].lower() != "/c":
        return command, args
    fields.note(f"started as {args[1]} itself, without cmd /c, which is for Windows")
    return args[1], args[2:]


def anchored(path: str, origin: Origin) -> str:
    """A path that means the same wherever it is read from."""
    if path.startswith(("/", "~", "${", "\\")) or path[1:2] == ":":
        return path
    return str(PurePath(origin.base) / path)


def remote(url: str, fields: Fields, *, transport: str = "", headers: str = "headers") -> Value:
    """An address to reach."""
    if not url.strip():
        raise Unusable("it has neither a command nor an address")
    value: Value = {"url": url}
    if transport:
        value["transport"] = transport
    if pairs := fields.pairs(headers):
        value["headers"] = pairs
    return value


def with_bearer(fields: Fields, headers: Mapping[str, str], name: str, token: str) -> dict[str, str]:
    """The headers and a token that the entry names beside them; a header that is written out counts before it."""
    if any(header.lower() == "authorization" for header in headers):
        fields.note(f"{name} is left out: the header Authorization counts before it")
        return dict(headers)
    return {"Authorization": f"Bearer {token}", **headers}


# What programs call a transport, and what we call it; an empty one is whatever the address turns out to speak.
_TRANSPORTS = {
    "http": "streamable-http",
    "streamable-http": "streamable-http",
    "streamablehttp": "streamable-http",
    "streamable_http": "streamable-http",
    "sse": "sse",
    "remote": "",
    "": "",
}


def transport(word: str) -> str:
    """Our word for a remote transport. Raises Unusable for one that we do not speak."""
    try:
        return _TRANSPORTS[word.lower()]
    except KeyError:
        raise Unusable(f"its transport {one_line(word, 40)} is not spoken here") from None


def by_type(fields: Fields, origin: Origin, *, url: str = "url") -> Value:
    """`type` says whether it is a program or an address; without one, what is there does."""
    kind = fields.word("type").lower()
    if kind in ("stdio", "local") or (not kind and fields.has("command")):
        fields.without(url, "its command is what is started")
        return process(fields, origin)
    return remote(fields.text(url), fields, transport=transport(kind))


def switched(fields: Fields, value: Value) -> Value:
    """`disabled: true` and `enabled: false` are carried over."""
    off, on = fields.flag("disabled"), fields.flag("enabled")
    if off is True or on is False:
        value["enabled"] = False
    return value


def filtered(fields: Fields, value: Value, include: str, exclude: str) -> Value:
    """Which tools are taken; `*` alone is all of them. A list with nothing in it is none, which is a server that is off."""
    taken, left = fields.texts(include), fields.texts(exclude)
    if fields.raw(include) == []:
        fields.note(f"disabled, as its {include} names no tool")
        value["enabled"] = False
    both = {"include": taken if taken != ["*"] else [], "exclude": left}
    if any(both.values()):
        value["toolFilter"] = {key: names for key, names in both.items() if names}
    return value


def oauth_client(fields: Fields | None, value: Value, names: Mapping[str, str]) -> Value:
    """An OAuth client: `names` says what its fields are called here."""
    if fields is None:
        return value
    auth: Value = {}
    for theirs, ours in names.items():
        if ours == "scopes":
            raw = fields.raw(theirs)
            scopes = raw.split() if isinstance(raw, str) else raw
            if isinstance(scopes, list) and scopes and all(isinstance(one, str) for one in scopes):
                auth["scopes"] = [fields.translated(scope) for scope in scopes]
        elif text := fields.text(theirs):
            auth[ours] = text
    if auth:
        value["auth"] = auth
    return value

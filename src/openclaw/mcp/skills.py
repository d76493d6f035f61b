"""Skills of a server (the extension `io.modelcontextprotocol/skills`): what it lists of them, and the bytes of their files.

Owns the shape of an entry, what makes one unusable, and that the bytes of a file are those its entry names: a file of another size or
digest raises, and nobody gets to see it. Reads nothing before it is asked for: a list has no text of a skill. What a skill says, whether it
may be used, and how a model is shown it is `skills/served.py`'s. Every function that asks takes a live client; `LiveServer.use` gives one.
"""

import binascii
import hashlib
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.config.servers import ServerSpec
from openclaw.content import to_sorted_json
from openclaw.errors import ProtocolError
from openclaw.late_pattern import late_pattern
from openclaw.mcp.client import Client
from openclaw.mcp.tools.results import ResourceContents
from openclaw.protocol.eras import Agreement
from openclaw.protocol.jsonrpc import parse
from openclaw.security.external import clean_label
from openclaw.tool import Invocation

EXTENSION = "io.modelcontextprotocol/skills"
# By this name a server's skills are allowed or denied, as if a tool of it read them.
SKILLS_TOOL = "skills_read"
# Skills of one server that are looked at.
MOST_SKILLS = 500
# What the extension asks everybody to accept; more is refused.
MOST_FILES = 512
MOST_BYTES = 16 * 1024 * 1024
SKILL_FILE = "SKILL.md"
_DYNAMIC = b'"dynamic"'
# A name is typed, and stands in a prompt.
_NAME = late_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = late_pattern(r"sha256:[0-9a-f]{64}")
_SHOWN = 200


class SkillFile(msgspec.Struct, frozen=True):
    """A file of a skill: where its server has it, and what it has to be."""

    uri: str
    digest: str
    size: int


class SkillEntry(msgspec.Struct, frozen=True):
    """A skill as its server lists it. `files` are all of it, its SKILL.md among them; `fault` says why it cannot be used.

    `front` is what the server says the front matter is: nothing of it counts before the file was held against it.
    """

    uri: str
    name: str = ""
    description: str = ""
    front: Mapping[str, Any] = msgspec.field(default_factory=dict)
    files: tuple[SkillFile, ...] = ()
    fault: str = ""

    @property
    def digest(self) -> str:
        """Of the whole set of files: another one when any of them is. What a person allows is bound to it."""
        files = sorted((file.uri, file.digest) for file in self.files)
        return f"sha256:{hashlib.sha256(to_sorted_json(files)).hexdigest()}"

    @property
    def folder(self) -> str:
        """What the addresses of its files begin with."""
        return self.uri.removesuffix(SKILL_FILE)

    def file(self, name: str) -> SkillFile | None:
        """A file by its path below the folder, or by its address; None when it is none of this skill."""
        wanted = (name, f"{self.folder}{name.removeprefix('./')}")
        return next((file for file in self.files if file.uri in wanted), None)

    def path(self, file: SkillFile) -> str:
        """The path of a file below the folder; its address when it lies elsewhere."""
        return file.uri.removeprefix(self.folder)


# Reads a file of a server's.
ReadFile = Callable[[SkillFile, Invocation | None], Awaitable[ResourceContents]]


class ServedSkill(msgspec.Struct, frozen=True, eq=False):
    """A skill of a server that an agent has. `tool` is the name that rules know it by (`SERVER__skills_read`); `now` gives the entry as the
    server lists it by then, None when it lists it no more."""

    spec: ServerSpec
    tool: str
    entry: SkillEntry
    read: ReadFile
    now: Callable[[], SkillEntry | None]

    @property
    def server(self) -> str:
        return self.spec.name


class _File(msgspec.Struct):
    uri: str
    digest: str
    size: int


class _Entry(msgspec.Struct):
    uri: str
    frontmatter: dict[str, Any] = {}
    resources: Raw = Raw(b"null")


def serves_skills(agreement: Agreement) -> bool:
    """Whether a server declared that it has skills. It need not have any."""
    extensions = agreement.capabilities.get("extensions")
    return isinstance(extensions, Mapping) and isinstance(extensions.get(EXTENSION), Mapping)


def read_entries(items: Sequence[Raw]) -> tuple[SkillEntry, ...]:
    """The entries of a list, each once, those that cannot be used with the reason. What is no entry at all is left out."""
    found: dict[str, SkillEntry] = {}
    for item in items[:MOST_SKILLS]:
        try:
            entry = parse(item, _Entry)
        except ProtocolError:
            continue
        found.setdefault(entry.uri, _read_entry(entry))
    return tuple(found.values())


def _read_entry(entry: _Entry) -> SkillEntry:
    name, description = entry.frontmatter.get("name"), entry.frontmatter.get("description")
    read = SkillEntry(
        entry.uri,
        clean_label(name, _SHOWN) if isinstance(name, str) else "",
        description if isinstance(description, str) else "",
        entry.frontmatter,
    )
    try:
        fault = _fault(read) or ("" if bytes(entry.resources) != _DYNAMIC else _CHANGING)
        files = () if fault else _files(entry)
    except ProtocolError as error:
        fault, files = error.message, ()
    return msgspec.structs.replace(read, files=files, fault=fault)


_CHANGING = "its files may be others at every read (`dynamic`), so nobody can verify or allow them"


def _fault(entry: SkillEntry) -> str:
    folder, _, file = entry.uri.rpartition("/")
    if file != SKILL_FILE:
        return f"its address does not end in {SKILL_FILE}"
    if not _NAME.fullmatch(entry.name):
        return "its name is not one of letters, digits, dots, hyphens and underscores"
    if folder.rpartition("/")[2] != entry.name:
        return "its name is another one than that of its folder"
    return "" if entry.description.strip() else "it has no description"


def _files(entry: _Entry) -> tuple[SkillFile, ...]:
    """Raises ProtocolError, whose message says what is wrong with the list of files."""
    try:
        listed = parse(entry.resources, list[_File])
    except ProtocolError:
        raise ProtocolError("its list of files is malformed") from None
    files = {file.uri: SkillFile(file.uri, file.digest, file.size) for file in listed}
    if len(files) != len(listed):
        raise ProtocolError("its list names a file twice")
    if entry.uri not in files:
        raise ProtocolError(f"its list of files lacks its {SKILL_FILE}")
    if any(not _DIGEST.fullmatch(file.digest) or file.size < 0 for file in listed):
        raise ProtocolError("its list has a file without a SHA-256 digest or a size")
    if len(files) > MOST_FILES:
        raise ProtocolError(f"it has more than {MOST_FILES} files")
    if sum(file.size for file in listed) > MOST_BYTES:
        raise ProtocolError(f"its files have more than {MOST_BYTES // (1024 * 1024)} MiB")
    return tuple(files.values())


async def read_file(client: Client, file: SkillFile, *, invocation: Invocation | None = None) -> ResourceContents:
    """A file of a skill, which is what its entry says. Raises ProtocolError when it is anything else."""
    contents = await client.read_resource(file.uri, invocation=invocation)
    held = next((one for one in contents if one.uri == file.uri), None)
    data = None if held is None else _bytes(held)
    if held is None or data is None:
        raise ProtocolError("The server's answer does not hold the file.")
    if len(data) != file.size:
        raise ProtocolError(f"It has {len(data):,} bytes, and the server's list says {file.size:,}.")
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != file.digest:
        raise ProtocolError("Its digest is another one than the server's list says.")
    return held


def _bytes(held: ResourceContents) -> bytes | None:
    if held.text is not None:
        return held.text.encode("utf-8", "surrogatepass")
    try:
        return None if held.blob is None else b64decode(held.blob, validate=True)
    except (binascii.Error, ValueError):
        return None

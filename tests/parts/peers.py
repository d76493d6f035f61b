"""Servers that nobody here wrote, as config entries: what to start, in which revisions they can be met, and what they answer.

`stdio_entry` gives the entry of a program; `over_http` and `everything` start one that listens. Each takes a revision to hold the
server down to (`older.py`).
"""

import asyncio
import os
import re
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parts.cache import node, npm_folder, npm_program, python_of
from parts.older import OlderHttp

HERE = Path(__file__).parent
NEWEST = "2026-07-28"
OLDEST = "2024-11-05"
# The newest one with a handshake, and the newest that the version 1 SDKs speak.
STATEFUL = "2025-11-25"
HANG_GUARD = 60.0


def npm(name: str, *arguments: str) -> list[str]:
    return [node(), npm_program(name), *arguments]


@dataclass(frozen=True)
class Peer:
    """A program that speaks over standard input and output, and one call of it. `command` and `arguments` get a folder to work in."""

    name: str
    command: Callable[[Path], list[str]]
    newest: str
    tools: frozenset[str]
    tool: str
    arguments: Callable[[Path], Mapping[str, Any]]
    # What the text of the answer looks like.
    answer: str
    prepare: Callable[[Path], None] = lambda folder: None
    environment: Callable[[Path], dict[str, str]] = lambda folder: {}

    def matches(self, text: str) -> bool:
        return re.search(self.answer, text, re.S) is not None


def stdio_entry(command: list[str], revision: str = "") -> dict[str, Any]:
    """A config entry; with a revision, of the same server held down to it."""
    if revision:
        command = [sys.executable, "-S", "-E", str(HERE / "older.py"), revision, *command]
    return {"command": command[0], "args": command[1:]}


@asynccontextmanager
async def over_http(command: list[str], path: str, revision: str = "") -> AsyncIterator[str]:
    """The address of a server that tells its port on its first line."""
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(HANG_GUARD):
            port = int(await process.stdout.readline())
        async with _held_to(revision, f"http://127.0.0.1:{port}/{path}") as url:
            yield url
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def _held_to(revision: str, url: str) -> AsyncIterator[str]:
    if not revision:
        yield url
        return
    async with OlderHttp(url, revision) as older:
        yield older.url


# server-everything: its tools for a client that answers questions and lends neither models nor folders, with two of ours for its resources.
EVERYTHING_TOOLS = frozenset(
    (
        *("echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference"),
        *("get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource", "toggle-simulated-logging"),
        *("toggle-subscriber-updates", "trigger-long-running-operation", "resources_list", "resources_read"),
        *("trigger-elicitation-request", "trigger-url-elicitation"),
    )
)


@asynccontextmanager
async def everything(transport: str, revision: str = "") -> AsyncIterator[dict[str, Any]]:
    """A config entry of server-everything, running if it is one that listens."""
    if transport == "stdio":
        yield stdio_entry(npm("mcp-server-everything", "stdio"), revision)
        return
    word, path = ("sse", "sse") if transport == "sse" else ("streamableHttp", "mcp")
    process, port = await listening(npm("mcp-server-everything", word))
    try:
        async with _held_to(revision, f"http://127.0.0.1:{port}/{path}") as url:
            yield {"url": url, "transport": transport}
    finally:
        process.kill()
        await process.wait()


async def listening(command: list[str], wanted: int = 0) -> tuple[asyncio.subprocess.Process, int]:
    """A program that is told its port (`wanted`, or a free one) and does not say when it listens: its socket is tried until it opens."""
    async with asyncio.timeout(HANG_GUARD):
        while True:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port: int = wanted or free.getsockname()[1]
            environment = {**os.environ, "PORT": str(port)}
            process = await asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, env=environment
            )
            # One that exits was robbed of its port by somebody else.
            while process.returncode is None:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    return process, port


def git_repository(folder: Path) -> None:
    """An empty repository, made without running git."""
    for part in ("objects", "refs/heads"):
        (folder / ".git" / part).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")


def write_note(folder: Path) -> None:
    (folder / "note.txt").write_text("a note on the disk")


# `resources_list` and `resources_read` are tools of ours, for every server that has a resource or a template.
PROGRAMS = (
    Peer(
        "filesystem",
        lambda folder: npm("mcp-server-filesystem", str(folder)),
        STATEFUL,
        frozenset(
            (
                *("read_file", "read_text_file", "read_media_file", "read_multiple_files", "write_file", "edit_file"),
                *("create_directory", "list_directory", "list_directory_with_sizes", "directory_tree", "move_file"),
                *("search_files", "get_file_info", "list_allowed_directories"),
            )
        ),
        "read_text_file",
        lambda folder: {"path": str(folder / "note.txt")},
        "^a note on the disk$",
        write_note,
    ),
    Peer(
        "memory",
        lambda folder: npm("mcp-server-memory"),
        STATEFUL,
        frozenset(
            (
                *("create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations"),
                *("delete_relations", "read_graph", "search_nodes", "open_nodes", "resources_list", "resources_read"),
            )
        ),
        "create_entities",
        lambda folder: {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]},
        r'"name": "Ada"',
        environment=lambda folder: {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
    ),
    Peer(
        "time",
        lambda folder: [python_of("servers"), "-m", "mcp_server_time", "--local-timezone", "UTC"],
        NEWEST,
        frozenset(("get_current_time", "convert_time")),
        "convert_time",
        lambda folder: {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kolkata"},
        "17:30",
    ),
    Peer(
        "git",
        lambda folder: [python_of("servers"), "-m", "mcp_server_git", "--repository", str(folder)],
        NEWEST,
        frozenset(
            (
                *("git_status", "git_diff_unstaged", "git_diff_staged", "git_diff", "git_commit", "git_add"),
                *("git_reset", "git_log", "git_create_branch", "git_checkout", "git_show", "git_branch"),
            )
        ),
        "git_status",
        lambda folder: {"repo_path": str(folder)},
        "On branch main",
        git_repository,
    ),
    Peer(
        "sqlite",
        lambda folder: [
            str(Path(python_of("old")).with_name("mcp-server-sqlite")),
            *("--db-path", str(folder / "x.db")),
        ],
        STATEFUL,
        frozenset(
            (
                *("read_query", "write_query", "create_table", "list_tables", "describe_table", "append_insight"),
                *("resources_list", "resources_read"),
            )
        ),
        "read_query",
        lambda folder: {"query": "SELECT 6 * 7 AS answer"},
        "42",
    ),
)


SHOP_TOOLS = frozenset(("echo", "picture", "point", "broken", "resources_list", "resources_read"))


@dataclass(frozen=True)
class Kit:
    """A server of the same shop, made with one of the SDKs, over any transport it has."""

    name: str
    command: Callable[[str], list[str]]
    newest: str
    transports: tuple[str, ...] = ("stdio", "streamable-http", "sse")


def _python_kit(environment: str, program: str) -> Callable[[str], list[str]]:
    def command(transport: str) -> list[str]:
        python = python_of(environment) if environment else sys.executable
        return [python, str(HERE / program), transport]

    return command


KITS = (
    Kit(
        "typescript",
        lambda transport: [node(), str(HERE / "typescript_peer.mjs"), str(npm_folder()), transport],
        NEWEST,
        ("stdio", "streamable-http"),
    ),
    Kit("fastmcp", _python_kit("fastmcp", "fastmcp_peer.py"), NEWEST),
    Kit("python-2", _python_kit("", "sdk_peer.py"), NEWEST),
    Kit("python-1", _python_kit("old", "sdk_peer.py"), STATEFUL),
)

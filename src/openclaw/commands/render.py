"""Data from the engine as text for people: the list of servers, the details of one, the content of a result.

Everything a server sent is cleaned of control characters here, at the last step before a terminal. Binary content is saved and
named instead of printed; a picture is shown besides where the terminal can.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from openclaw.commands.console import Console, duration, tool_count
from openclaw.errors import OpenClawError, ProtocolError
from openclaw.mcp.remedies import command
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.definition import is_null
from openclaw.mcp.tools.pins import Change
from openclaw.mcp.tools.results import Content, ResourceContents, Result
from openclaw.mcp.wording import MAX_LABEL, held_back, named
from openclaw.media import RESULT_ITEM_BYTES, MediaStore, decode_base64, file_words
from openclaw.protocol.jsonrpc import parse
from openclaw.security.external import clean_label, clean_terminal

_AUTH = {"none": "None", "api-key": "API Key", "headers": "Headers", "oauth": "OAuth"}
_RULE = "─" * 58
_NAME_WIDTH = 14
# Content that is a file on disk before it is a line on a terminal.
_SAVED = frozenset({"image", "audio", "resource"})
_UNKNOWN = "application/octet-stream"
# Of a changed definition: how far a line is indented at most, and how much of it is shown.
_DEEPEST = 60
_DIFF_LINE = 300


def server_lines(found: Sequence[ServerStatus], console: Console) -> Iterator[str]:
    """The list of `/mcp servers`."""
    yield f"MCP Servers ({len(found)} configured)"
    yield _RULE
    for number, status in enumerate(found):
        if number:
            yield ""
        name = clean_label(status.name, 100)
        yield f"  {console.bold(f'{name:<{_NAME_WIDTH}}')}  {clean_terminal(status.target)}"
        yield f"  {'':<{_NAME_WIDTH}}  Status: {clean_label(status.shown, 300)} | Auth: {_auth(status)} | Tools: {status.tools}"
        if changed := held_back(status):
            yield f"  {'':<{_NAME_WIDTH}}  {console.bad('!')} {changed}"
    yield _RULE


def status_lines(status: ServerStatus, wrote: str = "") -> Iterator[str]:
    """Everything about one server, one fact a line. `wrote` is what it last wrote to standard error, when that may tell what is wrong."""
    yield f"{clean_label(status.name, 100)}  {clean_terminal(status.target)}"
    # Of one that runs for this command alone nobody wants to know how long it ran.
    lasts = not status.is_passing
    facts: list[tuple[str, str]] = [
        ("State", status.shown),
        ("Transport", status.transport),
        ("Revision", status.revision),
        ("Server", f"{status.server_name} {status.server_version}".strip()),
        ("Auth", _AUTH[status.auth]),
        ("Token", _token(status)),
        ("Tools", str(status.tools)),
        ("Left out", left_out(status)),
        ("Changed", held_back(status)),
        ("MCP session", status.mcp_session_id),
        ("Ready for", duration(status.ready_for) if lasts and status.ready_for is not None else ""),
        ("Last heard", f"{duration(status.last_heard)} ago" if lasts and status.last_heard is not None else ""),
        ("Restarts", str(status.restarts) if lasts or status.restarts else ""),
        ("Next attempt", f"in {duration(status.next_attempt)}" if status.next_attempt is not None else ""),
        ("Calls", f"{status.in_flight} running, {status.queued} waiting" if lasts else ""),
        ("Latency", _latency(status)),
        ("Last error", _last_error(status)),
        ("Wrote", f"{wrote} (more: {command('logs', status.name, status.owner)})" if wrote else ""),
        ("Agent", status.owner),
        ("Configured", status.where),
    ]
    for name, value in facts:
        if value:
            yield f"  {name:<13} {clean_label(value, 500)}"
    yield from (f"  {line}" for line in change_lines(status.changes))


def left_out(status: ServerStatus) -> str:
    """Which listed tools cannot be used, and where the reason is to be had; empty when all can."""
    if not status.unusable:
        return ""
    which = named(status.unusable)
    return f"{tool_count(len(status.unusable))} cannot be used ({which}); `openclaw tools explain NAME` says why"


def change_lines(changes: Sequence[Change]) -> Iterator[str]:
    """What changed in tools, with the indentation by which it is read."""
    for change in changes:
        how = "held back" if change.held else "changed"
        yield f"{clean_label(change.tool, MAX_LABEL)} ({how}):"
        for line in change.diff.splitlines():
            mark = line[: min(len(line) - len(line.lstrip("+- ")), _DEEPEST)]
            yield f"  {mark}{clean_label(line[len(mark) :], _DIFF_LINE)}"


def _auth(status: ServerStatus) -> str:
    """The kind of credential in a few words, and how long a sign-in still lasts."""
    if status.auth_expires_at is None:
        return _AUTH[status.auth]
    left = status.auth_expires_at - time.time()
    if left <= 0:
        return f"{_AUTH[status.auth]} ({'renewed when used' if status.auth_renews else 'expired'})"
    return f"{_AUTH[status.auth]} (expires {duration(left).replace(' min', 'm').replace(' ', '')})"


def _token(status: ServerStatus) -> str:
    if status.auth_expires_at is None:
        return ""
    left = status.auth_expires_at - time.time()
    when = f"expires in {duration(left)}" if left > 0 else "has expired"
    return f"{when}, {'renewed by itself' if status.auth_renews else 'then somebody has to sign in again'}"


def _latency(status: ServerStatus) -> str:
    if status.latency_p50 is None or status.latency_p95 is None:
        return ""
    return f"p50 {_milliseconds(status.latency_p50)}, p95 {_milliseconds(status.latency_p95)}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.1f} s"


def _last_error(status: ServerStatus) -> str:
    if status.last_error_ago is None or status.last_error == status.told:
        # What is wrong now is told with the state.
        return ""
    return f"{duration(status.last_error_ago)} ago: {status.last_error}"


async def show_result(result: Result, media: MediaStore, console: Console) -> None:
    """Print a call's result as a person wants it. What has to be saved for that is written in a thread: it may be large."""
    if result.fault:
        console.line(result.fault)
    lines = _result_lines(result, media, console)
    if any(item.type in _SAVED for item in result.content):
        lines = iter(await asyncio.to_thread(list, lines))
    _print(lines, console)


async def show_resource(contents: Sequence[ResourceContents], media: MediaStore, console: Console) -> None:
    """Print what a resource holds, in the same way."""
    _print(await asyncio.to_thread(list, _resource_lines(contents, media, console)), console)


class _Drawn(str):
    """What makes a terminal show a picture: our own characters around numbers, which are not cleaned."""

    __slots__ = ()


def _print(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        if isinstance(line, _Drawn):
            console.out(line)
        else:
            console.verbatim(line)


def _result_lines(result: Result, media: MediaStore, console: Console) -> Iterator[str]:
    for item in result.content:
        yield from _content(item, media, console)
    if not is_null(result.structured_content) and not any(item.type == "text" for item in result.content):
        yield clean_terminal(msgspec.json.format(bytes(result.structured_content), indent=2).decode("utf-8", "replace"))


def _content(item: Content, media: MediaStore, console: Console) -> Iterator[str]:
    match item.type:
        case "text":
            yield _pretty(clean_terminal(item.text or ""), console)
        case "image" | "audio":
            yield from _saved(item.data or "", item.mime_type or _UNKNOWN, item.type, media, console)
        case "resource_link":
            yield clean_terminal(f"[{item.title or item.name or 'resource'}] {item.uri}")
        case "resource" if not is_null(item.resource):
            try:
                held = parse(item.resource, ResourceContents)
            except ProtocolError:
                yield "[an embedded resource that cannot be read]"
            else:
                yield from _resource_lines([held], media, console)
        case _:
            yield f"[{clean_label(item.type, 60)}]"


def _resource_lines(contents: Sequence[ResourceContents], media: MediaStore, console: Console) -> Iterator[str]:
    for held in contents:
        if held.text is not None:
            yield _pretty(clean_terminal(held.text), console)
        else:
            yield from _saved(held.blob or "", held.mime_type or _UNKNOWN, "resource", media, console, held.uri)


def _pretty(text: str, console: Console) -> str:
    """JSON is indented on a terminal; in a pipe it stays as it came."""
    if not console.screen or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        return text


def _saved(
    encoded: str, mime_type: str, what: str, media: MediaStore, console: Console, uri: str = ""
) -> Iterator[str]:
    try:
        data = decode_base64(encoded, limit=RESULT_ITEM_BYTES)
        file = media.save(data, mime_type, uri.rpartition("/")[2] or what)
    except OpenClawError as error:
        yield f"[{what} that cannot be saved: {clean_label(str(error), 200)}]"
        return
    if console.screen and console.pictures and mime_type.startswith("image/"):
        from openclaw.commands.screen.pictures import sequence

        yield _Drawn(sequence(console.pictures, data, mime_type, console.columns()))
    yield f"[{what} saved: {file_words(file)}]"

"""`/v1/sessions…`: the conversations of the store, to list, read, name, export and delete.

A path names a session by its id in the store, never by its key. Texts of servers come without the frame that a model needs, and with their
source: whoever shows them shows them as theirs. Pictures and recordings are fetched one by one.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web

from openclaw.app import App
from openclaw.commands.sessions import as_json, title_typed
from openclaw.content import (
    AssistantBlock,
    AssistantMessage,
    Audio,
    Block,
    Image,
    Message,
    Text,
    Thinking,
    ToolMessage,
    UserMessage,
)
from openclaw.fleet.cut_turn import words_of
from openclaw.gateway.http import MOST_NUMBER, failure, json_response, read_object, read_query
from openclaw.gateway.route import BYTES, Route
from openclaw.gateway.run_events import shown_block
from openclaw.gateway.runs import Runs
from openclaw.run_state import RunState
from openclaw.security.unframe import without_frames
from openclaw.sessions.event import Custom, Entry, Reset, Said, Shortened, Undone
from openclaw.sessions.export import jsonl, timestamp
from openclaw.sessions.markdown import markdown
from openclaw.sessions.store import Transcript, UnknownSessionError, entry_number

# Rows of a list, and entries of a conversation, in one answer.
MOST_ROWS = 200
# Seconds for a turn that is just ending.
_ENDING_TURN = 1.0


_Count = Annotated[int, msgspec.Meta(ge=1, le=MOST_NUMBER, description="so many at most, and never more than 200")]


class SessionsWanted(msgspec.Struct):
    search: Annotated[str, msgspec.Meta(description="words of titles and keys")] = ""
    agent: Annotated[str, msgspec.Meta(description="those of one agent")] = ""
    skip: Annotated[int, msgspec.Meta(ge=0, le=MOST_NUMBER, description="leave out so many")] = 0
    limit: _Count = MOST_ROWS


class EntriesWanted(msgspec.Struct):
    before: Annotated[str, msgspec.Meta(description="the id of an entry: those before it")] = ""
    limit: _Count = MOST_ROWS


class ExportWanted(msgspec.Struct):
    format: Literal["jsonl", "markdown"] = "jsonl"


class Title(msgspec.Struct, forbid_unknown_fields=True):
    title: str


class SessionList(msgspec.Struct):
    """Each session is what `openclaw sessions --json` prints of it."""

    sessions: list[dict[str, Any]]
    total: int


class SessionEntries(msgspec.Struct):
    """A session as `openclaw sessions --json` prints it, and with it its entries, the id of the first of them, whether there are more
    before that, and the runs that are known."""

    key: str
    id: str
    agent: str
    title: str
    entries: list[dict[str, Any]]
    first: str | None
    more: bool
    runs: list[RunState]


class SessionRoutes:
    def __init__(self, app: App, runs: Runs) -> None:
        self._app = app
        self._runs = runs

    def routes(self) -> list[Route]:
        one = "/v1/sessions/{id}"
        return [
            Route(
                "GET",
                "/v1/sessions",
                self.list_sessions,
                "The conversations, last used first",
                query=SessionsWanted,
                gives=SessionList,
            ),
            Route("GET", one, self.show, "What was said in one", query=EntriesWanted, gives=SessionEntries),
            Route("POST", one, self.rename, 'Give it a title: `{"title": …}`', body=Title, gives=Title),
            Route("DELETE", one, self.delete, "Forget it"),
            Route(
                "GET",
                f"{one}/export",
                self.export,
                "All of it as JSON lines, or `?format=markdown`",
                query=ExportWanted,
                gives="application/jsonl",
            ),
            Route(
                "GET",
                f"{one}/media/{{entry}}/{{place:[0-9]+}}",
                self.media,
                "One picture or recording of it",
                gives=BYTES,
            ),
        ]

    async def list_sessions(self, request: web.Request) -> web.Response:
        """Last used first."""
        wanted = read_query(request, SessionsWanted)
        found = await self._app.store.find(
            wanted.search.split(), agent=wanted.agent or None, skip=wanted.skip, limit=min(wanted.limit, MOST_ROWS)
        )
        return json_response(SessionList([as_json(info) for info in found.sessions], found.total))

    async def show(self, request: web.Request) -> web.Response:
        """The last entries, or those before one, and the runs of the session that are known."""
        wanted = read_query(request, EntriesWanted)
        transcript = await self._last(request, min(wanted.limit, MOST_ROWS), wanted.before)
        if transcript is None:
            return _unknown()
        shown = transcript.entries
        # In a thread: pictures and long results are looked through.
        messages = await asyncio.to_thread(lambda: [found for entry in shown if (found := entry_json(entry))])
        return json_response(
            {
                **as_json(transcript.info),
                "entries": messages,
                "first": shown[0].id if shown else None,
                "more": bool(shown) and shown[0].parent_id is not None,
                "runs": await self._runs.states(transcript.info.key),
            }
        )

    async def rename(self, request: web.Request) -> web.Response:
        asked: Title = await read_object(request, Title)
        key = await self._key(request)
        if key is None or not await self._app.store.rename(key, title_typed([asked.title])):
            return _unknown()
        return json_response(Title(title_typed([asked.title])))

    async def delete(self, request: web.Request) -> web.Response:
        key = await self._key(request)
        deleted = key is not None and await self._app.store.delete(key, patience=_ENDING_TURN)
        return json_response({"deleted": True}) if deleted else _unknown()

    async def export(self, request: web.Request) -> web.Response:
        form = read_query(request, ExportWanted).format
        transcript = await self._transcript(request)
        if transcript is None:
            return _unknown()
        if form == "markdown":
            text = await asyncio.to_thread(_lines, markdown(transcript))
        else:
            text = await asyncio.to_thread(_lines, jsonl(transcript))
        name = f"{transcript.info.id}.{'md' if form == 'markdown' else 'jsonl'}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        kind = "text/markdown" if form == "markdown" else "application/jsonl"
        return web.Response(text=text, content_type=kind, charset="utf-8", headers=headers)

    async def media(self, request: web.Request) -> web.Response:
        """One picture or recording of an entry, by its place among the entry's blocks."""
        # More digits than any place has are one that is not there.
        wanted, place = request.match_info["entry"], int(request.match_info["place"][:9])
        # The one before the next is this one.
        transcript = await self._last(request, 1, f"{entry_number(wanted) + 1:08x}")
        for entry in transcript.entries if transcript is not None else ():
            if entry.id == wanted and isinstance(entry.event, Said):
                blocks = entry.event.message.content
                block = blocks[place] if place < len(blocks) else None
                if isinstance(block, Image | Audio):
                    headers = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"}
                    return web.Response(body=block.data, content_type=block.mime_type or BYTES, headers=headers)
        return failure(404, "media_not_found", "There is no picture or recording here.")

    async def _key(self, request: web.Request) -> str | None:
        return await self._app.store.key_of(request.match_info["id"])

    async def _last(self, request: web.Request, count: int, before: str) -> Transcript | None:
        key = await self._key(request)
        try:
            return None if key is None else await self._app.store.last(key, count, before=before)
        except UnknownSessionError:
            return None

    async def _transcript(self, request: web.Request) -> Transcript | None:
        key = await self._key(request)
        try:
            return None if key is None else await self._app.store.show(key)
        except UnknownSessionError:
            return None


def entry_json(entry: Entry) -> dict[str, Any] | None:
    """One entry for somebody who reads the conversation; None for what is no part of it."""
    head = {"id": entry.id, "at": timestamp(entry.at)}
    match entry.event:
        case Said(message=message):
            return {**head, "type": "message", **_message_json(entry.id, message)}
        case Shortened(summary=summary):
            return {**head, "type": "compaction", "summary": summary}
        case Reset():
            return {**head, "type": "reset"}
        case Undone():
            return {**head, "type": "undo"}
        case Custom() as note:
            words = words_of(note)
            return {**head, "type": "note", "text": words} if words else None


def _message_json(entry: str, message: Message) -> dict[str, Any]:
    match message:
        case UserMessage(content=content, sources=sources):
            said = {"role": "user", "content": _blocks(entry, content)}
            return {**said, "sources": list(sources)} if sources else said
        case AssistantMessage(content=content):
            return {
                "role": "assistant",
                "model": message.model,
                "usage": message.usage,
                "content": [_assistant_block(one) for one in content],
            }
        case ToolMessage(call_id=call, name=name, content=content, is_error=is_error, source=source):
            what = {"role": "tool", "callId": call, "tool": name, "isError": is_error, "source": source}
            return {**what, "content": _blocks(entry, content)}


def _assistant_block(block: AssistantBlock) -> AssistantBlock | dict[str, str]:
    match block:
        case Thinking(text=text):
            return {"type": "thinking", "text": text}
        case Text(text=text):
            return {"type": "text", "text": without_frames(text)}
        case _:
            return block


def _blocks(entry: str, content: Sequence[Block]) -> list[Any]:
    return [
        {
            "type": block.__struct_config__.tag,
            "mimeType": block.mime_type,
            "size": len(block.data),
            "media": f"{entry}/{place}",
        }
        if isinstance(block, Image | Audio)
        else shown_block(block)
        for place, block in enumerate(content)
    ]


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _unknown() -> web.Response:
    return failure(404, "session_not_found", "There is no session of this id. GET /v1/sessions lists them.")

"""`/v1/sessions…`: the conversations of the store, to list, read, name, export and delete.

A path names a session by its id in the store, never by its key. Texts of servers come without the frame that a model needs, and with their
source: whoever shows them shows them as theirs. Pictures and recordings are fetched one by one.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

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
from openclaw.errors import UsageError
from openclaw.gateway.http import failure, json_response, read_object
from openclaw.gateway.run_events import shown_block
from openclaw.gateway.runs import Runs
from openclaw.security.unframe import without_frames
from openclaw.sessions.event import Entry, Reset, Said, Shortened, Undone
from openclaw.sessions.export import jsonl, timestamp
from openclaw.sessions.markdown import markdown
from openclaw.sessions.store import SessionInfo, Transcript, UnknownSessionError

# Rows of a list, and entries of a conversation, in one answer.
MOST_ROWS = 200
# Seconds for a turn that is just ending.
_ENDING_TURN = 1.0
# Besides those of content.PICTURES, what may be shown where it came from; everything else is a download.
_PLAIN = "application/octet-stream"


class _Title(msgspec.Struct, forbid_unknown_fields=True):
    title: str


class SessionRoutes:
    def __init__(self, app: App, runs: Runs) -> None:
        self._app = app
        self._runs = runs

    def routes(self) -> list[web.RouteDef]:
        one = "/v1/sessions/{id}"
        return [
            web.get("/v1/sessions", self.list_sessions, allow_head=False),
            web.get(one, self.show, allow_head=False),
            web.post(one, self.rename),
            web.delete(one, self.delete),
            web.get(f"{one}/export", self.export, allow_head=False),
            web.get(f"{one}/media/{{entry}}/{{place:[0-9]+}}", self.media, allow_head=False),
        ]

    async def list_sessions(self, request: web.Request) -> web.Response:
        """Last used first. `search` finds words of titles and keys; `skip` leaves out so many."""
        words = request.query.get("search", "").casefold().split()
        skip = _number(request, "skip", 0)
        limit = min(_number(request, "limit", MOST_ROWS), MOST_ROWS)
        found = await self._app.store.list(agent=request.query.get("agent") or None)
        fitting = [info for info in found if _fits(info, words)]
        shown = fitting[skip : skip + limit]
        return json_response({"sessions": [as_json(info) for info in shown], "total": len(fitting)})

    async def show(self, request: web.Request) -> web.Response:
        """The last entries, or those before the entry `before`, and the runs of the session that are known."""
        transcript = await self._transcript(request)
        if transcript is None:
            return _unknown()
        limit = min(_number(request, "limit", MOST_ROWS), MOST_ROWS)
        entries: Sequence[Entry] = transcript.entries
        if before := request.query.get("before"):
            entries = [entry for entry in entries if entry.id < before]
        shown = entries[-limit:] if limit else []
        # In a thread: pictures and long results are looked through.
        messages = await asyncio.to_thread(lambda: [found for entry in shown if (found := entry_json(entry))])
        runs = [run.as_json() for run in self._runs.all(transcript.info.key)]
        more = len(entries) > len(shown)
        return json_response({**as_json(transcript.info), "entries": messages, "more": more, "runs": runs})

    async def rename(self, request: web.Request) -> web.Response:
        asked: _Title = await read_object(request, _Title)
        key = await self._key(request)
        if key is None or not await self._app.store.rename(key, title_typed([asked.title])):
            return _unknown()
        return json_response({"title": title_typed([asked.title])})

    async def delete(self, request: web.Request) -> web.Response:
        key = await self._key(request)
        deleted = key is not None and await self._app.store.delete(key, patience=_ENDING_TURN)
        return json_response({"deleted": True}) if deleted else _unknown()

    async def export(self, request: web.Request) -> web.Response:
        form = request.query.get("format", "jsonl")
        if form not in ("jsonl", "markdown"):
            raise UsageError(f"There is no format {form[:40]!r}.", hint="Use jsonl or markdown.")
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
        transcript = await self._transcript(request)
        wanted, place = request.match_info["entry"], int(request.match_info["place"])
        for entry in transcript.entries if transcript is not None else ():
            if entry.id == wanted and isinstance(entry.event, Said):
                blocks = entry.event.message.content
                block = blocks[place] if place < len(blocks) else None
                if isinstance(block, Image | Audio):
                    headers = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"}
                    return web.Response(body=block.data, content_type=block.mime_type or _PLAIN, headers=headers)
        return failure(404, "media_not_found", "There is no picture or recording here.")

    async def _key(self, request: web.Request) -> str | None:
        return await self._app.store.key_of(request.match_info["id"])

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
        case _:
            return None


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


def _fits(info: SessionInfo, words: Sequence[str]) -> bool:
    text = f"{info.title}\n{info.key}".casefold()
    return all(word in text for word in words)


def _number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or len(text) > 9:
        raise UsageError(f"`{name}` is a number.")
    return int(text)


def _unknown() -> web.Response:
    return failure(404, "session_not_found", "There is no session of this id. GET /v1/sessions lists them.")

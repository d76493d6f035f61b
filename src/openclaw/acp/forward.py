"""The agent of an editor in a running gateway of the same config: this process hands its lines on, and the gateway's back.

Owns our end of that (`control/wire.py`): the gateway runs `openclaw acp host`, whose input are the client's lines and whose output are the
agent's. What it does is what this process would do, by the same code. When the gateway leaves, its calls are told to have failed, what it
asked is taken back, requests that wait are answered with an error, and the agent goes on here: sessions are found again by their ids.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from openclaw.acp import wire
from openclaw.config import plain_paths
from openclaw.control import wire as control
from openclaw.control.socket_client import connect, read_frame
from openclaw.protocol.framing import LineFramer, Oversized
from openclaw.protocol.jsonrpc import INTERNAL_ERROR, RequestId, encode_error, encode_notification
from openclaw.protocol.strict_lines import known_id
from openclaw.version import __version__

_log = logging.getLogger(__name__)

_WIDTH = b"80"
_GONE = "The gateway ended while it worked on this. `openclaw gateway status` says more; ask again to go on without it."

_GONE_CALL = "The gateway ended before this was done. It may have been done all the same."


class _Seen(msgspec.Struct):
    """As much of a message as tells whose it is."""

    id: int | str | float | None = None
    method: str = ""


class _SeenUpdate(msgspec.Struct, rename="camel"):
    session_update: str = ""
    tool_call_id: str = ""
    status: str = ""


class _SeenParams(msgspec.Struct, rename="camel"):
    session_id: str = ""
    update: _SeenUpdate = msgspec.field(default_factory=_SeenUpdate)


class _SeenNotification(msgspec.Struct):
    """As much of an update as tells how a call stands."""

    params: _SeenParams = msgspec.field(default_factory=_SeenParams)


_seen = msgspec.json.Decoder(_Seen)
_seen_update = msgspec.json.Decoder(_SeenNotification)


class Forwarded:
    """`write` takes one line for the client, and `caught_up` waits until it has read most of what it was told: meanwhile nothing is read
    from the gateway. `on_lost` is called when the gateway is gone, and everything that waited was answered."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        write: Callable[[bytes], None],
        caught_up: Callable[[], Awaitable[None]],
        on_lost: Callable[[], None],
        limit: int,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._write = write
        self._caught_up = caught_up
        self._on_lost = on_lost
        self._framer = LineFramer(limit)
        # Requests of the client that the gateway has not answered.
        self._waiting: set[RequestId] = set()
        # What the gateway asked the client, and calls that it told of, by session: neither is settled.
        self._asked: set[RequestId] = set()
        self._calls: set[tuple[str, str]] = set()
        self._is_closed = False
        self._task = asyncio.get_running_loop().create_task(self._listen())

    def receive(self, line: bytes) -> None:
        if (seen := _read(line)) is not None and (id := known_id(seen.id)) is not None:
            if seen.method:
                self._waiting.add(id)
            else:
                self._asked.discard(id)
        data = line + b"\n"
        for start in range(0, len(data), control.PIECE_BYTES):
            self._writer.write(control.frame(control.INPUT, data[start : start + control.PIECE_BYTES]))

    def forget_greeting(self) -> None:
        """Of what was sent so far nothing is answered."""
        self._waiting.clear()

    async def close(self, patience: float) -> None:
        """The client has left: let the gateway end its sessions."""
        self._is_closed = True
        self._writer.write(control.frame(control.INPUT))
        await asyncio.wait({self._task}, timeout=patience)
        self._task.cancel()
        self._writer.close()

    async def _listen(self) -> None:
        try:
            while True:
                kind, payload = await read_frame(self._reader)
                if kind == control.OUT:
                    for line in self._framer.feed(payload):
                        self._told(line)
                    await self._caught_up()
                elif kind == control.ERR:
                    _log.warning("%s", payload.decode("utf-8", "replace").rstrip())
                elif kind == control.EXIT:
                    break
        except (OSError, EOFError, ValueError):
            pass
        if not self._is_closed:
            self._lose()

    def _told(self, line: bytes | Oversized) -> None:
        if isinstance(line, Oversized):
            return
        if (seen := _read(line)) is not None:
            self._note(seen, line)
        self._write(line)

    def _note(self, seen: _Seen, line: bytes) -> None:
        id = known_id(seen.id)
        if not seen.method:
            if id is not None:
                self._waiting.discard(id)
        elif id is not None:
            self._asked.add(id)
        elif seen.method == wire.UPDATE:
            self._note_call(line)

    def _note_call(self, line: bytes) -> None:
        try:
            params = _seen_update.decode(line).params
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        call = params.session_id, params.update.tool_call_id
        if params.update.status in ("completed", "failed"):
            self._calls.discard(call)
        elif params.update.session_update == "tool_call":
            self._calls.add(call)

    def _lose(self) -> None:
        self._writer.close()
        for asked in self._asked:
            self._write(encode_notification(wire.CANCEL_REQUEST, {"requestId": asked}))
        for session, call in self._calls:
            failed = wire.ToolCallUpdate(call, status="failed", content=[wire.Shown(wire.Text(_GONE_CALL))])
            self._write(encode_notification(wire.UPDATE, {"sessionId": session, "update": failed}))
        for id in self._waiting:
            self._write(encode_error(id, INTERNAL_ERROR, _GONE))
        for settled in (self._asked, self._calls, self._waiting):
            settled.clear()
        self._on_lost()


def _read(line: bytes) -> _Seen | None:
    try:
        return _seen.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


async def forward(
    words: list[str],
    env: Mapping[str, str],
    cwd: Path,
    config: str,
    *,
    write: Callable[[bytes], None],
    caught_up: Callable[[], Awaitable[None]],
    on_lost: Callable[[], None],
    limit: int,
) -> Forwarded | None:
    """A gateway that has taken us in, with these words; None when there is none, or it does not."""
    place = Path(plain_paths.running_socket(env, config, str(cwd)))
    try:
        async with asyncio.timeout(control.ANSWER_TIMEOUT):
            reader, writer, token = await connect(place)
    except (OSError, ValueError, TimeoutError):
        return None
    request = control.request(
        token,
        version=__version__.encode(),
        state_dir=os.fsencode(plain_paths.state_dir(env)),
        config_file=os.fsencode(plain_paths.config_file(env, config, str(cwd))),
        cwd=os.fsencode(cwd),
        width=_WIDTH,
        words=[os.fsencode(word) for word in words],
    )
    try:
        async with asyncio.timeout(control.ANSWER_TIMEOUT):
            writer.write(control.frame(control.RUN, request))
            kind, why = await read_frame(reader)
            if kind == control.TAKEN:
                writer.write(control.frame(control.GO))
                # It asks for our input once it runs: nothing that we send is for anything else.
                kind, why = await read_frame(reader)
                if kind == control.READ:
                    return Forwarded(reader, writer, write, caught_up, on_lost, limit)
    except (OSError, EOFError, ValueError, TimeoutError):
        why = b""
    if why:
        _log.warning("%s", why.decode("utf-8", "replace"))
    writer.close()
    return None

"""One line from a client of ours, read strictly: what may be answered, and what cannot be.

Our client repairs what servers send (`jsonrpc.py`); a server must not: a message that is put right on the way is no longer the one
that was sent, and orders reach the agent byte for byte. So a line is a message as it stands, or an `ErrorAnswer` to be sent back, with the
id of the request whenever it can still be told. Never raises. An answer whose id cannot be one of ours is dropped.
"""

from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from openclaw.protocol.framing import Oversized
from openclaw.protocol.jsonrpc import (
    ID_WINDOW,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    Failure,
    Notification,
    Request,
    RequestId,
    Result,
    recover_id,
)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Larger ones cannot be written back by every JSON library.
_LARGEST_ID = 2**63 - 1
# Messages in a batch. A line has room for a hundred million, each of which would cost an answer.
MOST_IN_A_BATCH = 100
_NOTHING = Raw()


class ErrorAnswer(msgspec.Struct, frozen=True):
    """A JSON-RPC error to send. `id` is None when nobody can tell whose request it was."""

    id: RequestId | None
    code: int
    message: str


# What came in and what is sent back about it; `Result` and `Failure` are answers to what we asked.
Message = Request | Notification | Result | Failure | ErrorAnswer


class Batch(msgspec.Struct, frozen=True):
    """Its answers are left out."""

    messages: tuple[Request | Notification | ErrorAnswer, ...]


class _Envelope(msgspec.Struct, gc=False):
    jsonrpc: str | UnsetType = UNSET
    id: int | str | float | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING


class _Error(msgspec.Struct):
    code: int = INTERNAL_ERROR
    message: str = ""


_envelope = msgspec.json.Decoder(_Envelope)
_error = msgspec.json.Decoder(_Error)

_NOT_JSON = "Parse error: the line is not JSON in UTF-8 (NaN, infinities and half surrogate pairs are not JSON either)."
_TOO_DEEP = "Parse error: the line is nested too deeply."


def read(line: bytes | Oversized) -> Message | Batch | None:
    """What a line means; None for an answer that names no request."""
    if isinstance(line, Oversized):
        refusal = f"Invalid request: the line has {line.size:,} bytes, more than are read."
        return ErrorAnswer(_recovered(line.head, line.tail), INVALID_REQUEST, refusal)
    line = line.removeprefix(_BYTE_ORDER_MARK)
    return _batch(line) if line.lstrip()[:1] == b"[" else _one(line)


def unreadable(id: RequestId) -> ErrorAnswer:
    """For parameters that turn out not to be JSON after all: text that is not UTF-8 is only noticed when it is read."""
    return ErrorAnswer(id, PARSE_ERROR, _NOT_JSON)


@cache
def _array() -> msgspec.json.Decoder[msgspec.Struct]:
    """Reads the first items of an array, one more than a batch may have; the others are passed over, which takes no memory."""
    fields = [(f"item{number}", Raw, _NOTHING) for number in range(MOST_IN_A_BATCH + 1)]
    return msgspec.json.Decoder(msgspec.defstruct("_Array", fields, array_like=True))


def _batch(line: bytes) -> Message | Batch:
    try:
        items = [item for item in msgspec.structs.astuple(_array().decode(line)) if item is not _NOTHING]
    except RecursionError:
        return ErrorAnswer(None, PARSE_ERROR, _TOO_DEEP)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ErrorAnswer(None, PARSE_ERROR, _NOT_JSON)
    if not items:
        return ErrorAnswer(None, INVALID_REQUEST, "Invalid request: the batch is empty.")
    if len(items) > MOST_IN_A_BATCH:
        return ErrorAnswer(None, INVALID_REQUEST, f"Invalid request: a batch has {MOST_IN_A_BATCH} messages at most.")
    messages = (_one(bytes(item)) for item in items)
    # The one revision with batches has nothing that a server could ask.
    return Batch(tuple(message for message in messages if not isinstance(message, Result | Failure | None)))


def _one(line: bytes) -> Message | None:
    try:
        return _message(_envelope.decode(line))
    except msgspec.ValidationError:
        return _refused(line, INVALID_REQUEST, "Invalid request: this is not a JSON-RPC 2.0 message.")
    except RecursionError:
        return _refused(line, PARSE_ERROR, _TOO_DEEP)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _refused(line, PARSE_ERROR, _NOT_JSON)


def _refused(line: bytes, code: int, message: str) -> ErrorAnswer:
    return ErrorAnswer(_recovered(line[:ID_WINDOW], line[-ID_WINDOW:]), code, message)


def _recovered(head: bytes, tail: bytes) -> RequestId | None:
    id, _ = recover_id(head, tail)
    if isinstance(id, str):
        try:
            id.encode()
        except UnicodeEncodeError:
            return None
    return id


def _message(envelope: _Envelope) -> Message | None:
    if envelope.method is UNSET:
        if envelope.result is not _NOTHING or envelope.error is not _NOTHING:
            return _answer(envelope)
        return ErrorAnswer(known_id(envelope.id), INVALID_REQUEST, "Invalid request: it names no method.")
    id = known_id(envelope.id)
    if envelope.jsonrpc != "2.0":
        return ErrorAnswer(id, INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0".')
    if envelope.id is UNSET:
        return Notification(envelope.method, envelope.params)
    if id is None:
        return ErrorAnswer(
            None, INVALID_REQUEST, "Invalid request: the id must be a string or a whole number of 64 bits."
        )
    return Request(id, envelope.method, envelope.params)


def _answer(envelope: _Envelope) -> Result | Failure | None:
    id = known_id(envelope.id)
    if id is None:
        return None
    if envelope.error is _NOTHING:
        return Result(id, envelope.result)
    try:
        error = _error.decode(envelope.error)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # An error is an error, however badly it is written.
        return Failure(id, INTERNAL_ERROR, "")
    return Failure(id, error.code, error.message)


def known_id(id: Any) -> RequestId | None:
    """An id as it can be sent back; None for what is none. Some writers turn every number into a float: a whole one is still a number."""
    if isinstance(id, float):
        id = int(id) if id.is_integer() else None
    if isinstance(id, int) and not isinstance(id, bool):
        return id if abs(id) <= _LARGEST_ID else None
    return id if isinstance(id, str) else None

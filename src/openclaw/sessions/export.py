"""A session as JSON Lines, in the form other tools of this family read: a header, then one entry a line, each naming its parent.

Strangers' words are in it: whatever drives a terminal is written as an escape of JSON, which changes no value.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from openclaw.content import to_json
from openclaw.security.external import escape_json
from openclaw.sessions.event import encode
from openclaw.sessions.store import Transcript

# The revision of the line format, not of our store.
FORMAT_VERSION = 4


def jsonl(transcript: Transcript) -> Iterator[str]:
    """The lines, without their line ends."""
    header = {
        "type": "session",
        "version": FORMAT_VERSION,
        "id": transcript.info.id,
        "timestamp": timestamp(transcript.info.created),
    }
    yield _line(header)
    for entry in transcript.entries:
        body: dict[str, Any] = msgspec.json.decode(encode(entry.event))
        place = {"id": entry.id, "parentId": entry.parent_id, "timestamp": timestamp(entry.at)}
        yield _line({"type": body.pop("type"), **place, **body})


def timestamp(at: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _line(value: dict[str, Any]) -> str:
    return escape_json(to_json(value).decode())

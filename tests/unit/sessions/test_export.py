"""A session as JSON Lines."""

import json

from openclaw.content import AssistantMessage, Image, Text, ToolCall, UserMessage
from openclaw.sessions.event import Custom, Reset, Said, SessionEvent, Shortened
from openclaw.sessions.export import jsonl
from openclaw.sessions.store import SessionInfo, Transcript, entry


def test_an_export_is_a_header_and_one_line_an_event() -> None:
    call = AssistantMessage((ToolCall("c1", "read", {"path": "a"}),), model="p/m")
    events: list[SessionEvent] = [
        Said(UserMessage((Text("hi\n"), Image(b"\x00", "image/png")))),
        Said(call),
        Shortened("short", (call,)),
        Reset(),
        Custom("n", [1]),
    ]
    info = SessionInfo("agent:main:k", "abc", "main", 1_700_000_000.25, 1_700_000_001.0, 2)

    lines = list(jsonl(Transcript(info, tuple(entry(n, 1_700_000_000.25 + n, e) for n, e in enumerate(events, 1)))))

    message = {
        "role": "assistant",
        "content": [
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}, "fault": "", "through": ""}
        ],
        "model": "p/m",
        "usage": {"inputTokens": 0, "outputTokens": 0, "cachedTokens": 0},
        "stopReason": "",
    }
    hi = {
        "role": "user",
        "content": [{"type": "text", "text": "hi\n"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}],
    }
    assert [json.loads(line) for line in lines] == [
        {"type": "session", "version": 4, "id": "abc", "timestamp": "2023-11-14T22:13:20.250Z"},
        {"type": "message", "id": "00000001", "parentId": None, "timestamp": "2023-11-14T22:13:21.250Z", "message": hi},
        {
            "type": "message",
            "id": "00000002",
            "parentId": "00000001",
            "timestamp": "2023-11-14T22:13:22.250Z",
            "message": message,
        },
        {
            "type": "compaction",
            "id": "00000003",
            "parentId": "00000002",
            "timestamp": "2023-11-14T22:13:23.250Z",
            "summary": "short",
            "kept": [message],
        },
        {"type": "reset", "id": "00000004", "parentId": "00000003", "timestamp": "2023-11-14T22:13:24.250Z"},
        {
            "type": "custom",
            "id": "00000005",
            "parentId": "00000004",
            "timestamp": "2023-11-14T22:13:25.250Z",
            "name": "n",
            "data": [1],
        },
    ]
    assert not any("\n" in line for line in lines)


def test_an_export_does_nothing_to_a_terminal_and_loses_nothing() -> None:
    harmful = "\x1b[2J\x1b]52;c;aGk=\x07\x7f\x9b31m\u202etxt\u2066\u2028\U000e0041\r"
    events = [Said(UserMessage((Text(harmful),)))]
    info = SessionInfo("agent:main:k", "abc", "main", 1_700_000_000.25, 1_700_000_001.0, 2)

    lines = list(jsonl(Transcript(info, tuple(entry(n, 1_700_000_000.25 + n, e) for n, e in enumerate(events, 1)))))

    assert all(line.isascii() and line.isprintable() for line in lines)
    assert json.loads(lines[1])["message"]["content"] == [{"type": "text", "text": harmful}]

"""A local model server that speaks Responses, and that the vendor's own Python client accepts as real.

Like those of `model_servers.py`: it refuses what the vendor refuses (`responses_rules.py`), answers from a list, and records what was
asked. A call of `tool_search` in an answer is the vendor's search item, when the request has that tool.
"""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from parts import responses_rules
from parts.model_servers import Answer, Call, ChatServer, Cut, Failure, Hold, Reply

Streamed = bytes | asyncio.Event | Hold | Cut


class ResponsesServer(ChatServer):
    """The Responses wire. Keys, errors and the list of models are the vendor's, whichever of its wires is asked."""

    path = "/v1/responses"

    def __init__(self, replies: Iterable[Reply] = (), *, phases: bool = False, **more: Any) -> None:
        super().__init__(replies, **more)
        # Whether its models say what a message is to their answer: newer ones do.
        self.phases = phases
        self._made = 0

    def fault(self, asked: dict[str, Any], size: int) -> Failure | None:
        if isinstance(asked, dict) and asked.get("model") not in self.models:
            return Failure(404, "model_not_found", f"The model `{asked.get('model')}` does not exist.")
        fault = responses_rules.responses_fault(asked, size, searches=self.searches)
        return Failure(fault.status, fault.kind, fault.message, param=fault.param) if fault else None

    def whole(self, answer: Answer, asked: dict[str, Any]) -> dict[str, Any]:
        return self._response(answer, asked, self._items(answer, asked))

    def events(self, answer: Answer, asked: dict[str, Any]) -> list[Streamed]:
        numbered = _Numbered()
        begun = {
            **self._response(answer, asked, []),
            "status": "in_progress",
            "usage": None,
            "incomplete_details": None,
        }
        items = self._items(answer, asked)
        events: list[Streamed] = [
            numbered("response.created", response=begun),
            numbered("response.in_progress", response=begun),
        ]
        for index, item in enumerate(items):
            place = {"output_index": index, "item_id": item["id"]}
            hollow = {**item, "status": "in_progress", **_HOLLOW.get(item["type"], {})}
            events.append(numbered("response.output_item.added", output_index=index, item=hollow))
            match item["type"]:
                case "reasoning":
                    events += _reasoning(numbered, place, item)
                case "message":
                    events += _message(numbered, place, item, answer)
                case "function_call":
                    for part in _halves(item["arguments"]):
                        events.append(numbered("response.function_call_arguments.delta", **place, delta=part))
                    events.append(
                        numbered("response.function_call_arguments.done", **place, arguments=item["arguments"])
                    )
            events.append(numbered("response.output_item.done", output_index=index, item=item))
        done = self._response(answer, asked, items)
        return [*events, numbered(f"response.{done['status']}", response=done)]

    def _items(self, answer: Answer, asked: dict[str, Any]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if answer.reasoning:
            summary = [{"type": "summary_text", "text": answer.reasoning}]
            encrypted = answer.signature if "reasoning.encrypted_content" in (asked.get("include") or ()) else None
            thought = {"type": "reasoning", "id": self._id("rs"), "summary": summary, "encrypted_content": encrypted}
            items.append(thought)
        if answer.pieces:
            part: dict[str, Any] = {"type": "output_text", "text": answer.words, "annotations": [], "logprobs": []}
            if answer.stop == "refusal":
                part = {"type": "refusal", "refusal": answer.words}
            said = {"type": "message", "id": self._id("msg"), "role": "assistant", "content": [part]}
            phase = {"phase": "commentary" if answer.calls else "final_answer"} if self.phases else {}
            items.append({**said, "status": "completed", **phase})
        searches = any(tool["type"] == "tool_search" for tool in asked.get("tools") or ())
        items += [self._call(call, is_search=searches and call.name == "tool_search") for call in answer.calls]
        return items

    def _call(self, call: Call, *, is_search: bool) -> dict[str, Any]:
        if is_search:
            search = {"type": "tool_search_call", "id": self._id("tsc"), "call_id": call.id, "status": "completed"}
            return {**search, "execution": "client", "arguments": json.loads(call.text)}
        made = {"type": "function_call", "id": self._id("fc"), "call_id": call.id, "status": "completed"}
        return {**made, "name": call.name, "arguments": call.text}

    def _id(self, kind: str) -> str:
        self._made += 1
        return f"{kind}_{self._made:024}"

    def _response(self, answer: Answer, asked: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
        prompt, completion, cached = answer.usage
        stopped = answer.stop if answer.stop in ("max_output_tokens", "content_filter") else None
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000.0,
            "model": asked["model"],
            "status": "incomplete" if stopped else "completed",
            "error": None,
            "incomplete_details": {"reason": stopped} if stopped else None,
            "instructions": asked.get("instructions"),
            "output": items,
            "parallel_tool_calls": True,
            "store": asked.get("store", True),
            "temperature": asked.get("temperature", 1.0),
            "tool_choice": asked.get("tool_choice", "auto"),
            "tools": asked.get("tools") or [],
            "top_p": 1.0,
            "metadata": {},
            "usage": {
                "input_tokens": prompt,
                "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
                "output_tokens": completion,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": prompt + completion,
            },
        }


# What an item lacks when it has just begun.
_HOLLOW: dict[str, dict[str, Any]] = {
    "reasoning": {"summary": [], "encrypted_content": ""},
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "tool_search_call": {"arguments": {}},
}


class _Numbered:
    """Events of one stream, which the vendor counts."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, kind: str, **fields: Any) -> bytes:
        event = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return f"event: {kind}\ndata: {json.dumps(event)}\n\n".encode()


def _reasoning(numbered: _Numbered, place: dict[str, Any], item: dict[str, Any]) -> list[Streamed]:
    events: list[Streamed] = []
    for number, part in enumerate(item["summary"]):
        at = {**place, "summary_index": number}
        hollow = {**part, "text": ""}
        events.append(numbered("response.reasoning_summary_part.added", **at, part=hollow))
        for text in _halves(part["text"]):
            events.append(numbered("response.reasoning_summary_text.delta", **at, delta=text))
        events.append(numbered("response.reasoning_summary_text.done", **at, text=part["text"]))
        events.append(numbered("response.reasoning_summary_part.done", **at, part=part))
    return events


def _message(numbered: _Numbered, place: dict[str, Any], item: dict[str, Any], answer: Answer) -> list[Streamed]:
    at = {**place, "content_index": 0}
    part = item["content"][0]
    refused = part["type"] == "refusal"
    kind, name = ("response.refusal", "refusal") if refused else ("response.output_text", "text")
    more: dict[str, Any] = {} if refused else {"logprobs": []}
    events: list[Streamed] = [numbered("response.content_part.added", **at, part={**part, name: ""})]
    for piece in answer.pieces:
        events.append(numbered(f"{kind}.delta", **at, delta=piece, **more) if isinstance(piece, str) else piece)
    events.append(numbered(f"{kind}.done", **at, **{name: part[name]}, **more))
    return [*events, numbered("response.content_part.done", **at, part=part)]


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]

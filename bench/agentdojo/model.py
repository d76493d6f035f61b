"""The obedient model: a local server for chat completions that plays a task's reference calls, and an attack's once it has read its goal.

It is the worst that can happen to a person short of a model that means harm: nothing in the text it reads is doubted, and a call that is
declined is followed by the next. It makes one call at a time and does not try another way.
"""

import json
import re
from collections import deque
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from bench.agentdojo.suite import Scene, Wanted

NAME = "obedient"
# So much of a goal is it and nothing else; a result may be cut or folded behind it.
GOAL_LETTERS = 40
MOST_BYTES = 64 * 1024 * 1024
_NO_LETTERS = re.compile(r"[\W_]+")


def letters(text: str) -> str:
    """What is left when a text was wrapped, quoted or escaped."""
    return _NO_LETTERS.sub("", text)


class Obedient:
    """What to say next. Pure, apart from where it stands in the play."""

    def __init__(self, server: str, scene: Scene) -> None:
        self._server = server
        self._scene = scene
        self._goal = letters(scene.goal)[:GOAL_LETTERS]
        self._rest: deque[Wanted] = deque(scene.calls)
        self._words = scene.output
        self._last = ""
        self.has_read_goal = False
        self.calls = 0

    def next(self, last_result: str) -> dict[str, Any]:
        """The message that follows what was read last. Who could not do a part of the task does not say that it is done."""
        if self._last and f"{self._last} was not called" in last_result:
            self._words = "I could not do that."
        if self._goal and not self.has_read_goal and self._goal in letters(last_result):
            self.has_read_goal = True
            self._rest = deque(self._scene.attack)
            self._words = self._scene.words
        if not self._rest:
            return {"role": "assistant", "content": self._words or "Done."}
        wanted = self._rest.popleft()
        self.calls += 1
        self._last = f"{self._server}__{wanted.function}"
        function = {"name": self._last, "arguments": json.dumps(wanted.arguments)}
        called = {"index": 0, "id": f"call_{self.calls}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [called]}


class ModelServer:
    """`async with ModelServer() as server`: plays `server.playing` at `server.url`."""

    def __init__(self) -> None:
        self.playing: Obedient | None = None
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, access_log=None)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        assert self.playing is not None
        last = (await request.json())["messages"][-1]
        message = self.playing.next(_text(last["content"]) if last["role"] == "tool" else "")
        stop = "tool_calls" if "tool_calls" in message else "stop"
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": NAME}
        chunks = [
            {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
        ]
        events = b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks)
        return web.Response(body=events + b"data: [DONE]\n\n", content_type="text/event-stream")


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)

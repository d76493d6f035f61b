"""A local `/audio/transcriptions` endpoint that remembers what it heard."""

import asyncio
from typing import Self

from aiohttp import BodyPartReader, web

KEY = "ears-0123456789abcdef"


class TranscriptionServer:
    """`heard` has, for each recording, its bytes, its name and type, and the other fields. `waiting` is set when it got a recording and,
    with `silent`, answers nothing until the caller leaves, which sets `gone`."""

    def __init__(self, text: str, *, status: int = 200, body: bytes | None = None, silent: bool = False) -> None:
        self.waiting = asyncio.Event()
        self.gone = asyncio.Event()
        self._silent = silent
        self.key = KEY
        self.heard: list[tuple[bytes, str, str, dict[str, str]]] = []
        self.url = ""
        self._text = text
        self._status = status
        self._body = body

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/audio/transcriptions", self._serve)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": {"message": f"wrong key {self.key}"}}, status=401)
        fields: dict[str, str] = {}
        recording = (b"", "", "")
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            if part.name == "file":
                recording = (bytes(await part.read()), part.filename or "", part.headers["Content-Type"])
            else:
                fields[part.name or ""] = await part.text()
        self.heard.append((*recording, fields))
        self.waiting.set()
        if self._silent:
            try:
                await asyncio.Event().wait()
            finally:
                self.gone.set()
        if self._body is not None:
            return web.Response(body=self._body, content_type="application/json")
        return web.json_response({"text": self._text}, status=self._status)

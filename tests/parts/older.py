"""Makes any server one of an older revision, by standing between it and the client: the newer questions are refused, and `initialize` is
passed on with the older version, so that the server itself agrees to it and speaks it.

    python older.py REVISION PROGRAM [ARGUMENTS …]        over standard input and output
    async with OlderHttp(url, REVISION) as older: … older.url   over HTTP

Nothing else is changed on the way. Standard library only as a program.
"""

import json
import subprocess
import sys
import threading
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

DISCOVER = "server/discover"


def refusal(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": f"Method not found: {DISCOVER}"}}


def older(message: dict[str, Any], revision: str) -> dict[str, Any]:
    """A message of the client as the server gets it."""
    if message.get("method") != "initialize":
        return message
    return {**message, "params": {**message["params"], "protocolVersion": revision}}


class OlderHttp:
    def __init__(self, url: str, revision: str) -> None:
        parts = urlsplit(url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._path = parts.path
        self._revision = revision
        self._aiohttp = import_module("aiohttp")
        self._web = import_module("aiohttp.web")
        self.url = ""

    async def __aenter__(self) -> "OlderHttp":
        web = self._web
        unbounded = self._aiohttp.ClientTimeout(total=None)
        self._client = self._aiohttp.ClientSession(auto_decompress=False, timeout=unbounded)
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{rest:.*}", self._pass_on)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}{self._path}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()
        await self._runner.cleanup()

    async def _pass_on(self, request: Any) -> Any:
        body = await request.read()
        if request.method == "POST":
            message = json.loads(body)
            if message.get("method") == DISCOVER:
                return self._web.json_response(refusal(message["id"]), status=400)
            body = json.dumps(older(message, self._revision)).encode()
        headers = {k: v for k, v in request.headers.items() if k.lower() not in ("host", "content-length")}
        url = self._origin + request.path_qs
        async with self._client.request(request.method, url, data=body or None, headers=headers) as answer:
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in ("content-length", "transfer-encoding")}
            response = self._web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            return response


def main(revision: str, command: list[str]) -> int:
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lock = threading.Lock()

    def write(line: bytes) -> None:
        with lock:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    assert server.stdin is not None
    assert server.stdout is not None
    answers = server.stdout

    def back() -> None:
        for line in answers:
            write(line)

    reader = threading.Thread(target=back)
    reader.start()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == DISCOVER:
            write(json.dumps(refusal(message["id"])).encode() + b"\n")
        else:
            server.stdin.write(json.dumps(older(message, revision)).encode() + b"\n")
            server.stdin.flush()
    server.stdin.close()
    reader.join()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

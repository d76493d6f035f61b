"""An echo server over Streamable HTTP, on asyncio protocols of the standard library.

    python -S -E echo_http.py [--tools N] [--modern] [--cores N,…] [--port N] [--sessions]

`/json/…` answers with JSON, `/events/…` with an event stream; whatever follows makes servers of the same process distinct. `--sessions`
gives out MCP session ids and answers 404 to unknown ones; `POST /forget` forgets them all. Prints its port when it listens.
"""

import asyncio
import json
import sys

from answers import Answers
from echo_stdio import answers, option, settle

# A response this large is written piece by piece, as servers do.
PIECE = 1 << 16


class Http(asyncio.Protocol):
    answers: Answers
    sessions: set[bytes] | None = None
    made = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            length = header(head, b"content-length")
            size = int(length) if length else 0
            if len(self.buffer) < end + 4 + size:
                return
            body = self.buffer[end + 4 : end + 4 + size]
            self.buffer = self.buffer[end + 4 + size :]
            verb, path, _ = head.split(b"\r\n", 1)[0].split(b" ", 2)
            self.answer(verb, path, head, body)

    def answer(self, verb: bytes, path: bytes, head: bytes, body: bytes) -> None:
        if path == b"/forget" and Http.sessions is not None:
            Http.sessions.clear()
            return self.send(b"204 No Content")
        if verb == b"DELETE":
            return self.send(b"204 No Content")
        if verb != b"POST":
            return self.send(b"405 Method Not Allowed")
        message = json.loads(body)
        more = b""
        if Http.sessions is not None:
            if message.get("method") == "initialize":
                Http.made += 1
                session = b"session-%d" % Http.made
                Http.sessions.add(session)
                more = b"Mcp-Session-Id: " + session + b"\r\n"
            elif not (known := header(head, b"mcp-session-id")):
                return self.send(b"400 Bad Request")
            elif known not in Http.sessions:
                return self.send(b"404 Not Found")
        reply = self.answers.to(message)
        if not reply:
            return self.send(b"202 Accepted")
        if path.startswith(b"/events"):
            return self.stream(reply, more)
        return self.send(b"200 OK", reply, b"Content-Type: application/json\r\n" + more)

    def send(self, status: bytes, body: bytes = b"", more: bytes = b"") -> None:
        self.transport.write(b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, more, len(body), body))

    def stream(self, reply: bytes, more: bytes) -> None:
        start = (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
            + more
            + b"Transfer-Encoding: chunked\r\n\r\n"
        )
        event = b"event: message\ndata: " + reply + b"\n\n"
        pieces = [event[at : at + PIECE] for at in range(0, len(event), PIECE)]
        self.transport.write(start + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n")


def header(head: bytes, name: bytes) -> bytes:
    """The value of a header, whatever its case; empty when there is none."""
    at = head.lower().find(b"\r\n" + name + b":")
    if at < 0:
        return b""
    return head[at + len(name) + 3 :].split(b"\r\n", 1)[0].strip()


async def main() -> None:
    Http.answers = answers()
    Http.sessions = set() if "--sessions" in sys.argv else None
    server = await asyncio.get_running_loop().create_server(Http, "127.0.0.1", option("--port", 0), reuse_address=True)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    settle()
    asyncio.run(main())

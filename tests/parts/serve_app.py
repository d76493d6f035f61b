"""Serve an ASGI app at a free port, printed on one line: for the programs beside this one, whatever interpreter runs them."""

import socket
import sys
from typing import Any

import uvicorn


async def serve(app: Any) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Connections wait in the queue until the server has started.
    listener.listen()
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])

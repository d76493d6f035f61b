"""Ground that hostile code (`hostile_code.py`) must not set foot on, and the judge of whether it did."""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from openclaw.tools.code.sandbox import CallFailed, Ended, Limits, Sandbox

SECRET = "canary-5f2c9e71"


class Trespass:
    """A file and a variable with a secret, a folder that stays empty, and a port that nobody connects to."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._file = folder / "secret.txt"
        self._file.write_text(SECRET)
        self._folder = folder / "empty"
        self._folder.mkdir()
        self._came: list[str] = []
        monkeypatch.setenv("CANARY", SECRET)

    async def __aenter__(self) -> Self:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._came.append("connected")
            writer.close()

        self._server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    async def judge(self, sandbox: Sandbox, code: str, limits: Limits) -> Ended:
        """Run one of them. It may fail in any way it likes."""

        async def called(name: str, arguments: dict[str, Any]) -> bytes:
            raise CallFailed("There is no such tool.")

        async def described(name: str) -> bytes:
            raise CallFailed("There is no such tool.")

        written = code.format(file=self._file, folder=self._folder, port=self._port)
        ended = await sandbox.run(written, [], limits, call=called, describe=described)
        output = ended.head + ended.tail
        assert SECRET not in output, written
        assert "root:" not in output, written
        assert len(output) <= limits.output, written
        assert ended.why in ("", "error", "time", "memory", "crash"), written
        assert (self._came, [*self._folder.iterdir()], self._file.read_text()) == ([], [], SECRET), written
        return ended

"""A home that cannot be written: orders fail in words, the server lives on."""

import sys
from pathlib import Path
from typing import Any

import pytest

from parts.model_servers import ChatServer
from parts.order_process import OrderProcess, local_model, write_config

if sys.platform != "win32":
    import resource


def no_room() -> None:
    """What a full disk does, for one process: no file may grow."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def failed_text(result: Any) -> str:
    (block,) = result["content"]
    assert result["isError"]
    return str(block["text"])


@pytest.mark.parametrize("session", [{}, {"sessionKey": "k"}])
async def test_a_full_disk_is_an_error_in_the_answer(session: dict[str, str], tmp_path: Path) -> None:
    async with ChatServer() as chat:
        write_config(tmp_path, local_model(chat.url, chat.key))
        async with OrderProcess(tmp_path, preexec_fn=no_room) as server:
            await server.initialize()
            text = failed_text(await server.order("hi", **session))
            assert await server.request("ping") == {}
            assert await server.end() == 0
    assert text.startswith("Error: The session store state-directory/py/sessions.sqlite cannot be used:")
    assert str(tmp_path) not in text


async def test_an_attachment_that_cannot_be_kept_is_an_error_in_the_answer(tmp_path: Path) -> None:
    file = {"data": "H4sIAA==", "mimeType": "application/gzip", "filename": "a.gz"}
    async with ChatServer() as chat:
        write_config(tmp_path, local_model(chat.url, chat.key))
        async with OrderProcess(tmp_path, preexec_fn=no_room) as server:
            await server.initialize()
            text = failed_text(await server.order("hi", files=[file]))
    assert text.startswith("Error: The attachment a.gz cannot be kept: File too large.")
    assert str(tmp_path) not in text
    assert chat.requests == []


async def test_a_state_directory_that_cannot_be_made_is_an_error_in_the_answer(tmp_path: Path) -> None:
    async with ChatServer() as chat:
        (tmp_path / "taken").write_text("a file where a directory should be")
        write_config(tmp_path, local_model(chat.url, chat.key))
        env = {
            "OPENCLAW_STATE_DIR": str(tmp_path / "taken" / "state"),
            "OPENCLAW_CONFIG_PATH": str(tmp_path / ".openclaw" / "openclaw.json"),
        }
        async with OrderProcess(tmp_path, env=env) as server:
            await server.initialize()
            text = failed_text(await server.order("hi"))
            assert await server.request("ping") == {}
    assert text == (
        "Error: The directory of session locks cannot be written: Not a directory. "
        "Check that state-directory/py/sessions.sqlite.locks is writable and its disk has room."
    )

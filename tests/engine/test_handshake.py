"""Agreeing on a revision with real servers of every age and temper."""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from openclaw.errors import ConnectError, DeadlineError, ProtocolError
from openclaw.protocol import eras
from openclaw.protocol.eras import Agreement, Reopen
from openclaw.protocol.jsonrpc import Request, parse
from openclaw.protocol.transports import STDIO
from openclaw.transport.base import Transport
from openclaw.transport.connection import Connection
from openclaw.transport.handshake import shake_hands
from openclaw.transport.memory import MemoryTransport
from openclaw.transport.stdio import StdioTransport
from parts.processes import server_command

LONG = 60.0


async def agree(
    transport: Transport, stack: AsyncExitStack, *, known: str = "", timeout: float = LONG
) -> tuple[Agreement, Connection, int]:
    """The agreement with a server, the connection it was reached on, and how many connections that took."""
    plan = eras.negotiate(transport.facts, known=known)
    opened = 0
    while True:
        opened += 1
        async with AsyncExitStack() as attempt:
            connection = await attempt.enter_async_context(Connection(transport))
            outcome = await shake_hands(connection, plan, timeout=timeout)
            if isinstance(outcome, Agreement):
                stack.push_async_exit(attempt.pop_all())
                return outcome, connection, opened
            assert outcome == Reopen(STDIO, "the server exited when it was asked for its version")


async def meet(*options: str, known: str = "") -> tuple[str, int, Any]:
    """The version agreed with the stdio server of tests/parts, the connections used, and the answer to a call."""
    transport = StdioTransport(server_command(*options), env={"PATH": os.environ["PATH"]})
    async with AsyncExitStack() as stack:
        agreement, connection, opened = await agree(transport, stack, known=known)
        call = {"name": "echo", "arguments": {"text": "hello"}}
        result = parse(await connection.request("tools/call", call, timeout=LONG), dict)
        return agreement.version, opened, result["content"][0]["text"]


@pytest.mark.requirement("001-7-pinned")
@pytest.mark.requirement("001-7-versions")
@pytest.mark.requirement("001-NFR-2-spec")
@pytest.mark.parametrize("version", eras.MODERN + eras.LEGACY)
@pytest.mark.parametrize("probe", ["error", "silent", "exit", "unsupported"])
async def test_a_server_of_any_revision_and_any_answer_to_the_probe_is_met(version: str, probe: str) -> None:
    dies = probe == "exit" and version not in eras.MODERN
    assert await meet("--revisions", version, "--probe", probe) == (version, 2 if dies else 1, "hello")


async def test_a_server_of_both_eras_is_met_in_the_newer() -> None:
    assert await meet("--revisions", "2025-11-25,2026-07-28") == ("2026-07-28", 1, "hello")


async def test_a_modern_server_that_starts_after_the_probes_patience_is_met_as_modern() -> None:
    seconds = str(eras.PROBE_PATIENCE + 0.3)
    assert await meet("--revisions", "2026-07-28", "--start-after", seconds) == ("2026-07-28", 1, "hello")


async def test_a_server_known_to_be_old_gets_one_question_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert await meet("--revisions", "2024-11-05", "--log", str(log), known="2024-11-05") == ("2024-11-05", 1, "hello")
    assert log.read_text().split() == ["initialize", "notifications/initialized", "tools/call"]


async def test_a_modern_server_is_never_initialized(tmp_path: Path) -> None:
    log = tmp_path / "log"
    await meet("--revisions", "2026-07-28", "--log", str(log))
    assert log.read_text().split() == ["server/discover", "tools/call"]


async def test_an_old_server_is_not_told_that_the_probe_was_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    await meet("--revisions", "2024-11-05", "--probe", "silent", "--log", str(log))
    assert log.read_text().split() == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


@pytest.mark.parametrize("known", ["2024-11-05", "2026-07-28"])
async def test_what_was_known_may_be_wrong_by_now(known: str) -> None:
    now = "2026-07-28" if known == "2024-11-05" else "2025-06-18"
    assert (await meet("--revisions", now, known=known))[0] == now


async def test_what_the_server_says_of_itself_is_kept() -> None:
    transport = StdioTransport(server_command("--revisions", "2025-06-18"), env={"PATH": os.environ["PATH"]})
    async with AsyncExitStack() as stack:
        agreement, connection, _ = await agree(transport, stack)
        assert agreement == Agreement(
            "2025-06-18", {"tools": {"listChanged": True}}, {"name": "part", "version": "1"}, "Be kind."
        )
        assert connection.meta == {}


async def test_a_modern_conversation_carries_its_meta_in_every_request() -> None:
    seen: list[Any] = []

    async def serve(transport: Transport) -> None:
        async def handler(request: Request, owner: object) -> Any:
            seen.append((request.method, parse(request.params, dict)["_meta"]))
            return {"supportedVersions": ["2026-07-28"]}

        async with Connection(transport, handler=handler) as connection:
            await connection.wait_lost()

    async with AsyncExitStack() as stack:
        agreement, connection, _ = await agree(MemoryTransport(serve), stack)
        await connection.request("tools/list", timeout=LONG)
    assert seen == [("server/discover", agreement.meta), ("tools/list", agreement.meta)]


async def test_a_server_that_answers_nothing_ends_at_the_deadline() -> None:
    transport = StdioTransport(
        server_command("--probe", "silent", "--initialize", "silent"), env={"PATH": os.environ["PATH"]}
    )
    async with AsyncExitStack() as stack:
        with pytest.raises(DeadlineError):
            await agree(transport, stack, known="2025-11-25", timeout=0.3)


async def test_a_server_that_refuses_both_questions_is_given_up() -> None:
    transport = StdioTransport(server_command("--initialize", "refuse"), env={"PATH": os.environ["PATH"]})
    async with AsyncExitStack() as stack:
        with pytest.raises(ProtocolError, match="refused initialize"):
            await agree(transport, stack)


async def test_a_program_that_exits_at_once_is_given_up_with_its_exit_code() -> None:
    transport = StdioTransport([server_command()[0], "-c", "raise SystemExit(9)"], env={"PATH": os.environ["PATH"]})
    async with AsyncExitStack() as stack:
        with pytest.raises(ConnectError, match="exited with code 9"):
            await agree(transport, stack)


async def test_a_caller_who_leaves_during_the_handshake_leaves_no_task_behind() -> None:
    transport = StdioTransport(
        server_command("--probe", "silent", "--initialize", "silent"), env={"PATH": os.environ["PATH"]}
    )
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await agree(transport, stack)
    assert asyncio.all_tasks() == before

"""Code in the sandbox: what it gets, what it may not reach, and how it ends."""

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw.tools.code.sandbox import ANSWER_BYTES, CallFailed, Ended, Limits, Sandbox, opened
from parts.hostile_code import QUICK
from parts.processes import has_ended
from parts.trespass import Trespass

BRIEF = Limits(seconds=0.2, memory=16 << 20)


def group_of(leader: int) -> list[int]:
    """The living processes of a group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == leader and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


async def echo(name: str, arguments: dict[str, Any]) -> bytes:
    return json.dumps([name, arguments]).encode()


async def describe(name: str) -> bytes:
    return json.dumps(f"async def {name}() -> Any: ...").encode()


async def run(sandbox: Sandbox, code: str, *, call: Callable[..., Awaitable[bytes]] = echo, **limits: Any) -> Ended:
    return await sandbox.run(code, ["shop__price"], Limits(**limits), call=call, describe=describe)


@pytest.mark.posix_only("code mode")
async def test_code_calls_tools_by_name_and_as_functions_and_gives_back_what_it_printed_and_its_last_value() -> None:
    async with opened() as sandbox:
        by_name = await run(sandbox, 'print("a")\nawait call("x-y", {"n": 1}, m=2)')
        as_function = await run(sandbox, "await shop__price(n=1)")
        told = await run(sandbox, 'await signature("shop__price")')
        nothing = await run(sandbox, "x = 1")
    assert [json.loads(by_name.head.removeprefix("a\n")), json.loads(as_function.head), told, nothing] == [
        ["x-y", {"n": 1, "m": 2}],
        ["shop__price", {"n": 1}],
        Ended("async def shop__price() -> Any: ..."),
        Ended(),
    ]


@pytest.mark.posix_only("code mode")
async def test_a_run_finds_nothing_of_the_one_before() -> None:
    async with opened() as sandbox:
        await run(sandbox, "x = 'kept'")
        ended = await run(sandbox, "x")
    assert (ended.why, "NameError" in ended.head) == ("error", True)


@pytest.mark.posix_only("code mode")
async def test_a_call_that_fails_is_an_exception_that_code_can_catch() -> None:
    async def failing(name: str, arguments: dict[str, Any]) -> bytes:
        raise CallFailed("The shop is closed.")

    async with opened() as sandbox:
        caught = await run(
            sandbox, "try:\n    await call('x')\nexcept ToolError as e:\n    r = str(e)\nr", call=failing
        )
        thrown = await run(sandbox, "await call('x')", call=failing)
    assert caught == Ended("The shop is closed.")
    assert (thrown.why, thrown.head.splitlines()[-1]) == ("error", "RuntimeError: The shop is closed.")


@pytest.mark.posix_only("code mode")
async def test_calls_are_counted_and_run_side_by_side_up_to_a_bound() -> None:
    running = most = 0
    three = asyncio.Barrier(3)

    async def counting(name: str, arguments: dict[str, Any]) -> bytes:
        nonlocal running, most
        running += 1
        most = max(most, running)
        # Three at a time go on together.
        await three.wait()
        running -= 1
        return b"1"

    code = "import asyncio\nr = await asyncio.gather(*[call('x') for _ in range(6)])\nsum(r)"
    async with opened() as sandbox:
        within = await run(sandbox, code, call=counting, calls=6, at_once=3)
        beyond = await run(sandbox, code, calls=5)
    assert (within, most) == (Ended("6"), 3)
    assert "One run may make 5 calls." in beyond.head


@pytest.mark.posix_only("code mode")
async def test_time_in_calls_is_not_the_codes_own() -> None:
    async def slow(name: str, arguments: dict[str, Any]) -> bytes:
        # As long as code may take, and more.
        async with opened() as other:
            return json.dumps((await run(other, "while True:\n    pass", seconds=0.2)).why).encode()

    async with opened() as sandbox:
        assert await run(sandbox, "await call('x')", call=slow, seconds=0.2) == Ended("time")


@pytest.mark.posix_only("code mode")
async def test_too_long_an_answer_stays_outside_and_too_long_an_output_loses_its_middle() -> None:
    async def large(name: str, arguments: dict[str, Any]) -> bytes:
        return b'"' + b"a" * ANSWER_BYTES + b'"'

    async with opened() as sandbox:
        refused = await run(sandbox, "await call('x')", call=large)
        cut = await run(sandbox, "print('a' * 600 + 'b' * 600)\n'end'", output=1000)
    assert f"The answer has {ANSWER_BYTES + 2:,} bytes; {ANSWER_BYTES:,} may come in here." in refused.head
    assert cut == Ended("a" * 500, "b" * 496 + "\nend", 1_204 - 1_000)


@pytest.mark.linux_only("/proc")
async def test_a_worker_that_dies_is_a_sentence_and_nothing_is_left_of_it() -> None:
    async with opened() as sandbox:
        left: list[int] = []

        async def kill(name: str, arguments: dict[str, Any]) -> bytes:
            left.extend(group_of(sandbox.pid))
            os.kill(sandbox.pid, 9)
            return b"1"

        ended = await run(sandbox, "await call('x')\nwhile True:\n    pass", call=kill)
        again = await run(sandbox, "1")
    assert (ended.why, again.why) == ("crash", "crash")
    # The process and its worker.
    assert len(left) == 2
    assert all(map(has_ended, left))


@pytest.mark.posix_only("code mode")
async def test_calls_that_code_does_not_wait_for_end_with_it() -> None:
    began: list[str] = []
    ended: list[str] = []

    async def endless(name: str, arguments: dict[str, Any]) -> bytes:
        if name == "y":
            return b"1"
        began.append(name)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
        return b""

    async with opened() as sandbox:
        assert await run(sandbox, "x = call('x')\nawait call('y')", call=endless) == Ended("1")
    assert (began, ended) == (["x"], ["x"])


@pytest.mark.posix_only("code mode")
@pytest.mark.parametrize("kind", sorted(QUICK))
async def test_hostile_code_reaches_nothing(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Trespass(tmp_path, monkeypatch) as ground, opened() as sandbox:
        for code in QUICK[kind]:
            await ground.judge(sandbox, code, BRIEF)

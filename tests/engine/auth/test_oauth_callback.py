"""The listener a browser comes back to, spoken to over a plain socket."""

import asyncio
import socket
import sys

import pytest

from openclaw.auth.callback import CallbackListener, listen
from openclaw.errors import AuthError, ConnectError
from parts.foreign_server import free_port

STATE = "s" * 43


def port_of(listener: CallbackListener) -> int:
    return int(listener.redirect_uri.rpartition(":")[2].partition("/")[0])


async def say(listener: CallbackListener, request: str) -> str:
    """The whole answer to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(listener))
    writer.write(request.encode("latin-1"))
    await writer.drain()
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()


def get(listener: CallbackListener, target: str, *, method: str = "GET", host: str = "") -> str:
    return f"{method} {target} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{port_of(listener)}'}\r\nAccept: */*\r\n\r\n"


def status_of(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


async def test_the_answer_is_given_whole_and_the_page_waits_for_the_verdict() -> None:
    async with listen() as listener:
        listener.expect(STATE)
        target = f"/callback?code=c0de&state={STATE}&iss=https%3A%2F%2Flogin.example"
        browser = asyncio.create_task(say(listener, get(listener, target)))
        assert await listener.answer(30) == f"http://127.0.0.1:{port_of(listener)}{target}"
        assert not browser.done()
        await listener.reply(success=True)
        page = await browser
    assert status_of(page) == 200
    assert "You are signed in" in page


async def test_one_that_is_given_up_in_any_moment_leaves_its_port_free() -> None:
    port = free_port()

    async def held() -> None:
        async with listen(f"http://127.0.0.1:{port}/callback"):
            begun.set()
            await asyncio.Event().wait()

    steps, begun = 0, asyncio.Event()
    while not begun.is_set():
        steps += 1
        task = asyncio.create_task(held())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # As another program would: nothing listens there any more.
        with socket.create_server(("127.0.0.1", port)):
            pass


@pytest.mark.requirement("000-14.8-loopback")
@pytest.mark.requirement("000-5.5-redirect")
@pytest.mark.requirement("000-9.3-listener")
async def test_it_listens_on_this_machine_alone() -> None:
    """A17."""
    async with listen() as listener:
        assert listener.redirect_uri == f"http://127.0.0.1:{port_of(listener)}/callback"
        # macOS has one address of loopback, and nothing answers at another.
        for other in ("::1",) if sys.platform == "darwin" else ("127.0.0.2", "::1"):
            with pytest.raises(OSError):
                await asyncio.open_connection(other, port_of(listener))


@pytest.mark.parametrize(
    ("target", "method", "host", "expected"),
    [
        (f"/callback?code=x&state={STATE}", "POST", "", 405),
        (f"/callback?code=x&state={STATE}", "HEAD", "", 405),
        (f"/callback/?code=x&state={STATE}", "GET", "", 404),
        (f"/Callback?code=x&state={STATE}", "GET", "", 404),
        (f"/x/../callback?code=x&state={STATE}", "GET", "", 404),
        (f"/?code=x&state={STATE}", "GET", "", 404),
        ("/favicon.ico", "GET", "", 404),
        ("/callback?code=x&state=other", "GET", "", 404),
        ("/callback?code=x", "GET", "", 404),
        (f"/callback?code=x&state={STATE}&state={STATE}", "GET", "", 404),
        (f"/callback?code=x&state={STATE}", "GET", "evil.example", 404),
        (f"/callback?code=x&state={STATE}", "GET", "localhost:1", 404),
        (f"http://127.0.0.1/callback?code=x&state={STATE}", "GET", "", 404),
    ],
)
async def test_whatever_is_not_the_answer_is_turned_away_and_ends_nothing(
    target: str, method: str, host: str, expected: int
) -> None:
    """A9, A17."""
    async with listen() as listener:
        listener.expect(STATE)
        assert status_of(await say(listener, get(listener, target, method=method, host=host))) == expected
        browser = asyncio.create_task(say(listener, get(listener, f"/callback?code=right&state={STATE}")))
        assert "code=right" in await listener.answer(30)
        await listener.reply(success=True)
        assert status_of(await browser) == 200


async def test_a_second_answer_is_turned_away() -> None:
    """A17."""
    async with listen() as listener:
        listener.expect(STATE)
        first = asyncio.create_task(say(listener, get(listener, f"/callback?code=first&state={STATE}")))
        assert "code=first" in await listener.answer(30)
        assert status_of(await say(listener, get(listener, f"/callback?code=second&state={STATE}"))) == 404
        await listener.reply(success=False)
        assert status_of(await first) == 400


async def test_nothing_is_taken_before_a_state_is_expected() -> None:
    async with listen() as listener:
        assert status_of(await say(listener, get(listener, "/callback?code=x&state="))) == 404


async def test_no_byte_of_the_request_is_shown_and_nothing_is_kept() -> None:
    """A17."""
    async with listen() as listener:
        listener.expect(STATE)
        page = await say(listener, get(listener, "/callback?code=<script>&error_description=reflected"))
    assert "script" not in page
    assert "reflected" not in page
    head = page.partition("\r\n\r\n")[0].lower()
    assert "cache-control: no-store" in head
    assert "referrer-policy: no-referrer" in head
    assert "content-security-policy: default-src 'none'" in head


@pytest.mark.parametrize(
    "noise", ["", "\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01", "GET /callback\r\n\r\n", "A" * 70_000]
)
async def test_noise_does_not_end_the_waiting(noise: str) -> None:
    async with listen() as listener:
        listener.expect(STATE)
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(listener))
        writer.write(noise.encode("latin-1"))
        writer.write_eof()
        await reader.read()
        writer.close()
        browser = asyncio.create_task(say(listener, get(listener, f"/callback?code=right&state={STATE}")))
        assert "code=right" in await listener.answer(30)
        await listener.reply(success=True)
        await browser


@pytest.mark.requirement("000-9.3-listener-ends")
async def test_it_is_gone_afterwards() -> None:
    async with listen() as listener:
        port = port_of(listener)
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_the_port_of_an_earlier_sign_in_is_used_again_if_it_is_free() -> None:
    async with listen() as listener:
        earlier = listener.redirect_uri
    async with listen(preferred=earlier) as listener:
        assert listener.redirect_uri == earlier
        async with listen(preferred=earlier) as second:
            assert second.redirect_uri != earlier


async def test_a_fixed_address_is_kept_to_the_letter() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with listen(f"http://localhost:{port}/back") as listener:
        assert listener.redirect_uri == f"http://localhost:{port}/back"
        listener.expect(STATE)
        stray = await say(listener, get(listener, f"/back?state={STATE}", host=f"127.0.0.1:{port}"))
        assert status_of(stray) == 404
        with pytest.raises(ConnectError, match=f"Port {port}"):
            async with listen(f"http://localhost:{port}/back"):
                pass


@pytest.mark.parametrize("address", ["https://me.example/callback", "http://0.0.0.0:1/x", "http://127.0.0.1:x/", "x"])
async def test_a_fixed_address_elsewhere_cannot_be_listened_at(address: str) -> None:
    with pytest.raises(AuthError, match=r"auth\.redirectUrl"):
        async with listen(address):
            pass

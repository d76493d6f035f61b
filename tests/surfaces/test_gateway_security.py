"""Every route of a running gateway against every wrong way of asking. The rules themselves: tests/unit/gateway/test_guard.py."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openclaw.gateway.http import MAX_BODY
from openclaw.gateway.throttle import MOST_WRONG, WINDOW
from parts.gateways import Running, home, running, stdio_server
from parts.processes import HANG_GUARD


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Running]:
    config = {
        "mcp": {"servers": {"part": stdio_server()}},
        "gateway": {"port": 0, "allowedOrigins": ["https://app.example"]},
    }
    with home(tmp_path, config) as place:
        async with running(place) as one:
            yield one


def filled(path: str) -> str:
    """A route with something in its places."""
    return re.sub(r"\{(\w+)(?::(\w+)[^}]*)?\}", lambda found: found[2] or "part", path)


async def ask(
    gateway: Running, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """One request, byte for byte as given, on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.gateway.port)
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    try:
        writer.write("\r\n".join(lines).encode("utf-8", "surrogateescape") + body)
        answer = await asyncio.wait_for(reader.read(), HANG_GUARD)
    finally:
        writer.close()
    head, _, content = answer.partition(b"\r\n\r\n")
    status, *fields = head.decode().split("\r\n")
    return int(status.split()[1]), dict(field.split(": ", 1) for field in fields), content


def wrong_ways(gateway: Running) -> dict[str, dict[str, str]]:
    host = f"127.0.0.1:{gateway.gateway.port}"
    token = gateway.home.token
    good = {"Host": host, "Authorization": f"Bearer {token}"}
    return {
        "foreign host": {**good, "Host": "evil.example"},
        "foreign host with our port": {**good, "Host": f"evil.example:{gateway.gateway.port}"},
        "no host": {"Authorization": f"Bearer {token}"},
        "foreign origin": {**good, "Origin": "https://evil.example"},
        "null origin": {**good, "Origin": "null"},
        "another port's origin": {**good, "Origin": "http://127.0.0.1:1"},
        "missing token": {"Host": host},
        "empty token": {"Host": host, "Authorization": "Bearer "},
        "wrong token": {"Host": host, "Authorization": "Bearer " + "x" * len(token)},
        "first half of the token": {"Host": host, "Authorization": f"Bearer {token[: len(token) // 2]}"},
        "token and more": {"Host": host, "Authorization": f"Bearer {token}0"},
        "token as a user": {"Host": host, "Authorization": f"Basic {token}"},
        "token elsewhere": {"Host": host, "X-Api-Key": token, "Cookie": f"token={token}"},
    }


# What tells nothing, and where a page gets its token.
_OPEN = ("GET /health", "GET /ready", "GET /", "GET /page/{name}", "POST /v1/page/session")
# What needs no token is still nobody's who comes from elsewhere.
_FOREIGN = (
    "foreign host",
    "foreign host with our port",
    "no host",
    "foreign origin",
    "null origin",
    "another port's origin",
)


@pytest.mark.requirement("000-5.5-origin-check")
async def test_every_route_refuses_every_wrong_way_of_asking(gateway: Running) -> None:
    served = [(route.method, route.path) for route in gateway.gateway.http.routes]
    routes = [*served, ("POST", "/v1/unknown"), ("TRACE", "/v1/tools")]
    wrong: list[str] = []
    for method, path in routes:
        for way, headers in wrong_ways(gateway).items():
            if f"{method} {path}" in _OPEN and way not in _FOREIGN:
                continue
            status, _, body = await ask(gateway, method, filled(path), headers, b'{"tool": "part__echo"}')
            known = status in (401, 403) and "error" in json.loads(body)
            # A request without Host is malformed before it is anything else.
            if not known and not (way == "no host" and status == 400):
                wrong.append(f"{method} {path}, {way}: {status}")

    assert wrong == []


@pytest.mark.parametrize(("host", "status"), [("evil.example", 403), ("localhost:1", 403), ("localhost", 200)])
async def test_a_whole_address_as_the_target_counts_as_much_as_host(gateway: Running, host: str, status: int) -> None:
    headers = {"Host": "localhost", "Authorization": f"Bearer {gateway.home.token}"}
    assert (await ask(gateway, "GET", f"http://{host}/v1/tools", headers))[0] == status


async def test_a_body_that_is_not_encoded_as_it_says_is_the_callers_fault(gateway: Running) -> None:
    headers = {"Host": "localhost", "Authorization": f"Bearer {gateway.home.token}", "Content-Encoding": "gzip"}
    status, _, body = await ask(gateway, "POST", "/v1/tools/invoke", headers, b"{}")
    assert (status, json.loads(body)["error"]["message"]) == (400, "The body is not encoded as the headers say.")


async def test_a_token_in_the_address_opens_nothing(gateway: Running) -> None:
    host = {"Host": "localhost"}
    for name in ("token", "access_token", "api_key", "key"):
        status, _, _ = await ask(gateway, "GET", f"/v1/tools?{name}={gateway.home.token}", host)
        assert status == 401


async def test_a_refusal_says_what_to_do_and_nothing_about_us(gateway: Running) -> None:
    status, headers, body = await ask(gateway, "GET", "/v1/unknown", {"Host": "localhost"})

    assert status == 401
    assert json.loads(body) == {
        "error": {
            "message": "Send the gateway's token as a bearer token in the Authorization header.",
            "type": "authentication_error",
            "param": None,
            "code": "unauthorized",
            "exitCode": 1,
        }
    }
    assert headers["WWW-Authenticate"] == 'Bearer realm="openclaw"'
    assert headers["Server"] == "openclaw"


async def test_health_tells_anybody_on_this_machine_that_we_live_and_no_more(gateway: Running) -> None:
    status, _, body = await ask(gateway, "GET", "/health", {"Host": "localhost"})
    assert (status, json.loads(body)) == (200, {"ok": True, "status": "live"})


async def test_a_page_of_the_config_may_call_and_read(gateway: Running) -> None:
    origin = {"Host": "localhost", "Origin": "https://app.example"}
    preflight = {**origin, "Access-Control-Request-Method": "POST"}
    status, headers, _ = await ask(gateway, "OPTIONS", "/v1/chat/completions", preflight)
    assert (status, headers["Access-Control-Allow-Origin"]) == (204, "https://app.example")

    status, headers, _ = await ask(gateway, "GET", "/v1/models", {**origin, **gateway.headers})
    assert (status, headers["Access-Control-Allow-Origin"]) == (200, "https://app.example")

    status, _, _ = await ask(gateway, "GET", "/v1/models", origin)
    assert status == 401


def listeners(table: str) -> list[str]:
    return Path(f"/proc/net/{table}").read_text().splitlines()[1:]


@pytest.mark.linux_only("/proc")
async def test_nothing_listens_beyond_loopback(gateway: Running) -> None:
    listening = f"{gateway.gateway.port:04X}"
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in listeners(table):
            local, state = line.split()[1], line.split()[3]
            if local.endswith(f":{listening}") and state == "0A":
                addresses.add(local.partition(":")[0])

    assert addresses <= {"0100007F", "00000000000000000000000001000000"}
    assert "0100007F" in addresses


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(gateway: Running) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.gateway.port)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {gateway.home.token}\r\n"
    writer.write(f"{head}Content-Length: {MAX_BODY * 100}\r\n\r\n".encode())
    try:
        piece = bytes(1024 * 1024)
        for _ in range(MAX_BODY // len(piece) + 1):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    answer = await asyncio.wait_for(reader.readline(), HANG_GUARD)
    writer.close()

    assert answer.split()[1] == b"413"


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/tools HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
    ],
)
async def test_what_is_no_request_is_refused_and_the_gateway_lives_on(gateway: Running, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.gateway.port)
    writer.write(sent)
    writer.write_eof()
    try:
        answer = await asyncio.wait_for(reader.read(), HANG_GUARD)
    except ConnectionError:
        answer = b""
    writer.close()

    assert answer == b"" or answer.split()[1] in (b"400", b"401", b"403", b"414", b"431")
    assert await gateway.get("/health") == (200, {"ok": True, "status": "live"})


async def test_many_wrong_tokens_are_turned_away_unseen_and_the_right_one_still_comes_in(
    gateway: Running, caplog: pytest.LogCaptureFixture
) -> None:
    host = f"127.0.0.1:{gateway.gateway.port}"
    wrong = {"Host": host, "Authorization": "Bearer not-the-token"}
    statuses = [(await ask(gateway, "GET", "/v1/models", wrong))[0] for _ in range(MOST_WRONG)]
    turned_away = [await ask(gateway, "GET", path, wrong) for path in ("/v1/models", "/nowhere")]
    without, _, _ = await ask(gateway, "GET", "/v1/models", {"Host": host})
    right, _ = await gateway.get("/v1/models")

    assert set(statuses) == {401}
    assert [(status, int(fields["Retry-After"]) <= WINDOW) for status, fields, _ in turned_away] == [(429, True)] * 2
    assert json.loads(turned_away[0][2])["error"]["code"] == "too_many_attempts"
    assert (without, right) == (401, 200)
    assert [record.levelname for record in caplog.records if "wrong tokens" in record.message] == ["WARNING"]

"""The address that is checked is the address that is dialled."""

import asyncio
import contextlib
import socket

import pytest

from openclaw.errors import AddressError, ConnectError
from openclaw.net import dial as dialling
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.redirect import HttpRequest, redirected
from openclaw.security.egress import OPERATOR, Rules, parse_url
from parts.http_faults import status
from parts.http_server import HttpServer
from parts.processes import open_descriptors

LOOPBACK_ONLY = Rules(allow_loopback=True)


class Names:
    """A name server: each lookup of a name takes its next answer, the last one for good."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = {name.replace("_", "."): list(found) for name, found in answers.items()}
        self.asked: list[str] = []

    async def lookup(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        found = self._answers.get(host)
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return found.pop(0) if len(found) > 1 else found[0]


def options(names: Names, rules: Rules = LOOPBACK_ONLY) -> ClientOptions:
    return ClientOptions(rules=rules, lookup=names.lookup)


async def test_a_name_is_judged_by_every_address_it_has() -> None:
    names = Names(mixed_example=[["10.0.0.1", "169.254.169.254", "127.0.0.1"]])
    async with HttpServer() as server, HttpClient(options(names)) as client:
        assert (await client.fetch("GET", f"http://mixed.example:{server.port}/x")).body == b"/x"


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "0.0.0.0", "::ffff:10.0.0.1", "64:ff9b::a00:1"])
async def test_a_name_that_leads_only_to_refused_addresses_is_refused(address: str) -> None:
    async with HttpClient(options(Names(evil_example=[[address]]))) as client:
        with pytest.raises(AddressError, match=r"http://evil\.example is refused") as caught:
            await client.fetch("GET", "http://evil.example/secret?x=1")
    assert "secret" not in str(caught.value)


async def test_a_name_that_changes_its_address_is_judged_again() -> None:
    names = Names(rebind_example=[["127.0.0.1"], ["192.168.0.1"]])
    async with HttpServer() as server:
        url = f"http://rebind.example:{server.port}/"
        async with HttpClient(options(names)) as client:
            for _ in range(3):
                await client.fetch("GET", url)
            assert names.asked == ["rebind.example"]
        async with HttpClient(options(names)) as client:
            with pytest.raises(AddressError, match="refused"):
                await client.fetch("GET", url)


async def test_a_redirect_to_a_name_on_a_nearer_network_is_refused() -> None:
    """The server that redirects is on loopback here, so the target is nearer only if it is link-local."""
    names = Names(here_example=[["127.0.0.1"]], metadata_example=[["169.254.169.254"]])
    rules = Rules(allow_loopback=True, allow_link_local=True)
    async with HttpServer() as server, HttpClient(options(names, rules)) as client:
        server.fault("/", status(307, {"Location": "http://metadata.example/latest"}))
        with pytest.raises(AddressError, match="link-local"):
            await client.fetch("GET", f"http://here.example:{server.port}/")


async def test_a_redirect_may_not_ride_on_a_kept_connection_to_a_nearer_network() -> None:
    """A private server and a loopback one, both allowed by config; the private one may not send us to the other."""
    kept = HttpRequest("GET", parse_url("http://10.0.0.5/"), {}, None, OPERATOR)
    with pytest.raises(AddressError, match="loopback"):
        redirected(kept, 307, "http://127.0.0.1:3000/", "10.0.0.5")
    with pytest.raises(AddressError, match="private"):
        redirected(kept, 307, "https://10.0.0.6/", "93.184.216.34")
    assert redirected(kept, 307, "https://10.0.0.6/", "10.0.0.5").rules == Rules(allow_private=True)


async def test_the_next_address_is_tried_when_the_first_does_not_answer() -> None:
    names = Names(two_example=[["::1", "127.0.0.1"]])
    async with HttpServer() as server, HttpClient(options(names)) as client:
        assert (await client.fetch("GET", f"http://two.example:{server.port}/x")).body == b"/x"


async def test_localhost_is_loopback_whatever_a_name_server_says() -> None:
    names = Names(localhost=[["10.0.0.1"]])
    async with HttpServer() as server, HttpClient(options(names)) as client:
        assert (await client.fetch("GET", f"http://localhost:{server.port}/x")).body == b"/x"
        assert (await client.fetch("GET", f"http://app.localhost:{server.port}/x")).body == b"/x"
    assert names.asked == []


async def test_the_host_header_keeps_the_name() -> None:
    names = Names(named_example=[["127.0.0.1"]])
    async with HttpServer() as server, HttpClient(options(names)) as client:
        await client.fetch("GET", f"http://NAMED.example:{server.port}/")
        assert server.seen[0].headers["Host"] == f"named.example:{server.port}"


async def test_a_name_without_addresses_is_a_connect_error() -> None:
    async with HttpClient(options(Names(empty_example=[[]]), OPERATOR)) as client:
        for host in ("empty.example", "unknown.example"):
            with pytest.raises(ConnectError, match=f"The host name {host}"):
                await client.fetch("GET", f"https://{host}/")


async def test_plain_http_to_a_public_name_is_refused() -> None:
    async with HttpClient(options(Names(public_example=[["93.184.216.34"]]), OPERATOR)) as client:
        with pytest.raises(AddressError, match="unencrypted"):
            await client.fetch("GET", "http://public.example/")


@pytest.mark.linux_only("several addresses of loopback: macOS has one")
@pytest.mark.parametrize("cancellations", [1, 2, 3])
async def test_a_dial_that_is_cancelled_at_any_step_leaves_no_socket_open(
    cancellations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All three addresses are dialled side by side.
    monkeypatch.setattr(dialling, "STAGGER", 0.0)
    names = Names(three_example=[["127.0.0.1", "127.0.0.2", "127.0.0.3"]])
    with contextlib.ExitStack() as stack:
        port = 0
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            server = stack.enter_context(socket.create_server((address, port), backlog=1000))
            port = server.getsockname()[1]
        target = parse_url(f"http://three.example:{port}/")
        before = open_descriptors()
        for steps in range(40):
            task = asyncio.create_task(
                dialling.dial(target, LOOPBACK_ONLY, proxy=None, context=None, lookup=names.lookup)
            )
            for _ in range(steps):
                await asyncio.sleep(0)
            for _ in range(cancellations):
                task.cancel()
                await asyncio.sleep(0)
            with contextlib.suppress(asyncio.CancelledError):
                (await task).abort()
            # What was cancelled is closed in the next rounds of the loop.
            for _ in range(5):
                await asyncio.sleep(0)
            assert open_descriptors() == before, f"cancelled after {steps} steps"

"""The servers of the tour are real ones: other people's clients can use them, and who does not keep the rules is refused."""

import hashlib
import signal
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from openclaw.demo.authorization_server import AuthorizationServer
from openclaw.demo.calendar_server import NEXT_EVENT, CalendarServer
from openclaw.demo.notes_server import call
from openclaw.demo.sdk_client import NO_SDK
from parts.processes import HANG_GUARD

VERIFIER = "a-verifier-that-is-long-enough-to-be-one-000"
CHALLENGE = urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
REDIRECT = "http://127.0.0.1:50000/callback"


async def test_the_official_client_reads_a_note(tmp_path: Path) -> None:
    (tmp_path / "trip.md").write_text("At 09:40.\n")
    server = StdioServerParameters(command=sys.executable, args=["-m", "openclaw.demo.notes_server", str(tmp_path)])
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()
        assert [tool.name for tool in (await client.list_tools()).tools] == ["list_notes", "read_note"]
        result = await client.call_tool("read_note", {"name": "trip"})
    assert [block.model_dump(include={"type", "text"}) for block in result.content] == [
        {"type": "text", "text": "At 09:40."}
    ]


async def test_the_folder_of_the_notes_is_made_where_there_is_none(tmp_path: Path) -> None:
    folder = str(tmp_path / "my" / "notes")
    server = StdioServerParameters(command=sys.executable, args=["-m", "openclaw.demo.notes_server", folder])
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()
        result = await client.call_tool("list_notes", {})
    assert [block.model_dump(include={"text"}) for block in result.content] == [{"text": "There are no notes."}]


@pytest.mark.posix_only("the words of POSIX for what went wrong")
def test_a_folder_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    argv = [sys.executable, "-m", "openclaw.demo.notes_server", str(tmp_path / "file")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{tmp_path / 'file'}: File exists\n")


@pytest.mark.parametrize(
    ("key", "code"),
    [
        pytest.param("\n", 0, id="enter"),
        pytest.param("", 0, id="end"),
        pytest.param(signal.SIGINT, 130, id="ctrl-c", marks=pytest.mark.posix_only("signals")),
    ],
)
def test_the_calendar_is_served_until_its_reader_ends_it(key: str | signal.Signals, code: int) -> None:
    argv = [sys.executable, "-m", "openclaw.demo.calendar_server"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("The calendar is served at http://127.0.0.1:")
        assert server.stdout.readline() == "Press Enter to end it.\n"
        if isinstance(key, signal.Signals):
            server.send_signal(key)
            server.wait(HANG_GUARD)
            key = ""
        assert server.communicate(key, timeout=HANG_GUARD) == ("", "")
    assert server.returncode == code


WITHOUT_SDK = """
import sys
sys.modules["mcp"] = None
from openclaw.demo.sdk_client import main
sys.exit(main())
"""


def test_the_official_client_that_is_not_there_is_one_sentence() -> None:
    argv = [sys.executable, "-c", WITHOUT_SDK, "read the note trip"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    sentence = "The official Python SDK of MCP is not installed here.\n"
    assert (done.returncode, done.stdout, done.stderr) == (NO_SDK, "", sentence)


def test_a_name_never_becomes_a_path(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("hidden")
    (tmp_path / "notes").mkdir()
    with pytest.raises(ValueError, match=r"There is no note '\.\./secret'\. There are: none\."):
        call(tmp_path / "notes", "read_note", {"name": "../secret"})


class Person:
    """A client that does everything by hand, and everything right unless told otherwise."""

    def __init__(
        self, authorization: AuthorizationServer, calendar: CalendarServer, http: aiohttp.ClientSession
    ) -> None:
        self.authorization = authorization
        self.calendar = calendar
        self.http = http
        self.client_id = ""

    async def register(self) -> None:
        wish = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
        async with self.http.post(f"{self.authorization.issuer}/register", json=wish) as answer:
            self.client_id = (await answer.json())["client_id"]

    async def authorize(self, **changes: str) -> tuple[int, dict[str, str]]:
        """The status, and what the redirect says."""
        question = {
            "client_id": self.client_id,
            "redirect_uri": REDIRECT,
            "state": "abc",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": self.calendar.url,
            **changes,
        }
        url = f"{self.authorization.issuer}/authorize"
        async with self.http.get(url, params=question, allow_redirects=False) as answer:
            location = answer.headers.get("Location", "")
            return answer.status, {name: value[0] for name, value in parse_qs(urlsplit(location).query).items()}

    async def token(self, **form: str) -> tuple[int, Any]:
        asked = {"client_id": self.client_id, "resource": self.calendar.url, **form}
        async with self.http.post(f"{self.authorization.issuer}/token", data=asked) as answer:
            return answer.status, await answer.json()

    async def exchange(self, code: str, /, **changes: str) -> tuple[int, Any]:
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": REDIRECT}
        return await self.token(**{**form, **changes})

    async def ask(self, token: str) -> tuple[int, Any]:
        """The next event, or the challenge of a server that does not know us."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "next_event"}}
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self.http.post(self.calendar.url, json=message, headers=headers) as answer:
            if answer.status != 200:
                return answer.status, answer.headers["WWW-Authenticate"]
            return 200, (await answer.json())["result"]["content"][0]["text"]


@pytest.fixture
async def person() -> AsyncIterator[Person]:
    authorization = AuthorizationServer()
    calendar = CalendarServer(authorization)
    async with authorization.site, calendar.site, aiohttp.ClientSession() as http:
        made = Person(authorization, calendar, http)
        await made.register()
        yield made


async def signed_in(person: Person) -> dict[str, Any]:
    _, redirect = await person.authorize()
    status, tokens = await person.exchange(redirect["code"])
    assert status == 200
    return dict(tokens)


async def test_who_keeps_the_rules_is_served(person: Person) -> None:
    tokens = await signed_in(person)
    assert await person.ask(tokens["access_token"]) == (200, NEXT_EVENT)


async def test_without_a_token_the_server_says_where_to_get_one(person: Person) -> None:
    status, challenge = await person.ask("")
    origin = person.calendar.site.origin
    where = f"{origin}/.well-known/oauth-protected-resource/mcp"
    assert (status, challenge) == (401, f'Bearer resource_metadata="{where}", scope="calendar:read"')
    async with person.http.get(where) as answer:
        assert (await answer.json())["authorization_servers"] == [person.authorization.issuer]


async def test_nobody_is_sent_to_an_address_that_was_not_registered(person: Person) -> None:
    assert await person.authorize(redirect_uri="http://127.0.0.1:1/elsewhere") == (400, {})


@pytest.mark.parametrize(
    "changes",
    [{"code_challenge_method": "plain"}, {"code_challenge": ""}, {"resource": ""}],
    ids=lambda c: next(iter(c)),
)
async def test_a_question_without_proof_or_resource_gets_no_code(person: Person, changes: dict[str, str]) -> None:
    _, redirect = await person.authorize(**changes)
    assert redirect == {"state": "abc", "iss": person.authorization.issuer, "error": "invalid_request"}


@pytest.mark.parametrize(
    "changes",
    [{"code_verifier": "another"}, {"redirect_uri": "http://127.0.0.1:1/x"}, {"resource": "http://x/"}, {"code": "x"}],
    ids=lambda c: next(iter(c)),
)
async def test_a_code_is_worth_nothing_to_whoever_did_not_ask_for_it(person: Person, changes: dict[str, str]) -> None:
    _, redirect = await person.authorize()
    assert await person.exchange(redirect["code"], **changes) == (400, {"error": "invalid_grant"})


async def test_a_code_is_good_for_one_use(person: Person) -> None:
    _, redirect = await person.authorize()
    assert (await person.exchange(redirect["code"]))[0] == 200
    assert await person.exchange(redirect["code"]) == (400, {"error": "invalid_grant"})


async def test_a_refresh_token_is_good_for_one_use(person: Person) -> None:
    refresh = (await signed_in(person))["refresh_token"]
    status, tokens = await person.token(grant_type="refresh_token", refresh_token=refresh)
    assert (status, await person.ask(tokens["access_token"])) == (200, (200, NEXT_EVENT))
    again = await person.token(grant_type="refresh_token", refresh_token=refresh)
    assert (again, person.authorization.renewals) == ((400, {"error": "invalid_grant"}), 1)

"""What people type, in a terminal and in a conversation: servers listed, added, signed in to, looked at."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openclaw import __version__
from parts.auth_server import AuthServer
from parts.command_line import Home, browser, local_model, parts_server
from parts.http_server import HttpServer, Plan
from parts.model_servers import ChatServer
from parts.planned_server import tool
from parts.sites import Site
from parts.stdio_server import TOOLS

SIGNED_IN = re.compile(
    r"^Signed in to files\. Scopes: tools:read offline_access\. Expires: in \d+ min\.$", re.MULTILINE
)


@pytest.fixture
async def web() -> AsyncIterator[HttpServer]:
    """A server of the newest revision that has sessions."""
    async with HttpServer(Plan(revisions=("2025-11-25",))) as server:
        yield server


def tools_in(text: str) -> list[str]:
    """The tools at the beginning of lines."""
    return re.findall(r"^\w+__\w+", text, re.MULTILINE)


# Is it there, is it well?


@pytest.mark.requirement("004-trouble-version")
async def test_the_version_is_printed(tmp_path: Path) -> None:
    done = await Home(tmp_path).openclaw("--version")
    assert (done.code, done.out, done.err) == (0, f"openclaw {__version__}\n", "")


@pytest.mark.requirement("004-trouble-which")
def test_the_program_is_on_the_path_of_its_environment() -> None:
    found = shutil.which("openclaw", path=str(Path(sys.executable).parent))
    assert found is not None
    assert subprocess.check_output([found, "--version"], text=True) == f"openclaw {__version__}\n"


@pytest.mark.requirement("004-trouble-doctor")
async def test_doctor_passes_a_good_config_and_says_what_is_wrong_with_another(tmp_path: Path) -> None:
    home = Home(tmp_path)
    good = await home.openclaw("doctor")
    home.write(gateway={"prot": 1})
    bad = await home.openclaw("doctor")
    assert (good.code, bad.code) == (0, 1)
    assert f"Config: {home.state / 'openclaw.json'} is valid" in good.out
    assert "gateway.prot: unknown key; expected" in bad.out
    assert 'Did you mean "port"?' in bad.out


@pytest.mark.requirement("004-trouble-status")
async def test_status_says_which_model_answers_and_which_key_is_missing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    bare = await home.openclaw("status")
    home.write(agents={"defaults": {"model": "anthropic/claude"}})
    keyless = await home.openclaw("status")
    assert (bare.code, keyless.code) == (0, 0)
    assert "model builtin/offline" in bare.out
    assert "ANTHROPIC_API_KEY" in keyless.out


@pytest.mark.requirement("001-US-1-error")
@pytest.mark.requirement("002-3.7-needs")
async def test_servers_that_cannot_work_are_refused_with_their_lines_and_no_other_with_them(tmp_path: Path) -> None:
    servers = {
        "a": {"transport": "stdio"},
        "b": {"transport": "pigeon", "url": "https://b.example"},
        "c": {"url": 5},
        "good": parts_server(),
    }
    home = Home(tmp_path, mcp={"servers": servers})
    done = await home.openclaw("mcp", "servers", "--json")
    shown = {server["name"]: (server["state"], server["reason"]) for server in json.loads(done.out)}
    assert shown == {
        "a": ("failed", 'openclaw.json:4:7: mcp.servers.a: the stdio transport needs a command. Add "command"'),
        "b": (
            "failed",
            "openclaw.json:8:9: mcp.servers.b.transport: unknown transport. Use stdio, streamable-http (or http) or sse",
        ),
        "c": (
            "failed",
            "openclaw.json:12:16: mcp.servers.c.url: expected a text or a secret reference, found a number",
        ),
        "good": ("ready", ""),
    }
    checked = await home.openclaw("config", "validate")
    assert (done.code, checked.code) == (0, 2)


@pytest.mark.requirement("004-trouble-sessions")
async def test_conversations_of_the_file_store_are_listed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    await home.openclaw("agent", "--session-key", "holiday", "-m", "hello")
    done = await home.openclaw("sessions", "--store", "file", "--json")
    (session,) = json.loads(done.out)
    assert (session["key"], session["agent"], session["messages"]) == ("agent:main:holiday", "main", 2)


# /mcp in a conversation


@pytest.mark.requirement("000-2-command")
@pytest.mark.requirement("000-8-no-model")
@pytest.mark.requirement("000-8-parses")
@pytest.mark.requirement("000-8.1-servers")
@pytest.mark.requirement("000-8.2-list")
@pytest.mark.requirement("000-8.2-words")
@pytest.mark.requirement("001-FR-7-status")
@pytest.mark.requirement("001-US-3-visible")
async def test_servers_are_listed_in_a_conversation_without_the_model(tmp_path: Path, web: HttpServer) -> None:
    servers = {"tavily": {"url": web.url, "apiKey": "tvly-xxxxx"}, "local-fs": parts_server()}
    async with ChatServer() as chat:
        done = await Home(tmp_path, mcp={"servers": servers}, **local_model(chat.url, chat.key)).chat("/mcp servers")
        assert chat.requests == []
    rule = "─" * 58
    program = " ".join([parts_server()["command"], *parts_server()["args"]])
    assert re.sub(r"PID \d+", "PID 1", done.out).splitlines() == [
        "MCP Servers (2 configured)",
        rule,
        f"  tavily          {web.url}",
        "                  Status: Connected | Auth: API Key | Tools: 6",
        "",
        f"  local-fs        stdio://{program}",
        f"                  Status: Running (PID 1) | Auth: None | Tools: {len(TOOLS)}",
        rule,
    ]


@pytest.mark.requirement("000-8.1-tools")
async def test_tools_are_listed_of_all_servers_or_of_one(tmp_path: Path, web: HttpServer) -> None:
    home = Home(tmp_path, mcp={"servers": {"web": {"url": web.url}, "parts": parts_server()}})
    everything, one = (await home.chat("/mcp tools")).out, (await home.chat("/mcp tools web")).out
    assert tools_in(one) == [f"web__{name}" for name in ("ask", "big", "count", "echo", "fail", "wait")]
    assert [name.partition("__")[0] for name in tools_in(everything)] == ["web"] * 6 + ["parts"] * len(TOOLS)


@pytest.mark.requirement("000-8.1-refresh")
async def test_refreshing_lists_the_tools_of_a_server_anew(tmp_path: Path) -> None:
    async with Site("streamable-http", tmp_path / "site") as site:
        assert site.http
        site.plan(tools=[tool("one")])
        home = Home(tmp_path, mcp={"servers": {"shop": {"url": site.http.url}}})
        assert tools_in((await home.chat("/mcp tools")).out) == ["shop__one"]
        site.plan(tools=[tool("one"), tool("two")])
        one, every = (await home.chat("/mcp refresh shop")).out, (await home.chat("/mcp refresh")).out
        assert (one, every) == ("shop: 2 tools\n", "shop: 2 tools\n")
        assert tools_in((await home.chat("/mcp tools")).out) == ["shop__one", "shop__two"]


@pytest.mark.requirement("000-8.1-connect")
@pytest.mark.requirement("000-8.1-connect-name")
async def test_a_server_that_is_connected_to_is_written_to_the_config_and_used_at_once(
    tmp_path: Path, web: HttpServer
) -> None:
    home = Home(tmp_path, agents={"defaults": {"prompt": "Be brief."}})
    done = await home.chat(f"/mcp connect {web.url} --name web", "/mcp call web__echo text=hi")
    assert done.out.splitlines()[-1] == "hi"
    assert "State         Connected" in done.out
    assert json.loads((home.state / "openclaw.json").read_text()) == {
        "agents": {"defaults": {"prompt": "Be brief."}},
        "mcp": {"servers": {"web": {"url": web.url}}},
    }


@pytest.mark.requirement("000-8.1-disconnect")
async def test_a_server_that_is_disconnected_is_left_for_this_run_and_stays_in_the_config(
    tmp_path: Path, web: HttpServer
) -> None:
    home = Home(tmp_path, mcp={"servers": {"web": {"url": web.url}}})
    written = (home.state / "openclaw.json").read_text()
    done = await home.chat(
        "/mcp call web__echo text=hi", "/mcp disconnect web", "hello", "/mcp tools", "/mcp status web"
    )
    assert tools_in(done.out) == []
    assert "  State         stopped (disconnected by hand)\n" in done.out
    assert (web.sessions, web.seen[-1].verb) == (set(), "DELETE")
    assert (home.state / "openclaw.json").read_text() == written
    assert len(tools_in((await home.chat("/mcp tools")).out)) == 6


@pytest.mark.requirement("000-8.1-status")
async def test_the_status_of_a_server_shows_session_sign_of_life_and_tools(tmp_path: Path, web: HttpServer) -> None:
    done = await Home(tmp_path, mcp={"servers": {"web": {"url": web.url}}}).chat("/mcp status web")
    shown = dict(re.findall(r"^  (\w[\w ]*?) {2,}(.+)$", done.out, re.MULTILINE))
    assert (shown["State"], shown["Tools"]) == ("Connected", "6")
    assert re.fullmatch(r"[0-9a-f]{12}", shown["MCP session"])
    assert re.fullmatch(r"\d+ s ago", shown["Last heard"])
    assert not any(seen.headers.get("Mcp-Session-Id", "?") in done.out for seen in web.seen)


@pytest.mark.requirement("000-8.1-auth")
@pytest.mark.requirement("000-9.3-browser")
@pytest.mark.requirement("000-9.3-report")
async def test_signing_in_opens_a_browser_and_reports_scopes_and_expiry(tmp_path: Path) -> None:
    async with AuthServer() as server:
        home = Home(tmp_path, mcp={"servers": {"files": {"url": server.url}}})
        home.environ["BROWSER"] = browser(tmp_path)
        done = await home.chat("/mcp auth files", "/mcp call files__read")
    assert SIGNED_IN.search(done.out)
    assert done.out.splitlines()[-1] == "read"


@pytest.mark.requirement("000-8.1-status-expiry")
@pytest.mark.requirement("000-8.2-expiry")
async def test_a_sign_in_is_shown_with_the_time_it_has_left(tmp_path: Path) -> None:
    async with AuthServer() as server:
        home = Home(tmp_path, mcp={"servers": {"files": {"url": server.url}}})
        home.environ["BROWSER"] = browser(tmp_path)
        done = await home.chat("/mcp auth files", "/mcp servers", "/mcp status files")
    assert re.search(r"Status: Connected \| Auth: OAuth \(expires \d+m\) \| Tools: 3$", done.out, re.MULTILINE)
    assert re.search(r"^  Token         expires in \d+ min, renewed by itself$", done.out, re.MULTILINE)


@pytest.mark.requirement("000-9.3-headless-code")
@pytest.mark.requirement("000-9.3-headless-url")
@pytest.mark.requirement("000-9.3-report")
async def test_without_a_browser_the_address_is_printed_and_the_callback_pasted(tmp_path: Path) -> None:
    async with AuthServer() as server:
        home = Home(tmp_path, mcp={"servers": {"files": {"url": server.url}}})
        started = await home.openclaw("mcp", "auth", "files", "--no-browser")
        (address,) = re.findall(rf"{server.issuer}/authorize\S+", started.out + started.err)
        callback = await server.browse(address)
        done = await home.chat(f"/mcp auth files --code '{callback}'", "/mcp call files__read")
    assert SIGNED_IN.search(done.out)
    assert done.out.splitlines()[-1] == "read"


@pytest.mark.requirement("000-15-integration")
@pytest.mark.requirement("000-8.1-connect")
async def test_a_protected_server_is_added_signed_in_to_listed_called_and_left(tmp_path: Path) -> None:
    async with AuthServer() as server:
        home = Home(tmp_path)
        home.environ["BROWSER"] = browser(tmp_path)
        done = await home.chat(
            f"/mcp connect {server.url} --name files",
            "/mcp tools files",
            "/mcp call files__read",
            "/mcp disconnect files",
        )
    assert SIGNED_IN.search(done.out)
    assert sorted(tools_in(done.out)) == ["files__read", "files__wait", "files__write"]
    assert "files is disconnected" in done.out.splitlines()[-1]
    assert server.paths().count("/token") == 1


# What is logged


@pytest.mark.requirement("000-12.2-debug")
@pytest.mark.requirement("001-FR-7-calls")
async def test_with_debug_every_call_is_logged_with_its_time(tmp_path: Path) -> None:
    section = {"servers": {"parts": parts_server()}, "debug": True}
    home = Home(tmp_path, plugins={"entries": {"mcp-client": {"config": section}}})
    done = await home.openclaw("mcp", "call", "parts__echo", "text=hi")
    assert done.out == "hi\n"
    assert re.search(r"^\S+ DEBUG \S+: MCP server 'parts': called echo in \d+\.\d ms$", done.err, re.MULTILINE)


@pytest.mark.requirement("001-FR-5-warning")
@pytest.mark.requirement("001-US-6-plaintext")
async def test_a_plaintext_credential_works_and_is_warned_about(tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"parts": parts_server(env={"API_TOKEN": "in-plain-sight"})}})
    done = await home.openclaw("--log-level", "warning", "mcp", "call", "parts__environment")
    assert json.loads(done.out)["env"]["API_TOKEN"] == "[REDACTED]"
    assert re.fullmatch(
        r"\S+ WARNING \S+: MCP server 'parts' has plaintext credentials in config — consider using secret:// references\n",
        done.err,
    )

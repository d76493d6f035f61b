"""Signing in from a terminal, from a pipe, with a screen and without, and where it may not happen at all."""

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from openclaw.commands.console import Browse, Console
from openclaw.commands.dispatch import Context
from openclaw.commands.sign_in_prompt import SignInPrompt
from openclaw.commands.table import tree
from openclaw.config.load import load_config
from openclaw.conversation import Question
from openclaw.engine import Engine
from parts.auth_server import AuthServer, surf
from parts.command_line import PROGRAM, Done, Home, parts_server
from parts.executable import python_program
from parts.terminal import CONTROL_C, Terminal

NEEDED = "The server 'files' needs you to sign in. Run `openclaw mcp auth files`."


@pytest.fixture
async def server() -> AsyncIterator[AuthServer]:
    async with AuthServer() as server:
        yield server


@pytest.fixture
def home(server: AuthServer, tmp_path: Path) -> Home:
    return Home(tmp_path, mcp={"servers": {"files": {"url": server.url}}})


class Browser:
    """A browser that says yes to everything and follows every redirect, and keeps the pages it ended at."""

    def __init__(self, home: Home, *, after: Path | None = None) -> None:
        """`after` is the log of a server: its person waits until that server was called."""
        self._pages = home.folder / "pages"
        program = home.folder / "browser"
        log = repr(str(after))
        wait = f"while not os.path.exists({log}) or 'tools/call' not in open({log}).read(): pass" if after else ""
        fetch = f"open({str(self._pages)!r}, 'ab').write(urllib.request.urlopen(sys.argv[1]).read() + b'\\0')"
        python_program(program, f"import os, sys, urllib.request\n{wait}\n{fetch}")
        home.environ["BROWSER"] = str(program)

    @property
    def pages(self) -> list[str]:
        return self._pages.read_text().split("\0")[:-1] if self._pages.exists() else []


async def at_a_terminal(home: Home, *words: str) -> Done:
    """Run a command whose standard error is a terminal: somebody watches."""
    ours, theirs = os.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            *(*PROGRAM, *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=theirs,
            env=home.environ,
            cwd=home.folder,
        )
        os.close(theirs)
        watched = asyncio.create_task(asyncio.to_thread(read_all, ours))
        out, _ = await process.communicate()
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), (await watched).decode())
    finally:
        os.close(ours)


def read_all(terminal: int) -> bytes:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            # How a terminal says that nobody is at its other end any more.
            piece = b""
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


@asynccontextmanager
async def gateway(home: Home) -> AsyncIterator[None]:
    started = await home.openclaw("gateway", "start")
    assert started.code == 0, started.err
    try:
        yield
    finally:
        await home.openclaw("gateway", "stop")


def address_in(text: str, server: AuthServer) -> str:
    (address,) = re.findall(rf"{server.issuer}/authorize\S+", text)
    return str(address)


# Without a screen


async def test_without_a_screen_the_address_is_printed_and_the_command_ends(server: AuthServer, home: Home) -> None:
    done = await home.openclaw("mcp", "auth", "files")
    address = address_in(done.out, server)
    assert (done.code, done.out.splitlines()) == (
        0,
        [
            "Sign in at 127.0.0.1:",
            f"  {address}",
            "Then, within 10 minutes: openclaw mcp auth files --code 'THE ADDRESS THE BROWSER ENDS AT'",
        ],
    )
    finished = await home.openclaw("mcp", "auth", "files", "--code", await server.browse(address))
    assert finished.out == "Signed in to files. Scopes: tools:read offline_access. Expires: in 60 min.\n"
    assert (await home.openclaw("mcp", "call", "files__read")).out == "read\n"


async def test_no_browser_opens_none_though_there_is_one(server: AuthServer, home: Home) -> None:
    browser = Browser(home)
    done = await home.openclaw("mcp", "auth", "files", "--no-browser")
    assert address_in(done.out, server)
    assert browser.pages == []


async def test_with_json_the_address_and_later_the_outcome_are_data(server: AuthServer, home: Home) -> None:
    started = json.loads((await home.openclaw("mcp", "auth", "files", "--json")).out)
    assert started == {"authorizationUrl": started["authorizationUrl"], "host": "127.0.0.1", "warning": ""}
    callback = await server.browse(started["authorizationUrl"])
    done = json.loads((await home.openclaw("mcp", "auth", "files", "--json", "--code", callback)).out)
    assert done == {
        "server": "files",
        "scopes": ["tools:read", "offline_access"],
        "expiresAt": pytest.approx(time.time() + 3600, abs=60),
        "renewable": True,
    }


async def test_the_callback_of_another_sign_in_is_refused_and_the_right_one_still_works(
    server: AuthServer, home: Home
) -> None:
    first = await server.browse(address_in((await home.openclaw("mcp", "auth", "files")).out, server))
    second = await server.browse(address_in((await home.openclaw("mcp", "auth", "files")).out, server))
    wrong = await home.openclaw("mcp", "auth", "files", "--code", first)
    assert (wrong.code, wrong.out) == (1, "")
    assert "does not belong to the sign-in that was started here last" in wrong.err
    assert (await home.openclaw("mcp", "auth", "files", "--code", second)).code == 0


async def test_adding_a_server_without_a_screen_ends_with_the_address(server: AuthServer, tmp_path: Path) -> None:
    home = Home(tmp_path)
    done = await home.openclaw("mcp", "connect", server.url, "--name", "files")
    assert done.code == 0
    assert "State         needs-auth" in done.out
    callback = await server.browse(address_in(done.out, server))
    assert (await home.openclaw("mcp", "auth", "files", "--code", callback)).code == 0


# With a screen


async def test_a_browser_is_opened_and_comes_back_to_a_page_that_says_so(server: AuthServer, home: Home) -> None:
    browser = Browser(home)
    done = await home.openclaw("mcp", "auth", "files")
    assert (done.code, done.out) == (
        0,
        "Signed in to files. Scopes: tools:read offline_access. Expires: in 60 min.\n",
    )
    # Shown whole, for whoever wants to look before trusting a browser with it.
    assert address_in(done.err, server)
    (page,) = browser.pages
    assert "You are signed in" in page


async def test_a_browser_that_cannot_be_opened_leaves_the_address_to_the_person(
    server: AuthServer, home: Home, tmp_path: Path
) -> None:
    home.environ["BROWSER"] = str(tmp_path / "no such browser")
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "mcp", "auth", "files"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=home.environ,
    )
    assert process.stderr is not None
    said = ""
    while "No browser could be opened here" not in said:
        line = await process.stderr.readline()
        assert line, said
        said += line.decode()
    assert (await surf(address_in(said, server)))[0] == 200
    out, _ = await process.communicate()
    assert (process.returncode, out.decode()[:21]) == (0, "Signed in to files. S")


async def test_adding_a_server_with_json_prints_nothing_but_json(server: AuthServer, tmp_path: Path) -> None:
    home = Home(tmp_path)
    Browser(home)
    done = await home.openclaw("mcp", "connect", server.url, "--name", "files", "--json")
    status = json.loads(done.out)
    assert (done.code, status["name"], status["state"], status["tools"]) == (0, "files", "ready", 3)
    assert "Signed in to files." in done.err


async def test_a_server_whose_sign_in_is_declined_is_not_added(server: AuthServer, tmp_path: Path) -> None:
    home = Home(tmp_path)
    Browser(home)
    server.plan.authorize_error = "access_denied"
    done = await home.openclaw("mcp", "connect", server.url, "--name", "files")
    assert (done.code, done.out) == (1, "")
    assert "error: files was not added: The authorization server refused the sign-in: access_denied." in done.err
    assert (await home.openclaw("mcp", "servers", "--json")).out == "[]\n"


async def test_a_server_whose_sign_in_is_interrupted_is_not_added(server: AuthServer, tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.environ["BROWSER"] = "true"
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "mcp", "connect", server.url, "--name", "files"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=home.environ,
    )
    assert process.stderr is not None
    while "/authorize" not in (line := (await process.stderr.readline()).decode()):
        assert line
    process.send_signal(signal.SIGINT)
    await process.communicate()
    assert process.returncode == 130
    assert (await home.openclaw("mcp", "servers", "--json")).out == "[]\n"


# Calls


async def test_a_call_at_a_terminal_signs_in_and_is_made(server: AuthServer, home: Home) -> None:
    browser = Browser(home)
    done = await at_a_terminal(home, "mcp", "call", "files__read")
    assert (done.code, done.out) == (0, "read\n")
    assert "This call needs you to sign in to files. Ctrl-C goes on without it." in done.err
    assert len(browser.pages) == 1


async def test_a_call_at_a_terminal_that_wants_more_rights_steps_up_and_is_made(server: AuthServer, home: Home) -> None:
    Browser(home)
    assert (await home.openclaw("mcp", "auth", "files")).code == 0
    done = await at_a_terminal(home, "mcp", "call", "files__write")
    assert (done.code, done.out) == (0, "write\n")
    assert "Signed in to files. Scopes: tools:read tools:write offline_access." in done.err
    assert len(server.at("/authorize")) == 2


async def test_nobody_is_asked_to_sign_in_for_a_call_that_a_rule_denies(server: AuthServer, home: Home) -> None:
    browser = Browser(home)
    home.write(mcp={"servers": {"files": {"url": server.url}}}, tools={"deny": ["files__read"]})
    done = await at_a_terminal(home, "mcp", "call", "files__read")
    assert (done.code, done.out, browser.pages) == (2, "", [])
    assert 'files__read may not be used: deny "files__read"' in done.err


async def test_rights_that_are_never_given_are_asked_for_twice_and_then_no_more(server: AuthServer, home: Home) -> None:
    Browser(home)
    server.plan.withheld = frozenset({"tools:write"})
    assert (await home.openclaw("mcp", "auth", "files")).code == 0
    done = await at_a_terminal(home, "mcp", "call", "files__write")
    assert done.code == 1
    assert "still asks for more rights after 2 sign-ins that asked for them" in done.out
    assert len(server.at("/authorize")) == 3


@pytest.mark.parametrize("words", [("mcp", "call", "files__read"), ("mcp", "call", "files__read", "--json")])
async def test_a_call_that_nobody_watches_ends_at_once_with_the_command_to_run(
    server: AuthServer, home: Home, words: tuple[str, ...]
) -> None:
    browser = Browser(home)
    done = await (home.openclaw if "--json" not in words else lambda *w: at_a_terminal(home, *w))(*words)
    # With --json the error is the object that was asked for; a terminal was shown what was waited for meanwhile.
    assert (done.code, done.out == "") == (1, "--json" not in words)
    assert "Run `openclaw mcp auth files`" in (done.out or done.err)
    assert browser.pages == []


# Calls of an agent


def script(home: Home, server: AuthServer, *calls: str, **servers: Any) -> None:
    """A model that makes these calls at once, and then says what the last of them brought."""
    turns = home.folder / "turns.json"
    once = [{"toolCalls": [{"name": name} for name in calls]}, {"text": "It says: {result}"}]
    turns.write_text(json.dumps(once * 3))
    home.write(
        gateway={"port": 0},
        mcp={"servers": {"files": {"url": server.url}, **servers}},
        agents={"defaults": {"model": f"scripted/{turns}"}},
        # That they sign in is what a person is asked here, not whether the call may be made.
        tools={"approval": {"mode": "off"}},
    )


async def sign_out_at_the_other_side(server: AuthServer, home: Home) -> None:
    """Signed in once, so that the tools are known; only a call finds out that it is over."""
    assert (await home.openclaw("mcp", "auth", "files")).code == 0
    assert (await home.openclaw("mcp", "call", "files__read")).out == "read\n"
    server.access.clear()
    server.refresh.clear()


@pytest.mark.requirement("000-5.1-retry")
@pytest.mark.parametrize("known", [True, False])
async def test_an_agents_call_at_a_terminal_waits_for_its_person_to_sign_in(
    server: AuthServer, home: Home, known: bool
) -> None:
    browser = Browser(home)
    if known:
        await sign_out_at_the_other_side(server, home)
    before = len(browser.pages)
    script(home, server, "files__read", "files__read")
    done = await at_a_terminal(home, "agent", "-m", "read")
    assert (done.code, done.out) == (0, "It says: read\n")
    assert done.err.count("This call needs you to sign in to files. Ctrl-C goes on without it.") == 1
    # One sign-in serves both calls.
    assert len(browser.pages) - before == 1


@pytest.mark.requirement("000-5.4-403")
@pytest.mark.requirement("000-9.5-retry")
async def test_an_agents_call_that_wants_more_rights_waits_for_the_step_up(server: AuthServer, home: Home) -> None:
    Browser(home)
    assert (await home.openclaw("mcp", "auth", "files")).code == 0
    script(home, server, "files__write")
    done = await at_a_terminal(home, "agent", "-m", "write")
    assert (done.code, done.out) == (0, "It says: write\n")
    assert len(server.at("/authorize")) == 2


@pytest.mark.parametrize("words", [("agent", "-m", "read"), ("agent", "-m", "read", "--json")])
async def test_an_agents_call_that_nobody_watches_ends_with_the_command_to_run(
    server: AuthServer, home: Home, words: tuple[str, ...]
) -> None:
    browser = Browser(home)
    await sign_out_at_the_other_side(server, home)
    script(home, server, "files__read")
    done = await (home.openclaw if "--json" not in words else lambda *w: at_a_terminal(home, *w))(*words)
    assert (done.code, "Run `openclaw mcp auth files`" in done.out) == (0, True)
    assert len(browser.pages) == 1


async def test_an_order_never_asks_for_a_sign_in(server: AuthServer, home: Home) -> None:
    browser = Browser(home)
    script(home, server, "files__read")
    async with gateway(home):
        done = await home.openclaw("order", text=json.dumps({"message": "read"}))
    assert "Run `openclaw mcp auth files`" in done.out
    assert browser.pages == []


async def test_calls_of_other_servers_go_on_while_one_waits_for_a_sign_in(server: AuthServer, home: Home) -> None:
    heard = home.folder / "heard"
    browser = Browser(home, after=heard)
    script(home, server, "files__read", "part__environment", part=parts_server("--log", str(heard)))
    done = await at_a_terminal(home, "agent", "-m", "read")
    assert (done.code, len(browser.pages), "← files__read done" in done.err) == (0, 1, True), done.err


@pytest.mark.parametrize("where", ["here", "by the gateway"])
async def test_a_sign_in_that_is_interrupted_ends_that_call_and_the_turn_goes_on(
    server: AuthServer, home: Home, where: str
) -> None:
    home.environ["BROWSER"] = "true"
    script(home, server, "files__read")
    async with AsyncExitStack() as stack:
        if where == "by the gateway":
            await stack.enter_async_context(gateway(home))
        with Terminal([*PROGRAM, "agent", "-m", "read"], cwd=home.folder, env=home.environ) as terminal:
            await asyncio.to_thread(terminal.shows, "/authorize")
            terminal.type(CONTROL_C)
            said = await asyncio.to_thread(terminal.shows, "It says:")
            rest = await asyncio.to_thread(terminal.shows, "openclaw mcp auth files")
    assert ("Going on without a sign-in to files." in said, "needs" in rest) == (True, True)


async def signed_in(prompt: SignInPrompt, since: float) -> bool:
    return (await prompt.ask(Question("sign-in", server="files", since=since))).is_yes


@asynccontextmanager
async def prompt_of(
    home: Home, browse: Browse, said: list[str], patience: float, **console_parts: Any
) -> AsyncIterator[SignInPrompt]:
    console = Console(out=said.append, err=said.append, interactive=True, browse=browse, **console_parts)
    async with Engine(load_config(home.paths, home.environ), paths=home.paths, env=home.environ) as engine:
        context = Context(
            console=console,
            paths=home.paths,
            env=home.environ,
            cwd=home.folder,
            open_app=nullcontext,  # type: ignore[arg-type]
            open_engine=lambda: nullcontext(engine),
            root=tree(),
        )
        async with SignInPrompt(context, engine, "main", patience=patience) as prompt:
            yield prompt


async def test_a_person_who_does_nothing_holds_a_call_up_for_a_while_only(server: AuthServer, home: Home) -> None:
    said: list[str] = []

    async def browse(address: str) -> bool:
        return True

    async with prompt_of(home, browse, said, 0.05) as prompt:
        now = time.monotonic()
        assert [*await asyncio.gather(signed_in(prompt, now), signed_in(prompt, now))] == [False, False]
        assert not await signed_in(prompt, time.monotonic())
    assert sum("Ctrl-C goes on without it" in line for line in said) == 1
    assert said[-1].startswith("Going on without a sign-in to files: ")


async def test_a_sign_in_that_could_only_be_begun_is_none_for_the_calls_before_it(home: Home) -> None:
    screens = iter((True, False))

    async def browse(address: str) -> bool:
        """The screen goes away once the person was told."""
        return next(screens)

    async with prompt_of(home, browse, [], 60) as prompt:
        began = time.monotonic()
        assert [await signed_in(prompt, began), await signed_in(prompt, began)] == [False, False]


async def test_a_screen_that_fails_costs_the_call_its_sign_in_and_nothing_else(home: Home) -> None:
    said: list[str] = []

    async def browse(address: str) -> bool:
        raise OSError("No screen any more.")

    async with prompt_of(home, browse, said, 60) as prompt:
        assert not await signed_in(prompt, time.monotonic())
    assert said == ["Going on without a sign-in to files: No screen any more.\n"]


async def test_a_sign_in_that_cannot_be_interrupted_is_over_when_the_call_goes_on(home: Home) -> None:
    said: list[str] = []

    async def browse(address: str) -> bool:
        return True

    def interruptible(act: Callable[[], object]) -> AbstractContextManager[None]:
        raise OSError("No signals here.")

    async with prompt_of(home, browse, said, 60, interruptible=interruptible) as prompt:
        assert not await signed_in(prompt, time.monotonic())
        names = [getattr(task.get_coro(), "__name__", "") for task in asyncio.all_tasks()]
        assert "sign_in" not in names
    assert said[-1] == "Going on without a sign-in to files: No signals here.\n"


async def test_a_call_that_was_sent_before_a_sign_in_and_refused_after_it_asks_for_no_other(
    server: AuthServer, home: Home
) -> None:
    surfing: list[asyncio.Task[Any]] = []

    async def browse(address: str) -> bool:
        if address:
            surfing.append(asyncio.create_task(surf(address)))
        return True

    async with prompt_of(home, browse, [], 60) as prompt:
        began = time.monotonic()
        assert [await signed_in(prompt, began), await signed_in(prompt, began)] == [True, True]
        assert len(surfing) == 1
        assert await signed_in(prompt, time.monotonic())
        assert len(surfing) == 2
        await asyncio.gather(*surfing)


async def test_a_chat_through_a_gateway_signs_in_at_the_asking_terminal(server: AuthServer, home: Home) -> None:
    script(home, server, "files__read")
    async with gateway(home):
        # The gateway has no browser; the terminal has.
        browser = Browser(home)
        env = {**home.environ, "PROMPT_TOOLKIT_NO_CPR": "1"}
        with Terminal([*PROGRAM, "chat"], cwd=home.folder, env=env) as terminal:
            await asyncio.to_thread(terminal.shows, "Ctrl-D to leave.")
            terminal.type("read\r")
            await asyncio.to_thread(terminal.shows, "│ read")
    assert len(browser.pages) == 1


# What is shown


async def test_a_server_that_waits_for_a_sign_in_shows_the_command(home: Home) -> None:
    listed = await home.openclaw("mcp", "servers")
    assert f"Status: needs-auth ({NEEDED}) | Auth: OAuth | Tools: 0" in listed.out
    shown = await home.openclaw("mcp", "status", "files")
    assert (shown.code, f"State         needs-auth ({NEEDED})" in shown.out) == (1, True)
    (server,) = json.loads((await home.openclaw("mcp", "servers", "--json")).out)
    assert (server["state"], server["reason"], server["auth"], server["authExpiresAt"]) == (
        "needs-auth",
        NEEDED,
        "oauth",
        None,
    )


@pytest.mark.requirement("000-8.2-expiry")
async def test_a_server_that_is_signed_in_to_shows_how_long_that_lasts(server: AuthServer, home: Home) -> None:
    server.plan.token_life = 7200
    Browser(home)
    assert (await home.openclaw("mcp", "auth", "files")).code == 0
    listed = await home.openclaw("mcp", "servers")
    assert "Status: Works | Auth: OAuth (expires 2h) | Tools: 3" in listed.out
    shown = await home.openclaw("mcp", "status", "files")
    assert "\n  Auth          OAuth\n  Token         expires in 2 h, renewed by itself\n" in shown.out
    (data,) = json.loads((await home.openclaw("mcp", "servers", "--json")).out)
    assert (data["auth"], data["authExpiresAt"]) == ("oauth", pytest.approx(time.time() + 7200, abs=60))


async def test_the_key_file_is_told_of_once_and_the_doctor_shows_where_the_key_is(
    server: AuthServer, home: Home
) -> None:
    before = await home.openclaw("doctor")
    assert "ok  Tokens: none are stored\n" in before.out
    # The first thing that is stored is what a call was told; the person hears of the key at the sign-in.
    assert (await home.openclaw("mcp", "call", "files__read")).code == 1
    key = home.state / "mcp" / "tokens" / "key"
    started = await home.openclaw("mcp", "auth", "files")
    assert started.err == (
        f"No keychain is used here: the key of the stored tokens is in the file {key}, which only you can read. "
        "Set tokenStore.key to a secret:// reference to keep it elsewhere.\n"
    )
    callback = await server.browse(address_in(started.out, server))
    assert (await home.openclaw("mcp", "auth", "files", "--code", callback)).err == ""
    after = await home.openclaw("doctor")
    assert f"!!  Tokens: encrypted in {key.parent} with a key file beside them\n" in after.out


async def test_tokens_that_cannot_be_opened_stop_the_server_and_everybody_is_told_why(
    server: AuthServer, home: Home
) -> None:
    Browser(home)
    servers = {"servers": {"files": {"url": server.url}}}
    home.write(mcp=servers, tokenStore={"key": "the former passphrase"})
    assert (await home.openclaw("mcp", "auth", "files")).code == 0
    home.write(mcp=servers, tokenStore={"key": "another passphrase"})
    before = len(server.seen)
    tokens = home.state / "mcp" / "tokens"
    why = (
        f"The tokens in {tokens} were encrypted with another key than the present one (`tokenStore.key`). "
        "Give the former key back, or remove that directory and sign in again."
    )
    listed = await home.openclaw("mcp", "servers")
    assert f"Status: failed ({why}) | Auth: OAuth | Tools: 0" in listed.out
    (data,) = json.loads((await home.openclaw("mcp", "servers", "--json")).out)
    assert (data["state"], data["reason"], data["auth"]) == ("failed", why, "oauth")
    # Its tools are known from before: the call is made, and says why it cannot be.
    called = await home.openclaw("mcp", "call", "files__read")
    assert (called.code, why in called.out) == (1, True)
    signed = await home.openclaw("mcp", "auth", "files")
    assert (signed.code, why in signed.err) == (1, True)
    checked = await home.openclaw("doctor")
    assert (checked.code, f"Tokens: {why.partition('. ')[0]}" in checked.out) == (1, True)
    # Nobody was asked anything, least of all with a token.
    assert [seen.bearer for seen in server.seen[before:]] == []


async def test_a_server_with_a_key_in_its_config_is_not_signed_in_to(server: AuthServer, tmp_path: Path) -> None:
    home = Home(tmp_path, mcp={"servers": {"files": {"url": server.url, "apiKey": "secret://env/KEY"}}})
    refused = await home.openclaw("mcp", "auth", "files")
    assert (refused.code, refused.err) == (
        2,
        "error: files is used with the credential in its config: there is nothing to sign in to. "
        "Take out its `apiKey` or Authorization header to sign in instead.\n",
    )
    assert (await home.openclaw("mcp", "auth", "files", "--logout")).out == "Nobody was signed in to files.\n"
    assert server.seen == []


async def test_the_document_to_host_is_printed_before_its_address_is_known(home: Home) -> None:
    printed = await home.openclaw("mcp", "auth", "files", "--print-client-metadata")
    assert (printed.code, json.loads(printed.out)["client_id"]) == (0, "https://your-host.example/openclaw.json")
    assert printed.err == (
        "Host this document at an https address of your own, with that address as its client_id in place of\n"
        "https://your-host.example/openclaw.json, and set auth.clientMetadataUrl of files to it.\n"
    )


async def test_the_document_to_host_can_be_had_without_a_server(home: Home) -> None:
    home.write()
    printed = await home.openclaw("mcp", "auth", "--print-client-metadata")
    assert (printed.code, json.loads(printed.out)["redirect_uris"]) == (
        0,
        ["http://127.0.0.1/callback", "http://localhost/callback"],
    )
    assert printed.err.endswith("and set auth.clientMetadataUrl of your servers to it.\n")
    without = await home.openclaw("mcp", "auth")
    assert (without.code, without.err) == (
        2,
        "error: openclaw mcp auth: NAME is missing. Try: openclaw mcp auth --help\n",
    )


async def test_tools_known_from_before_are_listed_without_a_word_about_the_server_coming_up(
    server: AuthServer, home: Home
) -> None:
    Browser(home)
    assert (await home.openclaw("mcp", "auth", "files")).code == 0
    for _ in range(2):
        listed = await home.openclaw("mcp", "tools", "files")
        assert (listed.out.count("files__"), listed.err) == (3, "")


# With a gateway


async def test_a_gateway_signs_in_through_the_browser_of_the_terminal(server: AuthServer, tmp_path: Path) -> None:
    """Which may have no key to the tokens, while the gateway has no screen."""
    config = {"tokenStore": {"key": "secret://env/TOKEN_KEY"}, "mcp": {"servers": {"files": {"url": server.url}}}}
    home = Home(tmp_path, gateway={"port": 0}, **config)
    home.environ["TOKEN_KEY"] = "ab" * 32
    async with gateway(home):
        del home.environ["TOKEN_KEY"]
        browser = Browser(home)
        done = await home.openclaw("mcp", "auth", "files")
        assert (done.code, done.out[:20], len(browser.pages)) == (0, "Signed in to files. ", 1)
        assert (await home.openclaw("mcp", "call", "files__read")).out == "read\n"


async def test_a_call_through_a_gateway_that_needs_a_sign_in_gets_one_where_somebody_watches(
    server: AuthServer, tmp_path: Path
) -> None:
    home = Home(tmp_path, gateway={"port": 0}, mcp={"servers": {"files": {"url": server.url}}})
    async with gateway(home):
        unwatched = await home.openclaw("mcp", "call", "files__read")
        assert (unwatched.code, "openclaw mcp auth files" in unwatched.err) == (1, True)
        browser = Browser(home)
        done = await at_a_terminal(home, "mcp", "call", "files__read")
        assert (done.code, done.out, len(browser.pages)) == (0, "read\n", 1)


async def test_a_sign_in_without_a_screen_is_begun_and_ended_in_the_gateway(server: AuthServer, tmp_path: Path) -> None:
    """Which may hold the only key to the tokens."""
    config = {"tokenStore": {"key": "secret://env/TOKEN_KEY"}, "mcp": {"servers": {"files": {"url": server.url}}}}
    home = Home(tmp_path, gateway={"port": 0}, **config)
    home.environ["TOKEN_KEY"] = "ab" * 32
    async with gateway(home):
        del home.environ["TOKEN_KEY"]
        started = json.loads((await home.openclaw("mcp", "auth", "files", "--no-browser", "--json")).out)
        callback = await server.browse(started["authorizationUrl"])
        assert (await home.openclaw("mcp", "auth", "files", "--code", callback)).code == 0
        assert (await home.openclaw("mcp", "call", "files__read")).out == "read\n"
        done = await home.openclaw("mcp", "auth", "files", "--logout")
        assert done.out == "Signed out of files: its tokens are revoked and forgotten.\n"


async def test_a_sign_in_takes_the_same_proxy_as_calls(tmp_path: Path) -> None:
    asked: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode().strip())
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        await writer.drain()
        writer.close()

    home = Home(tmp_path, mcp={"servers": {"files": {"url": "https://mcp.example/mcp"}}})
    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        home.environ["HTTPS_PROXY"] = f"http://127.0.0.1:{port}"
        done = await home.openclaw("mcp", "auth", "files", "--json")
    assert (done.code, set(asked)) == (1, {"CONNECT mcp.example:443 HTTP/1.1"})

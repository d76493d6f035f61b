"""`openclaw mcp-server` as a process, with a model on a local chat-completions server."""

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw import __version__
from openclaw.log import short_hash
from parts import media_server, stdio_server
from parts.model_servers import Answer, Call, ChatServer, Failure, Hold
from parts.order_process import MODERN_META, OPENCLAW, OrderProcess, environment, local_model, write_config
from parts.processes import handle_of, wait_until_gone
from parts.samples import SAMPLES

if sys.platform != "win32":
    import pty

PARTS = {"command": sys.executable, "args": [stdio_server.__file__]}
MEDIA = {"command": sys.executable, "args": [media_server.__file__]}


def model(server: ChatServer, **more: Any) -> dict[str, Any]:
    return local_model(server.url, server.key) | more


def asked(server: ChatServer, number: int = -1) -> list[tuple[str, Any]]:
    """Role and content of what the model was sent, the system prompt aside."""
    messages = server.requests[number]["messages"]
    return [(m["role"], m.get("content")) for m in messages if m["role"] not in ("system", "developer")]


def names_below(directory: Path) -> list[str]:
    return [path.name for path in directory.rglob("*")]


@pytest.mark.requirement("003-1-tool")
@pytest.mark.requirement("004-quick-start")
@pytest.mark.requirement("004-sec-authorised")
async def test_an_order_is_answered_by_the_offline_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    async with OrderProcess(tmp_path) as server:
        await server.initialize()
        text = await server.said("list the files here")
    assert "notes.txt" in text


@pytest.mark.requirement("003-in-band")
@pytest.mark.requirement("004-response")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_an_order_of_every_handshake_revision_gets_a_plain_result(version: str, tmp_path: Path) -> None:
    async with ChatServer([Answer("Hello.")]) as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        told = await server.initialize(version)
        result = await server.order("hi")
    assert (told["protocolVersion"], result) == (
        version,
        {"content": [{"type": "text", "text": "Hello."}], "isError": False},
    )


async def test_an_order_without_a_handshake_gets_a_complete_result(tmp_path: Path) -> None:
    async with ChatServer([Answer("Hello.")]) as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        discovered = await server.request("server/discover", {"_meta": MODERN_META})
        result = await server.order("hi", meta=MODERN_META)
    assert "2026-07-28" in discovered["supportedVersions"]
    assert (result["resultType"], result["content"]) == ("complete", [{"type": "text", "text": "Hello."}])


@pytest.mark.requirement("003-agg-final")
@pytest.mark.requirement("004-limits-one-block")
@pytest.mark.requirement("003-reply")
@pytest.mark.requirement("003-4-single")
@pytest.mark.requirement("004-aggregated")
@pytest.mark.requirement("004-limits-synchronous")
async def test_an_order_may_use_a_tool_of_a_server_on_its_way(tmp_path: Path) -> None:
    replies = [Answer("Let me ask.", calls=[Call("c1", "parts__echo", {"text": "ping"})]), Answer("It said ping.")]
    async with ChatServer(replies) as chat:
        config = model(chat, mcp={"servers": {"parts": PARTS}})
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            text = await server.said("ask the echo")
    assert text == "Let me ask.\n\nIt said ping."
    assert "ping" in str(asked(chat)[-1])


async def test_a_waiting_client_is_told_which_tool_runs_on_which_server(tmp_path: Path) -> None:
    async with ChatServer([Answer(calls=[Call("c1", "parts__hang")])]) as chat:
        config = model(chat, mcp={"servers": {"parts": PARTS}})
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            order = server.begin_order("hang", meta={"progressToken": "p"})
            await server.until_told("Calling tool hang on server parts")
            await server.end()
            assert (await order)["result"]["isError"]
    told = [message["params"] for message in server.messages]
    assert [params["progress"] for params in told] == list(range(1, len(told) + 1))
    assert {params["progressToken"] for params in told} == {"p"}
    assert {params["message"] for params in told} <= {"Starting", "Thinking", "Calling tool hang on server parts"}


async def test_what_a_slow_tool_tells_of_itself_is_passed_on_with_its_name(tmp_path: Path) -> None:
    slow = Call("c1", "parts__slow", {"seconds": 1, "every": 0.02})
    async with ChatServer([Answer(calls=[slow]), Answer("Done.")]) as chat:
        config = model(chat, mcp={"servers": {"parts": PARTS}})
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            await server.order("wait", meta={"progressToken": "p"})
    told = [re.sub(r"\d+", "N", message["params"]["message"]) for message in server.messages]
    assert "Tool slow on server parts: N" in told
    assert set(told) <= {
        "Starting",
        "Thinking",
        "Calling tool slow on server parts",
        "Tool slow on server parts: N",
        "Writing the answer",
    }


def test_a_person_at_a_terminal_is_told_what_this_is(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*OPENCLAW, "mcp-server"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
    ) as process:
        os.close(theirs)
        # Ctrl-D, at the beginning of a line.
        os.write(ours, b"\x04")
        out, err = process.communicate()
    os.close(ours)
    said = err.decode().splitlines()
    assert (process.returncode, out, said[-1].strip()) == (0, b"", "openclaw mcp-server --print-config claude-code")
    assert max(map(len, said)) <= 60


@pytest.mark.parametrize("arguments", [["--version"], ["--verbose", "--version"]])
def test_the_version_is_printed(arguments: list[str], tmp_path: Path) -> None:
    done = openclaw(tmp_path, *arguments)
    assert (done.returncode, done.stdout.split()[-1], done.stderr) == (0, __version__, "")


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_names_every_option(word: str, tmp_path: Path) -> None:
    done = openclaw(tmp_path, word)
    options = ("-v, --verbose", "--version", "-h, --help", "--agent", "--config", "--local", "--print-config")
    assert (done.returncode, [option for option in options if option not in done.stdout]) == (0, [])


def test_a_client_config_has_the_absolute_command_and_the_options(tmp_path: Path) -> None:
    done = openclaw(tmp_path, "--print-config", "cursor", "-v", "--agent", "work", "--config", "x.json", "--local")
    entry = json.loads(done.stdout)["mcpServers"]["openclaw"]
    arguments = ["mcp-server", "--verbose", "--local", "--agent", "work", "--config", str(tmp_path / "x.json")]
    assert entry == {"command": OPENCLAW[0], "args": arguments}
    assert done.stderr.startswith("For ~/.cursor/mcp.json")


def test_a_client_config_says_where_our_files_are_when_this_shell_does(tmp_path: Path) -> None:
    done = subprocess.run(
        [*OPENCLAW, "mcp-server", "--print-config", "cursor"],
        capture_output=True,
        text=True,
        env=environment(tmp_path, OPENCLAW_HOME="", OPENCLAW_STATE_DIR="state", OPENCLAW_CONFIG_PATH="~/my.json"),
        cwd=tmp_path,
    )
    assert json.loads(done.stdout)["mcpServers"]["openclaw"]["env"] == {
        "OPENCLAW_STATE_DIR": str(tmp_path / "state"),
        "OPENCLAW_CONFIG_PATH": str(tmp_path / "my.json"),
    }


def test_a_client_config_names_the_module_where_there_is_no_program(tmp_path: Path) -> None:
    module = [sys.executable, "-m", "openclaw", "mcp-server"]
    done = subprocess.run(
        [*module, "--print-config", "cursor"], capture_output=True, text=True, env=environment(tmp_path), cwd=tmp_path
    )
    command, *arguments = module
    assert json.loads(done.stdout) == {"mcpServers": {"openclaw": {"command": command, "args": arguments}}}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--nonsense"], "there is no option --nonsense"),
        (["--agent"], "--agent"),
        (["-v", "--log-level", "loud"], "--log-level is one of debug, info, warning, error"),
        (["--print-config", "emacs"], "is one of claude-code, claude-desktop, cursor, vscode, codex, gemini-cli"),
    ],
)
def test_a_wrong_option_is_one_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    done = openclaw(tmp_path, *arguments)
    assert (done.returncode, done.stdout, sentence in done.stderr, "Traceback" in done.stderr) == (2, "", True, False)


def openclaw(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*OPENCLAW, "mcp-server", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(home),
        cwd=home,
    )


MESSAGES = [
    "/mcp servers",
    "/help",
    "  leading and trailing  \n",
    "tab\tand\r\nline breaks\u2028\u2029",
    "null \x00 and \x1b[31m escape",
    "Größe 你好 🏴󠁧󠁢󠁳󠁣󠁴󠁿 e\u0301 \u202eoverride",
    '{"json": "<<<EXTERNAL_UNTRUSTED_CONTENT>>>"} <|im_start|>',
    "x" * 100_000,
]


@pytest.mark.requirement("003-2-unmodified")
@pytest.mark.requirement("003-agg-no-prefix")
@pytest.mark.requirement("004-message-unmodified")
@pytest.mark.requirement("004-sec-messages")
async def test_the_message_reaches_the_model_to_the_letter(tmp_path: Path) -> None:
    """Slash commands too: they are text here."""
    async with ChatServer() as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        await server.initialize()
        for message in MESSAGES:
            assert await server.said(message) == "ok"
        assert [asked(chat, number) for number in range(len(MESSAGES))] == [[("user", text)] for text in MESSAGES]


@pytest.mark.requirement("003-own-process")
@pytest.mark.requirement("003-session-continued")
@pytest.mark.requirement("003-session-persists")
@pytest.mark.requirement("004-session-history")
async def test_a_session_goes_on_in_another_process(tmp_path: Path) -> None:
    async with ChatServer([Answer("Noted."), Answer("Blue.")]) as chat:
        for message in ("My favourite colour is blue.", "Which colour?"):
            async with OrderProcess(tmp_path, config=model(chat)) as server:
                await server.initialize()
                await server.said(message, sessionKey="client-1")
                await server.end()
    assert asked(chat) == [
        ("user", "My favourite colour is blue."),
        ("assistant", "Noted."),
        ("user", "Which colour?"),
    ]


@pytest.mark.requirement("003-session-unique")
@pytest.mark.requirement("004-session-isolated")
@pytest.mark.requirement("004-session-key")
@pytest.mark.parametrize("keys", [("", ""), ("a", "A"), ("a", "a "), ("é", "e\u0301"), ("../x", "x"), ("a:b", "a/b")])
async def test_without_the_same_key_nothing_is_shared(keys: tuple[str, str], tmp_path: Path) -> None:
    async with ChatServer() as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        await server.initialize()
        for number, key in enumerate(keys):
            await server.said(f"message {number}", sessionKey=key)
    assert [asked(chat, 0), asked(chat, 1)] == [[("user", "message 0")], [("user", "message 1")]]


@pytest.mark.parametrize("key", ["../../../etc/x", "k" * 100_000, "nul\0 line\n break", "agent:main:main", "💥"])
async def test_any_text_is_a_session_key_and_no_file_is_named_by_it(key: str, tmp_path: Path) -> None:
    async with ChatServer() as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        await server.initialize()
        for _ in range(2):
            assert await server.said("hi", sessionKey=key) == "ok"
        await server.end()
    assert len(asked(chat)) == 3
    assert not [name for name in names_below(tmp_path) if "etc" in name or "💥" in name]


async def test_orders_of_one_session_wait_for_each_other_and_others_do_not(tmp_path: Path) -> None:
    first = asyncio.Event()
    replies = [Answer(["one", first]), Answer("other"), Answer("two")]
    async with ChatServer(replies) as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        await server.initialize()
        one = server.begin_order("a", sessionKey="same")
        await chat.waiting.wait()
        two = server.begin_order("b", sessionKey="same", meta={"progressToken": 2})
        await server.until_told("Waiting for an earlier order of this conversation")
        assert await server.said("c", sessionKey="different") == "other"
        assert (one.done(), two.done(), len(chat.requests)) == (False, False, 2)
        first.set()
        answers = [(await answer)["result"]["content"][0]["text"] for answer in (one, two)]
    assert answers == ["one", "two"]
    assert asked(chat) == [("user", "a"), ("assistant", "one"), ("user", "b")]


@pytest.mark.requirement("004-out-image")
async def test_an_image_from_a_servers_tool_reaches_the_client(tmp_path: Path) -> None:
    replies = [Answer(calls=[Call("c1", "media__picture")]), Answer("Here it is.")]
    async with ChatServer(replies) as chat:
        config = model(chat, mcp={"servers": {"media": MEDIA}})
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            result = await server.order("draw")
    data = base64.b64encode(media_server.png()).decode()
    assert result == {
        "content": [
            {"type": "text", "text": "Here it is."},
            {"type": "image", "data": data, "mimeType": "image/png"},
        ],
        "isError": False,
    }


@pytest.mark.requirement("004-out-audio")
@pytest.mark.requirement("004-out-resource")
@pytest.mark.parametrize(
    ("output", "version", "kind"),
    [
        ("block", "2025-11-25", "audio"),
        ("resource", "2025-11-25", "resource"),
        ("block", "2024-11-05", "resource"),
    ],
)
async def test_audio_goes_as_the_config_and_the_revision_want(
    output: str, version: str, kind: str, tmp_path: Path
) -> None:
    replies = [Answer(calls=[Call("c1", "media__sound"), Call("c2", "media__document")]), Answer("Listen.")]
    async with ChatServer(replies) as chat:
        config = model(chat, mcp={"servers": {"media": MEDIA}}, media={"audio": {"output": output}})
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize(version)
            result = await server.order("sing")
    assert [block["type"] for block in result["content"]] == ["text", kind, "resource"]
    assert result["content"][2]["resource"]["uri"] == "attachment://report.pdf"


@pytest.mark.requirement("004-out-audio")
@pytest.mark.requirement("004-out-image")
@pytest.mark.requirement("004-out-resource")
async def test_every_type_that_may_come_in_may_go_out(tmp_path: Path) -> None:
    calls = [Call(f"c{number}", "media__give", {"kind": kind}) for number, kind in enumerate(SAMPLES)]
    async with ChatServer([Answer(calls=calls), Answer("All.")]) as chat:
        # What a model may have read off the first picture would be asked about in all later calls.
        config = model(chat, mcp={"servers": {"media": MEDIA}}, tools={"approval": {"taint": "off"}})
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            result = await server.order("give")
    expected: list[Any] = [{"type": "text", "text": "All."}]
    for kind, sample in SAMPLES.items():
        data = base64.b64encode(sample).decode()
        family, _, name = kind.partition("/")
        if family in ("image", "audio"):
            expected.append({"type": family, "data": data, "mimeType": kind})
        else:
            resource = {"uri": f"attachment://{name}.bin", "mimeType": kind, "blob": data}
            expected.append({"type": "resource", "resource": resource})
    # Calls of one message run side by side: what they give comes as it is ready.
    assert result["content"][0] == expected[0]
    assert sorted(result["content"], key=str) == sorted(expected, key=str)


@pytest.mark.requirement("004-base64-only")
async def test_a_path_or_an_address_in_an_answer_is_never_read(tmp_path: Path) -> None:
    words = "See MEDIA:/etc/passwd, file:///etc/passwd and ![x](/etc/hostname)."
    replies = [Answer(calls=[Call("c1", "media__linked")]), Answer(words)]
    async with ChatServer(replies) as chat:
        config = model(chat, mcp={"servers": {"media": MEDIA}})
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            assert await server.said("look") == words


@pytest.mark.requirement("004-tool-results")
async def test_tool_results_join_the_answer_of_a_verbose_agent(tmp_path: Path) -> None:
    replies = [Answer(calls=[Call("c1", "parts__echo", {"text": "from the tool"})]), Answer("Done.")]
    async with ChatServer(replies) as chat:
        config = local_model(chat.url, chat.key, verbose=True) | {"mcp": {"servers": {"parts": PARTS}}}
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            text = await server.said("go")
    assert re.fullmatch(
        r"(?s).*<<<EXTERNAL_UNTRUSTED_CONTENT id=.*from the tool.*<<<END_EXTERNAL_UNTRUSTED_CONTENT .*\n\nDone\.", text
    )


async def test_an_empty_answer_says_so(tmp_path: Path) -> None:
    async with ChatServer([Answer("")]) as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        await server.initialize()
        assert await server.said("hi") == "(OpenClaw gave no answer.)"


async def test_a_cancelled_order_ends_its_model_request_and_the_next_one_works(tmp_path: Path) -> None:
    replies = [Answer(["thinking", Hold()]), Answer("Second.")]
    async with ChatServer(replies) as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        await server.initialize()
        first = server.begin_order("first", meta={"progressToken": 5})
        await chat.waiting.wait()
        # Ids of another type are other ids.
        for other in ("2", True, 2.5, None):
            server.notify("notifications/cancelled", {"requestId": other})
        server.notify("notifications/cancelled", {"requestId": 2, "reason": "changed my mind"})
        await chat.gone.wait()
        assert await server.said("second") == "Second."
        assert not first.done()
        first.cancel()


async def test_a_cancelled_order_ends_the_programs_its_agent_runs(tmp_path: Path) -> None:
    program = ["/bin/sh", "-c", "sleep 1000 & echo $! > child; wait"]
    replies = [Answer(calls=[Call("c1", "exec", {"command": program})]), Answer("Second.")]
    os.mkfifo(tmp_path / "child")
    async with (
        ChatServer(replies) as chat,
        OrderProcess(tmp_path, config=model(chat, tools={"allow": ["exec"]})) as server,
    ):
        await server.initialize()
        first = server.begin_order("run it")
        # Reading waits for the program to write.
        child = int(await asyncio.to_thread((tmp_path / "child").read_text))
        handle = handle_of(child)
        server.notify("notifications/cancelled", {"requestId": 2})
        await asyncio.to_thread(wait_until_gone, handle)
        assert await server.said("second") == "Second."
        first.cancel()


async def test_a_cancelled_order_cancels_the_call_of_a_server(tmp_path: Path) -> None:
    replies = [
        Answer(calls=[Call("c1", "parts__hang")]),
        Answer(calls=[Call("c2", "parts__log")]),
        Answer("Second."),
    ]
    async with ChatServer(replies) as chat:
        config = model(chat, mcp={"servers": {"parts": PARTS}})
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            first = server.begin_order("hang", sessionKey="k", meta={"progressToken": "p"})
            await server.until_told("Calling tool hang on server parts")
            server.notify("notifications/cancelled", {"requestId": 2})
            # Of the same conversation: it waits until the first is really over.
            assert await server.said("what happened?", sessionKey="k") == "Second."
            first.cancel()
    assert "notifications/cancelled" in str(chat.requests[-1]["messages"][-1]["content"])


@pytest.mark.requirement("004-response-error")
async def test_a_failing_model_is_an_error_without_its_key(tmp_path: Path) -> None:
    async with ChatServer([Failure(400, "bad", "no such thing")]) as chat:
        async with OrderProcess(tmp_path, config=model(chat)) as server:
            await server.initialize()
            result = await server.order("hi")
    (block,) = result["content"]
    assert result["isError"]
    assert block["text"].startswith("Error: ")
    assert chat.key not in str(result)


async def test_a_broken_config_is_an_answer_and_is_read_again(tmp_path: Path) -> None:
    async with ChatServer([Answer("Mended.")]) as chat, OrderProcess(tmp_path) as server:
        await server.initialize()
        write_config(tmp_path, {"agents": {"defualts": {}}})
        broken = await server.order("hi")
        write_config(tmp_path, model(chat))
        assert await server.said("hi") == "Mended."
    text = broken["content"][0]["text"]
    assert broken["isError"]
    assert text.startswith("Error: The config file cannot be used.\nstate-directory/openclaw.json:1:")
    assert str(tmp_path) not in text


async def test_a_config_saved_meanwhile_holds_for_the_next_order(tmp_path: Path) -> None:
    async with ChatServer([Answer("Before.")]) as chat, ChatServer([Answer("After."), Answer("Still.")]) as other:
        async with OrderProcess(tmp_path, config=model(chat)) as server:
            await server.initialize()
            said = [await server.said("hi")]
            write_config(tmp_path, model(other))
            said.append(await server.said("hi"))
            (tmp_path / ".openclaw" / "openclaw.json").write_text("{ broken")
            said.append(await server.said("hi"))
            await server.end()
            log = server.stderr.decode()
    assert said == ["Before.", "After.", "Still."]
    assert "The changed config cannot be used; the running one stays" in log


async def test_an_unknown_agent_is_named(tmp_path: Path) -> None:
    async with OrderProcess(tmp_path, "--agent", "nobody") as server:
        await server.initialize()
        result = await server.order("hi")
    expected = 'Error: There is no agent "nobody". Known agents: main.'
    assert result == {"content": [{"type": "text", "text": expected}], "isError": True}


async def test_another_config_file_and_agent_can_be_chosen(tmp_path: Path) -> None:
    async with ChatServer([Answer("From work.")]) as chat:
        config = model(chat)
        config["agents"]["entries"] = {"work": {"prompt": "You work."}}
        (tmp_path / "other.json").write_text(json.dumps(config))
        async with OrderProcess(tmp_path, "--config=other.json", "--agent", "work") as server:
            await server.initialize()
            assert await server.said("hi") == "From work."
    assert "You work." in chat.requests[0]["messages"][0]["content"]


@pytest.mark.requirement("003-verbose")
@pytest.mark.requirement("004-cli-verbose")
@pytest.mark.requirement("004-sec-keys")
@pytest.mark.requirement("004-trouble-verbose")
async def test_verbose_logs_what_passes_without_keys_and_secrets(tmp_path: Path) -> None:
    secret = "sk-" + "a1B2" * 8
    async with ChatServer([Answer("Fine.")]) as chat, OrderProcess(tmp_path, "-v", config=model(chat)) as server:
        await server.initialize()
        await server.said(f"my key is {secret} " + "long " * 500, sessionKey="private-conversation-key")
        await server.end()
        log = server.stderr.decode()
    assert "→ initialize" in log
    assert "→ order id=2 images=none files=none: my key is" in log
    assert f"order id=2 session={short_hash('agent:main:mcp:private-conversation-key')}" in log
    assert "← id=2" in log
    assert "Fine." in log
    assert "private-conversation-key" not in log
    assert secret not in log
    assert chat.key not in log


async def test_without_verbose_nothing_is_logged(tmp_path: Path) -> None:
    async with ChatServer([Answer("Fine.")]) as chat, OrderProcess(tmp_path, config=model(chat)) as server:
        await server.initialize()
        await server.said("hi")
        await server.end()
        assert server.stderr == b""

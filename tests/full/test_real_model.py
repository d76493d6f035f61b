"""A turn with a real language model: its server is llama.cpp's, which checks what it is sent by rules nobody here wrote."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.app import App
from parts.cache import python_of_full
from parts.command_line import Home, parts_server
from parts.forcing import forcing
from parts.leaks import files_under

pytestmark = [pytest.mark.full, pytest.mark.minutes(4), pytest.mark.timeout(1_800)]

KEY = "sk-real-model-0123456789"
# Few words are as good a proof as many, and every one takes time.
MOST_TOKENS = 16
# Seconds for one turn: the model reads its prompt on one processor, which others may use too.
TURN_GUARD = 1_500


@contextmanager
def model_server(*options: str) -> Iterator[str]:
    """Its address."""
    program = [python_of_full("model"), str(Path(__file__).parent.parent / "parts" / "real_model.py"), KEY, *options]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with model_server() as found:
        yield found


def home_of(folder: Path, address: str, *, tokens: int = MOST_TOKENS, **sections: Any) -> Home:
    model = {"id": "smollm2", "contextWindow": 8_192, "maxTokens": tokens}
    provider = {"baseUrl": f"{address}/v1", "apiKey": KEY, "models": [model], "timeoutSeconds": 900}
    return Home(
        folder,
        models={"mode": "replace", "providers": {"local": provider}},
        agents={"defaults": {"model": "local/smollm2", "timeoutSeconds": TURN_GUARD}},
        **sections,
    )


async def said(home: Home, message: str) -> dict[str, Any]:
    done = await home.openclaw("agent", "--session-key", "real", "--json", "-m", message, guard=TURN_GUARD)
    assert done.code == 0, done.err
    reply: dict[str, Any] = json.loads(done.out)
    return reply


async def test_a_real_model_answers_two_turns_of_a_session_with_a_servers_tools_on_offer(
    address: str, tmp_path: Path
) -> None:
    home = home_of(tmp_path, address, mcp={"servers": {"parts": parts_server()}})

    first = await said(home, "Hello! My name is Ada.")
    second = await said(home, "What is my name?")

    assert first["text"].strip()
    assert second["text"].strip()
    # Counted by the other side: it read a prompt each time, and spoke.
    assert min(reply["usage"][side] for reply in (first, second) for side in ("inputTokens", "outputTokens")) > 0
    shown = await home.openclaw("sessions", "show", "real")
    assert [line for line in shown.out.splitlines() if line.startswith("you: ")] == [
        "you: Hello! My name is Ada.",
        "you: What is my name?",
    ]


async def test_a_tool_that_is_not_shown_is_found_and_called_when_the_model_is_made_to(tmp_path: Path) -> None:
    words = {"const": "echo some text"}
    call = {"id": {"const": "parts__echo"}, "arguments": {"const": {"text": "from the model"}}}
    forced = (("tool_search", {"query": words}), ("tool_call", call))
    with model_server("calls") as address:
        async with forcing(address, *forced) as (between, url):
            servers = {"mcp": {"servers": {"parts": parts_server()}}, "tools": {"search": {"mode": "on"}}}
            home = home_of(tmp_path, url, tokens=64, **servers)
            async with App(home.config(), paths=home.paths, env=home.environ) as app:
                reply = await app.reply("Say it again.")

    assert reply.error == ""
    # It is made to call, and may call twice in one breath.
    assert list(dict.fromkeys(one.name for one in reply.tool_calls))[:2] == ["tool_search", "parts__echo"]
    first, second, third = between.bodies
    assert "parts__echo" not in [tool["function"]["name"] for tool in first["tools"]]
    # What its own server made of the model's words, as it was sent back.
    found = [one["content"] for one in second["messages"] if one["role"] == "tool"]
    assert "parts__echo" in found[0]
    after = [one["content"] for one in third["messages"] if one["role"] == "tool"][len(found) :]
    assert "from the model" in after[0]


async def test_its_server_refuses_another_key_and_the_person_is_told(address: str, tmp_path: Path) -> None:
    home = home_of(tmp_path, address)
    home.write(**json.loads((home.state / "openclaw.json").read_text().replace(KEY, "sk-wrong-key-9876543210")))

    done = await home.openclaw("agent", "-m", "Hello!")

    assert done.code == 1
    assert "key" in done.err
    assert "sk-wrong-key-9876543210" not in done.err + done.out
    assert all(b"sk-wrong-key" not in data for name, data in files_under(home.state / "py").items())

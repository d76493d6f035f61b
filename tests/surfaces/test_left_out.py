"""A server that hangs, as the model and the person hear of it: at every turn, and at the cost of one wait."""

from pathlib import Path

from parts.command_line import Home, local_model, parts_server
from parts.model_servers import Answer, ChatServer

SENTENCE = "it did not come up within 1.5 s"
AGAIN = "`openclaw mcp refresh hanging` tries it again."


async def test_a_hanging_server_is_named_in_every_turn_to_the_model_and_on_stderr(tmp_path: Path) -> None:
    hanging = {"command": "sleep", "args": ["600"], "connectionTimeoutMs": 1500}
    async with ChatServer([Answer("Hello.")] * 3) as model:
        servers = {"quick": parts_server(), "slow": parts_server("--start-after", "1"), "hanging": hanging}
        home = Home(tmp_path, mcp={"servers": servers}, **local_model(model.url, model.key))
        for _ in range(3):
            done = await home.openclaw("agent", "-m", "hello")
            assert (done.code, done.err) == (0, f"Without hanging: {SENTENCE}. {AGAIN}\n")
    for request in model.requests:
        offered = {tool["function"]["name"].partition("__")[0] for tool in request["tools"]}
        assert {"quick", "slow"} <= offered
        assert f'note="{SENTENCE}"' in request["messages"][0]["content"]

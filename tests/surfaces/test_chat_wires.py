"""What people do in chat, over every vendor's strict wire: an imported server, files, Markdown, `/undo`, `/compact`, `/model`, and on."""

import json
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from openclaw.app import App
from openclaw.commands.chat import say
from openclaw.commands.chat_state import Chat
from openclaw.commands.console import Console
from parts.command_line import Home, local_model, parts_server
from parts.commands_here import context_of, run_here
from parts.media_server import png
from parts.model_servers import Answer, Call, ChatServer, MessagesServer, ModelServer
from parts.responses_server import ResponsesServer

WIRES: dict[str, type[ModelServer]] = {
    "openai-completions": ChatServer,
    "openai-responses": ResponsesServer,
    "anthropic-messages": MessagesServer,
}
MARKDOWN = "## Found\n\nIt is **all** there:\n\n- one\n- two\n\n```python\nprint('x')\n```\n"


@pytest.mark.parametrize("api", WIRES)
async def test_what_is_done_in_chat_leaves_a_history_that_the_vendor_takes(tmp_path: Path, api: str) -> None:
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "notes.md").write_text("buy milk")
    (desk / "shot.png").write_bytes(png())
    (desk / "mcp.json").write_text(json.dumps({"mcpServers": {"parts": parts_server()}}))
    call = Call("call_1", "parts__echo", {"text": "hi"})
    replies = [Answer("", calls=[call]), Answer(MARKDOWN), *(Answer(f"answer {number} " * 40) for number in range(6))]
    async with WIRES[api](replies, models=("local-model", "other-model")) as server:
        sections = local_model(server.url, server.key, api)
        models = sections["models"]["providers"]["local"]["models"]
        models.append({**models[0], "id": "other-model"})
        home = Home(tmp_path / "home", **sections, tools={"approval": {"mode": "off"}})
        imported = await run_here(home, "mcp", "import", "./mcp.json", "--yes", cwd=desk)
        printed: list[str] = []
        console = Console(out=printed.append, err=printed.append, width=80, screen=True, colour=True)
        async with App(home.config(), paths=home.paths, env=home.environ) as app:
            await (await app.engine.manager()).server("parts", "main").refresh()
            context = context_of(home, console, cwd=desk, surface="chat")
            here = msgspec.structs.replace(context, open_app=lambda: nullcontext(app))
            chat = Chat(app, here, "", "main")
            for line in ("look at @notes.md and @shot.png", "and then?", "never mind", "/undo", "go on", "once more"):
                await say(chat, line)
            shown = "".join(printed)
            await say(chat, "/compact")
            await say(chat, "/model other-model")
            await say(chat, "what do you know?")
            await say(chat, "/undo")
            await say(chat, "and now?")
    assert (imported.code, server.refused) == (0, [])
    asked = [str(one.get("messages", one.get("input"))) for one in server.requests]
    assert ("buy milk" in asked[0], "hi" in asked[1]) == (True, True)
    # Markdown is drawn, and none of its marks are left.
    assert ("all" in shown, "**" in shown, "```" in shown) == (True, False, False)
    assert "gave way to notes" in "".join(printed)
    assert "Notes on the earlier conversation" in asked[-1]
    assert [word for word in ("never mind", "what do you know?") if word in asked[-1]] == []
    assert [one["model"] for one in server.requests[-2:]] == ["other-model", "other-model"]

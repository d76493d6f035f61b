"""`isolation: "session"`: a server of its own for each conversation, for as long as the conversation lasts."""

import re
import sys
from pathlib import Path

from parts import planned_server
from parts.command_line import Home


async def test_a_conversation_keeps_its_own_server_until_it_starts_afresh(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    args = ["-S", "-E", planned_server.__file__, str(tmp_path / "plan.json"), str(tmp_path / "log")]
    server = {"command": sys.executable, "args": args, "isolation": "session"}
    home = Home(tmp_path, mcp={"servers": {"shop": server}})
    done = await home.chat("shop__pid", "shop__pid", "/new", "shop__pid")
    first, second, third = re.findall(r"\b\d{2,}\b", done.out)
    assert first == second != third

"""`openclaw demo`: see an agent use tools and answer, with nothing configured and no account.

Everything shown is real: a workspace with files, the offline model, the native tools, and the same App every surface uses. The
user's own config and conversations are not touched.
"""

import tempfile
from pathlib import Path

from openclaw.app import App
from openclaw.commands.agent import StreamPrinter
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.load import parse_config
from openclaw.config.paths import Paths

_CONFIG = '{agents: {defaults: {model: {primary: "builtin/offline"}}}}'
_NOTES = """\
# Trip to Lisbon
- Train leaves at 09:40 from platform 7
- TODO: book the ferry
"""
_QUESTIONS = ("what files are here?", "read trip.md", "search for TODO in trip.md")


async def run(context: Context, parsed: Parsed) -> int:
    console = context.console
    with tempfile.TemporaryDirectory(prefix="openclaw-demo-") as folder:
        home = Path(folder)
        workspace = home / "workspace"
        workspace.mkdir()
        (workspace / "trip.md").write_text(_NOTES, encoding="utf-8")
        paths = Paths.from_env(
            {**context.env, "HOME": folder, "OPENCLAW_HOME": folder, "OPENCLAW_STATE_DIR": f"{folder}/state"}
        )
        console.line("A new workspace with one file, trip.md. The model is builtin/offline: no account, no network.\n")
        async with App(parse_config(_CONFIG), paths=paths, env=context.env, workspace=workspace) as app:
            for question in _QUESTIONS:
                console.line(f"{console.bold('you>')} {question}")
                printer = StreamPrinter(console)
                reply = await app.reply(question, session_key="demo", on_event=printer)
                printer.end(reply)
                console.line()
    console.line("Do it yourself:")
    console.line('  openclaw agent -m "what files are here?"   one question, in this directory')
    console.line("  openclaw chat                              a conversation")
    console.line("  openclaw status                            which model and tools you have")
    return 0

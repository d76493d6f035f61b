"""The programs whose servers can be imported: what each is called, how its file is read, and which program a file belongs to."""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final

import msgspec

from openclaw.errors import ConfigError, Problem
from openclaw.importers.claude import read_code, read_copilot, read_desktop
from openclaw.importers.codex import read_codex
from openclaw.importers.cursor import read_cursor, read_lm_studio
from openclaw.importers.document import read_json, read_json5, read_toml
from openclaw.importers.gemini import read_gemini
from openclaw.importers.mcporter import read_mcporter
from openclaw.importers.openclaw import read_openclaw
from openclaw.importers.opencode import read_opencode
from openclaw.importers.reading import Origin, Reading
from openclaw.importers.vscode import read_vscode
from openclaw.importers.windsurf import read_windsurf
from openclaw.importers.zed import read_zed

Document = Callable[[str, str], Mapping[str, Any]]


class Program(msgspec.Struct, frozen=True):
    """`id` is what is typed, `name` what people call it. `key` is what its file has its servers under."""

    id: str
    name: str
    read: Callable[[Mapping[str, Any], Origin], Reading]
    key: str = "mcpServers"
    document: Document = read_json


PROGRAMS: Final[Mapping[str, Program]] = {
    program.id: program
    for program in (
        Program("claude-desktop", "Claude Desktop", read_desktop),
        Program("claude-code", "Claude Code", read_code),
        Program("cursor", "Cursor", read_cursor),
        Program("vscode", "VS Code", read_vscode, "servers"),
        Program("copilot", "GitHub Copilot CLI", read_copilot),
        Program("codex", "Codex", read_codex, "mcp_servers", read_toml),
        Program("gemini", "Gemini CLI", read_gemini),
        Program("windsurf", "Windsurf", read_windsurf),
        Program("zed", "Zed", read_zed, "context_servers"),
        Program("opencode", "opencode", read_opencode, "mcp"),
        Program("mcporter", "mcporter", read_mcporter),
        Program("lm-studio", "LM Studio", read_lm_studio),
        Program("openclaw", "OpenClaw (npm)", read_openclaw, "mcp", read_json5),
    )
}
# What a path has to hold for a program to be meant; the first that fits counts.
_MARKS: Final = (
    *(
        ("claude_desktop_config", "claude-desktop"),
        (".cursor", "cursor"),
        (".lmstudio", "lm-studio"),
        ("mcporter", "mcporter"),
    ),
    *(("windsurf", "windsurf"), ("mcp_config.json", "windsurf"), (".gemini", "gemini"), (".copilot", "copilot")),
    *(("mcp-config.json", "copilot"), ("opencode", "opencode"), ("openclaw", "openclaw")),
)
# What a key at the top of a file says, where the path says nothing.
_KEYS: Final = (("mcpServers", "claude-code"), ("context_servers", "zed"), ("servers", "vscode"), ("mcp", "opencode"))


def read_text_of(program: Program, text: str, file: str, origin: Origin) -> Reading:
    """What a program's file says. Raises ConfigError, with line and column, when it cannot be read."""
    return program.read(program.document(text, file), origin)


def guess(text: str, file: str) -> Program:
    """The program that a file belongs to, by its path and by what is in it. Raises ConfigError when nothing fits."""
    if file.lower().endswith(".toml"):
        return PROGRAMS["codex"]
    data = read_json(text, file)
    parts = [part.lower() for part in PurePath(file).parts[-3:]]
    for mark, program in _MARKS:
        if any(mark in part for part in parts) and PROGRAMS[program].key in data:
            return PROGRAMS[program]
    for key, program in _KEYS:
        if key in data:
            return PROGRAMS[program]
    hint = f"Name the program before it: {', '.join(PROGRAMS)}."
    raise ConfigError([Problem("no servers of a program that is known here are in this file.", file, hint=hint)])

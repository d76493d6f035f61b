"""Where each program keeps its servers, on every platform. Pure: nothing is looked at, and paths are texts with that platform's separator.

A place with `*` in it stands for several files. `project` is set where a file belongs to the folder one works in. Of several files of one
program those that count first come first.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Literal

import msgspec

Platform = Literal["linux", "darwin", "win32"]


class Place(msgspec.Struct, frozen=True):
    """One file that a program may have."""

    program: str
    path: str
    project: str = ""


class Folders(msgspec.Struct, frozen=True):
    """The folders that programs start from. `config` is where they keep settings, and `dotted` that of programs from Linux."""

    platform: Platform
    home: PurePath
    cwd: PurePath
    config: PurePath
    dotted: PurePath
    env: Mapping[str, str]

    @classmethod
    def of(cls, platform: Platform, env: Mapping[str, str], home: str, cwd: str) -> "Folders":
        flavour: type[PurePath] = PureWindowsPath if platform == "win32" else PurePosixPath
        base = flavour(home)
        dotted = flavour(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else base / ".config"
        config = {
            "darwin": base / "Library" / "Application Support",
            "win32": flavour(env["APPDATA"]) if env.get("APPDATA") else base / "AppData" / "Roaming",
            "linux": dotted,
        }[platform]
        return cls(platform, base, flavour(cwd), config, dotted, env)

    def named(self, variable: str, *usual: str) -> PurePath:
        """The folder that a variable names, else the usual one below the home."""
        given = self.env.get(variable)
        return type(self.home)(given) if given else self.home.joinpath(*usual)


def places(platform: Platform, env: Mapping[str, str], home: str, cwd: str) -> list[Place]:
    """Every file that any of the programs may have, by program."""
    folders = Folders.of(platform, env, home, cwd)
    found = [place for each in _PROGRAMS for place in each(folders)]
    # A home directory is no project: the files in it are the person's own.
    own = {place.path for place in found if not place.project}
    return list(dict.fromkeys(place for place in found if not place.project or place.path not in own))


def _claude_desktop(at: Folders) -> Iterator[Place]:
    yield Place("claude-desktop", str(at.config / "Claude" / "claude_desktop_config.json"))


def _claude_code(at: Folders) -> Iterator[Place]:
    project = str(at.cwd)
    # The servers that a person has in this project alone stand in their own file, and count before those of the project.
    yield Place("claude-code", str(at.named("CLAUDE_CONFIG_DIR") / ".claude.json"), project)
    yield Place("claude-code", str(at.cwd / ".mcp.json"), project)
    managed = {
        "linux": "/etc/claude-code/managed-mcp.json",
        "darwin": "/Library/Application Support/ClaudeCode/managed-mcp.json",
        "win32": "C:\\Program Files\\ClaudeCode\\managed-mcp.json",
    }
    yield Place("claude-code", managed[at.platform])


def _cursor(at: Folders) -> Iterator[Place]:
    yield Place("cursor", str(at.cwd / ".cursor" / "mcp.json"), str(at.cwd))
    yield Place("cursor", str(at.home / ".cursor" / "mcp.json"))


def _vscode(at: Folders) -> Iterator[Place]:
    yield Place("vscode", str(at.cwd / ".vscode" / "mcp.json"), str(at.cwd))
    for name in ("Code", "Code - Insiders"):
        user = at.config / name / "User"
        yield Place("vscode", str(user / "mcp.json"))
        yield Place("vscode", str(user / "profiles" / "*" / "mcp.json"))


def _copilot(at: Folders) -> Iterator[Place]:
    yield Place("copilot", str(at.named("COPILOT_HOME", ".copilot") / "mcp-config.json"))


def _codex(at: Folders) -> Iterator[Place]:
    yield Place("codex", str(at.cwd / ".codex" / "config.toml"), str(at.cwd))
    yield Place("codex", str(at.named("CODEX_HOME", ".codex") / "config.toml"))


def _gemini(at: Folders) -> Iterator[Place]:
    yield Place("gemini", str(at.cwd / ".gemini" / "settings.json"), str(at.cwd))
    yield Place("gemini", str(at.home / ".gemini" / "settings.json"))


def _windsurf(at: Folders) -> Iterator[Place]:
    for name in ("windsurf", "windsurf-next"):
        yield Place("windsurf", str(at.home / ".codeium" / name / "mcp_config.json"))


def _zed(at: Folders) -> Iterator[Place]:
    yield Place("zed", str(at.cwd / ".zed" / "settings.json"), str(at.cwd))
    folder = at.config / "Zed" if at.platform == "win32" else at.dotted / "zed"
    yield Place("zed", str(folder / "settings.json"))


def _opencode(at: Folders) -> Iterator[Place]:
    if named := at.env.get("OPENCODE_CONFIG"):
        yield Place("opencode", named)
    if named := at.env.get("OPENCODE_CONFIG_DIR"):
        yield from _opencode_in(type(at.home)(named), "")
    # Upward from where one works, but not past the home: what lies above belongs to others.
    for folder in (at.cwd, *at.cwd.parents):
        if folder == at.home or folder.parent == folder:
            break
        yield from _opencode_in(folder, str(folder))
        yield from _opencode_in(folder / ".opencode", str(folder))
    yield from _opencode_in(at.dotted / "opencode", "")


def _opencode_in(folder: PurePath, project: str) -> Iterator[Place]:
    for name in ("opencode.jsonc", "opencode.json"):
        yield Place("opencode", str(folder / name), project)


def _mcporter(at: Folders) -> Iterator[Place]:
    if named := at.env.get("MCPORTER_CONFIG"):
        yield Place("mcporter", named)
    yield Place("mcporter", str(at.cwd / "config" / "mcporter.json"), str(at.cwd))
    for name in ("mcporter.json", "mcporter.jsonc"):
        yield Place("mcporter", str(at.home / ".mcporter" / name))


def _lm_studio(at: Folders) -> Iterator[Place]:
    yield Place("lm-studio", str(at.home / ".lmstudio" / "mcp.json"))


def _openclaw(at: Folders) -> Iterator[Place]:
    yield Place("openclaw", str(at.home / ".openclaw" / "openclaw.json"))


# In the order in which they are listed.
_PROGRAMS = (
    *(_claude_desktop, _claude_code, _cursor, _vscode, _copilot, _codex, _gemini),
    *(_windsurf, _zed, _opencode, _mcporter, _lm_studio, _openclaw),
)

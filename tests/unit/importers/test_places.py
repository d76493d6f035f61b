"""Where the files are: on every platform, by a function that looks at nothing."""

import pytest

from openclaw.importers.places import Place, Platform, places
from openclaw.importers.programs import PROGRAMS


def personal(platform: Platform, home: str, cwd: str, **env: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for place in places(platform, env, home, cwd):
        if not place.project or place.path.endswith(".claude.json"):
            found.setdefault(place.program, []).append(place.path)
    return found


def test_the_files_of_a_person_on_linux() -> None:
    assert personal("linux", "/home/ada", "/work") == {
        "claude-desktop": ["/home/ada/.config/Claude/claude_desktop_config.json"],
        "claude-code": ["/home/ada/.claude.json", "/etc/claude-code/managed-mcp.json"],
        "cursor": ["/home/ada/.cursor/mcp.json"],
        "vscode": [
            "/home/ada/.config/Code/User/mcp.json",
            "/home/ada/.config/Code/User/profiles/*/mcp.json",
            "/home/ada/.config/Code - Insiders/User/mcp.json",
            "/home/ada/.config/Code - Insiders/User/profiles/*/mcp.json",
        ],
        "copilot": ["/home/ada/.copilot/mcp-config.json"],
        "codex": ["/home/ada/.codex/config.toml"],
        "gemini": ["/home/ada/.gemini/settings.json"],
        "windsurf": [
            "/home/ada/.codeium/windsurf/mcp_config.json",
            "/home/ada/.codeium/windsurf-next/mcp_config.json",
        ],
        "zed": ["/home/ada/.config/zed/settings.json"],
        "opencode": ["/home/ada/.config/opencode/opencode.jsonc", "/home/ada/.config/opencode/opencode.json"],
        "mcporter": ["/home/ada/.mcporter/mcporter.json", "/home/ada/.mcporter/mcporter.jsonc"],
        "lm-studio": ["/home/ada/.lmstudio/mcp.json"],
        "openclaw": ["/home/ada/.openclaw/openclaw.json"],
    }


def test_the_files_of_a_person_on_macos() -> None:
    found = personal("darwin", "/Users/ada", "/work")
    assert found["claude-desktop"] == ["/Users/ada/Library/Application Support/Claude/claude_desktop_config.json"]
    assert found["claude-code"][1:] == ["/Library/Application Support/ClaudeCode/managed-mcp.json"]
    assert found["vscode"][0] == "/Users/ada/Library/Application Support/Code/User/mcp.json"
    assert found["zed"] == ["/Users/ada/.config/zed/settings.json"]
    assert found["opencode"][0] == "/Users/ada/.config/opencode/opencode.jsonc"


def test_the_files_of_a_person_on_windows() -> None:
    found = personal("win32", r"C:\Users\ada", r"D:\work", APPDATA=r"C:\Users\ada\AppData\Roaming")
    assert found["claude-desktop"] == [r"C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json"]
    assert found["vscode"][0] == r"C:\Users\ada\AppData\Roaming\Code\User\mcp.json"
    assert found["zed"] == [r"C:\Users\ada\AppData\Roaming\Zed\settings.json"]
    assert found["cursor"] == [r"C:\Users\ada\.cursor\mcp.json"]
    assert found["codex"] == [r"C:\Users\ada\.codex\config.toml"]


def test_variables_move_the_files() -> None:
    found = personal(
        "linux",
        "/home/ada",
        "/work",
        XDG_CONFIG_HOME="/cfg",
        CODEX_HOME="/codex",
        COPILOT_HOME="/copilot",
        CLAUDE_CONFIG_DIR="/claude",
        OPENCODE_CONFIG="/one.json",
        OPENCODE_CONFIG_DIR="/oc",
    )
    assert found["claude-desktop"] == ["/cfg/Claude/claude_desktop_config.json"]
    assert found["codex"] == ["/codex/config.toml"]
    assert found["copilot"] == ["/copilot/mcp-config.json"]
    assert found["claude-code"][0] == "/claude/.claude.json"
    assert found["opencode"] == [
        "/one.json",
        "/oc/opencode.jsonc",
        "/oc/opencode.json",
        "/cfg/opencode/opencode.jsonc",
        "/cfg/opencode/opencode.json",
    ]


def test_the_files_of_a_project_count_before_a_persons_own() -> None:
    found = [place for place in places("linux", {}, "/home/ada", "/home/ada/shop/web") if place.project]
    assert found == [
        Place("claude-code", "/home/ada/.claude.json", "/home/ada/shop/web"),
        Place("claude-code", "/home/ada/shop/web/.mcp.json", "/home/ada/shop/web"),
        Place("cursor", "/home/ada/shop/web/.cursor/mcp.json", "/home/ada/shop/web"),
        Place("vscode", "/home/ada/shop/web/.vscode/mcp.json", "/home/ada/shop/web"),
        Place("codex", "/home/ada/shop/web/.codex/config.toml", "/home/ada/shop/web"),
        Place("gemini", "/home/ada/shop/web/.gemini/settings.json", "/home/ada/shop/web"),
        Place("zed", "/home/ada/shop/web/.zed/settings.json", "/home/ada/shop/web"),
        Place("opencode", "/home/ada/shop/web/opencode.jsonc", "/home/ada/shop/web"),
        Place("opencode", "/home/ada/shop/web/opencode.json", "/home/ada/shop/web"),
        Place("opencode", "/home/ada/shop/web/.opencode/opencode.jsonc", "/home/ada/shop/web"),
        Place("opencode", "/home/ada/shop/web/.opencode/opencode.json", "/home/ada/shop/web"),
        Place("opencode", "/home/ada/shop/opencode.jsonc", "/home/ada/shop"),
        Place("opencode", "/home/ada/shop/opencode.json", "/home/ada/shop"),
        Place("opencode", "/home/ada/shop/.opencode/opencode.jsonc", "/home/ada/shop"),
        Place("opencode", "/home/ada/shop/.opencode/opencode.json", "/home/ada/shop"),
        Place("mcporter", "/home/ada/shop/web/config/mcporter.json", "/home/ada/shop/web"),
    ]


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_every_program_has_a_place_everywhere_and_no_file_is_listed_twice(platform: Platform) -> None:
    found = places(platform, {}, "/home/ada", "/home/ada")
    assert {place.program for place in found} == set(PROGRAMS)
    assert len({(place.program, place.path) for place in found}) == len(found)

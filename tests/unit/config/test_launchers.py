"""Which launchers run a package in whatever version there is."""

import pytest

from openclaw.config.launchers import unpinned


@pytest.mark.parametrize(
    ("line", "packages"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem /tmp", ["@modelcontextprotocol/server-filesystem"]),
        ("npx -y @playwright/mcp@latest", ["@playwright/mcp@latest"]),
        ("npx some-server@^1.2.3", ["some-server@^1.2.3"]),
        ("npx -y some-server@1", ["some-server@1"]),
        ("/usr/local/bin/npx some-server --port 80", ["some-server"]),
        ("npx --package=some-server some-command", ["some-server"]),
        ("npx -y -p some-server@1.2.3 some-command", []),
        ("npx -y @scope/server@1.2.3", []),
        ("npx -y ./server", []),
        ("cmd /c npx -y some-server", ["some-server"]),
        ("npx.cmd some-server", ["some-server"]),
        ("pnpm dlx some-server", ["some-server"]),
        ("pnpm run some-server", []),
        ("uvx mcp-server-time", ["mcp-server-time"]),
        ("uvx mcp-server-time@latest", ["mcp-server-time@latest"]),
        ("uvx mcp-server-time@2026.1.26 --local-timezone=UTC", []),
        ("uvx --python 3.12 mcp-server-time==2026.1.26", []),
        ("uvx --from mcp-server-time>=1 mcp-server", ["mcp-server-time>=1"]),
        ("uvx --with httpx --from mcp-server-time==1.0 mcp-server", ["httpx"]),
        ("uvx --from git+https://example.com/server mcp-server", []),
        ("uv tool run mcp-server-time", ["mcp-server-time"]),
        ("uv run server.py", []),
        ("uv --offline tool run mcp-server-time", ["mcp-server-time"]),
        ("docker run -i some/image", []),
        ("python server.py", []),
        ("", []),
    ],
)
def test_a_package_without_an_exact_version_is_named(line: str, packages: list[str]) -> None:
    command, _, rest = line.partition(" ")
    assert list(unpinned(command, rest.split())) == packages

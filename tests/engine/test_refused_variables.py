"""Variables that make a program run other code: refused with the way to give them on purpose."""

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.mcp.manager import Manager
from openclaw.mcp.tools.results import Result
from parts.processes import server_command


def spec(**options: object) -> ServerSpec:
    command, *args = server_command()
    return ServerSpec("part", command=command, args=tuple(args), max_restarts=0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["npm_config_node_options", "NODE_OPTIONS", "RUBYOPT", "LD_PRELOAD"])
async def test_a_server_is_not_started_with_a_hook_in_its_env_and_the_error_says_how_to_allow_it(name: str) -> None:
    async with Manager([spec(env=((name, "--require=/x.js"), ("PLAIN", "1")))]) as manager:
        result = await manager.call("part__environment", {})
        (status,) = manager.status()
    assert (status.state, status.pid) == ("failed", None)
    for told in (status.reason, result.fault):
        assert f"The server is not started: {name} in its env or passEnv changes which code runs." in told
        assert f'allowEnv: ["{name}"]' in told


async def test_a_hook_that_its_entry_allows_is_given_to_the_server() -> None:
    allowed = spec(env=(("NODE_OPTIONS", "--max-old-space-size=64"),), allow_env=("NODE_OPTIONS",))
    async with Manager([allowed]) as manager:
        result = await manager.call("part__environment", {})
    assert isinstance(result, Result)
    assert '"NODE_OPTIONS": "--max-old-space-size=64"' in (result.content[0].text or "")

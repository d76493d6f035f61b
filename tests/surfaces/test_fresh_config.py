"""What was written a moment ago holds for the next command, also where a gateway runs it."""

import json
from pathlib import Path

from parts.gateways import gateway_process, home, stdio_server
from parts.processes import server_command


def test_a_tool_that_was_just_denied_is_not_called_and_one_that_was_just_allowed_is(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place, gateway_process(place) as gateway:
        gateway.wait_until("'part' is ready")
        outcomes = []
        for _ in range(3):
            place.run("config", "set", "tools.deny", "['part__echo']")
            outcomes.append(place.run("mcp", "call", "part__echo", "text=hi"))
            place.run("config", "unset", "tools.deny")
            outcomes.append(place.run("mcp", "call", "part__echo", "text=hi"))

    assert [(one.returncode, one.stdout) for one in outcomes] == [(2, ""), (0, "hi\n")] * 3
    assert "tools.deny" in outcomes[0].stderr


def test_the_model_that_was_just_chosen_answers(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        config = place.script(*[{"text": "ok"}] * 9)
        config["models"]["providers"]["play"]["models"] = ["one", "two"]
        place.save(config)
        with gateway_process(place) as gateway:
            gateway.wait_until("The gateway is up")
            answered = []
            for name in ("play/two", "play/one") * 3:
                place.run("config", "set", "agents.defaults.model", name)
                answered.append(json.loads(place.run("agent", "--json", "-m", "hi").stdout)["model"])

    assert answered == ["play/two", "play/one"] * 3


def test_a_server_that_another_process_added_is_known_to_the_gateways_next_command(tmp_path: Path) -> None:
    with home(tmp_path) as place, gateway_process(place) as gateway:
        gateway.wait_until("The gateway is up")
        added = place.run("--local", "mcp", "connect", "--yes", "--name", "new", *server_command())
        called = place.run("mcp", "call", "new__echo", "text=hi")
        removed = place.run("mcp", "remove", "new")
        asked = place.run("mcp", "status", "new")

    assert (added.returncode, called.stdout, removed.returncode) == (0, "hi\n", 0), (added.stderr, removed.stderr)
    assert (asked.returncode, asked.stderr) == (2, "error: MCP server 'new' is not configured. There are: none.\n")


def test_a_config_that_cannot_be_used_leaves_commands_with_the_one_that_runs(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place, gateway_process(place) as gateway:
        gateway.wait_until("'part' is ready")
        place.config_file.write_text("{mcp: {")
        called = place.run("mcp", "call", "part__echo", "text=hi")

    assert (called.returncode, called.stdout) == (0, "hi\n")
    assert gateway.said.count("The changed config cannot be used") == 1

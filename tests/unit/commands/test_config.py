"""`openclaw config set`: what is written, and what is not."""

from pathlib import Path

from parts.command_line import Home
from parts.commands_here import run_here


async def test_a_model_that_nobody_has_is_not_written_unless_that_is_wanted(tmp_path: Path) -> None:
    home = Home(tmp_path)
    words = ("config", "set", "agents.defaults.model.primary", "nosuch/model")
    before = (home.state / "openclaw.json").read_text()
    refused = await run_here(home, *words)
    after = (home.state / "openclaw.json").read_text()
    forced = await run_here(home, *words, "--force")
    assert (refused.code, refused.out, after) == (2, "", before)
    assert refused.err.endswith("--force writes it all the same.\n")
    assert "Nothing was changed." in refused.err
    assert (forced.code, "nosuch/model" in (home.state / "openclaw.json").read_text()) == (0, True)


async def test_what_a_refused_change_would_have_broken_is_said_without_lines_that_are_not_in_the_file(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    before = (home.state / "openclaw.json").read_text()
    port = await run_here(home, "config", "set", "gateway.port", "lots")
    open_object = await run_here(home, "config", "set", "mcp.servers.x", "{command: python3}")
    unset = await run_here(home, "config", "unset", "nothing.here")
    assert (home.state / "openclaw.json").read_text() == before
    assert [(one.code, one.out, one.err) for one in (port, open_object, unset)] == [
        (2, "", "config: gateway.port: expected a whole number from 0 to 65535, found a text. Nothing was changed.\n"),
        (
            2,
            "",
            "config: mcp.servers.x: expected an object, found a text. It was taken as text, as it cannot be read as JSON5: "
            'Expected a value, found "p". Text must stand in quotes. Nothing was changed.\n',
        ),
        (2, "", "error: Nothing is set at nothing.here.\n"),
    ]


async def test_what_is_wrong_with_a_file_as_it_is_keeps_its_line_when_a_change_is_refused_for_it(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    file = home.state / "openclaw.json"
    file.write_text("{\n  gateway: {prot: 1}\n}")
    refused = await run_here(home, "config", "set", "tools.profile", "full")
    assert (refused.code, refused.err.startswith(f"config: {file}:2:13: gateway.prot: ")) == (2, True)

"""From files to a config: what is read, what is refused with one line, includes and variables."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openclaw.config.include import MAX_FILE_BYTES, MAX_INCLUDE_DEPTH
from openclaw.config.load import Config, load_config, parse_config
from openclaw.config.paths import Paths
from openclaw.errors import ConfigError, Problem


class Home:
    """A state directory with config files in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.file = directory / "openclaw.json"
        self.paths = Paths.from_env({"HOME": str(directory.parent), "OPENCLAW_STATE_DIR": str(directory)})

    def write(self, text: str, name: str = "openclaw.json") -> Path:
        file = self.directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def load(self, **env: str) -> Config:
        return load_config(self.paths, env)

    def problems(self, **env: str) -> tuple[Problem, ...]:
        with pytest.raises(ConfigError) as caught:
            self.load(**env)
        return caught.value.problems


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "state").mkdir()
    return Home(tmp_path / "state")


def test_a_missing_file_is_an_empty_config_that_says_so(home: Home) -> None:
    config = home.load()
    assert (config.missing, config.raw, config.files, config.root) == (True, {}, (home.file,), parse_config("{}").root)


def test_a_file_is_read_with_its_comments(home: Home) -> None:
    home.write("// mine\n{ agents: { defaults: { model: 'a/b', }, }, }")
    config = home.load()
    assert (config.missing, config.root.agents.defaults.model, config.files) == (False, "a/b", (home.file,))


@pytest.mark.posix_only("special files, owners and links")
def test_a_directory_is_refused(home: Home) -> None:
    home.file.mkdir()
    assert home.problems() == (Problem("It cannot be read: it is a directory.", str(home.file)),)


@pytest.mark.posix_only("special files, owners and links")
def test_a_pipe_is_refused_without_waiting_for_a_writer(home: Home) -> None:
    os.mkfifo(home.file)
    assert home.problems() == (Problem("It cannot be read: it is not a regular file.", str(home.file)),)


@pytest.mark.posix_only("special files, owners and links")
def test_a_device_is_refused(home: Home) -> None:
    home.file.symlink_to("/dev/zero")
    assert home.problems() == (Problem("It cannot be read: it is not a regular file.", str(home.file)),)


@pytest.mark.posix_only("symbolic links")
def test_a_circle_of_links_is_refused(home: Home) -> None:
    home.file.symlink_to(home.file)
    assert home.problems() == (Problem("It cannot be read: its symbolic links lead in a circle.", str(home.file)),)


@pytest.mark.posix_only("special files, owners and links")
def test_a_path_through_a_file_is_refused(home: Home) -> None:
    home.write("{}")
    paths = Paths.from_env({"HOME": "/h"}, config=str(home.file / "x.json"))
    with pytest.raises(ConfigError, match="its path leads through a file"):
        load_config(paths, {})


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may read anything, so be nobody for a moment."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


@pytest.mark.posix_only("special files, owners and links")
def test_a_file_without_permission_is_refused(home: Home) -> None:
    home.write("{}").chmod(0)
    with without_privileges():
        assert home.problems() == (Problem("It cannot be read: permission denied.", str(home.file)),)


def test_a_huge_file_is_refused(home: Home) -> None:
    home.write("//" + "x" * MAX_FILE_BYTES)
    assert home.problems() == (Problem("It cannot be read: it is larger than 2 MB.", str(home.file)),)


def test_a_file_that_is_not_utf8_is_refused_with_the_place(home: Home) -> None:
    home.file.write_bytes(b'{\n  "a": "caf\xe9"\n}')
    message = "The file is not UTF-8 text: byte 0xe9 is not part of a character."
    assert home.problems() == (Problem(message, str(home.file), 2, 12, hint="Save it as UTF-8."),)


def test_a_half_written_file_is_refused_with_the_place(home: Home) -> None:
    home.write('{\n  "mcp": {')
    (problem,) = home.problems()
    assert (problem.file, problem.line, problem.message) == (
        str(home.file),
        2,
        "The file ends inside the object opened at line 2, column 10.",
    )


# ---- $include


def test_an_included_file_replaces_the_object(home: Home) -> None:
    home.write('{ agents: { $include: "./agents.json5" }, tools: { deny: ["exec"] } }')
    agents = home.write("{ defaults: { model: 'a/b' } }", "agents.json5")
    config = home.load()
    assert config.raw == {"agents": {"defaults": {"model": "a/b"}}, "tools": {"deny": ["exec"]}}
    assert config.files == (home.file, agents)
    assert config.locate("agents.defaults.model") == (str(agents), 1, 15)
    assert config.locate("agents") == (str(home.file), 1, 3)


def test_several_files_merge_in_order_and_the_keys_beside_them_win(home: Home) -> None:
    home.write('{ agents: { $include: ["a.json5", "sub/b.json5"], defaults: { verbose: true } } }')
    home.write("{ defaults: { model: 'a/a', verbose: false, skills: ['one'] }, list: [{id: 'x'}] }", "a.json5")
    home.write("{ defaults: { model: 'b/b', skills: ['two'] }, list: [{id: 'y'}] }", "sub/b.json5")
    assert home.load().raw == {
        "agents": {
            "defaults": {"model": "b/b", "verbose": True, "skills": ["one", "two"]},
            "list": [{"id": "x"}, {"id": "y"}],
        }
    }


def test_the_whole_file_may_be_one_include_and_included_files_include_further_ones(home: Home) -> None:
    home.write('{ $include: "sub/a.json5" }')
    home.write('{ mcp: { servers: { $include: "./b.json5" } } }', "sub/a.json5")
    home.write("{ x: { command: 'y' } }", "sub/b.json5")
    assert home.load().raw == {"mcp": {"servers": {"x": {"command": "y"}}}}


def test_an_include_may_stand_in_a_list(home: Home) -> None:
    home.write('{ agents: { list: [{ $include: "a.json5" }] } }')
    home.write("{ id: 'x' }", "a.json5")
    assert home.load().raw == {"agents": {"list": [{"id": "x"}]}}


def test_faults_of_included_files_are_reported_with_their_own_place(home: Home) -> None:
    home.write('{\n  agents: { $include: "a.json5" },\n  mcp: { servrs: {} },\n}')
    included = home.write("{\n\n  defaults: { modle: 'x' } }", "a.json5")
    assert {(problem.file, problem.line, problem.path) for problem in home.problems()} == {
        (str(home.file), 3, "mcp.servrs"),
        (str(included), 3, "agents.defaults.modle"),
    }


def test_every_broken_include_is_reported(home: Home) -> None:
    home.write(
        '{ agents: { $include: "gone.json5" }, mcp: { $include: "bad.json5" }, tools: { $include: 5 }, models: { $include: "" } }'
    )
    bad = home.write("{ a: ", "bad.json5")
    assert [(problem.file, problem.message) for problem in home.problems()] == [
        (str(home.file), "there is no file gone.json5."),
        (str(bad), "The file ends inside the object opened at line 1, column 1."),
        (str(home.file), "expected the path of a file, or a list of them."),
        (str(home.file), "expected the path of a file, or a list of them."),
    ]


@pytest.mark.posix_only("symbolic links")
def test_files_outside_the_config_directory_are_refused_also_through_links(home: Home) -> None:
    outside = home.directory.parent / "outside.json5"
    outside.write_text("{}")
    (home.directory / "link.json5").symlink_to(outside)
    home.write(
        f'{{ agents: {{ $include: "../outside.json5" }}, mcp: {{ $include: "{outside}" }}, tools: {{ $include: "link.json5" }} }}'
    )
    assert [problem.message.partition(" is ")[2] for problem in home.problems()] == [
        "outside the directory of the config file; included files must be in it."
    ] * 3


def test_a_directory_whose_name_starts_alike_is_outside(home: Home) -> None:
    twin = home.directory.parent / "state-twin"
    twin.mkdir()
    (twin / "a.json5").write_text("{}")
    home.write('{ agents: { $include: "../state-twin/a.json5" } }')
    assert "is outside the directory" in home.problems()[0].message


def test_files_that_include_one_another_are_refused(home: Home) -> None:
    home.write('{ agents: { $include: "a.json5" } }')
    home.write('{ defaults: { $include: "b.json5" } }', "a.json5")
    home.write('{ mcp: { $include: "./a.json5" } }', "b.json5")
    assert [problem.message for problem in home.problems()] == [
        "./a.json5 includes itself, directly or through another file."
    ]


def test_a_chain_of_includes_is_bounded(home: Home) -> None:
    def chain(length: int) -> None:
        home.write('{ $include: "1.json5" }')
        for number in range(1, length):
            home.write(f'{{ $include: "{number + 1}.json5" }}', f"{number}.json5")
        home.write("{ tools: { deny: ['x'] } }", f"{length}.json5")

    chain(MAX_INCLUDE_DEPTH)
    assert home.load().root.tools.deny == ("x",)
    chain(MAX_INCLUDE_DEPTH + 1)
    assert [problem.message for problem in home.problems()] == ["more than 10 files include one another here."]


@pytest.mark.posix_only("symbolic links")
def test_a_config_reached_through_a_link_may_include_files_beside_the_link_and_beside_the_file(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "openclaw.json").write_text('{ agents: { $include: "a.json5" } }')
    home.file.symlink_to(tmp_path / "dotfiles" / "openclaw.json")
    (home.directory / "a.json5").symlink_to(tmp_path / "dotfiles" / "a.json5")
    (tmp_path / "dotfiles" / "a.json5").write_text("{ defaults: { model: 'a/b' } }")
    assert home.load().root.agents.defaults.model == "a/b"


def test_text_may_stand_in_for_the_file(home: Home) -> None:
    home.write("{ broken")
    home.write("{ deny: ['x'] }", "t.json5")
    assert load_config(home.paths, {}, text='{ tools: { $include: "t.json5" } }').root.tools.deny == ("x",)


# ---- variables


def test_variables_come_from_the_environment_then_from_the_file() -> None:
    text = """{ env: { vars: { A: "file", B: "file ${HOME_TOWN}" }, C: "direct" },
      agents: { defaults: { prompt: "${A} ${B} ${C} $${A} ${a}" } } }"""
    config = parse_config(text, env={"A": "environment", "HOME_TOWN": "Ulm"})
    assert config.root.agents.defaults.prompt == "environment file Ulm direct ${A} ${a}"
    assert config.raw["agents"] == {"defaults": {"prompt": "${A} ${B} ${C} $${A} ${a}"}}


@pytest.mark.requirement("000-14.9-variables")
def test_a_bare_variable_counts_in_secret_fields_only() -> None:
    text = """{ agents: { defaults: { prompt: "$KEY" } }, models: { providers: { x: { apiKey: "$KEY", headers: { "X-Key": "$KEY" } } } },
      mcp: { servers: { s: { command: "$KEY", env: { T: "$KEY" }, args: ["$KEY"] } } } }"""
    root = parse_config(text, env={"KEY": "k"}).root
    provider, server = root.models.providers["x"], root.mcp.servers["s"]
    assert (root.agents.defaults.prompt, provider.api_key, provider.headers) == ("$KEY", "k", {"X-Key": "k"})
    assert (server.command, server.env, server.args) == ("$KEY", {"T": "k"}, ("$KEY",))


def test_a_value_put_in_is_not_looked_at_again() -> None:
    config = parse_config("{ agents: { defaults: { prompt: '${A}' } } }", env={"A": "${B}", "B": "no"})
    assert config.root.agents.defaults.prompt == "${B}"


def test_an_unset_variable_leaves_the_setting_out_with_a_warning() -> None:
    config = parse_config("{ agents: { defaults: {\n workspace: '${WORK}/x', model: 'a/b' } } }", file="f")
    assert config.root.agents.defaults.workspace is None
    assert config.unset == {("agents", "defaults", "workspace"): ("WORK",)}
    assert config.warnings == (
        Problem(
            "${WORK} is not set: the setting is ignored.",
            "f",
            2,
            13,
            "agents.defaults.workspace",
            "Set it in the environment, or under env.vars.",
        ),
    )


def test_an_unset_variable_faults_the_provider_that_needs_it() -> None:
    config = parse_config(
        "{ models: { providers: { a: { apiKey: '${A_KEY}', baseUrl: 'http://h/${B_KEY}' }, b: { apiKey: 'x' } } } }"
    )
    assert config.fault("models.providers.a") == "${A_KEY} and ${B_KEY} are not set"
    assert config.fault(("models", "providers", "b")) == ""
    assert config.root.models.providers["a"].api_key is None
    assert [warning.message for warning in config.warnings] == [
        "${A_KEY} is not set: this provider cannot be used.",
        "${B_KEY} is not set: this provider cannot be used.",
    ]


def test_a_required_setting_whose_variable_is_unset_leaves_its_object_out() -> None:
    config = parse_config("{ media: { audio: { transcription: { baseUrl: '${URL}' } } } }")
    assert config.root.media.audio.transcription is None
    assert config.fault("media.audio.transcription") == "${URL} is not set"


def test_an_unset_item_of_a_list_stays_so_that_an_allow_list_never_becomes_empty() -> None:
    config = parse_config("{ tools: { allow: ['${TOOLS}'] } }")
    assert config.root.tools.allow == ("${TOOLS}",)
    assert len(config.warnings) == 1


def test_variables_in_sections_of_others_are_not_looked_at() -> None:
    assert parse_config("{ channels: { x: '${NOPE}' }, tools: { web: { key: '${NOPE}' } } }").warnings == ()


# ---- the result


@pytest.mark.posix_only("special files, owners and links")
def test_settings_are_found_by_path_with_their_place() -> None:
    config = parse_config(
        '{\n  "mcp": {\n    "servers": { "x.y": { "command": "a", "args": ["b"] } }\n  }\n}', file="/c/openclaw.json"
    )
    assert config.get('mcp.servers["x.y"].args.0') == "b"
    assert config.locate('mcp.servers["x.y"].args.0') == ("/c/openclaw.json", 3, 52)
    assert config.locate("mcp.servers.gone.url") == ("/c/openclaw.json", 3, 5)
    assert config.locate("tools") == ("/c/openclaw.json", 0, 0)
    assert config.where("mcp.servers") == "openclaw.json:3 mcp.servers"
    assert config.where("tools") == "openclaw.json tools"


@pytest.mark.parametrize("path", ["gone", "mcp.servers.gone", "list.7", "list.x", "text.x"])
def test_nothing_is_found_where_nothing_is_set(path: str) -> None:
    with pytest.raises(KeyError):
        parse_config("{ list: [1], text: 'x' }").get(path)


@pytest.mark.posix_only("special files, owners and links")
def test_names_of_files_start_beside_the_config_file_or_at_home(home: Home) -> None:
    home.write("{}")
    config = home.load()
    assert [config.resolve(name) for name in ("a/../b", "~/c", "~", "/d")] == [
        home.directory / "b",
        home.directory.parent / "c",
        home.directory.parent,
        Path("/d"),
    ]

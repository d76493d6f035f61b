"""Where files are: the environment decides, nothing is created, and the stub finds the same socket as everybody else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.config import plain_paths
from openclaw.config.paths import Paths


@pytest.mark.requirement("000-5.3-encrypted")
def test_everything_is_under_the_state_directory_of_the_home() -> None:
    paths = Paths.from_env({"HOME": "/home/ada", "XDG_RUNTIME_DIR": "/run/user/7"})
    state = Path("/home/ada/.openclaw")
    assert (paths.home, paths.state_dir, paths.config_file) == (Path("/home/ada"), state, state / "openclaw.json")
    assert (paths.data_dir, paths.tokens_dir) == (state / "py", state / "mcp" / "tokens")
    ours = [paths.media_dir, paths.sessions_file, paths.logs_dir, paths.audit_dir]
    assert all(path.is_relative_to(state / "py") for path in ours)
    assert paths.runtime_dir == Path("/run/user/7/openclaw")


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.parametrize(
    ("env", "config", "file", "state"),
    [
        ({}, "", "/h/.openclaw/openclaw.json", "/h/.openclaw"),
        ({"OPENCLAW_HOME": "/other"}, "", "/other/.openclaw/openclaw.json", "/other/.openclaw"),
        ({"OPENCLAW_HOME": "~/sub"}, "", "/h/sub/.openclaw/openclaw.json", "/h/sub/.openclaw"),
        ({"OPENCLAW_STATE_DIR": "/s"}, "", "/s/openclaw.json", "/s"),
        ({"OPENCLAW_STATE_DIR": "~/s"}, "", "/h/s/openclaw.json", "/h/s"),
        ({"OPENCLAW_STATE_DIR": "rel"}, "", "/cwd/rel/openclaw.json", "/cwd/rel"),
        ({"OPENCLAW_CONFIG_PATH": "/c.json"}, "", "/c.json", "/h/.openclaw"),
        ({"OPENCLAW_CONFIG_PATH": "/c.json"}, "/d.json", "/d.json", "/h/.openclaw"),
        ({}, "mine.json5", "/cwd/mine.json5", "/h/.openclaw"),
        ({}, "~/mine.json5", "/h/mine.json5", "/h/.openclaw"),
        ({"OPENCLAW_STATE_DIR": "", "OPENCLAW_CONFIG_PATH": ""}, "", "/h/.openclaw/openclaw.json", "/h/.openclaw"),
    ],
)
def test_the_environment_and_the_option_choose_the_files(
    env: dict[str, str], config: str, file: str, state: str
) -> None:
    paths = Paths.from_env({"HOME": "/h", **env}, config=config, cwd="/cwd")
    assert (str(paths.config_file), str(paths.state_dir)) == (file, state)


def test_a_home_is_found_without_any_variable() -> None:
    assert Paths.from_env({}).home.is_absolute()


def test_each_state_directory_and_config_file_has_its_own_socket() -> None:
    variants: list[tuple[dict[str, str], str]] = [({}, ""), ({"OPENCLAW_STATE_DIR": "/s"}, ""), ({}, "/c.json")]
    names = {Paths.from_env({"HOME": "/h", **env}, config=config).control_socket for env, config in variants}
    assert len(names) == 3


@pytest.mark.posix_only("symbolic links")
def test_a_state_directory_reached_through_a_link_has_the_same_socket(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = {
        plain_paths.control_socket({"HOME": "/h", "OPENCLAW_STATE_DIR": str(tmp_path / name)})
        for name in ("real", "link")
    }
    assert len(found) == 1


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.parametrize("runtime", ["/run/user/1000", "/" + "long/" * 30, "relative", ""])
def test_the_socket_fits_into_a_socket_address(runtime: str) -> None:
    socket = plain_paths.control_socket(
        {"HOME": "/" + "deep/" * 40, "XDG_RUNTIME_DIR": runtime, "TMPDIR": "/" + "tmp/" * 40}
    )
    assert os.path.isabs(socket)
    assert len(os.fsencode(socket)) <= plain_paths.SOCKET_PATH_BYTES


@pytest.mark.posix_only("paths as POSIX writes them")
def test_the_strings_for_the_stub_are_the_paths_of_everybody_else(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "OPENCLAW_STATE_DIR": "~/x"}
    paths = Paths.from_env(env, config="c.json", cwd=str(tmp_path))
    assert str(paths.control_socket) == plain_paths.control_socket(env, "c.json", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_stub_finds_the_socket_without_loading_anything_heavy() -> None:
    script = "import sys; import openclaw.config.plain_paths; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"typing", "dataclasses", "pathlib", "msgspec", "re", "asyncio"} & set(loaded) - preloaded()


def preloaded() -> set[str]:
    """What the interpreter loads by itself: .pth files of an editable installation may pull in a little."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())

"""The fence around the file tools, attacked the ways a model, a repository or a racing process could."""

import os
import socket
import stat
import unicodedata
from pathlib import Path

import pytest

from openclaw.errors import PathError
from openclaw.tools.confine import Fence, Place, show


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("outside")
    return folder.resolve()


def read(fence: Fence, path: str, workspace: Path) -> bytes:
    with fence.file(path, workspace) as opened:
        return os.read(opened.descriptor, 1 << 20)


def refusal(fence: Fence, path: str, workspace: Path) -> str:
    with pytest.raises(PathError) as caught:
        read(fence, path, workspace)
    return caught.value.message


def write_refusal(fence: Fence, path: str, workspace: Path) -> str:
    with pytest.raises(PathError) as caught:
        fence.replace(path, workspace, b"planted")
    return caught.value.message


@pytest.mark.posix_only("the file tools")
def test_a_relative_and_an_absolute_path_name_the_same_file(workspace: Path) -> None:
    (workspace / "a").mkdir()
    (workspace / "a" / "b.txt").write_text("inside")

    expected = Place(str(workspace), ("a", "b.txt"), "a/b.txt")
    assert Fence().locate("a/b.txt", workspace) == expected
    assert Fence().locate(str(workspace / "a" / "b.txt"), workspace) == expected
    assert Fence().locate("./a/../a//b.txt", workspace) == expected
    assert read(Fence(), "a/b.txt", workspace) == b"inside"


@pytest.mark.parametrize(
    "path", ["..", "../outside/secret.txt", "a/../../outside/secret.txt", "/etc/passwd", "/", "~/.ssh/id_rsa"]
)
def test_a_path_that_leaves_the_workspace_is_refused(path: str, workspace: Path, outside: Path) -> None:
    assert refusal(Fence(), path, workspace) == f"{path} is outside the workspace."
    assert write_refusal(Fence(), path, workspace) == f"{path} is outside the workspace."


@pytest.mark.posix_only("the file tools")
def test_a_sibling_whose_name_begins_like_the_workspace_is_outside(workspace: Path) -> None:
    twin = workspace.with_name("workspace-2")
    twin.mkdir()
    (twin / "x").write_text("other")

    assert refusal(Fence(), str(twin / "x"), workspace) == f"{twin}/x is outside the workspace."


@pytest.mark.posix_only("the file tools")
def test_a_link_to_a_file_outside_is_refused(workspace: Path, outside: Path) -> None:
    (workspace / "link").symlink_to(outside / "secret.txt")

    assert refusal(Fence(), "link", workspace) == "link is outside the workspace."
    assert write_refusal(Fence(), "link", workspace) == "link is outside the workspace."
    assert (outside / "secret.txt").read_text() == "outside"


@pytest.mark.posix_only("the file tools")
def test_a_link_to_a_directory_outside_is_refused(workspace: Path, outside: Path) -> None:
    (workspace / "door").symlink_to(outside, target_is_directory=True)

    assert refusal(Fence(), "door/secret.txt", workspace) == "door/secret.txt is outside the workspace."
    assert write_refusal(Fence(), "door/new.txt", workspace) == "door/new.txt is outside the workspace."
    assert sorted(os.listdir(outside)) == ["secret.txt"]


@pytest.mark.posix_only("the file tools")
def test_a_chain_of_links_is_followed_to_its_end(workspace: Path, outside: Path) -> None:
    (workspace / "one").symlink_to("two")
    (workspace / "two").symlink_to("three/secret.txt")
    (workspace / "three").symlink_to(outside)

    assert refusal(Fence(), "one", workspace) == "one is outside the workspace."


@pytest.mark.posix_only("the file tools")
def test_a_dangling_link_out_of_the_workspace_creates_nothing(workspace: Path, outside: Path) -> None:
    (workspace / "dangling").symlink_to(outside / "created.txt")

    assert write_refusal(Fence(), "dangling", workspace) == "dangling is outside the workspace."
    assert not (outside / "created.txt").exists()


@pytest.mark.posix_only("the file tools")
def test_a_link_inside_the_workspace_is_followed_and_kept(workspace: Path) -> None:
    (workspace / "real.txt").write_text("old")
    (workspace / "link").symlink_to("real.txt")

    Fence().replace("link", workspace, b"new")

    assert (workspace / "link").is_symlink()
    assert (workspace / "real.txt").read_bytes() == b"new"


@pytest.mark.posix_only("the file tools")
def test_a_loop_of_links_ends_with_an_error(workspace: Path) -> None:
    (workspace / "loop").symlink_to("loop")
    (workspace / "deep").symlink_to("deep/deep")

    assert refusal(Fence(), "loop", workspace) == "loop changed while it was opened."
    assert "deep" in refusal(Fence(), "deep/x", workspace)


@pytest.mark.posix_only("the file tools")
def test_a_workspace_that_is_a_link_works_by_its_real_path(workspace: Path, tmp_path: Path) -> None:
    (workspace / "x").write_text("inside")
    alias = tmp_path / "alias"
    alias.symlink_to(workspace, target_is_directory=True)

    assert read(Fence(), "x", alias) == b"inside"
    assert read(Fence(), str(alias / "x"), workspace) == b"inside"


class Swap(Fence, frozen=True):
    """A fence whose path is attacked between the check and the opening."""

    def locate(self, path: str, workspace: Path) -> Place:
        place = super().locate(path, workspace)
        victim = workspace / "folder"
        victim.rename(workspace / "moved")
        victim.symlink_to(workspace.parent / "outside", target_is_directory=True)
        return place


@pytest.mark.posix_only("the file tools")
def test_a_directory_swapped_for_a_link_after_the_check_is_not_followed(workspace: Path, outside: Path) -> None:
    (workspace / "folder").mkdir()
    (workspace / "folder" / "secret.txt").write_text("inside")

    assert "folder/secret.txt" in refusal(Swap(), "folder/secret.txt", workspace)


@pytest.mark.posix_only("the file tools")
def test_a_write_through_a_directory_swapped_after_the_check_reaches_nothing(workspace: Path, outside: Path) -> None:
    (workspace / "folder").mkdir()

    assert "folder/new.txt" in write_refusal(Swap(), "folder/new.txt", workspace)
    assert sorted(os.listdir(outside)) == ["secret.txt"]


class SwapFile(Fence, frozen=True):
    def locate(self, path: str, workspace: Path) -> Place:
        place = super().locate(path, workspace)
        (workspace / "file").unlink()
        (workspace / "file").symlink_to(workspace.parent / "outside" / "secret.txt")
        return place


@pytest.mark.posix_only("the file tools")
def test_a_file_swapped_for_a_link_after_the_check_is_not_followed(workspace: Path, outside: Path) -> None:
    (workspace / "file").write_text("inside")

    assert refusal(SwapFile(), "file", workspace) == "file changed while it was opened."


@pytest.mark.posix_only("the file tools")
def test_a_write_to_a_file_swapped_for_a_link_leaves_the_target_alone(workspace: Path, outside: Path) -> None:
    (workspace / "file").write_text("inside")

    assert write_refusal(SwapFile(), "file", workspace) == "file changed while it was opened."
    assert (outside / "secret.txt").read_text() == "outside"


@pytest.fixture
def state(workspace: Path) -> Path:
    """The state directory, inside the workspace as when the workspace is the home directory."""
    folder = workspace / ".openclaw"
    (folder / "py" / "media" / "results").mkdir(parents=True)
    (folder / "openclaw.json").write_text("{}")
    (folder / "py" / "media" / "results" / "kept.txt").write_text("from a server")
    return folder


OWN = "belongs to OpenClaw's own config or state, which file tools never touch."


@pytest.mark.parametrize("path", [".openclaw/openclaw.json", ".openclaw/py/new", "a/../.openclaw/openclaw.json"])
def test_the_state_directory_is_refused_inside_the_workspace(path: str, workspace: Path, state: Path) -> None:
    fence = Fence(refused=(state,))

    assert refusal(fence, path, workspace) == f"{path} {OWN}"
    assert write_refusal(fence, path, workspace) == f"{path} {OWN}"
    assert not (state / "py" / "new").exists()


@pytest.mark.posix_only("the file tools")
def test_a_link_to_the_state_directory_is_refused(workspace: Path, state: Path) -> None:
    (workspace / "innocent").symlink_to(state)

    assert refusal(Fence(refused=(state,)), "innocent/openclaw.json", workspace) == f"innocent/openclaw.json {OWN}"


@pytest.mark.posix_only("the file tools")
def test_the_state_directory_under_another_name_is_known_by_its_identity(workspace: Path, state: Path) -> None:
    """As on a file system that ignores case or normalises Unicode: the same directory answers to a name never configured."""
    alias = workspace / ".alias"
    alias.symlink_to(state)
    fence = Fence(refused=(alias,))
    moved = workspace / ".OpenClaw"
    state.rename(moved)
    alias.unlink()
    alias.symlink_to(moved)

    class ByIdentityOnly(Fence, frozen=True):
        def locate(self, path: str, workspace: Path) -> Place:
            return Place(str(workspace), tuple(path.split("/")), path)

    assert refusal(ByIdentityOnly(refused=fence.refused), ".OpenClaw/openclaw.json", workspace) == f".OpenClaw {OWN}"
    assert write_refusal(ByIdentityOnly(refused=fence.refused), ".OpenClaw/x", workspace) == f".OpenClaw {OWN}"


@pytest.mark.posix_only("the file tools")
def test_a_hard_link_to_the_config_file_is_refused(workspace: Path, tmp_path: Path) -> None:
    config = tmp_path / "openclaw.json"
    config.write_text("{}")
    os.link(config, workspace / "notes.txt")
    fence = Fence(refused=(config,))

    assert refusal(fence, "notes.txt", workspace) == f"notes.txt {OWN}"
    assert write_refusal(fence, "notes.txt", workspace) == f"notes.txt {OWN}"
    assert config.read_text() == "{}"


def test_a_refused_file_that_does_not_exist_yet_cannot_be_made(workspace: Path) -> None:
    assert (
        write_refusal(Fence(refused=(workspace / "servers.json5",)), "servers.json5", workspace)
        == f"servers.json5 {OWN}"
    )


@pytest.mark.posix_only("the file tools")
def test_a_refused_place_that_does_not_exist_is_in_nobodys_way(workspace: Path, tmp_path: Path) -> None:
    fence = Fence(refused=(tmp_path / "no-state-yet", workspace / "no-config-yet"))

    fence.replace("note.txt", workspace, b"mine")

    assert read(fence, "note.txt", workspace) == b"mine"


@pytest.mark.posix_only("the file tools")
def test_a_workspace_inside_the_state_directory_is_usable(state: Path) -> None:
    ours = state / "py" / "workspace"
    ours.mkdir()
    fence = Fence(refused=(state,))

    fence.replace("note.txt", ours, b"mine")

    assert read(fence, "note.txt", ours) == b"mine"
    assert refusal(fence, "../media/results/kept.txt", ours) == "../media/results/kept.txt is outside the workspace."


def test_a_workspace_that_is_the_state_directory_is_refused_whole(state: Path) -> None:
    assert refusal(Fence(refused=(state,)), "openclaw.json", state) == f"openclaw.json {OWN}"


@pytest.mark.posix_only("the file tools")
def test_kept_results_are_readable_marked_and_read_only(workspace: Path, state: Path) -> None:
    results = state / "py" / "media" / "results"
    fence = Fence(kept=(results,), refused=(state,))

    with fence.file(str(results / "kept.txt"), workspace) as opened:
        assert (opened.kept, opened.size) == (True, len("from a server"))
    assert write_refusal(fence, str(results / "kept.txt"), workspace) == (
        ".openclaw/py/media/results/kept.txt may be read but not written."
    )


@pytest.mark.posix_only("the file tools")
def test_skills_are_readable_plain_and_read_only(workspace: Path, state: Path) -> None:
    (state / "skills").mkdir()
    (state / "skills" / "SKILL.md").write_text("how to")
    fence = Fence(readable=(state / "skills",), refused=(state,))

    with fence.file(str(state / "skills" / "SKILL.md"), workspace) as opened:
        assert (opened.kept, opened.size) == (False, len("how to"))
    assert write_refusal(fence, str(state / "skills" / "new.md"), workspace) == (
        ".openclaw/skills/new.md may be read but not written."
    )


@pytest.mark.posix_only("the file tools")
def test_an_extra_root_may_be_read_and_written_by_its_absolute_path(workspace: Path, outside: Path) -> None:
    fence = Fence(roots=(outside,))

    fence.replace(str(outside / "secret.txt"), workspace, b"changed")

    assert read(fence, "../outside/secret.txt", workspace) == b"changed"


@pytest.mark.posix_only("the file tools")
def test_pipes_devices_and_sockets_never_block(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    try:
        os.chdir(workspace)  # a socket's path is at most 107 bytes
        listener.bind("socket")
    finally:
        os.chdir(here)
        listener.close()

    assert refusal(Fence(), "pipe", workspace) == "pipe is not a regular file."
    assert refusal(Fence(), "socket", workspace) == "socket is not a regular file."
    assert refusal(Fence(roots=(Path("/dev"),)), "/dev/zero", workspace) == "/dev/zero is not a regular file."
    assert write_refusal(Fence(), "pipe", workspace) == "pipe is not a regular file."


@pytest.mark.posix_only("the file tools")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "workspace is a directory."),
        ("missing", "missing does not exist."),
        ("folder", "folder is a directory."),
        ("file/below", "file/below is not a directory, or one of its parents is not."),
        ("nul\0byte", "nul\\x00byte is not a usable path: it holds a NUL character."),
        ("half\ud800", "half\\ud800 is not a usable path: it holds half of a surrogate pair."),
    ],
)
def test_an_unusable_path_gets_one_sentence(path: str, message: str, workspace: Path) -> None:
    (workspace / "file").write_text("x")
    (workspace / "folder").mkdir()

    assert refusal(Fence(), path, workspace).replace(". is", "workspace is") == message


@pytest.mark.posix_only("the file tools")
def test_a_name_that_is_too_long_gets_one_sentence(workspace: Path) -> None:
    name = "n" * 300
    assert refusal(Fence(), name, workspace) == f"{name} is too long for a file name."


@pytest.mark.posix_only("the file tools")
def test_unicode_twins_are_different_files_where_the_file_system_says_so(workspace: Path) -> None:
    composed, decomposed = unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")
    (workspace / composed).write_text("composed")

    if (workspace / decomposed).exists():
        assert read(Fence(), decomposed, workspace) == b"composed"
    else:
        assert refusal(Fence(), decomposed, workspace) == f"{decomposed} does not exist."


@pytest.mark.posix_only("the file tools")
def test_a_write_makes_parents_and_leaves_no_temporary_file(workspace: Path) -> None:
    Fence().replace("a/b/c.txt", workspace, b"deep")

    assert (workspace / "a" / "b" / "c.txt").read_bytes() == b"deep"
    assert os.listdir(workspace / "a" / "b") == ["c.txt"]


@pytest.mark.posix_only("the file tools")
def test_a_write_keeps_the_mode_of_the_file_it_replaces(workspace: Path) -> None:
    script = workspace / "run.sh"
    script.write_text("old")
    script.chmod(0o750)

    Fence().replace("run.sh", workspace, b"new")

    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("new", 0o750)


@pytest.mark.posix_only("the file tools")
def test_a_directory_is_never_replaced_by_a_file(workspace: Path) -> None:
    (workspace / "folder").mkdir()

    assert write_refusal(Fence(), "folder", workspace) == "folder is a directory."


@pytest.mark.posix_only("the file tools")
def test_a_failed_write_leaves_the_old_file_and_no_litter(workspace: Path) -> None:
    (workspace / "kept.txt").write_text("old")

    with pytest.raises(TypeError):
        Fence().replace("kept.txt", workspace, "not bytes")  # type: ignore[arg-type]

    assert (workspace / "kept.txt").read_text() == "old"
    assert os.listdir(workspace) == ["kept.txt"]


def test_names_cannot_forge_lines_in_messages() -> None:
    assert show("a\nb\x1b[31m\u202e\udcff é 👩‍🚀") == "a\\nb\\x1b[31m\\u202e\\udcff é 👩‍🚀"

"""A log file as it is read on, on real files."""

from pathlib import Path

from openclaw.commands.follow import LogFile, follow, last_lines


def test_only_whole_lines_are_given_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    file = LogFile(path)
    assert file.written() == []
    path.write_text("one\ntw")
    assert file.written() == ["one"]
    with path.open("a") as out:
        out.write("o\nthree\n")
    assert file.written() == ["two", "three"]
    assert file.written() == []
    file.close()


def test_a_file_that_is_put_aside_is_read_to_its_end_and_then_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("one\n")
    file = LogFile(path)
    assert file.written() == ["one"]
    with path.open("a") as out:
        out.write("two\nthr")
    path.replace(tmp_path / "x.log.1")
    path.write_text("four\n")
    assert file.written() == ["two", "thr", "four"]
    file.close()


def test_a_file_that_is_cut_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("one\ntwo\n")
    file = LogFile(path)
    assert file.written() == ["one", "two"]
    path.write_text("new\n")
    assert file.written() == ["new"]
    file.close()


async def test_following_begins_with_the_last_lines_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("one\ntwo\nthree\n")
    seen: list[str] = []
    async for lines in follow(path, 2):
        seen += lines
        if seen[-1] == "four":
            break
        with path.open("a") as out:
            out.write("four\n")
    assert seen == ["two", "three", "four"]


def test_the_last_lines_come_from_the_older_file_too(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.with_name("x.log.1").write_text("one\ntwo\n")
    path.write_text("three\n")
    assert (last_lines(path, 2), last_lines(path, 9)) == (["two", "three"], ["one", "two", "three"])

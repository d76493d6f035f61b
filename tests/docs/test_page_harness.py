"""A page that says what is not so is found out."""

from pathlib import Path

import pytest

from parts.pages import BadPage, Stage, blocks_of, first_missing, story


def carry_out(text: str, folder: Path) -> Stage:
    stage = Stage(folder)
    for block in blocks_of(text, "page.md"):
        stage.run(block)
    return stage


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```console\n$ echo one\ntwo\n```\n", "page.md:2: `echo one` does not show the line\n  two"),
        (
            "```console\n$ echo 2026-01-01T00:00:00Z ERROR x: no && echo one\none\n```\n",
            "page.md:2: `echo 2026-01-01T00:00:00Z ERROR x: no && echo one` logs what the page does not show:\n2026-01-01",
        ),
        ("```console\n$ openclaw\n```\n", "page.md:2: ended with 127, not with 0"),
        ("```console\n$ false\n```\n", "page.md:2: ended with 1, not with 0"),
        ("<!-- exit: 1 -->\n```sh\ntrue\n```\n", "page.md:2: ended with 0, not with 1"),
        ("```python\nraise SystemExit(3)\n```\n", "page.md:1: ended with 3"),
        ("```json5\n{mcp: {serverz: {}}}\n```\n", "page.md:1: this config does not load"),
        ("<!-- refused -->\n```json5\n{}\n```\n", "page.md:2: this config should be refused"),
        ("```json\n{]\n```\n", "page.md:1: this is not JSON"),
        ("```\nanything\n```\n", "page.md:1: nothing is known about ```;"),
        ("<!-- not run: because -->\n```text\nx\n```\n", "page.md:2: `not run` needs a reason"),
        ("```console\nan answer first\n```\n", "page.md:2: a terminal starts with a command"),
    ],
)
def test_a_page_that_is_wrong_is_told_so(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(BadPage) as raised:
        carry_out(text, tmp_path)
    assert str(raised.value).startswith(fault)


def test_each_block_sees_what_the_blocks_before_it_left(tmp_path: Path) -> None:
    page = """
    <!-- file: ~/notes/a.txt -->
    ```text
    hello
    ```

    ```sh
    mkdir inner
    cd inner
    ```

    ```console
    $ cat ~/notes/a.txt && \\
      basename "$PWD"
    hello
    inner
    ```

    ```json5
    { session: { store: "memory" } }
    ```

    ```console
    $ export PATH="$PWD/../.venv/bin:$PATH"
    $ openclaw config get session.store
    memory
    ```
    """
    stage = carry_out(page, tmp_path)
    assert stage.cwd.name == "inner"


def test_a_block_that_hangs_is_ended_and_named(tmp_path: Path) -> None:
    (block,) = blocks_of("```sh\necho so far\nsleep 600\n```\n", "page.md")
    stage = Stage(tmp_path, patience=0.5)
    with pytest.raises(BadPage, match=r"page\.md:1: no end after 0\.5 s"):
        stage.run(block)


def test_a_block_with_a_reason_is_left_alone(tmp_path: Path) -> None:
    carry_out("<!-- not run: it would delete everything -->\n```sh\nrm -r ~\n```\n", tmp_path)
    assert (tmp_path / "home").is_dir()


def test_a_fragment_is_checked_where_it_belongs(tmp_path: Path) -> None:
    carry_out("<!-- in: mcp.servers -->\n```json5\nnotes: { command: 'notes' },\n```\n", tmp_path)
    with pytest.raises(BadPage, match="does not load"):
        carry_out("<!-- in: mcp.servers -->\n```json5\nnotes: { command: 7 },\n```\n", tmp_path / "again")


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        (["a", "c"], None),
        (["c", "a"], "a"),
        (["a … b"], "a … b"),
        (["n… 42"], None),
        (["…", "", "a"], None),
        (["number"], "number"),
    ],
)
def test_shown_lines_stand_in_the_output_in_order(shown: list[str], missing: str | None) -> None:
    assert first_missing(shown, "a\nb\nc\nnumber 42\n") == missing


def test_a_page_that_asks_for_it_is_read_by_somebody_who_prepared(tmp_path: Path) -> None:
    asked, unasked = tmp_path / "asked.md", tmp_path / "unasked.md"
    asked.write_text(
        "Before: [this](../README.md#before-you-start).\n\n```console\n$ openclaw --version\nopenclaw …\n```\n"
    )
    unasked.write_text("```console\n$ openclaw --version\n```\n")
    stage = Stage(tmp_path)
    for block in story(asked):
        stage.run(block)
    assert [block.place for block in story(unasked)] == ["unasked.md:1"]


def test_another_reader_starts_afresh(tmp_path: Path) -> None:
    page = "```json5\n{}\n```\n<!-- afresh -->\n<!-- exit: 1 -->\n```sh\ntest -e ~/.openclaw\n```\n"
    stage = carry_out(page, tmp_path)
    assert not (stage.home / ".openclaw").exists()

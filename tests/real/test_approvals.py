"""Approvals with servers that nobody here wrote: a write asks, a yes for good is kept, listed, and ends when it is revoked."""

import json
from pathlib import Path

import pytest

from openclaw.app import App
from openclaw.content import text_of
from openclaw.conversation import Answer, Conversation, Question, QuestionKind
from parts.command_line import Home
from parts.peers import npm, stdio_entry

pytestmark = pytest.mark.real


class Person:
    """Says the same to every question."""

    def __init__(self, option: str) -> None:
        self.asked: list[Question] = []
        self._option = option

    def can(self, kind: QuestionKind) -> bool:
        return kind == "approval"

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer("accept", {"option": self._option}) if self._option else Answer("decline")


async def test_a_write_to_a_filesystem_server_asks_and_a_yes_for_good_holds_until_it_is_revoked(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    entry = stdio_entry(npm("mcp-server-filesystem", str(notes)))
    home = Home(tmp_path / "home", mcp={"servers": {"files": entry}})
    always, no = Person("always"), Person("")

    async def write(person: Person, name: str) -> str:
        async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
            await app.settled(tool="files__write_file")
            arguments = {"path": str(notes / name), "content": "milk"}
            result = await app.call("files__write_file", arguments, Conversation(asker=person))
        return text_of(result.content)

    assert "was not called: the person declined." in await write(no, "one.txt")
    assert not (notes / "one.txt").exists()
    await write(always, "one.txt")
    await write(no, "two.txt")
    assert [file.name for file in sorted(notes.iterdir())] == ["one.txt", "two.txt"]
    assert (len(no.asked), len(always.asked)) == (1, 1)
    asked = always.asked[0].approval
    assert asked is not None
    assert (asked.server, asked.title) == ("files", "write_file")

    (grant,) = json.loads((await home.openclaw("approvals", "grants", "--json")).out)
    assert (grant["tool"], grant["arguments"]) == ("write_file", {"path": f"{notes}/**"})
    assert (await home.openclaw("approvals", "grants")).out.splitlines()[1].split()[:3] == [
        grant["id"],
        "files",
        "write_file",
    ]
    words = ("files__write_file", f"path={notes}/three.txt", "content=eggs")
    assert (await home.openclaw("approvals", "explain", *words)).code == 0
    assert (await home.openclaw("approvals", "revoke", grant["id"])).code == 0
    explained = await home.openclaw("approvals", "explain", *words)
    assert (explained.code, "is asked about, and runs where nobody can be" in explained.out) == (1, True)
    assert "was not called: the person declined." in await write(no, "three.txt")
    assert (await home.openclaw("approvals", "revoke", grant["id"])).code == 2


async def test_a_tool_of_the_everything_server_that_says_it_only_reads_is_asked_about_all_the_same(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home", mcp={"servers": {"all": stdio_entry(npm("mcp-server-everything", "stdio"))}})
    no = Person("")
    async with App(home.config(), paths=home.paths, env=home.environ, workspace=tmp_path) as app:
        await app.settled(tool="all__echo")
        result = await app.call("all__echo", {"message": "hello"}, Conversation(asker=no))
    assert text_of(result.content) == "all__echo was not called: the person declined."
    asked = no.asked[0].approval
    assert asked is not None
    assert "it only reads" in asked.claims

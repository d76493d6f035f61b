"""What the person behind an editor is asked: approvals as permissions, forms and pages by elicitation where the editor declared that."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.asking_plugin import HEARD, SCHEMA, config
from parts.editor import NearEditor, choose
from parts.gateways import Home, stdio_server
from parts.gateways import home as made_home

ASK: dict[str, Any] = {"toolCalls": [{"name": "ask", "arguments": {}, "id": "a1"}]}
SAID = {"text": "It says: {result}"}
ELICITS: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with made_home(tmp_path) as made:
        made.save(made.script(ASK, SAID), **config())
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def answering(form: Any, url: Any) -> Any:
    """An editor whose person always allows, and answers questions so."""
    permission = choose("allow_always")

    def answer(method: str, params: dict[str, Any]) -> Any:
        if method != "elicitation/create":
            return permission(method, params)
        return form if params["mode"] == "form" else url

    return answer


def one_line(editor: NearEditor) -> str:
    return editor.said().replace("\n", " ")


async def test_a_form_and_a_page_are_shown_where_the_editor_declared_it_and_answered_there(
    home: Home, folder: Path
) -> None:
    answer = answering(
        {"action": "accept", "content": {"place": "production", "count": 3}}, {"action": "accept", "content": None}
    )
    async with NearEditor(home, folder, capabilities=ELICITS, answer=answer) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "go") == "end_turn"
        assert one_line(editor) == f"It says: {HEARD}"
        (first, permission), (second, form), (third, page) = editor.asked
        assert [first, second, third] == ["session/request_permission", *["elicitation/create"] * 2]
        assert permission["toolCall"]["title"] == "files: write_file"
        assert form == {
            "sessionId": session,
            "message": "[deploy] Where should I deploy?",
            "mode": "form",
            "requestedSchema": SCHEMA,
        }
        assert page.pop("elicitationId")
        assert page == {
            "sessionId": session,
            "message": "[bank] Connect your bank.",
            "mode": "url",
            "url": "https://bank.example/connect",
        }
        # The question about a call that nobody makes was there for as long as it was open.
        assert {one["toolCallId"]: one["status"] for one in editor.of("tool_call_update")}.keys() >= {"a1"}
        assert all(one["status"] == "completed" for one in editor.of("tool_call_update"))


@pytest.mark.parametrize("declared", [{}, {"elicitation": {}}], ids=["nothing", "no mode"])
async def test_an_editor_that_declared_no_way_is_asked_for_permissions_alone(
    home: Home, folder: Path, declared: dict[str, Any]
) -> None:
    async with NearEditor(home, folder, capabilities=declared, answer=choose("allow_once")) as editor:
        assert await editor.prompt(await editor.new(), "go") == "end_turn"
        assert one_line(editor) == (
            "It says: approval accept {'option': 'once'} client; form cancel {} nobody; url cancel {} nobody"
        )
        assert [method for method, _ in editor.asked] == ["session/request_permission"]


@pytest.mark.parametrize(
    ("given", "heard"),
    [
        ({"action": "decline"}, "decline {} client"),
        ({"action": "cancel"}, "cancel {} client"),
        ({"action": "dance"}, "cancel {} client"),
        ({"action": "accept", "content": {"place": "the moon"}}, "cancel {}"),
        ([1, 2, 3], "cancel {}"),
        ({"error": {"code": -32603, "message": "No."}}, "cancel {}"),
    ],
    ids=["no", "cancel", "unknown", "does not fit", "garbage", "error"],
)
async def test_a_form_that_is_not_filled_in_as_it_was_asked_for_is_no_answer(
    home: Home, folder: Path, given: Any, heard: str
) -> None:
    answer = answering(given, {"action": "decline"})
    async with NearEditor(home, folder, capabilities=ELICITS, answer=answer) as editor:
        assert await editor.prompt(await editor.new(), "go") == "end_turn"
        assert f"form {heard}" in one_line(editor)
        assert "url decline {} client" in one_line(editor)


async def test_a_program_that_foreign_text_may_have_asked_for_is_asked_about_with_its_sources(
    home: Home, folder: Path
) -> None:
    echo = {"toolCalls": [{"name": "shop__echo", "arguments": {"text": "run true"}, "id": "c1"}]}
    run = {"toolCalls": [{"name": "exec", "arguments": {"command": ["true"]}, "id": "e1"}]}
    home.save(
        home.script(echo, run, {"text": "Done."}),
        tools={"allow": ["exec", "shop__*"], "approval": {"mode": "off"}},
        mcp={"servers": {"shop": stdio_server()}},
    )
    async with NearEditor(home, folder, answer=choose("reject_once")) as editor:
        assert await editor.prompt(await editor.new(), "go") == "end_turn"
        [(method, asked)] = editor.asked
        assert (method, asked["toolCall"]["title"], asked["toolCall"]["kind"]) == (
            *("session/request_permission", "Run true", "execute"),
        )
        [told] = [part["content"]["text"] for part in asked["toolCall"]["content"]]
        assert "Careful: in this conversation there is text that nobody checked, from server shop" in told
        assert (editor.call("exec")["status"], editor.call("shop__echo")["status"]) == ("failed", "completed")

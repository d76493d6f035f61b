"""The ways to say yes, and what they become."""

from typing import Any

import msgspec
import pytest

from openclaw.grant import Grant
from openclaw.security.approval import Case, Rules, decide
from openclaw.security.offers import granted, offers, read_grant
from openclaw.security.patterns import PatternSet, parse
from openclaw.security.risk import risk_of
from openclaw.tool import Tool, ToolFacts, ToolResult, parameters


async def _run(arguments: dict[str, Any], invocation: object) -> ToolResult:
    raise AssertionError("nothing is called here")


def tool(name: str, **fields: Any) -> Tool:
    return Tool(name, "", parameters({}), _run, **fields)


FACTS = ToolFacts("server-1", "save", "digest-1")
SAVE = tool("files__save", kind="mcp", origin="files")
WRITE = tool("write")
EXEC = tool("exec")
FETCH = tool("web_fetch", read_only=True)


def case(asked: Tool, arguments: dict[str, Any], **fields: Any) -> Case:
    facts = FACTS if asked.kind == "mcp" else None
    risk = risk_of(asked, facts, arguments, reads=False)
    return Case(asked, facts, arguments, "main", risk, **({"rules": Rules()} | fields))


def offered(asked: Case) -> list[str]:
    return [f"{one.key} {one.text}" for one in offers(asked, decide(asked))]


@pytest.mark.parametrize(
    ("asked", "texts"),
    [
        (
            case(SAVE, {"path": "/home/me/notes/trip.md", "content": "x"}),
            ["y once", "s in this conversation", "a always below /home/me/notes", "t always, any arguments"],
        ),
        (
            case(SAVE, {"repo_path": "/home/me/notes"}),
            ["y once", "s in this conversation", "a always below /home/me/notes", "t always, any arguments"],
        ),
        (
            case(SAVE, {"path": "/home/me/notes/"}),
            ["y once", "s in this conversation", "a always below /home/me/notes", "t always, any arguments"],
        ),
        (
            case(tool("files__list_directory", kind="mcp", origin="files"), {"path": "/home/me"}),
            ["y once", "s in this conversation", "a always below /home/me", "t always, any arguments"],
        ),
        (case(SAVE, {"directory": "/home"}), ["y once", "s in this conversation", "t always, any arguments"]),
        (case(SAVE, {"title": "x"}), ["y once", "s in this conversation", "t always, any arguments"]),
        (case(SAVE, {"title": "x"}, surface="call"), ["y once", "t always, any arguments"]),
        (case(SAVE, {"path": "/etc"}), ["y once", "s in this conversation", "t always, any arguments"]),
        (case(SAVE, {"path": "/home/me/../x/y"}), ["y once", "s in this conversation", "t always, any arguments"]),
        (case(SAVE, {"path": "/home/me/a*/y"}), ["y once", "s in this conversation", "t always, any arguments"]),
        (
            case(WRITE, {"path": "a.md"}, paths={"path": ("/home/me/ws/a.md", "a.md")}),
            ["y once", "s in this conversation", "a always below /home/me/ws", "t always, any arguments"],
        ),
        (
            case(SAVE, {"target_url": "https://a.example/x"}),
            ["y once", "s in this conversation", "a always at a.example", "t always, any arguments"],
        ),
        (
            case(EXEC, {"command": ["git", "status", "-s"]}),
            ["y once", "s git status with any further words in this conversation", "a always git status with any further words"],
        ),
        (
            case(EXEC, {"command": ["rm", "x"], "cwd": "/tmp"}),
            ["y once", "s exactly rm x in /tmp in this conversation", "a always exactly rm x in /tmp"],
        ),
        (case(EXEC, {"command": ["python", "-c", "x"]}), ["y once"]),
        (case(EXEC, {"command": ["git status"], "shell": True}), ["y once"]),
        (
            case(EXEC, {"command": ["git", "status"]}, sources=("mcp:web",)),
            ["y once", "u always git status with any further words, also after text that nobody checked"],
        ),
        (
            case(FETCH, {"url": "https://a.example/x"}, sources=("mcp:web",)),
            ["y yes, and a.example in this conversation", "a always at a.example"],
        ),
        (
            case(SAVE, {"target_url": "https://a.example/x"}, sources=("mcp:web",)),
            [
                "y yes, and a.example in this conversation",
                "a always at a.example",
                "u always at a.example, also after text that nobody checked",
            ],
        ),
        (
            case(SAVE, {"path": "/home/me/notes/a", "link": "https://a.example/x"}, sources=("mcp:web",)),
            ["y yes, and a.example in this conversation"],
        ),
        (
            case(SAVE, {"to": "mark@example.net", "body": "x"}, sources=("mcp:web",), origins={"to": "mcp:web"}),
            ["y once", "a always with to mark@example.net"],
        ),
        (case(SAVE, {"path": "/a/b/c"}, rules=Rules(ask=PatternSet([parse("files__*")]))), ["y once"]),
    ],
)  # fmt: skip
def test_what_is_offered_depends_on_why_it_is_asked(asked: Case, texts: list[str]) -> None:
    assert offered(asked) == texts


def test_every_lasting_offer_lets_the_same_call_run_next_time() -> None:
    calls = [
        case(SAVE, {"path": "/home/me/notes/trip.md", "content": "x"}),
        case(SAVE, {"repo_path": "/home/me/notes"}),
        case(SAVE, {"path": "/home/me/notes/"}),
        case(WRITE, {"path": "a.md"}, paths={"path": ("/home/me/ws/a.md", "a.md")}),
        case(SAVE, {"target_url": "https://a.example:8443/x"}),
        case(EXEC, {"command": ["git", "status", "-s"]}),
        case(EXEC, {"command": ["rm", "x, y"], "cwd": "/tmp"}),
        case(EXEC, {"command": ["git", "status"]}, sources=("mcp:web",)),
        case(FETCH, {"url": "https://a.example/x"}, sources=("mcp:web",)),
        case(SAVE, {"url": "https://a.example/x"}, sources=("mcp:web",), rules=Rules(mode="off")),
        case(SAVE, {"to": "mark@example.net", "body": "x"}, sources=("mcp:web",), origins={"to": "mcp:web"}),
        case(SAVE, {"to": 12345, "body": "x"}, sources=("mcp:web",), origins={"to": "mcp:web"}),
    ]
    for asked in calls:
        verdict = decide(asked)
        assert verdict.action == "ask"
        for offer in offers(asked, verdict):
            grants = granted(asked, verdict, offer.id, by="terminal", created="2026-11-16")
            again = decide(msgspec.structs.replace(asked, grants=grants))
            assert again.action == ("ask" if offer.lasts == "once" and not grants else "run"), (offer, asked.arguments)


def test_a_grant_is_bound_to_what_was_shown() -> None:
    asked = case(SAVE, {"path": "/home/me/notes/trip.md"})
    (given,) = granted(asked, decide(asked), "always", by="terminal", created="2026-11-16")
    assert msgspec.structs.replace(given, id="") == Grant(
        "", "save", "server-1", "digest-1", "main", {"path": "/home/me/notes/**"}, created="2026-11-16", by="terminal"
    )
    assert granted(asked, decide(asked), "once") == ()


def test_what_was_not_offered_cannot_be_granted() -> None:
    asked = case(EXEC, {"command": ["ls"], "shell": True})
    with pytest.raises(KeyError):
        granted(asked, decide(asked), "any")


def test_a_new_host_is_remembered_for_the_conversation() -> None:
    asked = case(FETCH, {"url": "https://a.example/x"}, sources=("mcp:web",))
    (given,) = granted(asked, decide(asked), "once")
    assert (given.server, given.arguments, given.scope) == ("host", {"host": "a.example"}, "session")


def test_the_word_that_a_tool_only_reads_is_bound_like_any_other() -> None:
    given = read_grant(SAVE, FACTS, by="terminal")
    assert msgspec.structs.replace(given, id="") == Grant(
        "", "save", "server-1", "digest-1", as_read=True, by="terminal"
    )

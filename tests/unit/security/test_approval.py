"""The eleven rows: each by itself, and each pair of them in their order."""

from itertools import combinations
from typing import Any

import msgspec
import pytest

from openclaw.grant import Grant
from openclaw.security.approval import Case, Rules, Verdict, confirmed_to_read, decide, fallen_back, new_hosts
from openclaw.security.patterns import PatternSet, parse
from openclaw.security.risk import risk_of
from openclaw.tool import Tool, ToolFacts, ToolResult, parameters


async def _run(arguments: dict[str, Any], invocation: object) -> ToolResult:
    raise AssertionError("nothing is called here")


def tool(name: str, **fields: Any) -> Tool:
    return Tool(name, "", parameters({}), _run, **fields)


def patterns(*texts: str) -> PatternSet:
    return PatternSet(parse(text, f"openclaw.json:1 {text}") for text in texts)


FACTS = ToolFacts("server-1", "send", "digest-1")
SEND = tool("mail__send", kind="mcp", origin="mail")
READ = tool("read", read_only=True)
FETCH = tool("web_fetch", read_only=True)
EXEC = tool("exec")
TO_MARK = {"to": "mark@example.net", "subject": "Hello"}


def case(asked: Tool = SEND, arguments: dict[str, Any] = TO_MARK, **fields: Any) -> Case:
    facts = fields.pop("facts", FACTS if asked.kind == "mcp" else None)
    fields.setdefault("agent", "main")
    fields.setdefault("rules", Rules())
    reads = confirmed_to_read(asked, facts, fields["agent"], fields.get("grants", ())) is not None
    risk = risk_of(asked, facts, arguments, reads=reads)
    return Case(asked, facts, arguments, risk=risk, **fields)


def rules(**fields: Any) -> Rules:
    for name in ("ask", "deny"):
        if name in fields:
            fields[name] = patterns(*fields[name])
    if "allow" in fields:
        fields["allow"] = (patterns(*fields["allow"]),)
    return Rules(**fields)


def grant(**fields: Any) -> Grant:
    return Grant(
        **{"id": "g_1", "tool": "send", "server": "server-1", "definition": "digest-1", "agent": "main"} | fields
    )


def row(verdict: Verdict) -> tuple[str, int]:
    return verdict.action, verdict.step


FOREIGN: dict[str, Any] = {"sources": ("mcp:web",), "origins": {"to": "mcp:web"}}


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (case(rules=rules(deny=["mail__*"])), ("refuse", 3)),
        (case(rules=rules(deny=["mail__send(to=mark@*)"])), ("refuse", 3)),
        (case(facts=msgspec.structs.replace(FACTS, approval="deny")), ("refuse", 3)),
        (case(declined=True), ("refuse", 4)),
        (case(names_own=True), ("ask", 5)),
        (case(names_own=True, rules=rules(mode="deny")), ("refuse", 5)),
        (case(names_own=True, allow=[parse("*")], grants=[grant()], rules=rules(mode="off", allow=["*"])), ("ask", 5)),
        (case(names_own=True, facts=msgspec.structs.replace(FACTS, approval="allow")), ("ask", 5)),
        (case(names_own=True, rules=rules(deny=["mail__send"])), ("refuse", 3)),
        (case(READ, {"path": "a"}, names_own=True), ("run", 9)),
        (case(rules=rules(ask=["group:mcp"])), ("ask", 5)),
        (case(READ, {"path": "a"}, rules=rules(ask=["read"])), ("ask", 5)),
        (case(facts=msgspec.structs.replace(FACTS, approval="ask")), ("ask", 5)),
        (
            case(facts=msgspec.structs.replace(FACTS, approval="ask", read_only=True, trusts_annotations=True)),
            ("run", 9),
        ),
        (case(EXEC, {"command": ["ls"]}, sources=("mcp:web",)), ("ask", 6)),
        (case(FETCH, {"url": "https://a.example/"}, sources=("mcp:web",)), ("ask", 6)),
        (case(FETCH, {"url": "https://a.example/"}, sources=("mcp:web",), rules=rules(taint="deny")), ("refuse", 6)),
        (case(FETCH, {"url": "https://a.example/"}, sources=("mcp:web",), known_hosts={"a.example"}), ("run", 9)),
        (case(FETCH, {"url": "https://a.example/"}, sources=("mcp:web",), rules=rules(taint="off")), ("run", 9)),
        (case(FETCH, {"url": "https://a.example/"}), ("run", 9)),
        (case(rules=rules(mode="off"), **FOREIGN), ("ask", 7)),
        (case(rules=rules(mode="off", taint="deny"), **FOREIGN), ("refuse", 7)),
        (case(rules=rules(mode="off", taint="off"), **FOREIGN), ("run", 9)),
        (case(rules=rules(allow=["mail__send"])), ("run", 8)),
        (case(facts=msgspec.structs.replace(FACTS, approval="allow")), ("run", 8)),
        (case(grants=[grant()]), ("run", 8)),
        (case(allow=[parse("mail__*")]), ("run", 8)),
        (case(rules=rules(mode="off")), ("run", 9)),
        (case(READ, {"path": "a"}), ("run", 9)),
        (case(grants=[grant(as_read=True)]), ("run", 9)),
        (case(rules=rules(mode="deny")), ("refuse", 10)),
        (case(READ, {"path": "a"}, rules=rules(mode="deny")), ("refuse", 10)),
        (case(), ("ask", 11)),
        (case(READ, {"path": "a"}, rules=rules(mode="always")), ("ask", 11)),
        (case(grants=[grant(as_read=True)], rules=rules(mode="always")), ("ask", 11)),
    ],
)
def test_each_row_answers_by_itself(asked: Case, answer: tuple[str, int]) -> None:
    assert row(decide(asked)) == answer


# What makes each row answer for one and the same call (mail__send to a foreign address, with a foreign host beside it for row 6).
CALL = TO_MARK | {"url": "https://a.example/"}
ROWS: dict[tuple[str, int], dict[str, Any]] = {
    ("refuse", 3): {"deny": ["mail__send"]},
    ("refuse", 4): {"declined": True},
    ("ask", 5): {"ask": ["mail__send"]},
    ("ask", 6): {"sources": ("mcp:web",), "known_hosts": ()},
    ("ask", 7): {"sources": ("mcp:web",), "origins": {"to": "mcp:web"}},
    ("run", 8): {"allow": ["mail__send"]},
    ("run", 9): {"mode": "off"},
    ("refuse", 10): {"mode": "deny"},
    ("ask", 11): {},
}


@pytest.mark.parametrize(
    ("earlier", "later"), [pair for pair in combinations(ROWS, 2) if pair != (("run", 9), ("refuse", 10))]
)
def test_of_two_rows_the_earlier_wins(earlier: tuple[str, int], later: tuple[str, int]) -> None:
    """Rows 9 and 10 are two values of one setting: never both. In mode `deny` what rows 6 and 7 would ask about is refused."""
    is_refused = later == ("refuse", 10) and earlier[1] in (6, 7)
    both = {"known_hosts": {"a.example"}} | ROWS[later] | ROWS[earlier]
    said = rules(**{name: both.pop(name) for name in ("deny", "ask", "allow", "mode") if name in both})
    assert row(decide(case(arguments=CALL, rules=said, **both))) == (("refuse", earlier[1]) if is_refused else earlier)


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (grant(), ("ask", 7)),
        (grant(arguments={"to": "*@example.net"}), ("run", 8)),
        (grant(arguments={"to": "*"}), ("ask", 7)),
        (grant(arguments={"to": "*@example.com"}), ("ask", 7)),
        (grant(arguments={"subject": "Hello"}), ("ask", 7)),
        (grant(even_after_untrusted=True), ("run", 8)),
        (grant(arguments={"to": "*@example.net"}, definition="digest-2"), ("ask", 7)),
        (grant(arguments={"to": "*@example.net"}, server="server-2"), ("ask", 7)),
        (grant(arguments={"to": "*@example.net"}, agent="other"), ("ask", 7)),
        (grant(arguments={"to": "*@example.net"}, agent=""), ("run", 8)),
    ],
)
def test_a_foreign_value_needs_a_grant_whose_patterns_name_it(given: Grant, answer: tuple[str, int]) -> None:
    assert row(decide(case(grants=[given], **FOREIGN))) == answer


def test_a_pattern_of_the_config_or_of_this_run_names_it_as_well() -> None:
    assert row(decide(case(rules=rules(allow=["mail__send(to=*@example.net)"]), **FOREIGN))) == ("run", 8)
    assert row(decide(case(rules=rules(allow=["mail__send"]), **FOREIGN))) == ("ask", 7)
    assert row(decide(case(allow=[parse("mail__send(to=mark@example.net)")], **FOREIGN))) == ("run", 8)
    assert row(decide(case(allow=[parse("*")], **FOREIGN))) == ("ask", 7)


def test_what_stands_inside_a_long_text_is_content_and_goes_where_the_pattern_says() -> None:
    long = {"to": "mark@example.net", "body": "word " * 100}
    foreign: dict[str, Any] = {"sources": ("mcp:web",), "origins": {"body": "mcp:web"}}
    assert row(decide(case(arguments=long, grants=[grant(arguments={"to": "*@example.net"})], **foreign))) == ("run", 8)
    assert row(decide(case(arguments=long, grants=[grant()], **foreign))) == ("ask", 7)


def test_a_program_after_foreign_text_needs_a_grant_that_says_so() -> None:
    status = grant(tool="exec", server="native:", definition="", arguments={"command": '["git","status","*"]'})
    even = msgspec.structs.replace(status, even_after_untrusted=True)
    call = {"command": ["git", "status", "-s"]}
    assert row(decide(case(EXEC, call, grants=[status]))) == ("run", 8)
    assert row(decide(case(EXEC, call, grants=[status], sources=("mcp:web",)))) == ("ask", 6)
    assert row(decide(case(EXEC, call, grants=[even], sources=("mcp:web",)))) == ("run", 8)
    assert row(decide(case(EXEC, call, allow=[parse("*")], sources=("mcp:web",)))) == ("ask", 6)


def test_what_holds_after_foreign_text_holds_for_no_host_that_it_does_not_name() -> None:
    even = grant(arguments={"url": "https://a.example/*"}, even_after_untrusted=True)
    there = {"to": "mark@example.net", "url": "https://a.example/x"}
    assert row(decide(case(arguments=there, grants=[even], **FOREIGN))) == ("run", 8)
    elsewhere = decide(case(arguments={**there, "notify": "https://evil.example/"}, grants=[even], **FOREIGN))
    assert (row(elsewhere), "evil.example" in elsewhere.rule, "a.example" in elsewhere.rule) == (
        ("ask", 6),
        True,
        False,
    )
    unnamed = grant(even_after_untrusted=True)
    assert row(decide(case(arguments=there, grants=[unnamed], **FOREIGN))) == ("ask", 6)
    assert row(decide(case(arguments=there, grants=[unnamed], known_hosts={"a.example"}, **FOREIGN))) == ("run", 8)


@pytest.mark.parametrize(
    "call",
    [
        {"command": ["git status"], "shell": True},
        {"command": ["python", "-c", "print(1)"]},
        {"command": ["env", "X=1", "python3", "-c", "print(1)"]},
        {"command": ["timeout", "5", "bash", "-lc", "ls"]},
    ],
)
def test_a_shell_and_a_program_on_the_command_line_match_no_stored_pattern(call: dict[str, Any]) -> None:
    patterns = [
        '["*"]',
        '["python","*"]',
        '["python","-c","*"]',
        '["env","*"]',
        '["timeout","*"]',
        '["git status"]',
        "*",
    ]
    given = [grant(tool="exec", server="native:", definition="", arguments={"command": one}) for one in patterns]
    said = rules(allow=[f"exec(command={one})" for one in patterns[:-1]] + ["*", "group:runtime"])
    assert row(decide(case(EXEC, call, grants=given, rules=said))) == ("ask", 11)


def test_no_bare_pattern_and_no_grant_without_arguments_covers_exec() -> None:
    bare = grant(tool="exec", server="native:", definition="")
    assert row(decide(case(EXEC, {"command": ["ls"]}, grants=[bare], rules=rules(allow=["*", "exec"])))) == ("ask", 11)
    assert row(decide(case(EXEC, {"command": ["ls"]}, allow=[parse("*")]))) == ("run", 8)


def test_a_host_is_named_by_the_person_by_a_pattern_or_by_an_approval_of_before() -> None:
    fetch = {"url": "https://docs.example.org/x"}
    approved = Grant("g_2", "", "host", arguments={"host": "docs.example.org"}, scope="session")
    assert new_hosts(case(FETCH, fetch)) == ("docs.example.org",)
    assert new_hosts(case(FETCH, fetch, known_hosts={"docs.example.org"})) == ()
    assert new_hosts(case(FETCH, fetch, known_hosts={"example.org"})) == ("docs.example.org",)
    assert new_hosts(case(FETCH, fetch, rules=rules(allow=["web_fetch(url=https://docs.example.org/*)"]))) == ()
    assert new_hosts(case(FETCH, fetch, rules=rules(allow=["web_fetch"]))) == ("docs.example.org",)
    assert new_hosts(case(FETCH, fetch, grants=[approved])) == ()


def test_every_layer_that_allows_has_to_agree() -> None:
    wide, narrow, other = patterns("mail__*"), patterns("mail__send(to=*@example.net)"), patterns("files__*")
    assert row(decide(case(rules=Rules(allow=(wide, narrow))))) == ("run", 8)
    assert row(decide(case(rules=Rules(allow=(wide, other))))) == ("ask", 11)
    assert row(decide(case(rules=Rules(allow=(wide, narrow)), **FOREIGN))) == ("ask", 7)


@pytest.mark.parametrize(
    ("asked", "fallback", "action"),
    [
        (case(), "untainted", "run"),
        (case(sources=("mcp:web",)), "untainted", "run"),
        (case(**FOREIGN), "untainted", "refuse"),
        (case(EXEC, {"command": ["ls"]}, sources=("mcp:web",)), "untainted", "refuse"),
        (case(rules=rules(ask=["mail__send"])), "untainted", "refuse"),
        (case(), "deny", "refuse"),
        (case(), "allow", "run"),
        (case(**FOREIGN), "allow", "run"),
        (case(names_own=True), "allow", "refuse"),
        (case(names_own=True, rules=rules(ask=["mail__send"])), "allow", "refuse"),
        (case(declined=True), "allow", "refuse"),
        (case(READ, {"path": "a"}), "deny", "run"),
    ],
)
def test_what_happens_when_nobody_can_be_asked(asked: Case, fallback: Any, action: str) -> None:
    said = msgspec.structs.replace(asked.rules, fallback={"default": fallback})
    asked = msgspec.structs.replace(asked, rules=said)
    assert fallen_back(asked, decide(asked)).action == action


def test_the_fallback_may_differ_by_surface() -> None:
    said = Rules(fallback={"order": "deny", "default": "allow"})
    order, page = case(rules=said, surface="order"), case(rules=said, surface="http")
    assert fallen_back(order, decide(order)).action == "refuse"
    assert fallen_back(page, decide(page)).action == "run"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (case(), 'it changes things and no rule allows it (tools.approval.mode "writes")'),
        (case(rules=rules(deny=["mail__*"])), 'deny "mail__*" names it (openclaw.json:1 mail__*)'),
        (case(**FOREIGN), "the value of to came from server web (tools.approval.taint)"),
        (
            case(FETCH, {"url": "https://a.example/"}, sources=("mcp:web",)),
            "it would send data to a.example, which nobody named, after text of server web was read (tools.approval.taint)",
        ),
        (
            case(FETCH, {"url": "https://a.example/"}, sources=("mcp:web", "mcp:mail", "mcp:bank")),
            "it would send data to a.example, which nobody named, after text of server web, server mail and server bank was read "
            "(tools.approval.taint)",
        ),
        (case(READ, {"path": "a"}), 'it only reads (tools.approval.mode "writes")'),
    ],
)
def test_a_verdict_says_why_and_where_that_is_written(asked: Case, sentence: str) -> None:
    assert str(decide(asked)) == sentence


@pytest.mark.parametrize(
    ("asked", "depends"),
    [
        (case(READ, {"path": "a"}), False),
        (case(READ, {"path": "a"}, sources=("mcp:web",)), False),
        (case(FETCH, {"url": "https://a.example/"}), False),
        (case(FETCH, {"url": "https://a.example/"}, sources=("mcp:web",), known_hosts={"a.example"}), True),
        (case(READ, {"path": "a"}, rules=rules(deny=["read(path=b)"])), True),
        (case(grants=[grant()]), False),
        (case(grants=[grant()], sources=("mcp:web",)), True),
        (case(grants=[grant(arguments={"to": "*"})]), True),
        (case(rules=rules(mode="off"), sources=("mcp:web",)), True),
        (case(rules=rules(mode="off", taint="off"), sources=("mcp:web",)), False),
        (case(rules=rules(allow=["mail__send"])), False),
        (case(rules=rules(allow=["mail__send(to=*)"])), True),
        (case(allow=[parse("*")]), True),
    ],
)
def test_a_verdict_says_whether_another_call_of_the_tool_may_end_otherwise(asked: Case, depends: bool) -> None:
    assert decide(asked).depends_on_call is depends


def test_neither_foreign_text_nor_a_place_of_ours_loosens_mode_deny() -> None:
    strict = rules(mode="deny")
    assert decide(case(rules=strict)).action == "refuse"
    assert row(decide(case(rules=strict, sources=["mcp:web"], origins={"to": "mcp:web"}))) == ("refuse", 7)
    assert row(decide(case(EXEC, {"command": ["ls"]}, rules=strict, sources=["mcp:web"]))) == ("refuse", 6)
    assert row(decide(case(rules=strict, names_own=True))) == ("refuse", 5)


SKILL = ToolFacts("server-1", "skill://refunds/SKILL.md", "digest-1", skill="mail:refunds")
OF_SKILL = {"tool": "skill://refunds/SKILL.md"}


@pytest.mark.parametrize(
    ("fields", "answer", "alone"),
    [
        ({}, ("ask", 11), "refuse"),
        ({"rules": rules(mode="always")}, ("ask", 11), "refuse"),
        ({"rules": rules(mode="deny")}, ("refuse", 10), "refuse"),
        ({"rules": rules(mode="off")}, ("run", 9), "run"),
        ({"rules": rules(fallback={"default": "allow"})}, ("ask", 11), "run"),
        ({"rules": rules(allow=["mail__skills_read"])}, ("run", 8), "run"),
        ({"grants": [grant(**OF_SKILL)]}, ("run", 8), "run"),
        ({"grants": [grant(**OF_SKILL, definition="digest-2")]}, ("ask", 11), "refuse"),
        # Which of its files is read may stand in the skill itself: that is what it is for.
        ({"grants": [grant(**OF_SKILL)], **FOREIGN}, ("run", 8), "run"),
    ],
)
def test_a_skill_of_a_server_is_used_only_as_a_person_allowed_it(
    fields: dict[str, Any], answer: tuple[str, int], alone: str
) -> None:
    asked = case(
        tool("mail__skills_read", kind="mcp", origin="mail"), {"file": "https://x.example"}, facts=SKILL, **fields
    )
    verdict = decide(asked)
    assert (row(verdict), fallen_back(asked, verdict).action) == (answer, alone)

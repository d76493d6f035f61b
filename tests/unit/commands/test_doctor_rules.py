"""What the doctor says of rules about tools."""

from openclaw.commands.check import Check
from openclaw.commands.doctor_rules import rule_checks
from openclaw.security.policy import PolicyLayer
from openclaw.tool import Invocation, Tool, ToolResult, parameters

LOOK = "Look: openclaw tools list"
DOUBT = "Its server may be down, or the name wrong: openclaw tools list"


async def run(arguments: object, invocation: Invocation) -> ToolResult:
    raise AssertionError("nobody calls it")


def tool(name: str, server: str = "") -> Tool:
    return Tool(name, "", parameters({"type": "object"}), run, kind="mcp" if server else "native", origin=server)


TOOLS = [tool("read"), tool("files__get", "files"), tool("files__put", "files")]


def test_rules_that_leave_nothing_are_a_failure_with_their_place() -> None:
    (none, names) = rule_checks("main", [PolicyLayer("tools", allow=("nosuch",))], TOOLS)
    sentence = "its rules leave it none of 3 tools: allow names other tools only (tools.allow)"
    assert none == Check("Agent main", "failed", sentence, LOOK)
    assert names == Check(
        "Agent main", "warning", 'allow "nosuch" names no tool that is there now (tools.allow)', DOUBT
    )


def test_a_server_of_which_nothing_is_left_is_named() -> None:
    (found,) = rule_checks("main", [PolicyLayer("tools", deny=("files__*",))], TOOLS)
    sentence = 'its rules leave it no tool of server files, which has 2: deny "files__*" (tools.deny)'
    assert found == Check("Agent main", "warning", sentence, LOOK)


def test_rules_that_name_what_is_there_are_not_spoken_of() -> None:
    layers = [PolicyLayer("tools", allow=("read", "files__get", "group:fs"), deny=("FILES__PUT",))]
    assert list(rule_checks("main", layers, TOOLS)) == []
    assert list(rule_checks("main", [PolicyLayer("tools", profile="minimal")], [])) == []

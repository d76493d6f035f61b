"""A plugin with a tool that asks everything there is to ask, and tells what it heard. Its file is loaded as it stands.

`HEARD` is what its result says when somebody agrees to all of it.
"""

from collections.abc import Mapping
from typing import Any

from openclaw import Question, Text, Tool, ToolResult, parameters
from openclaw.conversation import AskedCall, Offer
from openclaw.plugins import PluginContext, PluginHandle, ToolPlugin
from openclaw.tool import Invocation

OFFERS = (Offer("once", "y", "Once", "once"), Offer("always", "a", "Always below /notes", "always"))
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "place": {"type": "string", "title": "Place", "enum": ["staging", "production"], "default": "staging"},
        "count": {"type": "integer", "minimum": 1, "maximum": 20},
    },
    "required": ["place"],
}
QUESTIONS = (
    Question(
        "approval",
        approval=AskedCall(
            "files__write_file", "write_file", server="files", arguments={"path": "/notes/a.md"}, offers=OFFERS
        ),
        options=("once", "always"),
    ),
    Question("form", "Where should I deploy?", asker="deploy", schema=SCHEMA),
    Question("url", "Connect your bank.", asker="bank", url="https://bank.example/connect"),
)
ANSWERS: dict[str, dict[str, str | int | float | bool | list[str] | None] | None] = {
    "OpenClaw asks whether it may call write_file of server files.\n  path: /notes/a.md": {"decision": "always"},
    "[deploy via OpenClaw] Where should I deploy?": {"place": "production", "count": 3},
    "[bank via OpenClaw] Connect your bank.": None,
}
HEARD = (
    "approval accept {'option': 'always'} client; form accept {'place': 'production', 'count': 3} client; "
    "url accept {'opened': True} client"
)
NOBODY = "approval cancel {} nobody; form cancel {} nobody; url cancel {} nobody"


async def _ask(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    heard: list[str] = []
    for question in QUESTIONS:
        answer = await invocation.conversation.asker.ask(question)
        heard.append(f"{question.kind} {answer.action} {dict(answer.content)} {answer.by or answer.why}")
    return ToolResult((Text("; ".join(heard)),))


async def _initialize(context: PluginContext) -> PluginHandle:
    tool = Tool("ask", "Asks.", parameters({"type": "object"}), _ask, read_only=True)
    return PluginHandle(tools=[tool])


plugin = ToolPlugin("Asks", "Asks.", _initialize)


def config() -> dict[str, Any]:
    """The part of a config that loads it."""
    return {"plugins": {"load": {"paths": [__file__]}, "entries": {"asking-plugin": {}}}}

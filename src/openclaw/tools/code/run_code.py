"""`run_code`: a short program of the model's, which calls the agent's tools and hands back what it made of their answers.

Owns what code is told of itself, what a call gives inside (structured content, JSON that was sent as text, or the text), and how a run is
told outside: framed as the words of others, and foreign once the conversation has read anything foreign. Every call takes the stack that a
call of the model takes (`tool.InnerCalls`): rules, arguments, approval, deadline, audit. Switched on by `tools.codeMode`, and there only
with the extra `code`: see `why_off`.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from openclaw.config.sections import CodeModeSection
from openclaw.content import Text, ToolCall, to_json
from openclaw.conversation import ForeignSources
from openclaw.errors import ProcessError
from openclaw.libraries import install
from openclaw.security.external import frame
from openclaw.security.unframe import without_frames
from openclaw.tool import RUN_CODE, Absence, InnerCalls, Invocation, OwnWords, Tool, ToolResult, parameters
from openclaw.tools.code.sandbox import ANSWER_BYTES, CallFailed, Ended, Limits, is_installed, opened
from openclaw.tools.code.signature import WRAPPER, is_name, signature_of

# Characters of one program.
MOST_CODE = 65_536
SETTING = "tools.codeMode.enabled"

_ABOUT = (
    "Run a short Python program that calls your tools: for many calls, or when you need only a part of long answers. "
    'await call("NAME", {"argument": value}) calls any tool by its name; a tool whose name is plain can also be called as a function: '
    "await NAME(argument=value). asyncio.gather runs calls side by side. An answer is data (dict, list, text); a call that fails raises "
    'ToolError. await signature("NAME") gives a tool\'s arguments. What you print and the value of the last expression come back. '
    "There are no files, no network, no other imports than json, re, math, datetime, asyncio and a few like them, no classes that "
    "inherit; nothing is kept from one run to the next."
)


def why_off(section: CodeModeSection) -> Absence | None:
    """Why there is no code mode; None when there is."""
    if not section.enabled:
        return Absence(RUN_CODE, OwnWords("code mode is off"), SETTING)
    if is_installed():
        return None
    return Absence(RUN_CODE, OwnWords(f"its sandbox is not installed. Run: {install('pydantic-monty')}"), SETTING)


def limits_of(section: CodeModeSection) -> Limits:
    return Limits(
        seconds=section.timeout_ms / 1000,
        memory=section.memory_limit_bytes,
        output=section.max_output_bytes,
        at_once=section.max_pending_tool_calls,
    )


def run_code(limits: Limits) -> Tool:
    """The tool, for one turn: of two runs that a model asks for at once the second waits for the first."""
    one_at_a_time = asyncio.Lock()

    async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        if invocation.inner is None:
            return ToolResult.error("Code cannot be run here: nothing offers it the tools of an agent.")
        seconds = min(float(arguments.get("timeoutSeconds", limits.seconds)), limits.seconds)
        bounds = msgspec.structs.replace(limits, seconds=seconds)
        async with one_at_a_time:
            calls = _Calls(arguments["code"], invocation.inner, invocation.call_id, invocation.conversation.foreign)
            try:
                return await _run(calls, bounds)
            except ProcessError as error:
                return ToolResult.error(f"The sandbox for code did not start: {error}")

    fields = {
        "code": {"type": "string", "minLength": 1, "maxLength": MOST_CODE, "description": "The program."},
        "timeoutSeconds": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": limits.seconds,
            "description": f"Seconds after which it is stopped, time spent in calls not counted; {limits.seconds:g} when left out.",
        },
    }
    schema = {"type": "object", "properties": fields, "required": ["code"], "additionalProperties": False}
    # Its time is its own: that of calls, and of people who are asked about them, does not count.
    return Tool(RUN_CODE, _ABOUT, parameters(schema), run, label="Run code", timeout=None)


async def _run(calls: "_Calls", limits: Limits) -> ToolResult:
    tools = {tool.name: tool for tool in await calls.inner.tools() if tool.name != RUN_CODE}

    async def describe(name: str) -> bytes:
        tool = tools.get(name)
        if tool is None:
            raise CallFailed(f"There is no tool named {name}.")
        return to_json(signature_of(tool))

    names = [name for name in tools if is_name(name)]
    async with opened() as sandbox:
        ended = await sandbox.run(calls.code, names, limits, call=calls.call, describe=describe)
    return _told(ended, limits, calls)


class _Calls:
    """The calls of one run."""

    def __init__(self, code: str, inner: InnerCalls, call_id: str, foreign: ForeignSources) -> None:
        self.code = code
        self.inner = inner
        self.foreign = foreign
        self.made = 0
        self._call_id = call_id

    async def call(self, name: str, arguments: dict[str, Any]) -> bytes:
        """The JSON of what a tool gave. Raises CallFailed."""
        if name == RUN_CODE:
            raise CallFailed("Code cannot run code.")
        self.made += 1
        call = ToolCall(f"{self._call_id}.{self.made}", name, arguments)
        result = await self.inner.call(call, self.code)
        if result.is_error:
            raise CallFailed(_text(result))
        return await _value(result)


async def _value(result: ToolResult) -> bytes:
    structure = result.details.get("structuredContent")
    if isinstance(structure, msgspec.Raw):
        if len(memoryview(structure)) > ANSWER_BYTES:
            # Whoever takes it refuses it by its length.
            return bytes(structure)
        structure = msgspec.json.decode(structure)
    if structure is not None:
        is_wrapped = isinstance(structure, Mapping) and structure.keys() == {WRAPPER}
        return to_json(structure[WRAPPER] if is_wrapped else structure)
    text = await _whole_text(result)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return to_json(msgspec.json.decode(text))
        except (msgspec.MsgspecError, RecursionError):
            pass
    return to_json(text)


async def _whole_text(result: ToolResult) -> str:
    """The text of a result, also where a model would get its beginning only."""
    kept = result.details.get("wholeText")
    if not isinstance(kept, str):
        return _text(result)

    def read() -> str:
        with Path(kept).open("rb") as file:
            # One byte more, so that whoever takes it knows that it is too much.
            return file.read(ANSWER_BYTES + 1).decode("utf-8", "replace")

    try:
        return await asyncio.to_thread(read)
    except OSError:
        return _text(result)


def _text(result: ToolResult) -> str:
    return "\n".join(without_frames(block.text) for block in result.content if isinstance(block, Text))


def _told(ended: Ended, limits: Limits, calls: _Calls) -> ToolResult:
    output = ended.head
    if ended.left_out:
        output += f"\n[{ended.left_out:,} characters are left out here]\n"
    output += ended.tail
    sentence = {
        "": "" if output else "The code ended without printing anything and without a value.",
        "error": "The code failed:",
        "time": f"The code was stopped: it had run for {limits.seconds:g} seconds. What came before:",
        "memory": f"The code was stopped: it took more than {limits.memory:,} bytes of memory. What came before:",
        "crash": "The sandbox ended before the code did; calls that were made stay made. What came before:",
    }[ended.why]
    if not output:
        sentence = sentence.removesuffix(" What came before:")
    blocks = [Text(sentence)] if sentence else []
    if output:
        blocks.append(Text(frame(output, source="unknown", sender="code")))
    is_error = ended.why != ""
    details: dict[str, Any] = {"calls": calls.made, **({"error": True} if is_error else {})}
    return ToolResult(tuple(blocks), is_error, details, source=_source(calls.foreign) if output else "")


def _source(foreign: ForeignSources) -> str:
    """Whose text the output may hold, in whatever form: code may have changed it so that nobody would find it again."""
    names = [source.rpartition(":")[2] for source in foreign]
    return f"code:{', '.join(dict.fromkeys(names))}" if names else ""

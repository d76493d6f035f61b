"""The native tools as models see them: names, descriptions, schemas, and which function answers each.

A ToolSource. Owns nothing of what the tools do (files.py, grep.py, execute.py, web_fetch.py, code/) and nothing of who may use them
(policy decides; `exec` is off unless asked for). File work runs in threads; writes and edits run one after the other in the
order they were called, so that two edits of one message to one file both count.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from openclaw.config.sections import CodeModeSection
from openclaw.content import Block, Text
from openclaw.errors import OpenClawError
from openclaw.security.egress import Rules
from openclaw.security.external import frame
from openclaw.to_the_end import to_the_end
from openclaw.tool import Absence, Invocation, OwnWords, Run, Tool, ToolResult, parameters
from openclaw.tools import files, through_editor
from openclaw.tools.code.run_code import limits_of, run_code, why_off
from openclaw.tools.confine import FILES_WORK, Fence, not_on_windows
from openclaw.tools.execute import DEFAULT_SECONDS, MAX_SECONDS, Variables, execute
from openclaw.tools.files import READ_LINES, Change
from openclaw.tools.grep import GREP_SECONDS, grep
from openclaw.tools.web_fetch import web_fetch

_T = TypeVar("_T")

# Reading a large file from a slow disk; a network file system that hangs longer will not come back.
FILE_SECONDS = 60.0
FETCH_SECONDS = 60.0
# Above the search's own deadline, so that the search itself says that it took too long.
SEARCH_SECONDS = GREP_SECONDS + 15.0

_PATH = {"type": "string", "minLength": 1, "description": "Path of the file, relative to the workspace or absolute."}


class NativeTools(msgspec.Struct, frozen=True):
    """The tools of this package, the same for every agent: what differs (workspace, policy) comes with the call."""

    _tools: tuple[Tool, ...]
    _absences: tuple[Absence, ...] = ()

    def tools(self, agent: str) -> Sequence[Tool]:
        return self._tools

    def absences(self, agent: str) -> Sequence[Absence]:
        return self._absences

    async def settle(self, agent: str, patience: float) -> None:
        return None


def native_tools(
    fence: Fence,
    *,
    web: Rules | None = None,
    environ: Mapping[str, str] | None = None,
    variables: Variables | None = None,
    code: CodeModeSection | None = None,
    files_work: bool = FILES_WORK,
) -> NativeTools:
    """`fence` says which paths besides the workspace of each call may be used; `web` which addresses (public ones by default).

    `environ` is what the short environment of programs and the proxies of the web are taken from (ours by default), `variables` gives
    those of a skill. `code` says whether code of models is run, and within which bounds. Where files do not work, their tools are named
    as absent.
    """
    make = _ToolFactory(fence, web or Rules(), environ, variables)
    of_files = (make.read(), make.write(), make.edit(), make.ls(), make.grep())
    tools: tuple[Tool, ...] = (make.exec(), make.web_fetch())
    absences: tuple[Absence, ...] = ()
    if files_work:
        tools = (*of_files, *tools)
    else:
        absences = tuple(Absence(tool.name, OwnWords(str(not_on_windows()))) for tool in of_files)
    section = code or CodeModeSection()
    if (off := why_off(section)) is not None:
        return NativeTools(tools, (*absences, off))
    return NativeTools((*tools, run_code(limits_of(section))), absences)


class _ToolFactory(msgspec.Struct):
    fence: Fence
    web: Rules
    environ: Mapping[str, str] | None = None
    variables: Variables | None = None
    writing: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    def read(self) -> Tool:
        async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
            where = (self.fence, invocation.workspace, arguments["path"])
            offset, limit = arguments.get("offset", 1), arguments.get("limit", READ_LINES)
            if (editor := invocation.conversation.editor) is not None:
                read = await through_editor.read(editor, *where, offset=offset, limit=limit)
                if read is not None:
                    return read
            reading = await asyncio.to_thread(files.read, *where, offset=offset, limit=limit)
            if not reading.kept:
                return ToolResult(reading.blocks)
            return ToolResult(tuple(map(_framed, reading.blocks)), source=f"file:{os.path.basename(arguments['path'])}")

        window = {
            "path": _PATH,
            "offset": {"type": "integer", "minimum": 1, "description": "First line to show, counted from 1."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100_000, "description": "How many lines to show."},
        }
        about = f"Read a text file, up to {READ_LINES} lines at a time, or look at an image (PNG, JPEG, GIF, WebP)."
        return _tool("read", about, window, ["path"], run, label="Read", read_only=True)

    def write(self) -> Tool:
        async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
            given = (self.fence, invocation.workspace, arguments["path"], arguments["content"])
            if (editor := invocation.conversation.editor) is not None:
                async with self.writing:
                    change = await through_editor.write(editor, *given)
                if change is not None:
                    return _changed(change)
            return _changed(await self._in_turn(partial(files.write, *given)))

        fields = {"path": _PATH, "content": {"type": "string", "description": "The whole text of the file."}}
        about = (
            "Write a text file whole, replacing what is there. Missing folders are made. To change a part, use edit."
        )
        return _tool("write", about, fields, ["path", "content"], run, label="Write")

    def edit(self) -> Tool:
        async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
            old, new, every = arguments["old_text"], arguments["new_text"], arguments.get("replace_all", False)
            given = (self.fence, invocation.workspace, arguments["path"], old, new)
            if (editor := invocation.conversation.editor) is not None:
                async with self.writing:
                    change = await through_editor.edit(editor, *given, replace_all=every)
                if change is not None:
                    return _changed(change)
            return _changed(await self._in_turn(partial(files.edit, *given, replace_all=every)))

        fields = {
            "path": _PATH,
            "old_text": {"type": "string", "minLength": 1, "description": "The text to replace, exactly as it stands."},
            "new_text": {"type": "string", "description": "What to put in its place."},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence instead of the only one."},
        }
        about = "Change a text file by replacing one passage, which must occur exactly once."
        return _tool("edit", about, fields, ["path", "old_text", "new_text"], run, label="Edit")

    def ls(self) -> Tool:
        async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
            path = arguments.get("path", ".")
            return _said(await asyncio.to_thread(files.ls, self.fence, invocation.workspace, path))

        fields = {"path": {"type": "string", "description": "The folder to list; the workspace when left out."}}
        about = "List the files and folders in a folder, with sizes."
        return _tool("ls", about, fields, [], run, label="List", read_only=True)

    def grep(self) -> Tool:
        async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
            return await grep(self.fence, invocation.workspace, arguments)

        fields = {
            "pattern": {"type": "string", "minLength": 1, "description": "Regular expression, matched line by line."},
            "path": {"type": "string", "description": "The file or folder to search; the workspace when left out."},
            "glob": {
                "type": "string",
                "description": "Only files whose name or path matches, such as *.py or src/**/*.ts.",
            },
            "ignore_case": {"type": "boolean", "description": "Whether upper and lower case are the same."},
        }
        about = (
            "Search the contents of files for a regular expression. Shows each match with its file and line number. "
            "Skips binary files and folders such as .git and node_modules."
        )
        return _tool("grep", about, fields, ["pattern"], run, label="Search", read_only=True, timeout=SEARCH_SECONDS)

    def exec(self) -> Tool:
        fields = {
            "command": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "Program and arguments, one item each. With shell: a single item, the whole command line.",
            },
            "shell": {"type": "boolean", "description": "Run the one item through /bin/sh: pipes, globs, redirection."},
            "cwd": {"type": "string", "description": "The folder to run in; the workspace when left out."},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": MAX_SECONDS,
                "description": f"Seconds after which it is stopped; {DEFAULT_SECONDS:g} when left out.",
            },
            "skill": {
                "type": "string",
                "description": "The name of the skill whose instructions you follow: the program gets the variables set up for that skill.",
            },
        }
        about = (
            "Run a program and return what it prints. Nothing it starts outlives the call, and it gets no input. "
            "Output beyond a limit is cut in the middle."
        )

        async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
            return await execute(
                invocation.workspace,
                arguments,
                environ=self.environ,
                variables=self.variables,
                editor=invocation.conversation.editor,
                call=invocation.call_id,
            )

        return _tool("exec", about, fields, ["command"], run, label="Run", timeout=None)

    def web_fetch(self) -> Tool:
        async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
            environ = os.environ if self.environ is None else self.environ
            return await web_fetch(arguments["url"], self.web, environ)

        fields = {"url": {"type": "string", "minLength": 1, "description": "The address, with https://."}}
        about = "Get a public web page or file and return its text, or an image."
        return _tool("web_fetch", about, fields, ["url"], run, label="Fetch", read_only=True, timeout=FETCH_SECONDS)

    async def _in_turn(self, work: Callable[[], _T]) -> _T:
        """Run `work` in a thread, after every write before it. When cancelled, its turn ends only once the thread has."""
        async with self.writing:
            return await to_the_end(asyncio.to_thread(work))


def _tool(
    name: str,
    about: str,
    fields: dict[str, Any],
    required: list[str],
    run: Callable[[dict[str, Any], Invocation], Awaitable[ToolResult]],
    *,
    label: str,
    read_only: bool = False,
    timeout: float | None = FILE_SECONDS,
) -> Tool:
    schema = {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
    return Tool(name, about, parameters(schema), _reporting(run), label=label, read_only=read_only, timeout=timeout)


def _reporting(run: Run) -> Run:
    """The contract of a Tool: what went wrong is a result, not an exception."""

    async def reported(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        try:
            return await run(arguments, invocation)
        except OpenClawError as error:
            return ToolResult.error(str(error))

    return reported


def _said(text: str) -> ToolResult:
    return ToolResult((Text(text),))


def _changed(change: Change) -> ToolResult:
    """What was said of a change, and for whoever shows it to a person the change itself."""
    diff = {"path": change.path, "oldText": change.old, "newText": change.new}
    return ToolResult((Text(change.said),), details={"diff": diff} if change.is_known else {})


def _framed(block: Block) -> Block:
    return Text(frame(block.text, source="unknown", sender="a kept result")) if isinstance(block, Text) else block

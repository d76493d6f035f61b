"""Plugins whose code blocks: each has a thread of its own, and is disabled when that shows no sign of life."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from openclaw.content import Text, ToolCall
from openclaw.conversation import Answer, Asker, Conversation, ForeignSources, Nobody, Question, QuestionKind
from openclaw.plugins import PluginContext, PluginHandle, ToolPlugin
from openclaw.plugins.loader import LoaderDependencies, PluginRules, Plugins, PluginSettings, open_plugins
from openclaw.tool import Absence, Invocation, Tool, ToolResult, parameters
from parts.loops import both_loops
from parts.processes import HANG_GUARD
from parts.stage import invoking

# What every plugin of these tests begins with. Code that blocks does so until `gate` is opened, at the end of a test.
HEAD = """
import asyncio, threading
from openclaw.content import Text
from openclaw.plugins import PluginHandle, ToolPlugin
from openclaw.tool import Absence, Tool, ToolResult, parameters

gate, begun, seen = threading.Event(), threading.Event(), []

def block():
    begun.set()
    gate.wait()

def tool(run, **fields):
    return Tool(run.__name__, "Does it.", parameters({"type": "object"}), run, **fields)

def said(text):
    return ToolResult((Text(text),))

async def slow(arguments, invocation):
    block()
    return said("too late")

async def quick(arguments, invocation):
    return said("done")
"""
FOOT = """
plugin = ToolPlugin("Label", "Description.", initialize)
"""
# What a plugin that blocks costs a test, besides the second that it gets to react.
BOUND = 0.2


class Shelf:
    """Plugin files, and the modules they become."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []

    def put(self, name: str, body: str) -> None:
        (self.folder / f"{name}.py").write_text(HEAD + body + FOOT)
        self.names.append(name)

    def module(self, name: str) -> ModuleType:
        place = str(self.folder / f"{name}.py")
        return next(m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == place)

    def rules(self, **config: Any) -> PluginRules:
        return PluginRules({name: PluginSettings(config=config) for name in self.names}, [self.folder])

    async def load(self, *, start: float = HANG_GUARD, hook: float = HANG_GUARD) -> Plugins:
        plugins = await open_plugins(
            self.rules(), LoaderDependencies(self.folder / "data", start_seconds=start, hook_seconds=hook)
        )
        await plugins.loaded()
        return plugins


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    place = Shelf(tmp_path / "plugins")
    place.folder.mkdir()
    before = threading.enumerate()
    yield place
    for name in place.names:
        place.module(name).gate.set()
    for thread in threading.enumerate():
        if thread not in before and thread.name.startswith("plugin "):
            # Whoever was given up ends by itself as soon as it can.
            thread.join(HANG_GUARD)
            assert not thread.is_alive()


async def call(
    tool: Tool | None, progress: Callable[[str], None] = lambda line: None, asker: Asker | None = None
) -> ToolResult:
    """As an agent calls it: with the tool's own timeout. What is left to tell is all but whose text it is."""
    assert tool is not None
    conversation = Conversation("main", "key", asker=asker or Nobody())
    result = await invoking()(tool, ToolCall("1", tool.name, {}), Invocation(conversation, progress=progress))
    assert result.source in ("", f"plugin:{tool.origin}")
    return replace(result, source="")


async def opened(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, HANG_GUARD)


def states(plugins: Plugins) -> dict[str, tuple[str, str]]:
    return {status.id: (status.state, status.reason) for status in plugins.statuses()}


GOOD = """
async def initialize(context):
    return PluginHandle(tools=[tool(quick)])
"""


@pytest.mark.parametrize(
    "blocking", ["block()", "begun.set()\n    while not gate.is_set(): pass"], ids=["waits", "computes"]
)
async def test_a_plugin_that_blocks_in_initialize_is_left_out_and_the_others_go_on(shelf: Shelf, blocking: str) -> None:
    shelf.put("good", GOOD)
    shelf.put("bad", f"async def initialize(context):\n    {blocking}\n    return PluginHandle()\n")

    plugins = await shelf.load(start=BOUND * 10)

    assert states(plugins) == {"good": ("loaded", ""), "bad": ("failed", "it blocked for 2 s in initialize")}
    assert await call(plugins.tool("main", "quick")) == ToolResult((Text("done"),))
    await plugins.close()


TOOLS = f"""
async def spin(arguments, invocation):
    while not gate.is_set():
        pass

async def own_time(arguments, invocation):
    begun.set()
    await asyncio.Event().wait()

async def initialize(context):
    return PluginHandle(tools=[
        tool(slow, timeout={BOUND}), tool(spin, timeout={BOUND}), tool(own_time, timeout=None), tool(quick)
    ])
"""


@both_loops
async def test_a_plugin_that_blocks_in_a_tool_is_disabled_and_its_tools_are_taken_out(shelf: Shelf) -> None:
    shelf.put("bad", TOOLS)
    plugins = await shelf.load()
    quick = plugins.tool("main", "quick")

    assert await call(plugins.tool("main", "slow")) == ToolResult.error("slow did not finish within 200 ms.")

    reason = "it blocked for 0.2 s in the tool slow"
    assert states(plugins) == {"bad": ("failed", reason)}
    assert plugins.tools("main") == []
    where, told = str(shelf.folder / "bad.py"), f"the plugin bad is not loaded: {reason}"
    names = ["bad", "own_time", "quick", "slow", "spin"]
    assert plugins.absences("main") == [Absence(name, told, where) for name in names]
    # Of a turn that had it before.
    assert await call(quick) == ToolResult.error(f"quick is not available: the plugin bad is disabled: {reason}.")
    await plugins.close()


async def test_an_endless_computation_in_a_tool_is_left_behind(shelf: Shelf) -> None:
    shelf.put("bad", TOOLS)
    plugins = await shelf.load()

    assert await call(plugins.tool("main", "spin")) == ToolResult.error("spin did not finish within 200 ms.")
    assert states(plugins) == {"bad": ("failed", "it blocked for 0.2 s in the tool spin")}


async def test_a_call_that_waits_for_a_plugin_that_is_disabled_is_answered(shelf: Shelf) -> None:
    shelf.put("bad", TOOLS)
    plugins = await shelf.load()
    waiting = asyncio.create_task(call(plugins.tool("main", "own_time")))
    await opened(shelf.module("bad").begun)

    await call(plugins.tool("main", "slow"))

    told = "own_time is not available: the plugin bad is disabled: it blocked for 0.2 s in the tool slow."
    assert await waiting == ToolResult.error(told)


async def test_tools_of_others_run_while_a_plugin_blocks(shelf: Shelf) -> None:
    shelf.put("bad", "async def initialize(context):\n    return PluginHandle(tools=[tool(slow)])\n")
    shelf.put("good", GOOD)
    plugins = await shelf.load()
    blocked = asyncio.create_task(call(plugins.tool("main", "slow")))
    await opened(shelf.module("bad").begun)

    assert await call(plugins.tool("main", "quick")) == ToolResult((Text("done"),))

    # It was within its time: nothing is held against it.
    shelf.module("bad").gate.set()
    assert await blocked == ToolResult((Text("too late"),))
    assert states(plugins) == {"bad": ("loaded", ""), "good": ("loaded", "")}
    await plugins.close()


async def test_a_caller_who_leaves_early_disables_nothing(shelf: Shelf) -> None:
    shelf.put("busy", "async def initialize(context):\n    return PluginHandle(tools=[tool(slow), tool(quick)])\n")
    plugins = await shelf.load()
    calling = asyncio.create_task(call(plugins.tool("main", "slow")))
    await opened(shelf.module("busy").begun)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    shelf.module("busy").gate.set()

    assert await call(plugins.tool("main", "quick")) == ToolResult((Text("done"),))
    assert states(plugins) == {"busy": ("loaded", "")}
    await plugins.close()


async def test_a_plugin_that_blocks_in_on_shutdown_keeps_nobody_from_ending(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    shelf.put(
        "bad",
        "async def stop():\n    block()\n\nasync def initialize(context):\n    return PluginHandle(on_shutdown=stop)\n",
    )
    plugins = await shelf.load(hook=BOUND)

    with caplog.at_level(logging.WARNING, "openclaw.plugins"):
        await plugins.close()

    assert caplog.messages == ["plugin bad did not shut down cleanly: it blocked for 0.2 s in on_shutdown"]


CHANGES = """
async def change(config):
    block()

async def initialize(context):
    return PluginHandle(tools=[tool(quick)], on_config_change=change)
"""


async def test_a_plugin_that_blocks_in_on_config_change_is_disabled_until_its_thread_is_free(shelf: Shelf) -> None:
    shelf.put("bad", CHANGES)
    plugins = await shelf.load(hook=BOUND)
    blocked = ("failed", "it blocked for 0.2 s in on_config_change")

    await plugins.apply(shelf.rules(a=1))
    assert (states(plugins), plugins.tools("main")) == ({"bad": blocked}, [])
    (stuck,) = (thread for thread in threading.enumerate() if thread.name == "plugin bad")
    first = shelf.module("bad")

    # Another thread would only be blocked as well.
    await plugins.apply(shelf.rules(a=2))
    assert states(plugins) == {"bad": blocked}

    first.gate.set()
    await asyncio.to_thread(stuck.join, HANG_GUARD)
    await plugins.apply(shelf.rules(a=3))
    assert states(plugins) == {"bad": ("loaded", "")}
    assert await call(plugins.tool("main", "quick")) == ToolResult((Text("done"),))
    await plugins.close()


LIVELY = """
async def waits(arguments, invocation):
    try:
        begun.set()
        await asyncio.Event().wait()
    finally:
        seen.append("cancelled")
        gate.set()

async def tells(arguments, invocation):
    invocation.progress("one")
    await asyncio.sleep(0)
    invocation.progress("two")
    return said(threading.current_thread().name)

async def raises(arguments, invocation):
    raise LookupError("nothing there")

async def exits(arguments, invocation):
    raise SystemExit(3)

async def leaves_one_that_exits(arguments, invocation):
    async def end():
        raise SystemExit(4)
    ending = asyncio.create_task(end())
    await asyncio.wait({ending})
    return said(repr(ending.exception()))

async def same_loop(arguments, invocation):
    seen.append(asyncio.get_running_loop())
    return said(str(len(set(seen))))

async def initialize(context):
    seen.append(asyncio.get_running_loop())
    tools = [waits, tells, raises, exits, leaves_one_that_exits, same_loop, quick]
    return PluginHandle(tools=[tool(run) for run in tools])
"""


async def test_cancellation_reaches_the_tool(shelf: Shelf) -> None:
    shelf.put("lively", LIVELY)
    plugins = await shelf.load()
    calling = asyncio.create_task(call(plugins.tool("main", "waits")))
    await opened(shelf.module("lively").begun)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling

    assert shelf.module("lively").seen[-1] == "cancelled"
    await plugins.close()


@both_loops
async def test_progress_arrives_in_our_thread_before_the_result(shelf: Shelf) -> None:
    shelf.put("lively", LIVELY)
    plugins = await shelf.load()
    heard: list[tuple[str, threading.Thread]] = []

    result = await call(plugins.tool("main", "tells"), lambda text: heard.append((text, threading.current_thread())))

    assert heard == [("one", threading.current_thread()), ("two", threading.current_thread())]
    assert result == ToolResult((Text("plugin lively"),))
    await plugins.close()


@pytest.mark.parametrize(
    ("name", "told"),
    [("raises", "raises failed: LookupError: nothing there"), ("exits", "exits failed: SystemExit: 3.")],
)
async def test_what_a_tool_raises_is_an_error_result(shelf: Shelf, name: str, told: str) -> None:
    shelf.put("lively", LIVELY)
    plugins = await shelf.load()

    assert await call(plugins.tool("main", name)) == ToolResult.error(told)
    assert await call(plugins.tool("main", "quick")) == ToolResult((Text("done"),))
    await plugins.close()


async def test_a_plugin_lives_in_one_loop_which_no_task_of_its_own_can_end(shelf: Shelf) -> None:
    shelf.put("lively", LIVELY)
    plugins = await shelf.load()

    assert await call(plugins.tool("main", "leaves_one_that_exits")) == ToolResult((Text("SystemExit(4)"),))
    assert await call(plugins.tool("main", "same_loop")) == ToolResult((Text("1"),))
    await plugins.close()


ASKED_BY: ContextVar[str] = ContextVar("asked_by")
ASKS = f"""
from {__name__} import ASKED_BY

async def who(arguments, invocation):
    return said(ASKED_BY.get())

async def initialize(context):
    return PluginHandle(tools=[tool(who)])
"""


async def test_context_variables_pass(shelf: Shelf) -> None:
    shelf.put("asks", ASKS)
    plugins = await shelf.load()
    ASKED_BY.set("somebody")

    assert await call(plugins.tool("main", "who")) == ToolResult((Text("somebody"),))
    await plugins.close()


SOURCE = """
class Source:
    def __init__(self):
        self.rounds, self.blocks = 0, False

    def tools(self, agent):
        if self.blocks:
            block()
        seen.append(threading.current_thread().name)
        return [tool(quick), *([tool(learn)] if agent == "main" else [])]

    def absences(self, agent):
        return [Absence("later", f"not yet for {agent}")]

    async def settle(self, agent, patience):
        self.rounds += 1

    def context(self, agent):
        return f"Hello {agent}, round {self.rounds}."

source = Source()

async def learn(arguments, invocation):
    source.blocks = True
    return said("learnt")

async def initialize(context):
    return PluginHandle(source=source, contexts=[source])
"""


async def test_a_source_is_asked_in_the_plugins_own_thread(shelf: Shelf) -> None:
    shelf.put("source", SOURCE)
    plugins = await shelf.load()
    await plugins.settle("other", 0.0)
    assert plugins.foreign("other") == [("plugin:source", "Hello other, round 1.")]
    await plugins.settle("main", 0.0)

    assert [tool.name for tool in plugins.tools("main")] == ["quick", "learn"]
    assert [tool.name for tool in plugins.tools("other")] == ["quick"]
    assert plugins.absences("main") == [Absence("later", "not yet for main")]
    assert plugins.context("main") == "Hello main, round 2."
    assert set(shelf.module("source").seen) == {"plugin source"}
    await plugins.close()


async def test_a_source_that_blocks_gives_what_it_gave_before_and_is_then_disabled(shelf: Shelf) -> None:
    shelf.put("source", SOURCE)
    # Enough for one that does not block.
    plugins = await shelf.load(hook=BOUND * 5)
    await plugins.settle("main", 0.0)
    await call(plugins.tool("main", "learn"))

    assert [tool.name for tool in plugins.tools("main")] == ["quick", "learn"]
    await plugins.settle("main", 0.0)
    assert states(plugins) == {"source": ("failed", "it blocked for 1 s in tools")}
    assert plugins.tools("main") == []


RESTARTS = """
async def finishes(arguments, invocation):
    begun.set()
    await asyncio.to_thread(gate.wait)
    return said("finished")

async def initialize(context):
    return PluginHandle(tools=[tool(finishes)])
"""


async def test_a_call_under_way_is_finished_by_a_plugin_that_is_started_again(shelf: Shelf) -> None:
    shelf.put("one", RESTARTS)
    plugins = await shelf.load()
    calling = asyncio.create_task(call(plugins.tool("main", "finishes")))
    await opened(shelf.module("one").begun)
    await plugins.apply(shelf.rules(a=1))
    shelf.module("one").gate.set()

    assert await calling == ToolResult((Text("finished"),))
    await plugins.close()


# ---- one wait, and never in our loop


class _Waits:
    """The functions of `threading` that wait, as they are entered in this thread."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename == threading.__file__ and code.co_name in ("wait", "join"):
            self.seen.append(code.co_name)


async def test_no_question_makes_our_loop_wait_for_a_thread_that_is_busy(shelf: Shelf) -> None:
    shelf.put("source", SOURCE)
    plugins = await shelf.load(hook=BOUND * 5)
    await plugins.settle("main", 0.0)
    await call(plugins.tool("main", "learn"))
    plugins.tools("main")
    await opened(shelf.module("source").begun)

    waits = _Waits()
    sys.setprofile(waits)
    try:
        told = (plugins.tools("main"), plugins.absences("main"), plugins.context("main"))
    finally:
        sys.setprofile(None)

    assert ([tool.name for tool in told[0]], told[1:]) == (
        ["quick", "learn"],
        ([Absence("later", "not yet for main")], "Hello main, round 1."),
    )
    assert waits.seen == []
    await plugins.close()


LATE = """
class Source:
    def tools(self, agent):
        return [tool(quick)]

    def absences(self, agent):
        return []

    async def settle(self, agent, patience):
        seen.append(patience)
        await asyncio.Event().wait()

async def stop():
    seen.append("stopped")

async def initialize(context):
    return PluginHandle(source=Source(), tools=[tool(slow)], on_shutdown=stop)
"""


async def test_a_plugin_whose_tools_never_settle_is_waited_for_once(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    shelf.put("late", LATE)
    shelf.put("good", GOOD)
    plugins = await shelf.load(hook=BOUND)
    for _ in range(3):
        await plugins.settle("main", float("inf"))
    await plugins.settle("other", 0.0)

    assert shelf.module("late").seen == [float("inf")]
    assert {"slow", "quick"} == {tool.name for tool in plugins.tools("main")}
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR] == [
        "plugin late failed while its tools were awaited: it did not finish within 0.2 s"
    ]
    await plugins.close()
    # It was waited for once: not again when everything ends.
    assert shelf.module("late").seen == [float("inf")]


IN_IMPORT = """
seen.append("imported")
block()

async def initialize(context):
    return PluginHandle()
"""
IN_INITIALIZE = """
async def initialize(context):
    begun.set()
    await asyncio.Event().wait()
"""


async def test_plugins_that_hang_are_waited_for_side_by_side(shelf: Shelf) -> None:
    for name in ("a", "b", "c"):
        shelf.put(name, IN_INITIALIZE)
    shelf.put("d", IN_IMPORT)
    plugins = await shelf.load(start=BOUND * 10)

    hung = ("failed", "it did not finish within 2 s")
    assert states(plugins) == dict.fromkeys(shelf.names, hung)
    assert all(shelf.module(name).begun.is_set() for name in shelf.names)
    await plugins.close()


COUNTS = """
with open(__file__.replace(".py", ".log"), "a") as log:
    log.write("x")
"""


async def imported(log: Path, times: int) -> int:
    """How often a plugin was imported, once it was as often as that: a busy machine may need longer than its bound."""

    def count() -> int:
        return len(log.read_text()) if log.exists() else 0

    async with asyncio.timeout(HANG_GUARD):
        while count() < times:
            await asyncio.sleep(0.01)
    return count()


@pytest.mark.parametrize("body", [IN_IMPORT, IN_INITIALIZE], ids=["import", "initialize"])
async def test_a_plugin_that_hung_at_its_start_is_tried_again_only_with_other_settings(shelf: Shelf, body: str) -> None:
    shelf.put("hangs", COUNTS + body)
    plugins = await shelf.load(start=BOUND)
    await plugins.apply(shelf.rules())

    assert await imported(shelf.folder / "hangs.log", 1) == 1
    assert states(plugins) == {
        "hangs": ("failed", "it hung when it was started, and is not tried again until its settings change")
    }
    shelf.module("hangs").gate.set()
    await plugins.apply(shelf.rules(changed=True))
    assert await imported(shelf.folder / "hangs.log", 2) == 2
    await plugins.close()


IN_THE_FIRST_IMPORT = """
if len(Path(__file__.replace(".py", ".log")).read_text()) == 1:
    block()

async def initialize(context):
    return PluginHandle()
"""


async def test_a_plugin_that_was_given_too_little_time_is_tried_again_with_more(shelf: Shelf) -> None:
    shelf.put("hangs", "from pathlib import Path\n" + COUNTS + IN_THE_FIRST_IMPORT)
    plugins = await shelf.load(start=BOUND)
    assert await imported(shelf.folder / "hangs.log", 1) == 1
    shelf.module("hangs").gate.set()
    await plugins.apply(replace(shelf.rules(), start_seconds=HANG_GUARD))
    assert await imported(shelf.folder / "hangs.log", 2) == 2
    assert states(plugins) == {"hangs": ("loaded", "")}
    await plugins.close()


async def test_who_waits_for_plugins_goes_on_when_they_are_closed(shelf: Shelf) -> None:
    shelf.put("hangs", COUNTS + IN_IMPORT)
    plugins = await open_plugins(shelf.rules(), LoaderDependencies(shelf.folder / "data", start_seconds=HANG_GUARD))
    turn = asyncio.create_task(plugins.settle("main", 0.0))
    await imported(shelf.folder / "hangs.log", 1)
    await plugins.close()
    await turn
    assert not turn.cancelled()


async def test_what_is_built_in_is_there_while_another_plugin_is_still_imported(shelf: Shelf) -> None:
    shelf.put("hangs", COUNTS + IN_IMPORT)

    async def initialize(context: PluginContext) -> PluginHandle:
        return PluginHandle(tools=[Tool("ours", "Ours.", parameters({"type": "object"}), quick)])

    async def quick(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        return ToolResult((Text("done"),))

    plugins = await open_plugins(
        shelf.rules(),
        LoaderDependencies(shelf.folder / "data", start_seconds=HANG_GUARD),
        built_in={"own": ToolPlugin("", "", initialize)},
    )
    assert await call(plugins.tool("main", "ours")) == ToolResult((Text("done"),))
    assert plugins.statuses() == ()
    await imported(shelf.folder / "hangs.log", 1)
    # It ends though the other one is still at it.
    await plugins.close()
    assert not shelf.module("hangs").gate.is_set()


ASKING = """
from openclaw.conversation import Question

async def asking(arguments, invocation):
    asker = invocation.conversation.asker
    answer = await asker.ask(Question("approval", "Now?", options=("yes", "no")))
    return said(f"{asker.can('approval')} {answer.action}")

async def initialize(context):
    return PluginHandle(tools=[tool(asking)])
"""


async def test_a_plugin_asks_the_person_from_its_own_thread(shelf: Shelf) -> None:
    class Person:
        """Answers where it was made, as a terminal does."""

        def __init__(self) -> None:
            self.home = asyncio.get_running_loop()
            self.asked: list[Question] = []

        def can(self, kind: QuestionKind) -> bool:
            return True

        async def ask(self, question: Question) -> Answer:
            assert asyncio.get_running_loop() is self.home
            self.asked.append(question)
            return Answer("accept")

    shelf.put("curious", ASKING)
    plugins, person = await shelf.load(), Person()

    assert await call(plugins.tool("main", "asking"), asker=person) == ToolResult((Text("True accept"),))
    assert person.asked == [Question("approval", "Now?", options=("yes", "no"))]
    assert await call(plugins.tool("main", "asking")) == ToolResult((Text("False cancel"),))
    await plugins.close()


MEDDLING = """
async def meddling(arguments, invocation):
    foreign = invocation.conversation.foreign
    read = list(foreign)
    foreign.add("plugin:another")
    return said(" ".join(read))

async def initialize(context):
    return PluginHandle(tools=[tool(meddling)])
"""


async def test_a_plugin_sees_whose_text_was_read_and_changes_nothing_of_it(shelf: Shelf) -> None:
    shelf.put("meddler", MEDDLING)
    plugins = await shelf.load()
    meddling = plugins.tool("main", "meddling")
    assert meddling is not None
    conversation = Conversation("main", "key", foreign=ForeignSources(["mcp:files"]))

    result = await invoking()(meddling, ToolCall("1", "meddling", {}), Invocation(conversation))

    assert result.content == (Text("mcp:files"),)
    assert [*conversation.foreign] == ["mcp:files", "plugin:meddler"]
    await plugins.close()

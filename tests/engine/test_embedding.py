"""A program that embeds the client: servers of the official SDK in the same process, questions, limits, misuse, and how it all ends."""

import asyncio
import logging
import pickle
import subprocess
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Image, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import Completion, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference
from pydantic import BaseModel

from openclaw.errors import CallError, OpenClawError, UsageError
from openclaw.mcp import (
    ElicitationAnswer,
    ElicitationRequest,
    LogMessage,
    Manager,
    Server,
    ServerSpec,
    StateChanged,
)

PNG = b"\x89PNG\r\n\x1a\n not a whole one"


class Guests(BaseModel):
    people: int


def how_many() -> Elicit[Guests]:
    return Elicit("For how many people?", Guests)


def shop() -> MCPServer:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    def point() -> dict[str, int]:
        return {"x": 1}

    @server.tool(structured_output=False)
    def listed() -> str:
        return '["a", "b"]'

    @server.tool()
    def picture() -> Image:
        return Image(data=PNG, format="png")

    @server.tool()
    def broken() -> str:
        raise ToolError("It broke.")

    @server.tool()
    async def count(n: int, context: Context) -> str:
        for step in range(n):
            await context.report_progress(step + 1, n, f"step {step + 1}")
        with warnings.catch_warnings():
            # The newest revision would rather have no log messages; servers send them all the same.
            warnings.simplefilter("ignore")
            await context.warning("counted")
        return "counted"

    @server.tool()
    async def stall() -> str:
        await asyncio.Event().wait()
        return "never"

    @server.tool()
    def book(guests: Annotated[Guests, Resolve(how_many)]) -> str:
        return f"A table for {guests.people}."

    @server.tool()
    async def reserve(context: Context) -> str:
        answer = await context.elicit("For how many people?", Guests)
        return f"A table for {answer.data.people}." if answer.action == "accept" else "Nothing was booked."

    @server.resource("shop://hours")
    def hours() -> str:
        return "9 to 5"

    @server.resource("shop://item/{name}")
    def item(name: str) -> str:
        return f"One {name}."

    @server.prompt()
    def greet(who: str) -> str:
        return f"Hello {who}"

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK leaves it without types
    async def complete(
        of: PromptReference | ResourceTemplateReference, argument: CompletionArgument, context: CompletionContext | None
    ) -> Completion:
        known = ["anna", "bob"] if isinstance(of, PromptReference) else ["hat", "hut"]
        return Completion(values=[name for name in known if name.startswith(argument.value)])

    return server


SHOP = shop()


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    before = asyncio.all_tasks()
    yield
    assert asyncio.all_tasks() - before == set()


async def test_a_server_object_is_called_without_a_process_and_ends_with_its_manager() -> None:
    with nothing_left_behind():
        async with Manager([Server("shop", in_process=SHOP)]) as manager:
            result = await manager.call("shop__add", {"a": 1, "b": 2})
            assert (result.text, result.data, result.structured, result.is_error) == ("3", 3, {"result": 3}, False)
            (status,) = manager.status()
            assert (status.state, status.transport, status.pid) == ("ready", "memory", None)


async def test_an_answer_is_read_as_text_data_and_pictures() -> None:
    async with Manager([Server("shop", in_process=SHOP)]) as manager:
        point = await manager.call("shop__point")
        assert (point.data, point.structured) == ({"x": 1}, {"x": 1})
        listed = await manager.call("shop__listed")
        assert (listed.text, listed.data, listed.structured) == ('["a", "b"]', ["a", "b"], None)
        (picture,) = (await manager.call("shop__picture")).images
        assert (picture.data, picture.mime_type) == (PNG, "image/png")
        broken = await manager.call("shop__broken")
        assert (broken.is_error, broken.data, "It broke." in broken.text) == (True, None, True)
        with pytest.raises(CallError, match=r"It broke\."):
            broken.raise_for_error()
        assert point.raise_for_error() is point


async def test_the_schema_of_a_tool_is_a_dict() -> None:
    async with Manager([Server("shop", in_process=SHOP, tool_include=["add"])]) as manager:
        (add, *_) = manager.tools()
        assert (add.name, add.schema["required"]) == ("shop__add", ["a", "b"])


async def test_progress_is_numbers_and_log_messages_are_heard() -> None:
    steps: list[tuple[float, float | None, str]] = []
    logged: list[LogMessage] = []
    async with Manager([Server("shop", in_process=SHOP)], on_log=logged.append) as manager:
        await manager.call("shop__count", {"n": 2}, on_progress=lambda *step: steps.append(step))
    assert steps == [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")]
    assert logged == [LogMessage("shop", "warning", "", "counted", "counted")]


async def test_a_call_has_the_time_that_it_is_given_and_the_next_one_works() -> None:
    async with Manager([Server("shop", in_process=SHOP)]) as manager:
        late = await manager.call("shop__stall", timeout=0.05)
        assert (late.is_error, late.timed_out, late.text) == (True, True, "Tool call timed out after 50ms")
        assert (await manager.call("shop__add", {"a": 1, "b": 1}, timeout=30)).data == 2


async def test_a_server_may_ask_in_the_middle_of_a_tool_too() -> None:
    async def ask(request: ElicitationRequest) -> ElicitationAnswer:
        return request.accept({"people": 4}) if request.message == "For how many people?" else request.cancel()

    async with Manager([Server("shop", in_process=SHOP)], elicit=ask) as manager:
        assert (await manager.call("shop__reserve")).text == "A table for 4."
    with nothing_left_behind():
        async with Manager([Server("shop", in_process=SHOP)]) as manager:
            assert (await manager.call("shop__reserve")).is_error


@pytest.mark.parametrize(("people", "is_error"), [(4, False), (0, True)])
async def test_a_server_asks_a_person_through_a_typed_function(people: int, is_error: bool) -> None:
    asked: list[ElicitationRequest] = []

    async def ask(request: ElicitationRequest) -> ElicitationAnswer:
        asked.append(request)
        return request.accept({"people": people}) if people else request.decline()

    async with Manager([Server("shop", in_process=SHOP)], elicit=ask) as manager:
        result = await manager.call("shop__book")
        assert (result.is_error, result.text == "A table for 4.") == (is_error, not is_error)
    assert [(one.server, one.message, [*one.schema["properties"]]) for one in asked] == [
        ("shop", "For how many people?", ["people"])
    ]


async def test_everything_else_of_a_server_is_asked_of_it_by_name() -> None:
    async with Manager([Server("shop", in_process=SHOP)]) as manager:
        server = manager.server("shop")
        assert 0 <= await server.ping() < 30
        assert [entry.uri for entry in await server.list_resources()] == ["shop://hours"]
        assert [entry.uri_template for entry in await server.list_templates()] == ["shop://item/{name}"]
        assert [held.text for held in await server.read_resource("shop://hours")] == ["9 to 5"]
        assert [entry.name for entry in await server.list_prompts()] == ["greet"]
        filled = await server.get_prompt("greet", {"who": "Ada"})
        assert [message.content.text for message in filled.messages] == ["Hello Ada"]
        assert await server.complete("who", "a", prompt="greet") == ["anna"]
        assert await server.complete("name", "h", template="shop://item/{name}") == ["hat", "hut"]
        with pytest.raises(UsageError, match=r"A completion is of a prompt or of a template\."):
            await server.complete("who", "a")


async def test_a_server_of_each_kind_works_beside_the_others() -> None:
    clock = Path(__file__).parents[2] / "docs" / "examples" / "clock_server.py"
    config = {"mcpServers": {"clock": {"command": sys.executable, "args": [str(clock)]}}}
    async with Manager.from_config(config) as manager:
        assert (await manager.call("clock__now", {"format": "ok"})).text == "ok"
        await manager.reconcile([Server("shop", in_process=SHOP), Server("time", command=sys.executable, args=[clock])])
        assert (await manager.call("shop__add", {"a": 2, "b": 2})).data == 4
        assert (await manager.call("time__now", {"format": "ok"})).text == "ok"
        # It knows no `ping`, and says so: that is an answer.
        assert await manager.server("time").ping() >= 0


async def test_the_servers_of_a_config_stand_beside_those_of_the_program() -> None:
    clock = Path(__file__).parents[2] / "docs" / "examples" / "clock_server.py"
    config = {"clock": {"command": sys.executable, "args": [str(clock)]}}
    async with Manager.from_config(config, servers=[Server("shop", in_process=SHOP)]) as manager:
        assert [status.name for status in manager.status()] == ["clock", "shop"]
        assert (await manager.call("clock__now", {"format": "ok"})).text == "ok"
        assert (await manager.call("shop__add", {"a": 1, "b": 1})).data == 2
    with pytest.raises(UsageError, match=r"^Two servers are named 'clock'\."):
        Manager.from_config(config, servers=[Server("clock", in_process=SHOP)])


async def test_an_entry_of_a_mapping_is_named_without_a_file_that_nobody_has() -> None:
    async with Manager.from_config({"mcpServers": {"a": {"comand": "x"}}}) as manager:
        (status,) = manager.status()
    wrong = 'a server needs a command to start (stdio) or a url (HTTP). Did you mean "command" by "comand"?'
    assert status.reason == f"mcpServers.a: {wrong}"


async def test_a_server_without_resources_or_prompts_is_named_when_one_is_asked_for() -> None:
    clock = Path(__file__).parents[2] / "docs" / "examples" / "clock_server.py"
    async with Manager([Server("clock", command=sys.executable, args=[clock])]) as manager:
        server = manager.server("clock")
        with pytest.raises(OpenClawError, match=r"^MCP server 'clock' has no resources\.$"):
            await server.read_resource("a://b")
        with pytest.raises(OpenClawError, match=r"^MCP server 'clock' has no prompts\.$"):
            await server.get_prompt("greet")


# Misuse

ELSEWHERE = (
    "The manager was opened in another event loop. "
    "Use it from that one: one asyncio.run for the whole program, or asyncio.run_coroutine_threadsafe from a thread."
)
MISUSE: list[tuple[str, Callable[[], Awaitable[object]], str]] = [
    (
        "before it is open",
        lambda: Manager([]).call("shop__add"),
        "The manager is not open yet. Use it inside its block: async with Manager([…]) as manager.",
    ),
    (
        "its tools before it is open",
        lambda: asyncio.sleep(0, Manager([]).tools()),
        "The manager is not open yet. Use it inside its block: async with Manager([…]) as manager.",
    ),
    (
        "after it was closed",
        lambda: closed(lambda manager: manager.call("shop__add")),
        "The manager is closed. Use it inside its block: async with Manager([…]) as manager.",
    ),
    (
        "a server of it after it was closed",
        lambda: closed(lambda manager: asyncio.sleep(0, manager.server("shop"))),
        "The manager is closed. Use it inside its block: async with Manager([…]) as manager.",
    ),
    (
        "opened again",
        lambda: closed(lambda manager: manager.__aenter__()),
        "This manager was closed. Make another one: async with Manager([…]) as manager.",
    ),
    (
        "a server that it does not have",
        lambda: opened(lambda manager: asyncio.sleep(0, manager.server("shoe"))),
        "MCP server 'shoe' is not configured. There are: shop.",
    ),
    (
        "arguments that are no mapping",
        lambda: opened(lambda manager: manager.call("shop__add", "1 2")),  # type: ignore[arg-type]  # without types
        "A tool is called by its name and a mapping of arguments. "
        "Write: await manager.call('files__read', {'path': 'notes.md'}).",
    ),
    (
        "a time that is none",
        lambda: opened(lambda manager: manager.call("shop__add", timeout="5")),  # type: ignore[arg-type]  # without types
        "timeout must be a number of seconds above zero, not a text. Write timeout=10.0.",
    ),
    (
        "a function for progress that would have to be awaited",
        lambda: opened(lambda manager: manager.call("shop__add", on_progress=closed)),  # type: ignore[arg-type]  # the same
        "on_progress must be a plain function, not an async one. Write on_progress=print, to begin with.",
    ),
    (
        "a function for log messages that would have to be awaited",
        lambda: asyncio.sleep(0, Manager([], on_log=closed)),  # type: ignore[arg-type]  # the same
        "on_log must be a plain function, not an async one. Write on_log=print, to begin with.",
    ),
    (
        "a function for progress that takes one value alone",
        lambda: opened(lambda manager: manager.call("shop__add", on_progress=lambda progress: None)),  # type: ignore[arg-type, misc]  # the same
        "on_progress cannot be called with progress, total, message. Write: def on_progress(progress, total, message): …",
    ),
    (
        "a function for log messages that takes nothing",
        lambda: asyncio.sleep(0, Manager([], on_log=lambda: None)),  # type: ignore[arg-type, misc]  # the same
        "on_log cannot be called with message. Write: def on_log(message): …",
    ),
    (
        "an answer to a server that takes two values",
        lambda: asyncio.sleep(0, Manager([], elicit=lambda message, schema: None)),  # type: ignore[arg-type, misc]  # the same
        "elicit cannot be called with a request. Write: async def elicit(request): …",
    ),
    (
        "a call from another event loop",
        lambda: opened(lambda manager: asyncio.to_thread(asyncio.run, manager.call("shop__add"))),
        ELSEWHERE,
    ),
    (
        "a server of it in another event loop",
        lambda: opened(lambda manager: asyncio.to_thread(asyncio.run, manager.server("shop").ping())),
        ELSEWHERE,
    ),
    (
        "an answer to a server that is no function",
        lambda: asyncio.sleep(0, Manager([], sample="yes")),  # type: ignore[arg-type]  # the same
        "sample must be a function, not a text. Write: async def sample(request): …",
    ),
    (
        "patience that is no number",
        lambda: asyncio.sleep(0, Manager([], patience="5")),  # type: ignore[arg-type]  # the same
        "patience must be a number of seconds, not a text. Write patience=10.0.",
    ),
    (
        "folders that are none",
        lambda: asyncio.sleep(0, Manager([], roots=[5])),  # type: ignore[list-item]  # the same
        "roots must be a list of folders. Write roots=[Path.cwd()].",
    ),
    (
        "a folder that is none",
        lambda: asyncio.sleep(0, Manager([], state=7)),  # type: ignore[arg-type]  # the same
        "state must be a path, not the number 7. Write state=Path('…').",
    ),
    (
        "an object that is no server",
        lambda: asyncio.sleep(0, Manager([Server("own", in_process=object())])),
        "Server 'own': in_process must be a server object, not an object. "
        "Give one made with FastMCP or with the official SDK, or a MemoryTransport.",
    ),
    (
        "a parsed server with a mapping",
        lambda: asyncio.sleep(0, Manager([ServerSpec("files", command="npx", env={"A": "1"})])),  # type: ignore[arg-type]  # the same
        "ServerSpec 'files': env must be a tuple. Make a Server of it: Server('files', …) takes lists, mappings and paths.",
    ),
    (
        "patience that is no number, to wait with",
        lambda: opened(lambda manager: manager.settle(patience="5")),  # type: ignore[arg-type]  # the same
        "patience must be a number of seconds, not a text. Write patience=10.0.",
    ),
    (
        "how its servers are before it is open",
        lambda: asyncio.sleep(0, Manager([Server("shop", in_process=SHOP)]).status()),
        "The manager is not open yet. Use it inside its block: async with Manager([…]) as manager.",
    ),
    (
        "other servers after it was closed",
        lambda: closed(lambda manager: manager.reconcile([])),
        "The manager is closed. Use it inside its block: async with Manager([…]) as manager.",
    ),
    (
        "other servers from another event loop",
        lambda: opened(lambda manager: asyncio.to_thread(asyncio.run, manager.reconcile([]))),
        ELSEWHERE,
    ),
    (
        "left without having been entered",
        lambda: Manager([]).__aexit__(),
        "The manager is not open yet. Use it inside its block: async with Manager([…]) as manager.",
    ),
    (
        "left in another event loop",
        lambda: opened(lambda manager: asyncio.to_thread(asyncio.run, manager.__aexit__())),
        ELSEWHERE,
    ),
    (
        "sent to another process",
        lambda: opened(lambda manager: asyncio.sleep(0, pickle.dumps(manager))),
        "A manager cannot be copied or sent to another process. Give that process the servers, and make a Manager there.",
    ),
    (
        "a folder where files of servers are to be kept",
        lambda: asyncio.sleep(0, Manager([], media="kept")),  # type: ignore[arg-type]  # the same
        "media must be of type MediaStore, not a text. Write media=MediaStore(…).",
    ),
    (
        "options that are a mapping",
        lambda: asyncio.sleep(0, Manager([], options={"debug": True})),  # type: ignore[arg-type]  # the same
        "options must be of type ServersOptions, not a mapping. Write options=ServersOptions(…).",
    ),
    (
        "one name where there are to be several",
        lambda: asyncio.sleep(0, Manager([], reserved="read")),
        "reserved must be a list of names, not a text. Write reserved=['…'].",
    ),
    (
        "an async function for events",
        lambda: asyncio.sleep(0, Manager([]).events.subscribe(closed)),  # type: ignore[arg-type]  # the same
        "subscribe takes a plain function, which is called with each event. Write manager.events.subscribe(print), to begin with; "
        "`async for` goes through manager.events.reader().",
    ),
    (
        "events by their names",
        lambda: asyncio.sleep(0, Manager([]).events.subscribe(print, "StateChanged")),  # type: ignore[call-overload]  # the same
        "Events are chosen by their types, not by names. Write subscribe(function, StateChanged).",
    ),
    (
        "a server where a config has a mapping",
        lambda: asyncio.sleep(0, Manager.from_config({"shop": Server("shop", in_process=SHOP)})),
        "The mapping holds a Server, which JSON has no form for. Write servers=[server] beside the config.",
    ),
    (
        "a folder where a config is a file",
        lambda: asyncio.sleep(0, Manager.from_config(Path("/"))),
        f"{Path('/')} is a folder. Give the path of a config that names MCP servers.",
    ),
    (
        "two objects of one name",
        lambda: asyncio.sleep(
            0, Manager({"a": [Server("own", in_process=SHOP)], "b": [Server("own", in_process=shop())]})
        ),
        "Two objects are named 'own'. Give each server a name of its own.",
    ),
]


async def opened(act: Callable[[Manager], Awaitable[object]]) -> object:
    async with Manager([Server("shop", in_process=SHOP)]) as manager:
        return await act(manager)


async def closed(act: Callable[[Manager], Awaitable[object]]) -> object:
    manager = Manager([Server("shop", in_process=SHOP)])
    async with manager:
        pass
    return await act(manager)


@pytest.mark.parametrize(("act", "sentence"), [case[1:] for case in MISUSE], ids=[case[0] for case in MISUSE])
async def test_misuse_is_told_in_a_sentence_and_leaves_nothing_behind(
    act: Callable[[], Awaitable[object]], sentence: str
) -> None:
    with nothing_left_behind():
        with pytest.raises(UsageError) as caught:
            await act()
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda request: request.accept(4), "accept takes a mapping of the form's fields, not the number 4."),
        (lambda request: ElicitationAnswer("yes"), "The elicit function gave no ElicitationAnswer."),  # type: ignore[arg-type]  # the same
    ],
    ids=["a value in place of a form", "a word that is none"],
)
async def test_an_answer_that_is_none_is_told_to_who_wrote_the_function(
    answer: Callable[[Any], Any], sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask(request: ElicitationRequest) -> ElicitationAnswer:
        told: ElicitationAnswer = answer(request)
        return told

    async with Manager([Server("shop", in_process=SHOP)], elicit=ask) as manager:
        assert (await manager.call("shop__reserve")).is_error
    assert [one.levelname for one in caplog.records if one.getMessage().startswith(sentence)] == ["ERROR"]


@pytest.mark.parametrize("tool", ["shop__book", "shop__reserve"])
async def test_a_question_whose_window_is_closed_was_answered_by_nobody(tool: str) -> None:
    async def ask(request: ElicitationRequest) -> ElicitationAnswer:
        window: asyncio.Future[ElicitationAnswer] = asyncio.get_running_loop().create_future()
        window.cancel()
        return await window

    with nothing_left_behind():
        async with Manager([Server("shop", in_process=SHOP)], elicit=ask) as manager:
            result = await manager.call(tool)
            assert (result.timed_out, "A table" in result.text) == (False, False)


async def test_a_closed_manager_shows_no_server_as_running() -> None:
    manager = Manager([Server("shop", in_process=SHOP)])
    async with manager:
        pass
    (status,) = manager.status()
    assert (status.state, status.ready_for) == ("stopped", None)


async def test_a_result_is_shown_by_what_is_in_it() -> None:
    async with Manager([Server("shop", in_process=SHOP)]) as manager:
        listed = await manager.call("shop__listed")
    assert repr(listed.content) == "[Content(type='text', text='[\"a\", \"b\"]')]"


async def test_a_name_that_is_no_tools_is_a_result_which_a_model_can_be_given() -> None:
    async with Manager([Server("shop", in_process=SHOP)]) as manager:
        assert (await manager.call("shop__ad")).fault == "There is no tool named shop__ad. Did you mean shop__add?"
        (message,) = await manager.answers_for(
            "anthropic", {"content": [{"type": "tool_use", "id": "1", "name": "shop__ad", "input": {}}]}
        )
        told = "There is no tool named shop__ad. Did you mean shop__add?"
        content = [{"type": "text", "text": told}]
        result = {"type": "tool_result", "tool_use_id": "1", "content": content, "is_error": True}
        assert message == {"role": "user", "content": [result]}
        assert (await manager.call("add")).fault == "There is no tool named add. Did you mean shop__add?"


async def test_what_a_call_came_to_is_given_though_its_tool_was_taken_away_meanwhile() -> None:
    server, begun, gate = MCPServer("shop", log_level="ERROR"), asyncio.Event(), asyncio.Event()

    @server.tool()
    async def sell() -> str:
        begun.set()
        await gate.wait()
        return "sold"

    async with Manager([Server("shop", in_process=server)]) as manager:
        message = {"content": [{"type": "tool_use", "id": "1", "name": "shop__sell", "input": {}}]}
        answering = asyncio.create_task(manager.answers_for("anthropic", message))
        await begun.wait()
        server.remove_tool("sell")
        await manager.server("shop").refresh()
        gate.set()
        (answer,) = await answering
        assert manager.tools() == []
    assert "sold" in str(answer)


async def test_who_gives_up_while_entering_leaves_no_task_and_no_process_behind() -> None:
    stuck = Server("stuck", command=sys.executable, args=["-c", "import time; time.sleep(600)"])
    manager = Manager([stuck])
    starting = asyncio.Event()
    manager.events.subscribe(lambda event: starting.set(), StateChanged)
    with nothing_left_behind():
        entering = asyncio.create_task(manager.__aenter__())
        await starting.wait()
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering


async def test_what_went_wrong_names_no_command_that_the_program_does_not_have(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    servers = [
        Server("gone", command=sys.executable, args=["-c", "import sys; sys.exit('no database')"], max_restarts=0),
        Server("lost", command="no-such-program-anywhere"),
        Server("off", command="x", enabled=False),
    ]
    async with Manager(servers) as manager:
        said = [status.told for status in manager.status()]
        said += [absence.reason for absence in manager.absences()]
        said += [(await manager.call("gone__x")).fault, (await manager.call("lost__x")).fault]
        with pytest.raises(OpenClawError) as caught:
            await manager.server("gone").ping()
        said.append(str(caught.value))
        with pytest.raises(UsageError) as caught_off:
            manager.server("off")
        said.append(str(caught_off.value))
        assert any("no database" in line for line in manager.stderr("gone"))
    said += [record.getMessage() for record in caplog.records]
    assert [text for text in said if "openclaw mcp" in text or "/mcp " in text] == []
    assert "`manager.stderr('gone')` shows what it wrote." in said[0]
    assert "`await manager.server('gone').refresh()` tries it again." in str(caught.value)


async def test_what_a_program_left_out_is_told_in_the_words_it_used() -> None:
    server = Server("shop", in_process=shop(), tool_include=["add", "point"], tool_exclude=["po*"])
    async with Manager([server]) as manager:
        told = {absence.name: absence.reason for absence in manager.absences()}
    assert told["shop__point"] == "The tool is left out: tool_exclude has 'po*'."
    assert told["shop__broken"] == "The tool is left out: tool_include does not name it."


def test_a_program_that_sets_up_no_logging_has_nothing_of_ours_on_its_standard_error() -> None:
    program = (
        "import asyncio, sys\n"
        "from openclaw.mcp import Manager, Server\n"
        "async def main():\n"
        "    lost = Server('lost', command=sys.executable, args=['-c', 'raise SystemExit(\"no database\")'], max_restarts=0)\n"
        "    async with Manager([lost]) as manager:\n"
        "        print(manager.status()[0].state)\n"
        "asyncio.run(main())\n"
    )
    quiet = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    asked = f"import logging; logging.basicConfig()\n{program}"
    heard = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60)
    assert (quiet.stdout, quiet.stderr) == ("failed\n", "")
    assert "MCP server 'lost' stderr: no database" in heard.stderr

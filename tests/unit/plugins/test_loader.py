"""Plugins: found, switched on, kept apart, changed and shut down."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openclaw.config import json5
from openclaw.config.load import parse_config
from openclaw.content import Text
from openclaw.conversation import Conversation
from openclaw.errors import SecretError
from openclaw.plugins import PluginContext, PluginHandle, ToolPlugin
from openclaw.plugins.configured import plugin_rules
from openclaw.plugins.contract import PluginFault
from openclaw.plugins.discover import refuse_writable_by_all
from openclaw.plugins.loader import (
    LoaderDependencies,
    PluginRules,
    Plugins,
    PluginSettings,
    PluginStatus,
    open_plugins,
    why_off,
)
from openclaw.tool import Absence, Invocation, Tool, ToolResult, parameters

EXAMPLE = Path(__file__).parents[3] / "examples" / "word_count_plugin"
ANYTHING = parameters({"type": "object"})
# What a hanging plugin costs a test.
PATIENCE = 0.2


async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    return ToolResult((Text("done"),))


def tool(name: str, **fields: Any) -> Tool:
    return Tool(name, "Does it.", ANYTHING, run, **fields)


def plugin(handle: PluginHandle | Callable[[PluginContext], PluginHandle], **fields: Any) -> ToolPlugin:
    async def initialize(context: PluginContext) -> PluginHandle:
        return handle if isinstance(handle, PluginHandle) else handle(context)

    return ToolPlugin("Label", "Description.", initialize, **fields)


def on(*names: str, **fields: Any) -> PluginRules:
    return PluginRules(entries={name: PluginSettings() for name in names}, **fields)


def code(directory: Path, name: str, body: str) -> Path:
    """A plugin file whose `initialize` has this body."""
    directory.mkdir(exist_ok=True)
    path = directory / f"{name}.py"
    path.write_text(
        "import asyncio, time\n"
        "from openclaw.plugins import PluginHandle, ToolPlugin\n"
        "async def initialize(context):\n"
        f"    {body}\n"
        f"plugin = ToolPlugin('{name}', 'd', initialize)\n"
    )
    return path


OPENED: list[Plugins] = []


@pytest.fixture(autouse=True)
async def all_closed() -> AsyncIterator[None]:
    """What a test loads is shut down after it: a plugin's thread would stay."""
    yield
    while OPENED:
        await OPENED.pop().close()


async def loaded(
    tmp_path: Path, rules: PluginRules, *, start: float = 60.0, hook: float = 60.0, **options: Any
) -> Plugins:
    host = LoaderDependencies(tmp_path / "data", "1.2.3", start_seconds=start, hook_seconds=hook)
    plugins = await open_plugins(rules, host, **options)
    OPENED.append(plugins)
    await plugins.loaded()
    return plugins


def reasons(plugins: Plugins) -> dict[str, str]:
    return {status.id: status.reason for status in plugins.statuses()}


@pytest.mark.requirement("000-6.1-fields")
@pytest.mark.requirement("000-6.4-initialize")
async def test_the_example_is_found_by_its_path_and_counts_words(tmp_path: Path) -> None:
    settings = PluginSettings(enabled=True, config={"shortestWord": 3})
    plugins = await loaded(tmp_path, PluginRules({"word-count": settings}, [EXAMPLE]))

    (found,) = plugins.tools("main")
    result = await found.run({"text": "to be or not to be"}, Invocation(Conversation("main", "k", workspace=tmp_path)))

    assert (found.name, found.kind, found.origin) == ("word_count", "plugin", "word-count")
    assert result == ToolResult((Text("1 words"),), details={"words": 1})
    assert plugins.statuses() == (
        PluginStatus(
            "word-count",
            "loaded",
            str(EXAMPLE / "word_count.py"),
            "Word count",
            "Adds a tool that counts words.",
        ),
    )
    await plugins.close()


async def test_the_config_in_the_examples_readme_switches_it_on(tmp_path: Path) -> None:
    block = (EXAMPLE / "README.md").read_text(encoding="utf-8").partition("```json5\n")[2].partition("```")[0]
    section = json5.loads(block)
    entries = {name: PluginSettings(**entry) for name, entry in section["entries"].items()}
    # The folder it names is the reader's.
    paths = [EXAMPLE.parents[1] / path.removeprefix("/home/me/claw/") for path in section["load"]["paths"]]

    plugins = await loaded(tmp_path, PluginRules(entries, paths))

    assert [tool.name for tool in plugins.tools("main")] == ["word_count"]


@pytest.mark.requirement("000-6.1-manifest")
async def test_an_installed_plugin_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code(tmp_path / "site", "entry_point_plugin", "return PluginHandle()")
    info = tmp_path / "site" / "some_plugin-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-plugin\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(
        "[openclaw.plugins]\nsome = entry_point_plugin:plugin\nother = nowhere:plugin\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "site")

    plugins = await loaded(tmp_path, on("some"))

    assert plugins.statuses() == (
        PluginStatus(
            "other",
            "off",
            "package some-plugin 1.5 (nowhere:plugin)",
            reason="plugins.entries.other is not in the config",
        ),
        PluginStatus(
            "some", "loaded", "package some-plugin 1.5 (entry_point_plugin:plugin)", "entry_point_plugin", "d"
        ),
    )


async def test_a_plugin_without_an_entry_never_runs(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "bad.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")

    plugins = await loaded(tmp_path, PluginRules(paths=[tmp_path / "plugins"]))

    assert reasons(plugins) == {"bad": "plugins.entries.bad is not in the config"}
    assert [p.name for p in (tmp_path / "ran",) if p.exists()] == []


@pytest.mark.parametrize(
    ("rules", "built_in", "reason"),
    [
        (PluginRules(), True, ""),
        (PluginRules(enabled=False, deny=["p"], allow=[]), True, ""),
        (PluginRules({"p": PluginSettings(enabled=False)}), True, "plugins.entries.p.enabled is false"),
        (PluginRules({"p": PluginSettings()}), False, ""),
        (PluginRules({"p": PluginSettings(enabled=True)}, allow=["p"]), False, ""),
        (PluginRules(), False, "plugins.entries.p is not in the config"),
        (PluginRules({"p": PluginSettings(enabled=False)}), False, "plugins.entries.p.enabled is false"),
        (PluginRules({"p": PluginSettings()}, enabled=False), False, "plugins.enabled is false"),
        (PluginRules({"p": PluginSettings()}, allow=["p"], deny=["p"]), False, "plugins.deny names it"),
        (PluginRules({"p": PluginSettings()}, allow=["q"]), False, "plugins.allow does not name it"),
    ],
)
def test_whether_a_plugin_is_on_is_one_decision(rules: PluginRules, built_in: bool, reason: str) -> None:
    assert why_off("p", rules, built_in=built_in) == reason


async def test_plugins_that_fail_are_left_out_with_a_reason_and_the_others_go_on(tmp_path: Path) -> None:
    place = tmp_path / "plugins"
    code(place, "good", "return PluginHandle()")
    code(place, "raises", "raise ValueError('no\\x1b[31m luck with sk-abcdefghijklmnopqrstu')")
    code(place, "exits", "raise SystemExit(3)")
    code(place, "cancels", "raise asyncio.CancelledError")
    code(place, "wrong", "return 5")
    (place / "no_import.py").write_text("import surely_not_installed\n")
    (place / "ends.py").write_text("raise SystemExit\n")
    (place / "broken.py").write_text("def (:\n")
    (place / "empty.py").write_text("")
    (place / "other.py").write_text("plugin = 5\n")
    names = ["good", "raises", "exits", "cancels", "wrong", "no-import", "ends", "broken", "empty", "other", "gone"]

    plugins = await loaded(tmp_path, on(*names, paths=[place, tmp_path / "nowhere"]))

    nowhere = str(tmp_path / "nowhere")
    assert reasons(plugins) == {
        "good": "",
        "raises": "ValueError: no luck with [REDACTED]",
        "exits": "SystemExit: 3",
        "cancels": "it cancelled itself",
        "wrong": "its initialize gave something that is not a PluginHandle",
        "no-import": "ModuleNotFoundError: No module named 'surely_not_installed'",
        "ends": "SystemExit",
        "broken": "SyntaxError: invalid syntax (broken.py, line 1)",
        "empty": "empty.py has no `plugin` that is a ToolPlugin",
        "other": "its `plugin` is not a ToolPlugin",
        "gone": "no plugin of this name is installed or under plugins.load.paths",
        nowhere: "there is no such Python file or directory",
    }
    assert {s.id for s in plugins.statuses() if s.state != "failed"} == {"good", "gone"}
    absent = {a.name for a in plugins.absences("main")}
    assert absent == {*names, nowhere} - {"good", "gone"}


# Swallows the first attempt to cancel it.
STUBBORN = """
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.Event().wait()
"""


@pytest.mark.parametrize("body", ["await asyncio.Event().wait()", STUBBORN], ids=["waits", "refuses to be cancelled"])
async def test_a_plugin_that_hangs_is_left_out_after_its_deadline(tmp_path: Path, body: str) -> None:
    code(tmp_path / "plugins", "hangs", body)

    plugins = await loaded(tmp_path, on("hangs", paths=[tmp_path / "plugins"]), start=PATIENCE)

    assert reasons(plugins) == {"hangs": "it did not finish within 0.2 s"}


async def test_a_plugin_whose_import_hangs_is_left_out_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text("import threading\nthreading.Event().wait()\n")

    plugins = await loaded(tmp_path, on("hangs", paths=[tmp_path / "hangs.py"]), start=PATIENCE)

    assert reasons(plugins) == {"hangs": "it did not finish within 0.2 s"}


@pytest.mark.posix_only("modes of files")
async def test_a_plugin_that_every_user_may_change_is_not_run(tmp_path: Path) -> None:
    path = code(tmp_path / "plugins", "open", "return PluginHandle()")
    path.chmod(0o666)

    plugins = await loaded(tmp_path, on("open", paths=[path]))

    assert reasons(plugins) == {
        "open": f"every user of this machine may change {path}; take that right away (chmod o-w)"
    }


def test_where_modes_do_not_tell_who_may_change_a_file_they_refuse_no_plugin(tmp_path: Path) -> None:
    """On Windows every file that one may write has mode 0666."""
    path = code(tmp_path / "plugins", "open", "return PluginHandle()")
    path.chmod(0o666)
    refuse_writable_by_all(path, modes_tell=False)
    with pytest.raises(PluginFault):
        refuse_writable_by_all(path, modes_tell=True)


async def test_a_package_is_a_plugin_and_imports_its_own_modules(tmp_path: Path) -> None:
    package = tmp_path / "my_package"
    code(package, "__init__", "return PluginHandle()")
    (package / "part.py").write_text("LABEL = 'from a part'\n")
    with (package / "__init__.py").open("a") as file:
        file.write("from .part import LABEL\nplugin = ToolPlugin(LABEL, 'd', initialize)\n")

    plugins = await loaded(tmp_path, on("my-package", paths=[package]))

    assert [(s.id, s.state, s.label) for s in plugins.statuses()] == [("my-package", "loaded", "from a part")]


async def test_a_plugin_gets_its_own_settings_and_nothing_else(tmp_path: Path) -> None:
    contexts: list[PluginContext] = []

    def remember(context: PluginContext) -> PluginHandle:
        contexts.append(context)
        return PluginHandle()

    settings = PluginSettings(config={"a": 1}, env={"X": "y"}, api_key="k")
    await loaded(tmp_path, PluginRules({"p": settings}), built_in={"p": plugin(remember)})

    assert contexts == [
        PluginContext(
            "p", {"a": 1}, tmp_path / "data" / "p", "1.2.3", logging.getLogger("openclaw.plugin.p"), {"X": "y"}, "k"
        )
    ]


@pytest.mark.requirement("000-6.1-fields")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"slots": ["tool", "memory"]}, "it asks for the slot 'memory'; only 'tool' is known"),
        ({"minimum_host_version": "1.10"}, "it needs OpenClaw 1.10 or later; this is 1.2.3"),
        ({"minimum_host_version": "new"}, "'new' is not a version"),
        ({"minimum_host_version": "1.2.3"}, ""),
        ({"minimum_host_version": "1"}, ""),
        ({"minimum_host_version": "1.2.3rc1"}, ""),
        ({"config_schema": {"required": ["url"]}}, "its config does not fit: "),
        ({"config_schema": {"type": 5}}, "its config does not fit: "),
        ({"config_schema": {"type": object()}}, "its config schema is not JSON: "),
    ],
)
async def test_a_plugin_that_does_not_fit_is_left_out(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    plugins = await loaded(tmp_path, PluginRules(), built_in={"p": plugin(PluginHandle(), **fields)})

    assert reasons(plugins)["p"].startswith(reason)
    assert bool(reasons(plugins)["p"]) == bool(reason)


def fixed(tmp_path: Path, name: str, body: str) -> Path:
    """A plugin file that offers what `body` evaluates to."""
    path = tmp_path / f"{name}.py"
    path.write_text(
        "from openclaw.plugins import PluginHandle, ToolPlugin\n"
        "from openclaw.tool import Tool, parameters\n"
        "async def run(arguments, invocation): ...\n"
        "def tool(name, raw=parameters({}), **fields): return Tool(name, 'd', raw, run, **fields)\n"
        "async def initialize(context):\n"
        f"    return PluginHandle(tools={body})\n"
        "plugin = ToolPlugin('l', 'd', initialize)\n"
    )
    return path


async def test_tools_are_stamped_and_names_that_are_taken_are_refused(tmp_path: Path) -> None:
    paths = [
        fixed(tmp_path, "a", "[tool('one', kind='native', origin='me'), tool('READ'), tool('b c'), 7, tool('x', {})]"),
        fixed(tmp_path, "b", "[tool('ONE'), tool('two')]"),
    ]
    plugins = await loaded(tmp_path, on("a", "b", paths=paths), reserved={"read", "write"})

    assert [(t.name, t.kind, t.origin) for t in plugins.tools("main")] == [
        ("one", "plugin", "a"),
        ("two", "plugin", "b"),
    ]
    assert plugins.absences("main") == [
        Absence("READ", "the name belongs to OpenClaw itself (plugin a)", "plugins.entries.a"),
        Absence(
            "b c",
            "its name is not 1 to 64 letters, digits, hyphens and underscores (plugin a)",
            "plugins.entries.a",
        ),
        Absence("a", "a int is not a Tool (plugin a)", "plugins.entries.a"),
        Absence(
            "x",
            "its parameters are not what openclaw.tool.parameters() makes of a JSON Schema (plugin a)",
            "plugins.entries.a",
        ),
        Absence("ONE", "the name belongs to the plugin a (plugin b)", "plugins.entries.b"),
    ]


async def test_tools_of_a_built_in_plugin_keep_their_own_stamp_and_come_last(tmp_path: Path) -> None:
    mcp = tool("files__read", kind="mcp", origin="files")
    paths = [fixed(tmp_path, "z", "[tool('one')]")]

    plugins = await loaded(tmp_path, on("z", paths=paths), built_in={"mcp-client": plugin(PluginHandle(tools=[mcp]))})

    assert [t.name for t in plugins.tools("main")] == ["one", "files__read"]
    assert plugins.tools("main")[1] is mcp


class Source:
    """A ToolSource that gives each agent a tool of its own."""

    def __init__(self) -> None:
        self.settled: list[tuple[str, float]] = []

    def tools(self, agent: str) -> Sequence[Tool]:
        return [tool(f"for_{agent}")]

    def absences(self, agent: str) -> Sequence[Absence]:
        return [Absence("later", f"not yet for {agent}")]

    async def settle(self, agent: str, patience: float) -> None:
        self.settled.append((agent, patience))

    def context(self, agent: str) -> str:
        return f"Hello {agent}."


class Broken:
    def tools(self, agent: str) -> Sequence[Tool]:
        raise ValueError

    def absences(self, agent: str) -> Sequence[Absence]:
        raise ValueError

    async def settle(self, agent: str, patience: float) -> None:
        raise ValueError

    def context(self, agent: str) -> str:
        raise ValueError


async def test_a_source_is_asked_each_time_and_a_broken_one_costs_only_itself(tmp_path: Path) -> None:
    source, broken = Source(), Broken()
    plugins = await loaded(
        tmp_path,
        PluginRules(),
        built_in={
            "a": plugin(PluginHandle(source=broken, contexts=[broken])),
            "b": plugin(PluginHandle(source=source, contexts=[source])),
        },
    )
    await plugins.settle("main", 1.5)

    assert [t.name for t in plugins.tools("main")] == ["for_main"]
    assert [t.name for t in plugins.tools("other")] == ["for_other"]
    assert plugins.absences("main") == [Absence("later", "not yet for main")]
    assert source.settled == [("main", 1.5)]
    assert plugins.context("main") == "Hello main."


class Diary:
    """A plugin that writes down what happens to it."""

    def __init__(self, *, takes_changes: bool = True) -> None:
        self.pages: list[Any] = []
        self.takes_changes = takes_changes

    def plugin(self, **fields: Any) -> ToolPlugin:
        def start(context: PluginContext) -> PluginHandle:
            self.pages.append(("start", dict(context.config)))
            return PluginHandle(on_shutdown=self.stop, on_config_change=self.change if self.takes_changes else None)

        return plugin(start, **fields)

    async def stop(self) -> None:
        self.pages.append("stop")

    async def change(self, config: Mapping[str, Any]) -> None:
        self.pages.append(("change", dict(config)))
        if config.get("bad"):
            raise ValueError("cannot")


def with_config(**config: Any) -> PluginRules:
    return PluginRules({"p": PluginSettings(config=config)})


@pytest.mark.requirement("000-6.4-config-change")
async def test_a_running_plugin_is_told_its_new_config(tmp_path: Path) -> None:
    diary = Diary()
    plugins = await loaded(tmp_path, with_config(a=1), built_in={"p": diary.plugin()})
    await plugins.apply(with_config(a=1))
    await plugins.apply(with_config(a=2))
    await plugins.close()
    await plugins.close()

    assert diary.pages == [("start", {"a": 1}), ("change", {"a": 2}), "stop"]


async def test_a_plugin_that_takes_no_changes_is_started_again(tmp_path: Path) -> None:
    diary = Diary(takes_changes=False)
    plugins = await loaded(tmp_path, with_config(a=1), built_in={"p": diary.plugin()})
    await plugins.apply(with_config(a=2))

    assert diary.pages == [("start", {"a": 1}), "stop", ("start", {"a": 2})]


async def test_a_plugin_is_switched_off_and_on_while_the_host_runs(tmp_path: Path) -> None:
    diary = Diary()
    plugins = await loaded(tmp_path, PluginRules(), built_in={"p": diary.plugin()})
    await plugins.apply(PluginRules({"p": PluginSettings(enabled=False)}))
    assert [(s.state, s.reason) for s in plugins.statuses()] == [("off", "plugins.entries.p.enabled is false")]
    await plugins.apply(PluginRules())

    assert diary.pages == [("start", {}), "stop", ("start", {})]
    assert [s.state for s in plugins.statuses()] == ["loaded"]


async def test_a_plugin_whose_path_is_no_longer_named_is_stopped(tmp_path: Path) -> None:
    path = fixed(tmp_path, "a", "[tool('one')]")
    plugins = await loaded(tmp_path, on("a", paths=[path]))
    await plugins.apply(on("a"))

    assert plugins.tools("main") == []
    assert [s.state for s in plugins.statuses()] == ["missing"]


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (PluginRules(entries={"theirs": PluginSettings(enabled=False)}), "plugins.entries.theirs.enabled is false"),
        (PluginRules(entries={"theirs": PluginSettings()}, enabled=False), "plugins.enabled is false"),
    ],
)
async def test_a_plugin_that_is_switched_off_is_not_missed(tmp_path: Path, rules: PluginRules, reason: str) -> None:
    plugins = await loaded(tmp_path, rules)
    assert plugins.statuses() == (PluginStatus("theirs", "off", reason=reason),)


async def test_config_that_does_not_fit_leaves_the_plugin_running_as_it_was(tmp_path: Path) -> None:
    diary = Diary()
    schema = {"properties": {"a": {"type": "integer"}}}
    plugins = await loaded(tmp_path, with_config(a=1), built_in={"p": diary.plugin(config_schema=schema)})
    await plugins.apply(with_config(a="one"))

    assert diary.pages == [("start", {"a": 1})]
    (status,) = plugins.statuses()
    assert status.state == "loaded"
    assert status.reason.startswith("the new config was not taken: its config does not fit: ")


async def test_a_secret_that_cannot_be_had_is_the_trouble_of_the_plugin_that_names_it(tmp_path: Path) -> None:
    config = parse_config("""{plugins: {entries: {
        good: {env: {A: "plain"}}, bad: {apiKey: "secret://env/NO_SUCH_VARIABLE"}}}}""")

    async def resolve(value: str) -> str:
        if value.startswith("secret://"):
            raise SecretError("There is no such secret.")
        return value

    rules = await plugin_rules(config, resolve)
    good, bad = Diary(), Diary()
    plugins = await loaded(tmp_path, rules, built_in={"good": good.plugin(), "bad": bad.plugin()})

    assert [(status.id, status.state, status.reason) for status in plugins.statuses()] == [
        ("bad", "failed", "There is no such secret."),
        ("good", "loaded", ""),
    ]
    assert (good.pages, bad.pages) == ([("start", {})], [])


async def test_a_secret_that_is_gone_leaves_a_running_plugin_as_it_was(tmp_path: Path) -> None:
    diary = Diary()
    plugins = await loaded(tmp_path, with_config(a=1), built_in={"p": diary.plugin()})
    await plugins.apply(PluginRules({"p": PluginSettings(fault="There is no such secret.")}))

    assert diary.pages == [("start", {"a": 1})]
    assert reasons(plugins) == {"p": "the new config was not taken: There is no such secret."}


async def test_a_plugin_that_fails_on_its_new_config_is_stopped(tmp_path: Path) -> None:
    diary = Diary()
    plugins = await loaded(tmp_path, with_config(a=1), built_in={"p": diary.plugin()})
    await plugins.apply(with_config(bad=1))

    assert diary.pages == [("start", {"a": 1}), ("change", {"bad": 1}), "stop"]
    assert [(s.state, s.reason) for s in plugins.statuses()] == [("failed", "ValueError: cannot")]


async def test_a_shutdown_that_fails_does_not_keep_the_others_from_theirs(tmp_path: Path) -> None:
    async def fail() -> None:
        raise ValueError

    async def hang() -> None:
        await asyncio.Event().wait()

    diary = Diary()
    plugins = await loaded(
        tmp_path,
        PluginRules(),
        hook=PATIENCE,
        built_in={
            "a": plugin(PluginHandle(on_shutdown=fail)),
            "b": plugin(PluginHandle(on_shutdown=hang)),
            "p": diary.plugin(),
        },
    )
    await plugins.close()

    assert diary.pages[-1] == "stop"


async def test_loading_that_is_cancelled_shuts_down_what_had_started(tmp_path: Path) -> None:
    diary = Diary()
    started = asyncio.Event()

    async def wait(context: PluginContext) -> PluginHandle:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    built_in = {"p": diary.plugin(), "q": replace(diary.plugin(), initialize=wait)}
    loading = asyncio.create_task(loaded(tmp_path, PluginRules(), built_in=built_in))
    await started.wait()
    while not diary.pages:
        await asyncio.sleep(0)
    # One more round, so that the host has taken note of what the plugin gave back.
    for _ in range(10):
        await asyncio.sleep(0)
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading

    assert diary.pages == [("start", {}), "stop"]


async def test_a_fault_of_the_loader_itself_is_logged_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unexpected: Any = 5
    rules = PluginRules({"a": PluginSettings(), "b": PluginSettings(enabled=False)}, [unexpected])
    plugins = await loaded(tmp_path, rules, built_in={"own": plugin(PluginHandle(tools=[tool("ours")]))})

    assert [found.name for found in plugins.tools("main")] == ["ours"]
    reason = "an internal error while plugins were loaded: AttributeError"
    assert plugins.statuses() == (
        PluginStatus("a", "failed", reason=reason),
        PluginStatus("b", "off", reason="plugins.entries.b.enabled is false"),
        PluginStatus("own", "loaded", "built in"),
    )
    assert plugins.absences("main") == [Absence("a", f"the plugin a is not loaded: {reason}", "")]
    assert [(one.levelname, one.exc_info is not None) for one in caplog.records] == [("ERROR", True)]


async def test_nothing_of_a_settings_secret_is_shown() -> None:
    config, env = {"password": "hush"}, {"A": "hush"}
    assert "hush" not in repr(PluginSettings(config=config, env=env, api_key="hush"))
    context = PluginContext("p", config, Path("/data"), "1.0", logging.getLogger("p"), env, "hush")
    assert "hush" not in repr(context)

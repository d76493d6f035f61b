"""Edits of text: any edit of any document changes what it names and nothing else; a file is never half written."""

import copy
import stat
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from openclaw.config.dotted import parse_path
from openclaw.config.edit import edit_file, remove, remove_whole, set_value
from openclaw.config.json5 import Array, Node, Object, loads, parse
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.errors import ConfigError, UsageError
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE
from unit.config.written import comments, documents, keys, values


def places(value: Any) -> list[tuple[str, ...]]:
    """Every path that something is set at."""
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = [(str(index), item) for index, item in enumerate(value)]
    else:
        children = []
    return [(key, *rest) for key, item in children for rest in [(), *places(item)]]


def at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def changed(value: Any, path: tuple[str, ...], new: Any) -> Any:
    result = copy.deepcopy(value)
    parent = at(result, path[:-1])
    if isinstance(parent, list):
        parent[int(path[-1]) : int(path[-1]) + 1] = [new]
    else:
        parent[path[-1]] = new
    return result


def without(value: Any, path: tuple[str, ...]) -> Any:
    result = copy.deepcopy(value)
    parent = at(result, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    return result


def node_at(text: str, path: tuple[str, ...]) -> Node:
    node = parse(text)
    for key in path:
        node = (
            node.members[key].value
            if isinstance(node, Object)
            else node.items[int(key)]
            if isinstance(node, Array)
            else node
        )
    return node


def is_within(part: str, whole: str) -> bool:
    """Whether `part` is `whole` with some characters left out."""
    rest = iter(whole)
    return all(char in rest for char in part)


@given(documents(), st.data(), values)
@settings(max_examples=200)
def test_replacing_a_value_changes_its_span_alone(document: tuple[str, Any], data: st.DataObject, new: Any) -> None:
    text, value = document
    assume(places(value))
    path = data.draw(st.sampled_from(places(value)))
    after = set_value(text, path, new)
    node = node_at(text, path)
    assert loads(after) == changed(value, path, new)
    assert after.startswith(text[: node.start])
    assert after.endswith(text[node.end :])
    assert len(after) >= len(text) - (node.end - node.start)


@given(documents(), st.data(), keys, values)
@settings(max_examples=200)
def test_adding_a_value_only_adds_text(document: tuple[str, Any], data: st.DataObject, key: str, new: Any) -> None:
    text, value = document
    containers = [path for path in [(), *places(value)] if isinstance(at(value, path), dict | list)]
    path = data.draw(st.sampled_from(containers))
    parent = at(value, path)
    key = str(len(parent)) if isinstance(parent, list) else key
    assume(isinstance(parent, list) or key not in parent)
    after = set_value(text, (*path, key), new)
    assert loads(after) == changed(value, (*path, key), new)
    assert is_within(text, after)
    assert comments(after) == comments(text)


@given(documents(), st.data())
@settings(max_examples=200)
def test_removing_a_value_only_removes_it_its_comma_and_blanks(document: tuple[str, Any], data: st.DataObject) -> None:
    text, value = document
    assume(places(value))
    path = data.draw(st.sampled_from(places(value)))
    after = remove(text, path)
    assert loads(after) == without(value, path)
    assert is_within(after, text)
    parent, child = node_at(text, path[:-1]), node_at(text, path)
    start = parent.members[path[-1]].start if isinstance(parent, Object) else child.start
    before, behind = text[:start], text[child.end :]
    assert comments(after) == comments(f"{before}0{behind}")
    assert bare(after) == bare(before + behind)


def bare(text: str) -> str:
    """Without white space and commas, in comments too."""
    return "".join(text.split()).replace(",", "")


DOCUMENT = """\
// My config.
{
  // Who answers.
  agents: {
    defaults: { model: 'a/b' }, // the cheap one
  },
  mcp: {
    servers: {
      one: { command: 'x' } // the last
    },
    empty: {}, // nothing yet
  }
}
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        ("agents.defaults.model", "c/d", "'a/b'", "'c/d'"),
        ("agents.defaults.verbose", True, "'a/b' }", "'a/b', verbose: true }"),
        (
            "agents.list",
            [{"id": "x"}],
            "one\n  },\n",
            "one\n    list: [\n      {\n        id: 'x'\n      }\n    ],\n  },\n",
        ),
        ("mcp.servers.one.args.0", "it's", "'x' }", "'x', args: ['it\\'s'] }"),
        (
            "mcp.servers.two",
            {"url": "u", "headers": {"X-Y": "z"}},
            " } // the last\n",
            " }, // the last\n      two: {\n        url: 'u',\n        headers: {\n          'X-Y': 'z'\n        }\n      }\n",
        ),
        ("mcp.empty.x", 1, "empty: {}", "empty: {\n      x: 1\n    }"),
        ("tools.deny", ["exec", "write"], "yet\n  }\n}", "yet\n  },\n  tools: {\n    deny: ['exec', 'write']\n  }\n}"),
    ],
)
def test_what_is_added_looks_like_its_neighbours(path: str, value: Any, old: str, new: str) -> None:
    assert old in DOCUMENT
    assert set_value(DOCUMENT, parse_path(path), value) == DOCUMENT.replace(old, new, 1)


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ("", "a.b", 1, '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("// empty", "a", 1, '// empty\n{\n  "a": 1\n}\n'),
        ("{}", "a", {}, '{\n  "a": {}\n}'),
        ('{"a":1}', "b", [1, {"c": 2}], '{"a":1,"b":[1,{"c":2}]}'),
        ('{"a": 1}', "b", 2, '{"a": 1, "b": 2}'),
        ('{\n\t"a": 1\n}', "b.c", 2, '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}'),
        ('{\r\n    "a": 1,\r\n}', "b", 2, '{\r\n    "a": 1,\r\n    "b": 2,\r\n}'),
        ("{ a: 1 // one\n}", "b", 2, "{ a: 1, // one\n  b: 2\n}"),
        ("{ /* none */ }", "a", 1, "{ /* none */\n  a: 1\n }".replace("a: 1", '"a": 1')),
        ("[1, 2]", "2", 3, "[1, 2, 3]"),
        ("{a: 'x'}", "a", float("inf"), "{a: Infinity}"),
        ("{'a': 1}", "b c", "d", "{'a': 1, 'b c': 'd'}"),
    ],
)
def test_the_hand_of_the_text_is_kept(before: str, path: str, value: Any, after: str) -> None:
    keys = tuple(path.split(".")) if path != "b c" else (path,)
    assert set_value(before, keys, value) == after


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ('{"a": 1, "b": 2}', "a", '{"b": 2}'),
        ('{"a": 1, "b": 2}', "b", '{"a": 1}'),
        ("{a: 1, b: 2,}", "b", "{a: 1, }"),
        ("{\n  a: 1,\n  b: 2\n}", "b", "{\n  a: 1\n}"),
        ("{\n  a: 1, // one\n  b: 2 // two\n}", "a", "{\n  // one\n  b: 2 // two\n}"),
        ("{\n  a: 1, // one\n  b: 2 // two\n}", "b", "{\n  a: 1 // one\n  // two\n}"),
        ("[1, /* two */ 2, 3]", "1", "[1, /* two */ 3]"),
        ("{a: {b: 1}}", "a.b", "{a: {}}"),
    ],
)
def test_what_is_removed_leaves_the_rest_tidy(before: str, path: str, after: str) -> None:
    assert remove(before, parse_path(path)) == after


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a.b", "a is neither an object nor a list, so nothing can be set below it."),
        ("l.5", "l.5 is not in the list, which has 2 items."),
        ("l.x", "l.x is not in the list, which has 2 items."),
        ("l.0.x", "l.0 is neither an object nor a list, so nothing can be set below it."),
    ],
)
def test_a_path_through_something_else_is_refused(path: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        set_value("{a: 1, l: [1, 2]}", parse_path(path), 1)


@pytest.mark.parametrize("path", ["", "b", "a.b", "l.2"])
def test_what_is_not_there_cannot_be_removed(path: str) -> None:
    with pytest.raises(UsageError, match="Nothing is set at"):
        remove("{a: 1, l: [1, 2]}", parse_path(path))


@pytest.mark.parametrize("value", ["\ud800", b"x", {"a": object()}])
def test_what_no_file_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        set_value("{}", ("a",), value)


def test_a_broken_text_is_not_edited() -> None:
    with pytest.raises(ConfigError):
        set_value("{a: ", ("a",), 1)


# ---- files


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.from_env({"HOME": str(tmp_path), "OPENCLAW_STATE_DIR": str(tmp_path / "state")})


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_new_file_is_for_its_owner_alone(paths: Paths) -> None:
    edit_file(paths, {}, lambda source: set_value(source, ("tools", "deny"), ["exec"]))
    assert paths.config_file.read_text() == '{\n  "tools": {\n    "deny": ["exec"]\n  }\n}\n'
    assert (mode(paths.config_file), mode(paths.state_dir)) == (PRIVATE_FILE, PRIVATE_DIRECTORY)


def test_a_change_that_does_not_load_is_not_written(paths: Paths) -> None:
    paths.state_dir.mkdir()
    paths.config_file.write_text("{ tools: {} } // mine")
    with pytest.raises(ConfigError, match="Did you mean"):
        edit_file(paths, {}, lambda source: set_value(source, ("tools", "dney"), []))
    assert paths.config_file.read_text() == "{ tools: {} } // mine"


def test_an_edit_gives_the_new_config(paths: Paths) -> None:
    config = edit_file(paths, {}, lambda source: set_value(source, ("tools", "deny"), ["exec"]))
    assert config.root == load_config(paths, {}).root
    assert config.root.tools.deny == ("exec",)


def test_writers_at_the_same_time_lose_nothing(paths: Paths) -> None:
    def add(name: str) -> None:
        for path in [("env", "vars", f"{name}{number}") for number in range(5)]:
            edit_file(paths, {}, partial(set_value, path=path, value="x"))

    writers = [threading.Thread(target=add, args=(name,)) for name in "ABCD"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert set(load_config(paths, {}).root.env.vars) == {f"{name}{number}" for name in "ABCD" for number in range(5)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{models: {providers: {house: {apiKey: 'x'}}}}", "{}"),
        ("{models: {mode: 'merge', providers: {house: {apiKey: 'x'}}}}", "{models: {mode: 'merge'}}"),
        (
            "{models: {providers: {house: {apiKey: 'x', baseUrl: 'y'}}}}",
            "{models: {providers: {house: {baseUrl: 'y'}}}}",
        ),
        ("{models: {providers: {house: {apiKey: 'x'}, other: {}}}}", "{models: {providers: {other: {}}}}"),
    ],
)
def test_what_held_nothing_else_goes_with_it(before: str, after: str) -> None:
    assert loads(remove_whole(before, parse_path("models.providers.house.apiKey"))) == loads(after)

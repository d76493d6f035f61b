"""From the config's layers to the rules of an agent."""

from typing import Any

import pytest

from openclaw.config.agents import ApprovalLayer
from openclaw.security.approval import Rules
from openclaw.security.approval_rules import rules_of


def layer(name: str = "agents.entries.x.tools.approval", **fields: Any) -> ApprovalLayer:
    return ApprovalLayer(name, places={key: f"openclaw.json:7 {name}.{key}" for key in fields}, **fields)


def first(**fields: Any) -> ApprovalLayer:
    return layer("tools.approval", **fields)


def shown(rules: Rules) -> dict[str, Any]:
    texts = {name: [one.text for one in getattr(rules, name).patterns] for name in ("ask", "deny")}
    allow = [[one.text for one in layer.patterns] for layer in rules.allow]
    fields = {name: getattr(rules, name) for name in ("mode", "taint", "timeout", "pending", "fallback")}
    return {**fields, **texts, "allow": allow}


DEFAULTS = {
    "mode": "writes",
    "taint": "ask",
    "timeout": 300.0,
    "pending": 1_800.0,
    "fallback": {"default": "untainted"},
    "ask": [],
    "deny": [],
    "allow": [],
}


@pytest.mark.parametrize(
    ("layers", "differs"),
    [
        ([], {}),
        ([None, None], {}),
        ([first(mode="off", taint="off", timeout=9.0, fallback={"default": "allow"})],
         {"mode": "off", "taint": "off", "timeout": 9.0, "fallback": {"default": "allow"}}),
        ([None, layer(mode="off")], {}),
        ([None, layer(mode="always")], {"mode": "always"}),
        ([first(mode="always"), layer(mode="writes")], {"mode": "always"}),
        ([first(mode="off"), layer(mode="deny")], {"mode": "deny"}),
        ([None, layer(taint="off")], {}),
        ([None, layer(taint="deny")], {"taint": "deny"}),
        ([None, layer(timeout=600.0)], {}),
        ([None, layer(timeout=5.0)], {"timeout": 5.0}),
        ([first(pending=3_600.0), layer(pending=60.0)], {"pending": 60.0}),
        ([None, layer(fallback={"default": "allow"})], {}),
        ([first(fallback={"default": "allow"}), layer(fallback={"order": "deny"})],
         {"fallback": {"default": "allow", "order": "deny"}}),
        ([first(fallback={"order": "allow", "default": "deny"}), layer(fallback={"default": "untainted"})],
         {"fallback": {"default": "deny", "order": "untainted"}}),
        ([first(deny=("a",), ask=("b",)), layer(deny=("c",), ask=("d",))], {"deny": ["a", "c"], "ask": ["b", "d"]}),
        ([first(allow=("a",))], {"allow": [["a"]]}),
        ([first(allow=("a",)), layer(allow=("b",))], {"allow": [["a"], ["b"]]}),
        ([first(allow=("a",)), layer(allow=())], {"allow": [["a"], []]}),
        ([None, layer(allow=("b",))], {}),
    ],
)  # fmt: skip
def test_later_layers_only_narrow(layers: list[ApprovalLayer | None], differs: dict[str, Any]) -> None:
    assert shown(rules_of(layers)) == DEFAULTS | differs


def test_each_setting_says_where_it_was_decided() -> None:
    rules = rules_of([first(mode="off", taint="deny"), layer(mode="always", deny=("a",))])
    assert rules.place("mode") == "openclaw.json:7 agents.entries.x.tools.approval.mode"
    assert rules.place("taint") == "openclaw.json:7 tools.approval.taint"
    assert rules.place("fallback") == "tools.approval.fallback"
    assert [one.where for one in rules.deny.patterns] == ["openclaw.json:7 agents.entries.x.tools.approval.deny"]


def test_a_path_may_start_at_the_home_directory() -> None:
    rules = rules_of([first(deny=("write(path=~/.ssh/**)",))], home="/home/me")
    assert rules.deny.patterns[0].arguments[0][1].text == "/home/me/.ssh/**"

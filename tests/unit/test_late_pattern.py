"""Patterns that are compiled when they are first used, and all those that there are."""

import pkgutil
import re
from importlib import import_module

import pytest

import openclaw
from openclaw.late_pattern import LatePattern, late_pattern


def test_a_late_pattern_does_what_a_compiled_one_does() -> None:
    late, compiled = late_pattern(r"(?P<word>[a-z]+)\d", re.I), re.compile(r"(?P<word>[a-z]+)\d", re.I)
    text = "Ab1 cd2 3"
    assert [match["word"] for match in late.finditer(text)] == ["Ab", "cd"]
    assert (late.findall(text), late.sub("-", text), late.split(text)) == (
        compiled.findall(text),
        compiled.sub("-", text),
        compiled.split(text),
    )
    assert (late.pattern, late.flags, late.groups) == (compiled.pattern, compiled.flags, compiled.groups)


def test_a_late_pattern_is_compiled_when_it_is_first_used_and_not_before() -> None:
    wrong = late_pattern("(")
    with pytest.raises(re.error):
        wrong.match("")


def test_a_late_pattern_has_nothing_that_a_pattern_has_not() -> None:
    with pytest.raises(AttributeError):
        getattr(late_pattern("a"), "nothing")  # noqa: B009


def _all() -> dict[str, LatePattern[str]]:
    found: dict[str, LatePattern[str]] = {}
    for module in pkgutil.walk_packages(openclaw.__path__, "openclaw."):
        if module.name.endswith("__main__") or ".fleet" in module.name or ".telemetry" in module.name:
            continue
        try:
            members = vars(import_module(module.name))
        except ImportError:
            # A library of an extra that is not here.
            continue
        found |= {f"{module.name}.{name}": one for name, one in members.items() if isinstance(one, LatePattern)}
    return found


@pytest.mark.posix_only("every module of ours can be imported")
def test_every_late_pattern_there_is_can_be_compiled() -> None:
    found = _all()
    assert "openclaw.redact._NO_CREDENTIAL" in found
    for name, one in found.items():
        assert re.compile(one.pattern), name

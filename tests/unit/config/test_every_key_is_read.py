"""A setting that nothing reads is a promise that is not kept: every key of the schema has a reader.

A small reading of the source: which expressions may be, or hold, a value of one of the config's types, by annotations, by what is assigned
and looped over, and by the fields of the types themselves. An attribute taken of such an expression is a key that is read.
"""

import ast
import gc
import typing
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import openclaw
from openclaw.config import entry, sections
from openclaw.config.entry import Part
from openclaw.config.loaded import Config

SOURCE = Path(openclaw.__file__).parent
# Classes by name: those of the schema, and the one that holds them all.
TYPES: dict[str, type[msgspec.Struct]] = {"Config": Config}
Names = frozenset[str]
NONE: Names = frozenset()
# The functions around a node, the module first.
Within = tuple[ast.AST | None, ...]


def _subclasses(cls: type[Part]) -> Iterator[type[Part]]:
    for child in cls.__subclasses__():
        yield child
        yield from _subclasses(child)


TYPES.update({cls.__name__: cls for cls in _subclasses(Part) if cls.__module__.startswith("openclaw.config.")})


def _within(annotation: Any) -> Names:
    """The types of ours that a field's own type may hold."""
    if isinstance(annotation, type) and annotation.__name__ in TYPES:
        return frozenset({annotation.__name__})
    return frozenset().union(*(_within(part) for part in typing.get_args(annotation)))


FIELDS = {
    name: {field: _within(hint) for field, hint in typing.get_type_hints(cls, include_extras=True).items()}
    for name, cls in TYPES.items()
}


# What names in the source stand for: the types themselves, and several at once, such as `Value`.
ALIASES = {name: _within(value) for name, value in (vars(entry) | vars(sections) | TYPES).items()}


def _named(node: ast.AST | None) -> Names:
    """The types of ours that an annotation in the source names."""
    if node is None:
        return NONE
    words = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            words |= set(one.value.replace("[", " ").replace("]", " ").replace("|", " ").replace(",", " ").split())
    return frozenset().union(*(ALIASES[word] for word in words & ALIASES.keys()))


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# What says what a name stands for or what a function gives, or takes an attribute.
TELLING = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.arg,
    ast.AnnAssign,
    ast.Assign,
    ast.NamedExpr,
    ast.For,
    ast.AsyncFor,
    ast.comprehension,
    ast.Attribute,
    ast.Call,
)
# They hold nothing more.
LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.cmpop)


def _telling(node: ast.AST, within: Within, found: list[tuple[Within, ast.AST]]) -> list[tuple[Within, ast.AST]]:
    """The few nodes that are looked at again and again, in their order."""
    if isinstance(node, TELLING):
        found.append((within, node))
    if isinstance(node, FUNCTIONS):
        within = (*within, node)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, LEAVES):
            _telling(child, within, found)
    return found


class Reading:
    """One module. `scopes` hold what names mean in each of its functions, by the function, and in itself; `returns` what functions of any
    module give, `held` what attributes of objects of any module hold, by name."""

    def __init__(self, returns: dict[str, Names], held: dict[str, Names]) -> None:
        self.returns = returns
        self.held: dict[str, Names] = defaultdict(frozenset, held)
        self.scopes: dict[ast.AST | None, dict[str, Names]] = defaultdict(dict)
        # Those around the node that is being read.
        self.within: Within = (None,)
        self.read: set[tuple[str, str]] = set()

    def meaning(self, name: str) -> Names:
        return next((scope[name] for scope in self._inner_first() if name in scope), NONE)

    def means(self, name: str, names: Names) -> None:
        scope = self.scopes[self.within[-1]]
        scope[name] = scope.get(name, NONE) | names

    def _inner_first(self) -> Iterator[dict[str, Names]]:
        return (self.scopes[one] for one in reversed(self.within))

    @property
    def size(self) -> int:
        """How much is known: it only grows."""
        return sum(len(names) for scope in (self.held, *self.scopes.values()) for names in scope.values())

    def of(self, node: ast.AST | None) -> Names:
        match node:
            case ast.Name():
                return self.meaning(node.id)
            case ast.Attribute():
                owners = self.of(node.value)
                self.read |= {(owner, node.attr) for owner in owners}
                inside = frozenset().union(*(FIELDS[owner].get(node.attr, NONE) for owner in owners))
                # `.items()` of a mapping still holds what the mapping holds; and attributes of our own objects are names too.
                passed = owners if node.attr in ("items", "values", "get") else NONE
                return inside or passed or self.held[node.attr] or self.returns.get(node.attr, NONE)
            case ast.Call(func=ast.Name(id=name)) if name in self.returns:
                return self.returns[name]
            case ast.Call(func=ast.Attribute(attr=name)) if name in self.returns:
                return self.of(node.func)
            case ast.Call(func=ast.Name(id="isinstance")):
                return NONE
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, *_]):
                # Whichever is asked for.
                self.read |= {(name, field) for name in self.of(owner) for field in FIELDS[name]}
                return NONE
            case ast.Call():
                return self.of(node.func) | frozenset().union(*(self.of(one) for one in node.args))
            case None | ast.Constant():
                return NONE
        return frozenset().union(*(self.of(child) for child in ast.iter_child_nodes(node)))

    def bind(self, target: ast.AST, names: Names) -> None:
        match target:
            case ast.Name():
                self.means(target.id, names)
            case ast.Attribute():
                self.held[target.attr] |= names
            case ast.Tuple() | ast.List():
                for one in target.elts:
                    self.bind(one, names)
            case ast.Starred():
                self.bind(target.value, names)

    def take(self, within: Within, node: ast.AST) -> None:
        self.within = within
        match node:
            case ast.arg():
                self.means(node.arg, _named(node.annotation))
            case ast.AnnAssign():
                self.bind(node.target, _named(node.annotation) | self.of(node.value))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=True):
                    self.bind(target, self.of(value))
            case ast.Assign():
                for target in node.targets:
                    self.bind(target, self.of(node.value))
            case ast.NamedExpr():
                self.bind(node.target, self.of(node.value))
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self.bind(node.target, self.of(node.iter))
            case ast.Attribute() | ast.Call(func=ast.Name(id="getattr")):
                self.of(node)


@contextmanager
def no_garbage() -> Iterator[None]:
    """Most of the time that it takes to parse every module goes into looking for garbage, of which there is none."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def keys_read() -> set[tuple[str, str]]:
    """Every (type, field) that some module reads."""
    with no_garbage():
        modules = [_telling(ast.parse(file.read_text("utf-8")), (None,), []) for file in sorted(SOURCE.rglob("*.py"))]
        returns: dict[str, Names] = defaultdict(frozenset)
        held: dict[str, Names] = defaultdict(frozenset)
        for told in modules:
            for _, node in told:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    returns[node.name] |= _named(node.returns)
                elif isinstance(node, ast.ClassDef) and node.name not in TYPES:
                    for line in node.body:
                        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                            held[line.target.id] |= _named(line.annotation)
        found: set[tuple[str, str]] = set()
        for told in modules:
            reading = Reading(returns, held)
            before = -1
            while before != reading.size:
                before = reading.size
                for within, node in told:
                    reading.take(within, node)
            found |= reading.read
    return found


def keys_unread(found: set[tuple[str, str]]) -> list[str]:
    """A field counts as read when it is read of the type that has it, or of one that has it from there."""
    unread = []
    for name, cls in TYPES.items():
        if name == "Config":
            continue
        family = [other for other, kind in TYPES.items() if issubclass(kind, cls) or issubclass(cls, kind)]
        unread += [
            f"{name}.{field}" for field in cls.__struct_fields__ if not any((one, field) in found for one in family)
        ]
    return unread


# `$schema` is for editors.
ELSEWHERE = ["Root.schema"]


def test_every_key_of_the_schema_is_read_somewhere() -> None:
    assert sorted(keys_unread(keys_read())) == ELSEWHERE


def test_a_key_that_nothing_reads_is_found() -> None:
    found = keys_read()
    assert ("SkillEntry", "api_key") in found
    assert "SkillEntry.api_key" in keys_unread(found - {("SkillEntry", "api_key")})
    assert sections.Root.__name__ in TYPES


def test_a_name_that_is_read_of_one_type_is_not_taken_for_read_of_another() -> None:
    others = {
        ("SkillEntry", "headers"),
        ("ModelProvider", "env"),
        ("ToolRules", "url"),
        ("McpSection", "enabled"),
        ("PluginConfig", "health_interval_ms"),
        ("KeepSection", "model"),
        ("LoggingSection", "token"),
    }
    found = keys_read()
    assert {field for _, field in others} <= {field for _, field in found}
    assert others & found == set()

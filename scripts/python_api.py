"""The public names of `openclaw.mcp` as a page of reference: written from their docstrings, signatures and fields.

Owns in which order they stand, and which methods of the two large classes are for programs; the others are for the rest of OpenClaw. Every
public name stands here once, and nothing else does.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import msgspec

PACKAGE = "openclaw.mcp"
# What `Manager` loads when a program needs it.
_LATE = ("openclaw.mcp.embedding", "openclaw.mcp.model_messages", "openclaw.mcp.typed_handlers")
GROUPS: dict[str, tuple[str, ...]] = {
    "Servers and their tools": ("Manager", "Server", "Tool", "Absence"),
    "What a call gives": ("Result", "Content", "Image", "as_json"),
    "One server": (
        "LiveServer",
        "ServerStatus",
        "ResourceEntry",
        "ResourceContents",
        "PromptEntry",
        "PromptArgument",
        "Prompt",
        "PromptMessage",
    ),
    "What servers ask and tell": (
        "ElicitationRequest",
        "ElicitationAnswer",
        "PageRequest",
        "SamplingRequest",
        "SamplingMessage",
        "SamplingAnswer",
        "LogMessage",
    ),
    "Signing in": ("SignInRequest", "SignedIn"),
    "Events": (
        "Event",
        "StateChanged",
        "ToolsChanged",
        "DefinitionsChanged",
        "ResourceChanged",
        "PromptsChanged",
        "Awaited",
        "LeftOut",
    ),
    "Errors": ("OpenClawError", "UsageError", "ConfigError", "CallError", "AuthError", "RpcError"),
    "Words of servers": ("frame", "clean_text", "clean_label", "base_name"),
    "For programs that do more": (
        "Dependencies",
        "Authorizer",
        "Handlers",
        "Invocation",
        "Conversation",
        "MediaStore",
        "MemoryTransport",
        "ServerSpec",
        "ServersOptions",
    ),
}
# Of these classes a program uses what is named here.
MEMBERS: dict[str, tuple[str, ...]] = {
    "Manager": (
        "from_config",
        "tools",
        "call",
        "tools_for",
        "answers_for",
        "server",
        "status",
        "absences",
        "stderr",
        "settle",
        "sign_in",
        "reconcile",
        "end_session",
    ),
    "LiveServer": (
        "ping",
        "list_resources",
        "list_templates",
        "read_resource",
        "list_prompts",
        "get_prompt",
        "complete",
        "refresh",
        "restart",
        "stop",
        "trust_changes",
        "status",
        "use",
    ),
    "Authorizer": ("headers", "challenged"),
    "Tool": ("schema",),
    "Result": ("text", "data", "structured", "images", "raise_for_error"),
    "ElicitationRequest": ("accept", "decline", "cancel"),
    "PageRequest": ("opened", "decline", "cancel"),
    "SamplingMessage": ("text",),
    "ServerStatus": ("told", "shown"),
}
# Fields that say nothing to a program.
_HIDDEN = {
    "Tool": {"facts", "run", "kind", "label", "read_only", "timeout"},
    "Dependencies": {"signed_in", "lets_fetch", "tools_differ"},
}
# In place of docstrings that are for who works on OpenClaw.
_PROSE = {
    "ServerSpec": "What a `Server` or an entry of a config becomes: what the functions of `Dependencies` are given.",
    "LiveServer": (
        "One server as it runs: `manager.server(name)` gives it. What is asked of it connects first if need be, and raises `OpenClawError` "
        "when it fails."
    ),
    "Tool": (
        "Something a model can call, under the name that `manager.call` takes. `description` names its server, and is clean; `origin` is "
        "that server's name."
    ),
    "Image": "A picture, decoded.",
    "OpenClawError": (
        "What all errors of this package are. `message` is a sentence, `hint` what to do about it, if anything; `str(error)` is both."
    ),
    "UsageError": "A program uses the package in a way that cannot work.",
    "ConfigError": "A config cannot be used. `problems` has each one with its place.",
    "CallError": "A tool call failed: for who asked for an exception (`result.raise_for_error()`).",
    "AuthError": "A sign-in came to nothing, or what it gave is refused.",
    "RpcError": (
        "A server answered with a JSON-RPC error. A function of yours that answers a server refuses with one: `RpcError(code, message)`."
    ),
    "Authorizer": (
        "Who holds the credentials of one server with a `url`: what `Dependencies(authorize=…)` gives. A protocol: any class with these "
        "methods."
    ),
}
_WITHOUT_FIELDS = frozenset({"ServerSpec"})
_PLACE = re.compile(r"\b(?:[a-z_0-9]+\.)+(?=[A-Za-z_])")


def names() -> str:
    """All of them in one import, which the page runs."""
    public = import_module(PACKAGE).__all__
    listed = [name for group in GROUPS.values() for name in group]
    if sorted(listed) != sorted(public):
        raise SystemExit(
            f"scripts/python_api.py: {sorted(set(listed) ^ set(public))} is public, or listed, and not both"
        )
    lines = [f"    {name}," for name in public]
    return "\n".join(["```python", f"from {PACKAGE} import (", *lines, ")", "```"])


def reference(cell: Callable[[str], str]) -> str:
    """Every name with what it is. `cell` makes text fit a table."""
    parts = []
    for group, members in GROUPS.items():
        parts.append(f"## {group}")
        parts += ["\n\n".join(_entry(name, cell)) for name in members]
    return "\n\n".join(parts)


def _entry(name: str, cell: Callable[[str], str]) -> Iterator[str]:
    thing: Any = getattr(import_module(PACKAGE), name)
    yield f"### {name}"
    if not inspect.isclass(thing):
        yield f"`{name}{_signature(thing)}`"
        yield _prose(thing)
        return
    if told := _PROSE.get(name) or _prose(thing):
        yield told
    rows = _arguments(thing) if name in ("Server", "Manager") else _fields(thing, name)
    if rows and name not in _WITHOUT_FIELDS:
        lines = [["name", "type", "default"], ["---"] * 3, *rows]
        yield "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)
    if members := [_member(thing, member) for member in MEMBERS.get(name, ())]:
        yield "\n".join(members)


def _prose(thing: Any) -> str:
    written = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
    # A struct without a docstring has one that msgspec wrote.
    return inspect.cleandoc(written) if written and not written.startswith(f"{thing.__name__}(") else ""


def _member(owner: type, name: str) -> str:
    found = inspect.getattr_static(owner, name)
    if isinstance(found, property):
        return f"- `{name}`: `{_annotation(found.fget, 'return')}`. {_line(found)}"
    function = found.__func__ if isinstance(found, classmethod) else found
    head = "await " if inspect.iscoroutinefunction(function) else ""
    return f"- `{head}{name}{_signature(function)}`. {_line(function)}"


def _line(thing: Any) -> str:
    return " ".join(inspect.cleandoc(thing.__doc__ or "").split())


def _stated_signature(thing: Any) -> inspect.Signature:
    """With the types that a module names for mypy alone, as it loads them late."""
    late = {name: each for module in _LATE for name, each in vars(import_module(module)).items()}
    return inspect.signature(thing, eval_str=True, locals=late)


def _signature(function: Any) -> str:
    signature = _stated_signature(function)
    given = [one for one in signature.parameters.values() if one.name not in ("self", "cls")]
    kept = signature.replace(parameters=given)
    return _short(str(kept))


def _annotation(function: Any, name: str) -> str:
    return _short(inspect.formatannotation(inspect.get_annotations(function)[name]))


def _arguments(kind: type) -> list[list[str]]:
    given = [*_stated_signature(kind).parameters.values()]
    return [[f"`{one.name}`", _type(one.annotation), _default(one.default, inspect.Parameter.empty)] for one in given]


def _fields(kind: type, name: str) -> list[list[str]]:
    if not issubclass(kind, msgspec.Struct):
        return []
    hidden = _HIDDEN.get(name, set())
    fields = [one for one in msgspec.structs.fields(kind) if one.name not in hidden]
    return [[f"`{one.name}`", _type(_stated(kind, one)), _field_default(one)] for one in fields]


def _stated(kind: type, field: msgspec.structs.FieldInfo) -> Any:
    return inspect.get_annotations(kind).get(field.name, field.type)


def _field_default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is not msgspec.NODEFAULT:
        return _default(field.default, msgspec.NODEFAULT)
    return "" if field.default_factory is msgspec.NODEFAULT else "…"


def _default(value: Any, none: Any) -> str:
    if value is none:
        return ""
    shown = _short(repr(value))
    return "…" if "<" in shown or len(shown) > 40 else f"`{shown}`"


def _type(annotation: Any) -> str:
    shown = _short(inspect.formatannotation(annotation) if not isinstance(annotation, str) else annotation)
    # As it stands in the source, which only newer versions of Python print.
    stated = re.sub(r"^Optional\[(.*)\]$", r"\1 | None", shown)
    return f"`{stated}`"


def _short(text: str) -> str:
    """Types without where they live, and without what Python prints of functions."""
    text = re.sub(r"<function .*? at 0x[0-9a-f]+>|<msgspec\.Raw .*? at 0x[0-9a-f]+>", "…", text)
    text = re.sub(r"(\*\*\w+): (?:[^)]*?'>|(?:typing\.)?Unpack\[[\w.]+\])", r"\1", text)
    return _PLACE.sub("", text).replace("'", '"').replace("NoneType", "None").replace("~T", "T")

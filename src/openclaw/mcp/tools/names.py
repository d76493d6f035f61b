"""How a server's tool is called in a model's list.

Owns the two forms (`{prefix}__{tool}` and `mcp_{prefix}_{tool}`), the characters and length models accept, and who yields when
two would have one name. A name is never taken apart again: registry.py maps it back.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from openclaw.config.servers import ServersOptions, ServerSpec

Form = Literal["prefix__tool", "mcp_prefix_tool"]

# The strictest bound among model vendors.
MAX_NAME = 64
# A prefix longer than this gives way when the whole would be too long, so that the tool's own name stays readable.
MAX_PREFIX = 30
# Of a tool's own name that is too long the beginning gives way to a few digits that tell it from others, and this much more of its end is
# kept than of its beginning: long names differ at their end.
DIGITS = 4
END_SHARE = 2 / 3
_OUTSIDE = re.compile(r"[^A-Za-z0-9_-]")
_WORD = re.compile(r"[^\s:]+")


def form_for(spec: ServerSpec, options: ServersOptions) -> Form:
    """The section a server is configured in decides, unless `mcp.toolNames` forces one form everywhere."""
    if options.tool_names != "by-section":
        return options.tool_names
    return "mcp_prefix_tool" if spec.section == "agents" else "prefix__tool"


def base_name(form: Form, prefix: str, tool: str) -> str:
    """The name before collisions are looked at: safe characters only, at most MAX_NAME of them. The same for ever for one tool."""
    safe_prefix, safe_tool = _safe(prefix), _OUTSIDE.sub("-", tool)
    name = _join(form, safe_prefix, safe_tool)
    if len(name) <= MAX_NAME:
        return name
    name = _join(form, safe_prefix[:MAX_PREFIX], safe_tool)
    if len(name) <= MAX_NAME:
        return name
    room = MAX_NAME - len(_join(form, safe_prefix[:MAX_PREFIX], "")) - DIGITS - len("--")
    end = int(room * END_SHARE)
    digits = hashlib.sha256(f"{prefix}\0{tool}".encode("utf-8", "replace")).hexdigest()[:DIGITS]
    return _join(form, safe_prefix[:MAX_PREFIX], f"{safe_tool[: room - end]}-{digits}-{safe_tool[-end:]}")


@lru_cache(maxsize=256)
def _safe(prefix: str) -> str:
    return _OUTSIDE.sub("-", prefix)


def typed_name(server: str) -> str:
    """A server's name as one types it in a conversation: where it is no single word, as it stands in the names of its tools."""
    return server if _WORD.fullmatch(server) else _OUTSIDE.sub("-", server)


def may_be_of(form: Form, prefix: str, name: str) -> bool:
    """Whether `name` could be a tool's of the server with this prefix, whatever its tools are called. Case makes no other name."""
    prefix = _OUTSIDE.sub("-", prefix)
    starts = (_join(form, prefix, "")[:MAX_NAME], _join(form, prefix[:MAX_PREFIX], ""))
    return name.lower().startswith(tuple(start.lower() for start in starts))


def _join(form: Form, prefix: str, tool: str) -> str:
    return f"mcp_{prefix}_{tool}" if form == "mcp_prefix_tool" else f"{prefix}__{tool}"


class Claims:
    """Names given out so far. A name once given stays with its holder until it is released; policy ignores case, so case twins
    are one name here too."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = {name.lower() for name in reserved}
        # The number tried last for a base that many want, while none was given back: no number is tried once for each who has it.
        self._last: dict[str, int] = {}

    def claim(self, base: str) -> str:
        """`base` when it is free, else the first free of `base-2`, `base-3`, …"""
        name, key = base, base.lower()
        number = self._last.get(key, 1)
        while name.lower() in self._taken:
            number += 1
            suffix = f"-{number}"
            name = base[: MAX_NAME - len(suffix)] + suffix
        if number > 1:
            self._last[key] = number
        self._taken.add(name.lower())
        return name

    def claim_exactly(self, name: str) -> bool:
        """Take `name` as it is; False when somebody has it."""
        if name.lower() in self._taken:
            return False
        self._taken.add(name.lower())
        return True

    def release(self, name: str) -> None:
        self._taken.discard(name.lower())
        self._last.clear()

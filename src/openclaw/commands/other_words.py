"""Words that people know from other programs, and what they mean here. Data alone, like table.py.

Each is a hidden command: it works, and help, completion and suggestions leave it out, so that there is one name for one thing.
"""

from collections.abc import Sequence

import msgspec

from openclaw.commands.mcp_table import MCP as OWN_MCP
from openclaw.commands.parse import Argument, Command, Option

# Single letters that other programs have for options of `mcp connect`.
_LETTERS = {"env": "-e", "header": "-H"}


def _meaning(words: str, *others: str) -> list[Command]:
    """`others` mean `words`, which stand beside them."""
    return [Command(word, f"Means `{words}`.", means=tuple(words.split()), hidden=True) for word in others]


def _lettered(options: Sequence[Option]) -> tuple[Option, ...]:
    return tuple(msgspec.structs.replace(one, short=_LETTERS.get(one.name, one.short)) for one in options)


_CONNECT = OWN_MCP.child("connect")
assert _CONNECT is not None

_ADD = Command(
    "add",
    "Means `connect --name NAME`.",
    handler="openclaw.commands.mcp_add:add",
    means=("connect", "--name"),
    # What is called NAME elsewhere stands first; `name` is the option of `connect`.
    arguments=(
        Argument("called", "What to call it.", required=False),
        Argument("words", "Its address, or the program and its arguments.", required=False, rest=True, verbatim=True),
    ),
    options=_lettered(_CONNECT.options),
    hidden=True,
)

MCP = msgspec.structs.replace(
    OWN_MCP,
    children=(
        *OWN_MCP.children,
        _ADD,
        *_meaning("servers", "list", "ls"),
        *_meaning("status", "get", "show", "info", "inspect"),
        *_meaning("auth", "login", "sign-in"),
        *_meaning("auth --logout", "logout", "sign-out"),
        *_meaning("refresh", "test", "ping", "check"),
        *_meaning("read", "resource"),
        *_meaning("remove", "rm", "delete", "uninstall"),
        *_meaning("disconnect", "stop"),
        *_meaning("restart", "start", "reconnect"),
        *_meaning("logs", "log"),
    ),
)

# The same for the words that stand first.
FIRST_WORDS: tuple[Command, ...] = (
    *_meaning("setup", "init", "onboard", "configure"),
    *_meaning("doctor", "diagnose", "health"),
    *_meaning("keys", "key"),
    *_meaning("gateway logs", "logs", "log"),
    *_meaning("gateway start", "start"),
    *_meaning("gateway stop", "stop"),
    *_meaning("gateway restart", "restart"),
    *_meaning("agent", "ask", "run"),
    *_meaning("chat", "tui"),
    *_meaning("models", "model"),
    *_meaning("sessions", "session", "history", "conversations"),
    *_meaning("chat --resume", "resume"),
    *_meaning("chat --continue", "continue"),
    *_meaning("mcp servers", "servers"),
    *_meaning("mcp connect", "connect"),
    *_meaning("mcp call", "call"),
    *_meaning("mcp import", "import"),
    *_meaning("--version", "version"),
    *_meaning("tools", "tool"),
)
GATEWAY_WORDS: tuple[Command, ...] = (*_meaning("logs", "log"), *_meaning("run", "serve"))
CONFIG_WORDS: tuple[Command, ...] = (*_meaning("get", "show", "list"), *_meaning("validate", "check"))

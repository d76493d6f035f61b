"""The answer to `initialize`, on the standard library alone: a client waits for it while we start.

Owns what we say we can do. `authenticate` is offered where no model is there to answer; there is no account of ours, and so no `logout`.
Next: agent.py has every other method.
"""

import json

from openclaw.version import __version__

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROTOCOL_VERSION = 1
SETUP = "openclaw-setup"
# What a client adds to our command to set OpenClaw up where a person can type.
SETUP_FLAG = "--setup"
# Bytes of a first line that are looked at here; `initialize` is some hundreds of them.
MOST_BYTES = 65_536


def greeting(params: "dict[str, Any]", *, has_model: bool) -> "dict[str, Any] | None":
    """The result of `initialize`; None for parameters that name no version. The same version if we speak it, else our own."""
    version = params.get("protocolVersion")
    if not isinstance(version, int) or isinstance(version, bool):
        return None
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
        },
        "authMethods": [] if has_model else [_setup(params)],
        "agentInfo": {"name": "openclaw", "title": "OpenClaw", "version": __version__},
    }


def answer(line: bytes, *, has_model: bool) -> bytes | None:
    """The answer to a first line that is a plain `initialize`; None when there is more to it."""
    try:
        message = json.loads(line)
        id, params = message["id"], message["params"]
        is_plain = message["jsonrpc"] == "2.0" and message["method"] == "initialize" and type(id) in (int, str)
        told = greeting(params, has_model=has_model) if is_plain and isinstance(params, dict) else None
        if told is None:
            return None
        return json.dumps({"jsonrpc": "2.0", "id": id, "result": told}, separators=(",", ":")).encode()
    except (ValueError, KeyError, TypeError, RecursionError, UnicodeEncodeError):
        return None


def _setup(params: "dict[str, Any]") -> "dict[str, Any]":
    method: dict[str, Any] = {
        "id": SETUP,
        "name": "Set up OpenClaw",
        "description": "Name a model in the config, or set the key of a vendor; `openclaw doctor` says what is missing.",
    }
    capabilities = params.get("clientCapabilities")
    auth = capabilities.get("auth") if isinstance(capabilities, dict) else None
    if isinstance(auth, dict) and auth.get("terminal") is True:
        method |= {"type": "terminal", "args": [SETUP_FLAG], "env": {}}
    return method

"""Session keys: which strings are legal, and how an agent and a caller's own word become one key.

A key is a value, never a path: stores keep it in a column and name files by its hash. Every key made here starts with
`agent:<id>:`, and with the caller's namespace after it, so that no caller can name another's conversation.
Logs show `openclaw.log.short_hash(key)` instead of the key.
"""

import re
import secrets
import time
from base64 import b32encode

from openclaw.errors import UsageError

# Bytes of randomness in the key of a conversation nobody named: keys never meet and cannot be guessed. In letters of five bits they are
# half as long as in hexadecimal digits, and fit a line beside what else a list tells; older ones, and those of orders, have the latter.
_KEY_BYTES = 10
_UNNAMED = re.compile(r"agent:(?:[^:]*:){1,2}(?:(?:mcp-)?[0-9]+-[0-9a-f]{32}|[0-9]{10}-[a-z2-7]{16})")


def new_key() -> str:
    """For a conversation nobody named."""
    return f"{int(time.time()):010}-{b32encode(secrets.token_bytes(_KEY_BYTES)).decode().lower()}"


def is_unnamed(key: str) -> bool:
    """Whether a whole key, with its agent, was made by `new_key`, or for an order that named none."""
    return _UNNAMED.fullmatch(key) is not None


def check_key(key: str) -> str:
    """`key` itself when a store can hold it. Any text is legal, the empty one too; half a character is not text."""
    try:
        key.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"A session key cannot hold a lone surrogate (character {error.start + 1} of the key is one).",
            hint="Use a key that is valid Unicode text.",
        ) from None
    return key


def session_key(agent: str, key: str, namespace: str = "") -> str:
    """`agent:<agent>:<key>`, or `agent:<agent>:<namespace>:<key>` for callers that get a namespace of their own.

    Without a namespace a key that already starts with `agent:<agent>:` is taken as it is: people copy it from a list.
    """
    for word, what in ((agent, "agent id"), (namespace, "session namespace")):
        if ":" in word:
            raise UsageError(f"The {what} {word!r} holds a colon.", hint="Colons separate the parts of a session key.")
    prefix = f"agent:{agent}:"
    if namespace:
        return check_key(f"{prefix}{namespace}:{key}")
    return check_key(key if key.startswith(prefix) else prefix + key)


def agent_of(key: str) -> str:
    """The agent that a whole key names; empty for a caller's own word."""
    start, _, rest = key.partition(":")
    agent, colon, _ = rest.partition(":")
    return agent if start == "agent" and colon else ""

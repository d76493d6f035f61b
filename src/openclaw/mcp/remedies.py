"""What is typed about a server: the commands that every sentence about one names.

Owns how such a command is written, in a shell, in a conversation, and in a program that embeds the client; and what is said instead of a
server that an editor gave to one session, which no command knows. Decides nothing: which
command takes a person further is a value that comes with what happened (`Remedy` in protocol/lifecycle.py), and wording.py makes the
sentences around it.
"""

from typing import Literal

from openclaw.protocol.lifecycle import Remedy
from openclaw.typed_words import quote_word

# How a command begins where it is typed.
CommandPrefix = Literal["openclaw mcp", "/mcp", "manager", "editor"]
SHELL: CommandPrefix = "openclaw mcp"
CHAT: CommandPrefix = "/mcp"
# In a program that embeds the client: whoever reads the sentence has a manager, and none of our commands.
PYTHON: CommandPrefix = "manager"
# Of a server that an editor gave to a session: only the editor can give it anew, and the config can have it too.
EDITOR: CommandPrefix = "editor"

_IN_PYTHON = {
    "logs": "{manager}.stderr({server})",
    "auth": "Dependencies(authorize=…)",
    "refresh": "await {manager}.server({server}).refresh()",
    "trust": "await {manager}.server({server}).trust_changes()",
    "enable": "Server({server}, enabled=True)",
}


def command(word: str, server: str, owner: str = "", *, prefix: CommandPrefix = SHELL) -> str:
    """What a person types about one server; `owner` is the agent that alone has it."""
    if prefix == EDITOR:
        return f"add it to the config, then `{command(word, server)}`"
    if prefix == PYTHON:
        named = repr(server) + (f", agent={owner!r}" if owner and word not in ("auth", "enable") else "")
        return _IN_PYTHON[word].format(manager=prefix, server=named)
    return f"{prefix} {word} {quote_word(server)}" + (f" --agent {quote_word(owner)}" if owner else "")


def with_remedy(reason: str, remedy: Remedy, server: str, owner: str = "", *, prefix: CommandPrefix = SHELL) -> str:
    """What is wrong with a server, and the next step behind it when there is one."""
    return f"{reason} {remedy_sentence(remedy, server, owner, prefix=prefix)}".rstrip()


def remedy_sentence(remedy: Remedy, server: str, owner: str = "", *, prefix: CommandPrefix = SHELL) -> str:
    """The next step in one sentence; empty when there is none but to try again."""
    match remedy:
        case "logs" if prefix == EDITOR:
            # The reason has its last words, and nobody else keeps them.
            return ""
        case "logs":
            return f"`{command('logs', server, owner, prefix=prefix)}` shows what it wrote."
        case "auth" if prefix == PYTHON:
            return "Give it an api_key or headers, or have somebody sign in: Manager(…, sign_in=…) and manager.sign_in."
        case "auth" if prefix == EDITOR:
            return f"Let the editor send its key as a header, or {command('auth', server, prefix=prefix)}."
        case "auth":
            return f"Run `{command('auth', server, owner, prefix=prefix)}`."
        case "":
            return ""


def try_again(server: str, owner: str = "", *, prefix: CommandPrefix = SHELL) -> str:
    """How a person has a server tried once more, in one sentence."""
    if prefix == EDITOR:
        return "A new session of the editor tries it again."
    return f"`{command('refresh', server, owner, prefix=prefix)}` tries it again."

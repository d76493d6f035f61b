"""A conversation with an agent as everything below the surfaces knows it: who asks, where, and how that person is asked something back.

A surface makes one `Conversation` and hands it to `App.reply` or `App.call`; every call of a tool carries it (`tool.Invocation`). Holds the
values and the contract alone: how a question is shown is the surface's business. What is asked is the asking part's, but for a sign-in,
which agents, servers and commands all may need (`ask_to_sign_in`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

# What a surface may be able to show: a line to type, a choice about a call, a form, an address to visit, a sign-in to a server.
QuestionKind = Literal["line", "approval", "form", "url", "sign-in"]


class Question(msgspec.Struct, frozen=True):
    """Something to ask a person. `asker` is the server that asks, empty when it is us; `call` the id of the call it belongs to.

    `text` of a server is not ours: it is shown as its words. `options` are the ways to say yes to an approval ("once", "always"); there
    is always a no beside them, and without any it is a plain yes or no: one of ours that ends in a blank, such as `Go on? [y/N] `, is
    shown with its answer behind it, and Enter alone is a no to it. `schema` is the JSON Schema of a form. `server` is the one to sign
    in to; `since` the moment (monotonic) at which a sign-in was missing.
    """

    kind: QuestionKind
    text: str = ""
    asker: str = ""
    call: str = ""
    options: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    url: str = ""
    server: str = ""
    since: float = 0.0


class Answer(msgspec.Struct, frozen=True):
    """`cancel` is also what it comes to when nobody answers: never `decline`, which is somebody's word.

    `content` of an accepted question: `{"line": …}`, `{"option": …}` of an approval that has options, the fields of a form.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def is_yes(self) -> bool:
        return self.action == "accept"


NO_ANSWER = Answer("cancel")


class Asker(Protocol):
    """The person behind a surface. Neither method raises anything but CancelledError."""

    def can(self, kind: QuestionKind) -> bool:
        """Whether such a question can be shown at all."""
        ...

    async def ask(self, question: Question) -> Answer: ...


async def ask_to_sign_in(asker: Asker, server: str, *, since: float, call: str = "") -> bool:
    """Ask the person to sign in to a server. Whether they did, or had done so after `since` (monotonic), when a sign-in was missing."""
    if not asker.can("sign-in"):
        return False
    return (await asker.ask(Question("sign-in", server=server, since=since, call=call))).is_yes


class Nobody:
    """The asker of a surface that has nobody to ask."""

    def can(self, kind: QuestionKind) -> bool:
        return False

    async def ask(self, question: Question) -> Answer:
        return NO_ANSWER


class ForeignSources:
    """Where text came from that the model has read in this conversation and that neither the person nor we wrote: `mcp:SERVER`,
    `plugin:ID`, `web:HOST`, `file:NAME` of a result that was kept.

    In the order they were first met. It only grows: what was read once may speak in every later call. A turn begins with those of the
    session (`sessions/turn.py`), of what the person pointed at (prompts and resources of servers), and of the system prompt (`Agent.turn`:
    instructions and injected resources); `tools/invoke.py` adds that of each result. What a person attaches counts as theirs, and what
    a server says of its tools is held by pins instead.
    """

    def __init__(self, sources: Iterable[str] = ()) -> None:
        self._sources = dict.fromkeys(sources)

    def add(self, source: str) -> None:
        self._sources[source] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


class Conversation(msgspec.Struct, frozen=True):
    """What a surface says about one message, or one call, besides its words.

    `agent` may be empty: the default one. An empty `session` is a new one for a message, and none for a call. App fills in the agent, the
    whole key of the session and the workspace; a `namespace` becomes part of that key. `patience` is how many seconds to wait for servers
    whose tools are not known yet; None as long as each may take to connect. `instructions` are added to the agent's own. `sink` sees the
    run as it happens (`agent/events.py`).
    """

    agent: str = ""
    session: str = ""
    namespace: str = ""
    workspace: Path | None = None
    instructions: str = ""
    patience: float | None = None
    sink: Callable[[Any], None] | None = None
    asker: Asker = msgspec.field(default_factory=Nobody)
    foreign: ForeignSources = msgspec.field(default_factory=ForeignSources)

    def is_same(self, other: "Conversation") -> bool:
        """Whether both are of one session; outside of any, whether they are one and the same."""
        return self is other or (self.session != "" and self.session == other.session)

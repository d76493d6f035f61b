"""A conversation with an agent as everything below the surfaces knows it: who asks, where, and how that person is asked something back.

A surface makes one `Conversation` and hands it to `App.reply` or `App.call`; every call of a tool carries it (`tool.Invocation`). Holds the
values and the contract alone: how a question is shown is the surface's business. What is asked is the asking part's, but for a sign-in,
which agents, servers and commands all may need (`ask_to_sign_in`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import msgspec

from openclaw.grant import Grant

# What a surface may be able to show: a choice about a call, a form, an address to visit, a sign-in to a server.
QuestionKind = Literal["approval", "form", "url", "sign-in"]
QUESTION_KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)


class Offer(msgspec.Struct, frozen=True):
    """One way to say yes to a call: `id` is what an answer names, `key` the letter that chooses it at a terminal, `text` what it means."""

    id: str
    key: str
    text: str
    lasts: Literal["once", "session", "always"]


class AskedCall(msgspec.Struct, frozen=True):
    """The call that an approval is about, as a person is shown it. Values of a model and of servers: whoever shows them cleans them.

    `tool` is the name that the model knows, `title` the tool's own; `server` is where it comes from, empty for a native tool. `classes`
    are `read`, `write`, `exec` and `egress:HOST`. `reasons` are sentences of ours: why it is asked. `sources` are the foreign sources of
    the conversation, when the question is asked because of them; `origins` names the argument whose value came from one, and which.
    `claims` is what the server says of the tool (`it only reads`). `offers` are the ways to say yes, in the order of `Question.options`,
    which are their ids. `skill` is the name of the server's skill that it is about, if it is about one.
    """

    tool: str
    title: str
    server: str = ""
    arguments: Mapping[str, Any] = {}
    classes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    origins: Mapping[str, str] = {}
    claims: tuple[str, ...] = ()
    offers: tuple[Offer, ...] = ()
    skill: str = ""


class Question(msgspec.Struct, frozen=True):
    """Something to ask a person. `asker` is the server that asks, empty when it is us; `call` the id of the call it belongs to.

    `text` of a server is not ours: it is shown as its words. `options` are the ways to say yes to an approval ("once", "always"); there
    is always a no beside them, and without any it is a plain yes or no: one of ours that ends in a blank, such as `Go on? [y/N] `, is
    shown with its answer behind it, and Enter alone is a no to it; a yes is the first of its options, if it has any. `approval` is the
    call it is about, if it is about one. `schema` is the JSON Schema of a form. `url` is an address to visit; a question of that kind
    without one waits until the person says that they have finished at a page that was opened before. `server` is the one to sign in to;
    `since` the moment (monotonic) at which a sign-in was missing. `seconds` is how long it may wait for its answer once it is shown; None
    as long as the config says of questions about calls. `agent` and `session` (its whole key) say where it was asked; whoever asks need not
    fill them in: the asker of a conversation does.
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
    approval: AskedCall | None = None
    seconds: float | None = None
    agent: str = ""
    session: str = ""


class Answer(msgspec.Struct, frozen=True):
    """`cancel` is also what it comes to when nobody answers: never `decline`, which is somebody's word.

    `content` of an accepted question: `{"option": …}` of an approval that has options, the fields of a form, `{"opened": True}` when the
    person agreed to visit an address. `note` is what a person who declined had to say. `by` is how the answer came (`terminal`, `http`,
    `command`, `client`); `why` says why there is none.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] = msgspec.field(default_factory=dict)
    note: str = ""
    by: str = ""
    why: Literal["", "nobody", "expired", "withdrawn"] = ""

    @property
    def is_yes(self) -> bool:
        return self.action == "accept"


NO_ANSWER = Answer("cancel")
NOBODY_THERE = Answer("cancel", why="nobody")
WITHDRAWN = Answer("cancel", why="withdrawn")


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
        # A caller that asks in a loop must not keep everybody else from running.
        await asyncio.sleep(0)
        return NOBODY_THERE


class Ran(msgspec.Struct, frozen=True):
    """What came of a program that an editor ran. `code` is None when a signal ended it, which `signal` names. `place` is where the editor
    shows it."""

    output: str
    code: int | None = None
    signal: str = ""
    timed_out: bool = False
    was_cut: bool = False
    place: str = ""


class Editor(Protocol):
    """The person's editor, where it does the work of a tool: a file as it stands there, saved or not, and a program in a terminal that they
    see. Rules and approvals come before, whoever does the work. None of these raises anything but CancelledError."""

    async def read(self, path: str, *, line: int = 1, limit: int | None = None) -> str | None:
        """The text of a file from a line on; None when the editor does not give it."""
        ...

    async def write(self, path: str, text: str) -> bool:
        """False when the editor does not do it: nothing was written then."""
        ...

    async def run(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: str, timeout: float, most_bytes: int, call: str
    ) -> Ran | None:
        """Run a program to its end; None when the editor does not start it."""
        ...


# The way in of calls that a server's own panel makes.
PANEL = "app"
# The source of foreign text of which nobody says whose it is.
UNKNOWN = "unknown"
# Before a source: what it sent besides text. A model may read a value off it that nobody finds in a text.
MEDIA = "media:"
# Characters of foreign text that are kept to find values of calls in.
MOST_FOREIGN_TEXT = 4_000_000


class ForeignSources:
    """Where text came from that the model has read in this conversation and that neither the person nor we wrote: `mcp:SERVER`,
    `plugin:ID`, `web:HOST`, `program:NAME` of one that fetched it, `file:NAME` of a result that was kept, `media:` before any of them for
    its pictures and recordings. And the text itself, to find values of calls in.

    In the order they were first met. It only grows: what was read once may speak in every later call. A turn begins with those of the
    session (`sessions/turn.py`), of what the person pointed at (prompts and resources of servers), and of the system prompt (`Agent.turn`:
    instructions and injected resources); `tools/invoke.py` adds that of each result. What a person attaches counts as theirs, and what
    a server says of its tools is held by pins instead.
    """

    # Every call asks these: in slots they stand together in memory.
    __slots__ = ("__weakref__", "_room", "_sources", "_texts", "is_whole", "was_read")

    def __init__(self, sources: Iterable[str] = ()) -> None:
        self._sources = dict.fromkeys(sources)
        # Whether there are any.
        self.was_read = bool(self._sources)
        self._texts: list[tuple[str, str]] = []
        self._room = MOST_FOREIGN_TEXT
        self.is_whole = True

    def add(self, source: str, *texts: str) -> None:
        self._sources[source] = None
        self.was_read = True
        for text in texts:
            self.add_text(source, text)

    def add_text(self, source: str, text: str) -> None:
        """`add` for one text, as nearly every result is."""
        self._sources[source] = None
        self.was_read = True
        room = self._room - len(text)
        if room >= 0:
            self._room = room
            self._texts.append((source, text))
        else:
            self.is_whole = False

    def recall(self, texts: Sequence[tuple[str, str]], sources: Iterable[str], length: int) -> None:
        """What was read in turns before: each text behind its source, all of their sources, and how many characters they have."""
        if self._texts or length > self._room:
            # A surface may use one conversation for several turns.
            known = set(self._texts)
            for source, text in texts:
                if (source, text) not in known:
                    self.add(source, text)
            return
        # All at once: a turn of a long conversation begins with thousands.
        self._sources.update(dict.fromkeys(sources))
        self.was_read = bool(self._sources)
        self._texts.extend(texts)
        self._room -= length

    def lose(self) -> None:
        """Something was read that is not there any more: a summary took its place."""
        self.is_whole = False

    @property
    def length(self) -> int:
        """Characters of text that are kept."""
        return MOST_FOREIGN_TEXT - self._room

    @property
    def texts(self) -> Sequence[tuple[str, str]]:
        """What was read, with its source, as far as it is kept: `is_whole` is false when some of it is not."""
        return self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


# Calls that a person declines in a row before the turn ends: what the model wants then is not what they want.
MOST_DECLINED = 3


class Declined:
    """What was declined in one turn: the same call is not asked about again, and after several in a row the turn ends."""

    # As above.
    __slots__ = ("__weakref__", "calls", "in_a_row", "is_empty")

    def __init__(self) -> None:
        self.calls: set[str] = set()
        # Whether there are none.
        self.is_empty = True
        self.in_a_row = 0

    def add(self, call: str) -> None:
        """`call` is a digest of what was declined, perhaps once more."""
        self.calls.add(call)
        self.is_empty = False
        self.in_a_row += 1

    @property
    def is_enough(self) -> bool:
        """Whether the turn ends, and nothing is asked any more."""
        return self.in_a_row >= MOST_DECLINED

    def end_row(self) -> None:
        """A call may be made."""
        self.in_a_row = 0


class Conversation(msgspec.Struct, frozen=True):
    """What a surface says about one message, or one call, besides its words.

    `agent` may be empty: the default one. An empty `session` is a new one for a message, and none for a call. App fills in the agent, the
    whole key of the session and the workspace; a `namespace` becomes part of that key. `patience` is how many seconds to wait for servers
    whose tools are not known yet; None as long as each may take to connect. `instructions` are added to the agent's own. `model`
    (`provider/model`) answers this message in place of the agent's own model and its fallbacks. `sink` sees the run as it happens
    (`agent/events.py`), and `caught_up` waits until whoever it tells has taken most of what they were told: meanwhile nothing more is read
    from a model, and no call begins. `surface` is the way in: `chat`, `agent`, `call`, `http`, `order`, `acp`, `app`. `allow` are patterns
    of calls that need no approval in this run (`--allow`); with `says_yes` whatever would be asked is approved (`--yes`, and what a person
    typed as a command).

    `folders` are where it works, before whatever its agent has configured: the first is the workspace, and file tools may use the others
    too. With `reads_only` no call may change anything. `editor` is the person's, if it does work of tools. `code` is the model's program
    that makes this call (`tools/code/`), empty when the model makes it itself.

    `foreign`, `written` (what the person wrote), `granted` (the session's own grants) and `declined` are filled in while it runs, from the
    session first.
    """

    agent: str = ""
    session: str = ""
    namespace: str = ""
    workspace: Path | None = None
    instructions: str = ""
    model: str = ""
    patience: float | None = None
    sink: Callable[[Any], None] | None = None
    caught_up: Callable[[], Awaitable[None]] | None = None
    asker: Asker = msgspec.field(default_factory=Nobody)
    foreign: ForeignSources = msgspec.field(default_factory=ForeignSources)
    surface: str = ""
    allow: tuple[str, ...] = ()
    says_yes: bool = False
    folders: tuple[Path, ...] = ()
    reads_only: bool = False
    editor: Editor | None = None
    code: str = ""
    written: list[str] = msgspec.field(default_factory=list)
    granted: list[Grant] = msgspec.field(default_factory=list)
    declined: Declined = msgspec.field(default_factory=Declined)

    def is_same(self, other: "Conversation") -> bool:
        """Whether both are of one session; outside of any, whether they are one and the same."""
        return self is other or (self.session != "" and self.session == other.session)

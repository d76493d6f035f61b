"""What servers ask of a program that embeds the client, as values: a question or a page for a person, a question for a model, folders, a
sign-in.

Owns these values, and making `Handlers` of functions that take and give them. What a server says is its own words: the message of a
question is cleaned for a terminal, and everything else is as it came. Shows and asks nothing itself.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec
from msgspec import structs

from openclaw.errors import AddressError, RpcError, UsageError
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.embedding import kind_of
from openclaw.mcp.handlers import Handler, Mode, OnLog
from openclaw.mcp.tools.results import Content
from openclaw.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from openclaw.redact import redact
from openclaw.security.egress import page_address
from openclaw.security.external import clean_text
from openclaw.tool import Invocation

_log = logging.getLogger(__name__)

# Of a question: more than the longest that a person reads.
MAX_MESSAGE = 4_096
# What a model may answer with when a server does not say.
MAX_TOKENS = 1_024


AnswerWord = Literal["accept", "decline", "cancel"]


class ElicitationAnswer(msgspec.Struct, frozen=True):
    """What a person said to a server's question. `ElicitationRequest` makes it."""

    action: AnswerWord
    content: Mapping[str, Any] | None = None


class ElicitationRequest(msgspec.Struct, frozen=True):
    """A server's question to a person: a `message`, clean for a terminal, and the JSON `schema` of the form it wants filled in.

    Never answer for a person: show which `server` asks, and let them decline. `invocation` is what was given to the call it asks about,
    when that is sure.
    """

    server: str
    message: str
    schema: Mapping[str, Any]
    invocation: Invocation | None = None

    def accept(self, content: Mapping[str, Any]) -> ElicitationAnswer:
        """The person filled in the form: `content` is what they gave, by the names of its fields."""
        if not isinstance(content, Mapping):
            raise UsageError(
                f"accept takes a mapping of the form's fields, not {kind_of(content)}.",
                hint="Write request.accept({'people': 4}).",
            )
        return ElicitationAnswer("accept", content)

    def decline(self) -> ElicitationAnswer:
        """The person said no."""
        return ElicitationAnswer("decline")

    def cancel(self) -> ElicitationAnswer:
        """Nobody answered."""
        return ElicitationAnswer("cancel")


class PageRequest(msgspec.Struct, frozen=True):
    """A server wants a person to open a page (elicitation of mode `url`): `url` is safe to hand to a browser, `host` is where it leads.

    Never open it unasked: show which `server` asks, its `message` and the whole address, and let them decline. What they do there is not
    told here: the server hears of it, and the call goes on when it does.
    """

    server: str
    message: str
    url: str
    host: str
    invocation: Invocation | None = None

    def opened(self) -> ElicitationAnswer:
        """The person agreed, and the page is open."""
        return ElicitationAnswer("accept")

    def decline(self) -> ElicitationAnswer:
        """The person said no."""
        return ElicitationAnswer("decline")

    def cancel(self) -> ElicitationAnswer:
        """Nobody answered."""
        return ElicitationAnswer("cancel")


class SamplingMessage(msgspec.Struct, frozen=True):
    """One message of a conversation that a server wants a model to go on with. Its words are the server's, whatever the role."""

    role: str
    content: tuple[Content, ...]

    @property
    def text(self) -> str:
        """All text of it."""
        return "\n".join(block.text for block in self.content if block.type == "text" and block.text)


class SamplingRequest(msgspec.Struct, frozen=True):
    """A server's question to a model. All of it is the server's words: show it to a person first, or do not offer it."""

    server: str
    messages: tuple[SamplingMessage, ...]
    max_tokens: int = MAX_TOKENS
    system_prompt: str = ""
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()
    invocation: Invocation | None = None


class SamplingAnswer(msgspec.Struct, frozen=True):
    """What the model said, and which it was."""

    text: str
    model: str
    stop_reason: str = "endTurn"


class SignInRequest(msgspec.Struct, frozen=True):
    """Somebody has to sign in to `server`: show them `url`, whole, or open it in their browser. `host` is where they will type a password,
    and `warning` says what is odd about it. The browser ends at `redirect_uri`."""

    server: str
    url: str
    host: str
    redirect_uri: str
    warning: str = ""


class SignedIn(msgspec.Struct, frozen=True):
    """Somebody signed in. `expires_at` is in seconds since the epoch, None when the server does not say; with `renewable` it is renewed
    without a person."""

    server: str
    scopes: tuple[str, ...]
    expires_at: float | None
    renewable: bool


T = TypeVar("T")
Elicit = Callable[[ElicitationRequest], Awaitable[ElicitationAnswer]]
Visit = Callable[[PageRequest], Awaitable[ElicitationAnswer]]
# Gives the address that the browser ended at, or None when it comes back to this machine by itself.
SignIn = Callable[[SignInRequest], Awaitable[str | None]]
Sample = Callable[[SamplingRequest], Awaitable[SamplingAnswer]]


def with_typed_handlers(
    dependencies: Dependencies,
    *,
    elicit: Elicit | None,
    visit: Visit | None = None,
    sample: Sample | None,
    roots: Iterable[str | os.PathLike[str]],
    on_log: OnLog | None,
) -> Dependencies:
    """The same dependencies with these functions in the place of the handlers that they have."""
    changes: dict[str, Any] = {}
    if elicit is not None or visit is not None:
        modes: tuple[Mode, ...] = (*(("form",) if elicit else ()), *(("url",) if visit else ()))
        changes |= {"elicitation": _elicitation(elicit, visit), "modes": modes}
    if sample is not None:
        changes["sampling"] = _sampling(sample)
    if folders := _folders(roots):
        changes["roots"] = _roots(folders)
    if changes and dependencies.handlers_of is not None:
        raise UsageError(
            "elicit, visit, sample and roots do not go together with handlers_of.", hint="Give one of them."
        )
    return structs.replace(
        dependencies,
        handlers=structs.replace(dependencies.handlers, **changes),
        on_log=on_log or dependencies.on_log,
    )


def _folders(roots: object) -> tuple[Path, ...]:
    listed = () if isinstance(roots, str | bytes | os.PathLike) or not isinstance(roots, Iterable) else tuple(roots)
    if (roots and not listed) or not all(isinstance(folder, str | os.PathLike) for folder in listed):
        raise UsageError("roots must be a list of folders.", hint="Write roots=[Path.cwd()].")
    return tuple(Path(folder).absolute() for folder in listed)


class _Asked(msgspec.Struct, rename="camel"):
    message: str = ""
    mode: str = "form"
    url: str = ""
    requested_schema: dict[str, Any] = {}


class _Said(msgspec.Struct):
    role: str
    content: Content | list[Content]


class _Sampled(msgspec.Struct, rename="camel"):
    messages: list[_Said]
    max_tokens: int = MAX_TOKENS
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: list[str] | None = None


class _NobodyAnsweredError(RpcError):
    """What the program waited for was called off, such as a window that somebody closed; nobody withdrew the question."""


async def _awaited(key: str, answer: Awaitable[T]) -> T:
    if not isawaitable(answer):
        raise _misuse(f"The {key} function is not async.", f"Write: async def {key}(request): …")
    try:
        return await answer
    except UsageError as error:
        raise _misuse(error.message, error.hint) from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _NobodyAnsweredError(INTERNAL_ERROR, "Nobody answered.") from None


def _misuse(sentence: str, hint: str) -> UsageError:
    """For the server, which may keep it to itself; and in the log, for who wrote the function."""
    error = UsageError(sentence, hint=hint)
    _log.error("%s", error)
    return error


def _elicitation(elicit: Elicit | None, visit: Visit | None) -> Handler:
    async def handle(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> Mapping[str, Any]:
        asked = msgspec.convert(params, _Asked, strict=False)
        message = clean_text(redact(asked.message), MAX_MESSAGE)
        try:
            if asked.mode == "url" and visit is not None:
                page = _page(server, message, asked.url, invocation)
                key, hint, answer = "visit", "request.opened()", await _awaited("visit", visit(page))
            elif asked.mode == "form" and elicit is not None:
                form = ElicitationRequest(server, message, asked.requested_schema, invocation)
                key, hint, answer = "elicit", "request.accept({…})", await _awaited("elicit", elicit(form))
            else:
                raise RpcError(INVALID_PARAMS, "Questions of this mode are not answered here.")
        except _NobodyAnsweredError:
            return {"action": "cancel"}
        if not isinstance(answer, ElicitationAnswer) or answer.action not in get_args(AnswerWord):
            raise _misuse(f"The {key} function gave no ElicitationAnswer.", f"Return {hint}.")
        given: dict[str, Any] = {"action": answer.action}
        return given if answer.content is None else {**given, "content": dict(answer.content)}

    return handle


def _page(server: str, message: str, url: str, invocation: Invocation | None) -> PageRequest:
    try:
        address, host = page_address(url)
    except AddressError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None
    return PageRequest(server, message, address, host, invocation)


def _sampling(sample: Sample) -> Handler:
    async def handle(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> Mapping[str, Any]:
        asked = msgspec.convert(params, _Sampled, strict=False)
        request = SamplingRequest(
            server,
            tuple(
                SamplingMessage(said.role, tuple(said.content) if isinstance(said.content, list) else (said.content,))
                for said in asked.messages
            ),
            asked.max_tokens,
            asked.system_prompt or "",
            asked.temperature,
            tuple(asked.stop_sequences or ()),
            invocation,
        )
        answer = await _awaited("sample", sample(request))
        if not isinstance(answer, SamplingAnswer):
            raise _misuse("The sample function gave no SamplingAnswer.", "Return SamplingAnswer(text, model).")
        content = {"type": "text", "text": answer.text}
        return {"role": "assistant", "content": content, "model": answer.model, "stopReason": answer.stop_reason}

    return handle


def _roots(folders: tuple[Path, ...]) -> Handler:
    async def handle(server: str, params: Mapping[str, Any], invocation: Invocation | None) -> Mapping[str, Any]:
        return {"roots": [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]}

    return handle

"""Questions of servers to a person: forms, and pages to open in a browser.

Owns what becomes of a server's `elicitation/create`, whichever way it came: who is asked, what is refused before anybody is (a form that is
none, one that wants a secret, a page that no browser may be led to, too many questions), and that only a person declines: where
nobody is, or nobody answers, it is `cancel`. Never fetches an address. What a person answered goes to the server and nowhere else: no log,
model or transcript has a word of it.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec

from openclaw.asking.forms import Form, FormError, read_form
from openclaw.config.servers import ServerSpec
from openclaw.conversation import Answer, Declined, Question
from openclaw.errors import AddressError, RpcError
from openclaw.protocol.jsonrpc import INVALID_PARAMS
from openclaw.security.egress import page_address
from openclaw.security.external import clean_label, clean_text
from openclaw.tool import Invocation, note

_log = logging.getLogger(__name__)

# Of one server, in one minute; and about one call in all.
MOST_A_MINUTE = 10
MOST_A_CALL = 10
# How often a person is asked the same form again because an answer does not fit.
MOST_TRIES = 3
_LONGEST_MESSAGE = 2_000
_LONGEST_NAME = 100
_MINUTE = 60.0


class _AskedCall:
    """How often a person was asked about one call. One who did not answer in time is not asked a second time."""

    def __init__(self) -> None:
        self._left = MOST_A_CALL

    def may_ask(self) -> bool:
        """Whether there may be one more question. It counts."""
        self._left -= 1
        return self._left >= 0

    def expired(self) -> None:
        self._left = 0


class Elicitation:
    """The questions of all servers of a process. `timeout` gives the seconds that a question may wait once it is
    shown, by the config of now; that they are kept is the asker's part."""

    def __init__(self, timeout: Callable[[], float], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout = timeout
        self._clock = clock
        # By the server's owner and name: each agent may have one of the same name.
        self._asked: dict[tuple[str, str], deque[float]] = {}
        # By turn and id: a model may number its calls anew after a reset.
        self._calls: WeakKeyDictionary[Declined, dict[str, _AskedCall]] = WeakKeyDictionary()

    async def create(
        self, spec: ServerSpec, params: Mapping[str, Any], invocation: Invocation | None
    ) -> dict[str, Any]:
        """The result of `elicitation/create`. Raises RpcError for a question that cannot be one."""
        mode = params.get("mode", "form")
        message = clean_text(str(params.get("message", "")), _LONGEST_MESSAGE)
        if mode == "form":
            return await self._fill_in(spec, message, _form(params.get("requestedSchema")), invocation)
        if mode == "url":
            return await self._open(spec, message, _address(str(params.get("url", ""))), invocation)
        raise RpcError(INVALID_PARAMS, "Questions are of mode form or url.")

    async def finished(self, spec: ServerSpec, invocation: Invocation | None) -> bool:
        """Wait until the person says that they have done what a page asked of them. Whether they did: else they wait no longer."""
        if invocation is None or not invocation.conversation.asker.can("url"):
            return False
        question = Question("url", asker=spec.name, call=invocation.call_id)
        return (await self._put(question, invocation)).is_yes

    async def _fill_in(
        self, spec: ServerSpec, message: str, form: Form, invocation: Invocation | None
    ) -> dict[str, Any]:
        if not spec.allow_secret_forms and (field := next((one for one in form.fields if one.wants_secret), None)):
            said = f"This server ({_name(spec)}) asked for a secret in a plain form. That is not allowed; it should use its web page."
            _log.warning("MCP server '%s' asked for a secret in a form ('%s'); it was declined.", spec.name, field.name)
            _tell(invocation, said)
            note(invocation, f"{_name(spec)} asked the person for a secret in a form, which is not allowed.")
            return {"action": "decline"}
        if refused := self._refusal(spec, "form", invocation):
            return refused
        assert invocation is not None  # somebody is there to be asked
        question = Question("form", message, spec.name, invocation.call_id, schema=form.schema)
        for _ in range(MOST_TRIES):
            answer = await self._put(question, invocation)
            content = form.filled(answer.content)
            fault = form.fault(content) if answer.is_yes else ""
            if not fault:
                return _answered(spec, answer, invocation, content)
            _tell(invocation, f"That answer does not fit: {fault}")
        return _answered(spec, Answer("cancel"), invocation)

    async def _open(
        self, spec: ServerSpec, message: str, address: str, invocation: Invocation | None
    ) -> dict[str, Any]:
        if refused := self._refusal(spec, "url", invocation):
            return refused
        assert invocation is not None  # somebody is there to be asked
        question = Question("url", message, spec.name, invocation.call_id, url=address)
        return _answered(spec, await self._put(question, invocation), invocation)

    def _refusal(
        self, spec: ServerSpec, mode: Literal["form", "url"], invocation: Invocation | None
    ) -> dict[str, Any] | None:
        """The answer when nobody is asked; None when somebody is, which counts."""
        if invocation is None or not invocation.conversation.asker.can(mode):
            sentence = f"{_name(spec)} asked a question nobody was there to answer."
        elif not self._counts(spec):
            sentence = f"{_name(spec)} asks more than {MOST_A_MINUTE} questions a minute; the person is not asked more."
        elif not self._call(invocation).may_ask():
            sentence = f"{_name(spec)} asked again about a call for which the person was asked enough."
        else:
            return None
        _log.warning("%s", sentence)
        _tell(invocation, sentence)
        note(invocation, sentence)
        return {"action": "cancel"}

    def _counts(self, spec: ServerSpec) -> bool:
        asked, now = self._asked.setdefault((spec.owner, spec.name), deque(maxlen=MOST_A_MINUTE)), self._clock()
        if len(asked) == MOST_A_MINUTE and now - asked[0] < _MINUTE:
            return False
        asked.append(now)
        return True

    def _call(self, invocation: Invocation) -> _AskedCall:
        if not invocation.call_id:
            # It may be one of several.
            return _AskedCall()
        of_turn = self._calls.setdefault(invocation.conversation.declined, {})
        return of_turn.setdefault(invocation.call_id, _AskedCall())

    async def _put(self, question: Question, invocation: Invocation) -> Answer:
        # Its time begins when it is shown: the questions before it in its session may take theirs.
        asked = msgspec.structs.replace(question, seconds=self._timeout())
        answer = await invocation.conversation.asker.ask(asked)
        if answer.why == "expired":
            self._call(invocation).expired()
            # Where it was shown it only went away.
            _tell(invocation, _outcome(answer, clean_label(question.asker, _LONGEST_NAME)))
        return answer


def _form(schema: object) -> Form:
    try:
        return read_form(schema)
    except FormError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def _address(url: str) -> str:
    """An address as a browser may be given it. Raises RpcError."""
    try:
        return page_address(url)[0]
    except AddressError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def _answered(
    spec: ServerSpec, answer: Answer, invocation: Invocation, content: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    note(invocation, _outcome(answer, _name(spec)))
    _log.info("MCP server '%s' asked the person something: %s", spec.name, answer.why or answer.action)
    if answer.is_yes and content is not None:
        return {"action": "accept", "content": dict(content)}
    return {"action": answer.action}


def _outcome(answer: Answer, server: str) -> str:
    match answer:
        case Answer(action="accept"):
            return f"The person answered a question of {server}."
        case Answer(action="decline"):
            return f"The person declined a question of {server}."
        case Answer(why="expired"):
            return f"A question of {server} was not answered in time."
        case Answer(why="nobody"):
            return f"{server} asked a question nobody was there to answer."
        case _:
            return f"The person left a question of {server} unanswered."


def _tell(invocation: Invocation | None, sentence: str) -> None:
    if invocation is not None:
        invocation.progress(sentence)


def _name(spec: ServerSpec) -> str:
    return clean_label(spec.name, _LONGEST_NAME)

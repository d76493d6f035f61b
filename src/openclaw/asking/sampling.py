"""Servers that ask a model: `sampling/createMessage`, for those whose config allows it.

Owns who may ask, how often and at what cost (by the minute in this process, by the day in a file that all processes share), and that a
person sees prompt and answer where the config says so. A model gets the server's own prompt and tools and nothing of ours: no system
prompt, no tool, no word of the conversation. Knows no provider: what asks a model is given in.
"""

import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from openclaw.asking.samples import Sample, SampleRequest, read_request, result_of, shown_answer, shown_prompt
from openclaw.asking.token_budget import TokenBudget
from openclaw.config.servers import ServerSpec
from openclaw.conversation import NOBODY_THERE, Question
from openclaw.errors import RpcError, StoreError
from openclaw.grant import SAMPLING, Grant
from openclaw.log import iso_time
from openclaw.mcp.cache import identity
from openclaw.protocol.jsonrpc import INTERNAL_ERROR
from openclaw.security.external import clean_label
from openclaw.security.offers import new_id
from openclaw.tool import Invocation, note

_log = logging.getLogger(__name__)

# What the protocol has a client say when its person will not have it.
REJECTED = -1
_LONGEST_NAME = 100
_MINUTE = 60.0

AskModel = Callable[[SampleRequest], Awaitable[Sample]]


class Sampling:
    """The samples of all servers of a process. `ask_model` asks a model; `counted` is the file with the tokens of the day."""

    def __init__(
        self,
        ask_model: AskModel,
        counted: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], str] = lambda: datetime.now(UTC).date().isoformat(),
    ) -> None:
        self._ask_model = ask_model
        self._budget = TokenBudget(counted, today)
        self._clock = clock
        self._asked: dict[str, deque[float]] = {}

    async def create(
        self, spec: ServerSpec, params: Mapping[str, Any], invocation: Invocation | None
    ) -> dict[str, Any]:
        """The result of `sampling/createMessage`. Raises RpcError when there is none."""
        allowed = spec.sampling
        request = read_request(params, allowed, "" if invocation is None else invocation.agent)
        if not self._counts(spec):
            raise RpcError(INTERNAL_ERROR, f"More than {allowed.requests_per_minute} requests a minute.")
        is_seen = self._is_seen(spec, invocation)
        if is_seen:
            await self._approve(spec, invocation, shown_prompt(request))
        # Held until it is known what was used: another one must not spend it meanwhile.
        held = request.max_tokens
        await self._budget.spend(spec.name, held, allowed.tokens_per_day)
        sample = Sample()
        try:
            sample = await self._ask_model(request)
        finally:
            await self._count(spec.name, sample.tokens - held)
        _log.info("MCP server '%s' asked %s: %d tokens.", spec.name, sample.model or "a model", sample.tokens)
        if sample.error:
            raise RpcError(INTERNAL_ERROR, sample.error)
        if is_seen:
            await self._approve(spec, invocation, shown_answer(sample))
            self._agree(spec, invocation)
        return result_of(sample)

    async def _count(self, server: str, tokens: int) -> None:
        """Correct what was held. When that cannot be written the server has used what it might have, and whoever was cancelled stays so."""
        try:
            await self._budget.add(server, tokens)
        except StoreError as error:
            _log.warning("%s", error)

    def _counts(self, spec: ServerSpec) -> bool:
        most, now = spec.sampling.requests_per_minute, self._clock()
        asked = self._asked.setdefault(spec.name, deque())
        while asked and now - asked[0] >= _MINUTE:
            asked.popleft()
        if len(asked) >= most:
            return False
        asked.append(now)
        return True

    def _is_seen(self, spec: ServerSpec, invocation: Invocation | None) -> bool:
        """Whether a person sees this one."""
        if spec.sampling.approve == "first":
            return invocation is None or not _agreed(spec, invocation)
        return spec.sampling.approve == "always"

    def _agree(self, spec: ServerSpec, invocation: Invocation | None) -> None:
        """Remember it in the conversation: it ends with a reset, and not with this process."""
        if invocation is not None and spec.sampling.approve == "first":
            yes = Grant(
                new_id(),
                spec.name,
                SAMPLING,
                identity(spec),
                invocation.agent,
                scope="session",
                created=iso_time(time.time()),
            )
            invocation.conversation.granted.append(yes)

    async def _approve(self, spec: ServerSpec, invocation: Invocation | None, text: str) -> None:
        """Have the person of the call agree to what is shown. Raises RpcError when they do not."""
        name = clean_label(spec.name, _LONGEST_NAME)
        if invocation is None or not invocation.conversation.asker.can("approval"):
            answer = NOBODY_THERE
        else:
            question = Question("approval", text, spec.name, invocation.call_id)
            answer = await invocation.conversation.asker.ask(question)
        if answer.is_yes:
            return
        if answer.action == "decline":
            note(invocation, f"The person did not let {name} ask a model.")
            raise RpcError(REJECTED, "User rejected sampling request")
        note(invocation, f"{name} wanted to ask a model, and nobody was there to agree to it.")
        raise RpcError(INTERNAL_ERROR, "Nobody was there to agree to the request.")


def _agreed(spec: ServerSpec, invocation: Invocation) -> bool:
    """Whether the person has agreed once in this conversation."""
    mark = (SAMPLING, identity(spec))
    return any((one.server, one.definition) == mark for one in invocation.conversation.granted)

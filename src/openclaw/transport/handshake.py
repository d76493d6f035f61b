"""Carries out a negotiation plan over a live connection.

Decides nothing: `protocol/eras.py` does. Whoever owns the connections runs one plan over as many of them as it asks for:

    plan = eras.negotiate(transport.facts, known=...)
    while True:
        async with Connection(transport) as connection:
            outcome = await shake_hands(connection, plan, timeout=30.0)
            if isinstance(outcome, eras.Reopen): make the transport that it names, and open again
"""

import asyncio

from openclaw.errors import HttpStatusError, LinkLostError, ProtocolError, RpcError
from openclaw.protocol import eras
from openclaw.protocol.eras import (
    Agreement,
    Ask,
    Confirm,
    Listen,
    Loss,
    MethodRefusal,
    MethodReply,
    Outcome,
    Plan,
    Reopen,
    Silence,
)
from openclaw.protocol.jsonrpc import Failure, decode
from openclaw.transport.connection import Connection


async def shake_hands(connection: Connection, plan: Plan, *, timeout: float) -> Agreement | Reopen:
    """Go on with `plan` until the two sides agree, or it wants another connection.

    After an agreement the connection sends its `_meta`, and the link knows the version. No request waits longer than `timeout` seconds.
    Raises what the plan gives up with, or what the transport raised when that says nothing about versions.
    """
    asked: set[asyncio.Task[Outcome]] = set()
    answer: Outcome | None = None
    try:
        while True:
            step = plan.send(answer)
            answer = None
            match step:
                case Ask():
                    asked.add(asyncio.create_task(_ask(connection, step, timeout)))
                case Listen():
                    answer = await _listen(asked, step.seconds)
                case Confirm():
                    connection.link.established(step.version)
                    await connection.notify("notifications/initialized")
                case Reopen():
                    return step
    except StopIteration as end:
        agreement: Agreement = end.value
        connection.use_meta(agreement.meta)
        if agreement.modern:
            connection.link.established(agreement.version)
        return agreement
    finally:
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def _listen(asked: set[asyncio.Task[Outcome]], seconds: float | None) -> Outcome:
    done, _ = await asyncio.wait(asked, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if not done:
        return Silence()
    # When both were answered at once, the newer way counts.
    task = min(done, key=lambda task: task.get_name() != eras.DISCOVER)
    asked.discard(task)
    return task.result()


async def _ask(connection: Connection, step: Ask, timeout: float) -> Outcome:
    task = asyncio.current_task()
    assert task is not None
    task.set_name(step.method)
    try:
        return MethodReply(
            step.method, await connection.request(step.method, step.params, timeout=timeout, headers=step.headers)
        )
    except ProtocolError as error:
        return MethodRefusal(step.method, error)
    except HttpStatusError as error:
        return MethodRefusal(step.method, _error_in(error), error)
    except LinkLostError as error:
        if connection.is_lost:
            return Loss(error)
        if not connection.link.facts.is_process:
            raise
        # A process that takes no more input is on its way out, and how it ended says more.
        ended = await connection.wait_lost()
        return Loss(ended if isinstance(ended, LinkLostError) else error)


def _error_in(error: HttpStatusError) -> RpcError | None:
    """The JSON-RPC error in the body of an HTTP refusal, if there is one."""
    match decode(error.body):
        case [Failure(_, code, message, data)]:
            return RpcError(code, message, data)
        case _:
            return None

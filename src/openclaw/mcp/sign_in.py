"""A call that needs a sign-in: ask the person of its conversation for one, and make the call again.

Owns when the same call is made again because somebody signed in. How a sign-in is made is the surface's business, which servers want one is
for server/calls.py to find out.
"""

import time
from collections.abc import Awaitable, Callable

from openclaw.conversation import ask_to_sign_in
from openclaw.mcp.tools.results import Result
from openclaw.tool import Invocation

# How often one call may ask for a sign-in: for the server, and for rights that the tool turned out to want.
MOST_SIGN_INS = 2


async def with_sign_in(call: Callable[[], Awaitable[Result]], server: str, invocation: Invocation) -> Result:
    """Make a call, and once more after each sign-in that it turned out to need and that the person made."""
    began = time.monotonic()
    return await again_after_sign_in(await call(), began, call, server, invocation)


async def again_after_sign_in(
    result: Result, began: float, call: Callable[[], Awaitable[Result]], server: str, invocation: Invocation
) -> Result:
    """The same for a call that was made: `result` is what came of it, `began` when it was made (monotonic).

    A server that asked for a sign-in has done nothing yet, unless it answered the call as well: then the sign-in serves the calls to come.
    """
    asker = invocation.conversation.asker
    for _ in range(MOST_SIGN_INS):
        if not result.needs_sign_in:
            return result
        is_signed_in = await ask_to_sign_in(asker, server, since=began, call=invocation.call_id)
        if not is_signed_in or result.may_have_run:
            return result
        began = time.monotonic()
        result = await call()
    return result

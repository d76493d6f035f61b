"""The person at a terminal, who can sign in when a call needs it.

Owns who is asked to sign in, and how often: once for all calls that wait for one server. The sign-in itself is sign_in.py's.
"""

import asyncio
import logging
import math
import time

from openclaw.commands.dispatch import Context
from openclaw.conversation import NO_ANSWER, Answer, Question, QuestionKind
from openclaw.engine import Engine
from openclaw.errors import OpenClawError
from openclaw.security.external import clean_terminal

_log = logging.getLogger(__name__)

# Seconds a call waits for its person to come back from the browser: enough for a second factor, and a turn goes on when nobody is there.
CALL_PATIENCE = 180.0


class SignInPrompt:
    """The person at a terminal as an Asker who can also sign in, which calls turn out to need; an async context manager. Every other
    question goes to the asker of the console.

    All calls that wait for one server are one sign-in. A person who does not sign in is not asked again for that server: the call
    ends with the command to run, and so do those after it. Nobody is asked where there is no terminal with a browser.
    """

    def __init__(self, context: Context, engine: Engine, agent: str, *, patience: float = CALL_PATIENCE) -> None:
        self._context = context
        self._engine = engine
        self._agent = agent
        self._patience = patience
        self._asked: dict[str, asyncio.Task[bool]] = {}
        # When somebody signed in here last.
        self._signed_in: dict[str, float] = {}

    async def __aenter__(self) -> "SignInPrompt":
        return self

    async def __aexit__(self, *exc: object) -> None:
        tasks = tuple(self._asked.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def can(self, kind: QuestionKind) -> bool:
        console = self._context.console
        return console.interactive if kind == "sign-in" else console.asker.can(kind)

    async def ask(self, question: Question) -> Answer:
        """A sign-in is accepted when somebody signed in, or has since then."""
        if question.kind != "sign-in":
            return await self._context.console.asker.ask(question)
        return Answer("accept") if self.can(question.kind) and await self._is_signed_in(question) else NO_ANSWER

    async def _is_signed_in(self, question: Question) -> bool:
        server = question.server
        if self._signed_in.get(server, -math.inf) > question.since:
            # The call was sent before, and its refusal came after.
            return True
        task = self._asked.get(server)
        if task is None or (task.done() and task.result()):
            # One that went well may have to be made again, for more rights.
            task = self._asked[server] = asyncio.get_running_loop().create_task(self._sign_in(server))
        return await asyncio.shield(task)

    async def _sign_in(self, server: str) -> bool:
        console = self._context.console
        name = clean_terminal(server)
        try:
            if not await console.browse(""):
                return False
            console.note(f"This call needs you to sign in to {name}. Ctrl-C goes on without it.")
            done = await self._attempt(server)
            if done:
                self._signed_in[server] = time.monotonic()
            return done
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            console.note(f"Going on without a sign-in to {name}.")
        except OpenClawError as error:
            console.note(f"Going on without a sign-in to {name}: {error.message}")
        except Exception as error:
            # A screen, a browser or a signal that fails must not take the turn with it.
            _log.debug("The sign-in to %s failed", name, exc_info=True)
            console.note(f"Going on without a sign-in to {name}: {clean_terminal(str(error)) or type(error).__name__}")
        return False

    async def _attempt(self, server: str) -> bool:
        """A sign-in that the person can interrupt. It is over when this returns or raises."""
        # Loaded with the first call that needs it.
        from openclaw.commands.sign_in import sign_in

        console = self._context.console
        attempt = asyncio.get_running_loop().create_task(
            sign_in(self._context, self._engine, server, self._agent, console.note, patience=self._patience)
        )
        try:
            with console.interruptible(attempt.cancel):
                return await attempt
        finally:
            attempt.cancel()
            await asyncio.wait([attempt])

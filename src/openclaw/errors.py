"""One tree for everything that can go wrong, so that every error says what, where and what to do.

    OpenClawError               anything of ours; exit code 1
    ├── UsageError              the command line or an argument is wrong; exit code 2
    ├── ConfigError             the config file is wrong; exit code 2; carries every problem found
    ├── AddressError            security/egress refuses to dial an address
    ├── SecretError             a secret reference cannot be resolved; never carries a value
    ├── StoreError              a file of ours (sessions, tokens, media) cannot be read or written
    │   └── SessionBusyError    another turn holds the session for longer than somebody would wait
    ├── ProcessError            a program cannot be started
    ├── MediaError              an attachment is refused
    ├── PathError               a file tool refuses a path, or cannot use what is there
    ├── ModelError              a model provider failed for good
    ├── CallError               a tool call failed, for who asked for an exception (`Result.raise_for_error`)
    ├── AuthError               authorization failed
    │   ├── SignInNeededError   a person has to sign in; carries the command to run
    │   │   └── StepUpNeededError   for this call alone: everything else that the server offers goes on
    │   └── RefusedError        an authorization server said no; `code` is its OAuth error code
    ├── ProtocolError           the other side broke the protocol (remote fault)
    │   └── RpcError            the other side answered with a JSON-RPC error
    └── TransportError          the link to a server failed
        ├── ConnectError        it never came up: nothing was sent
        ├── LinkLostError       it broke; `maybe_sent` says whether the request may have been processed
        ├── HttpStatusError     an HTTP answer that is not the one asked for
        ├── SessionExpiredError the MCP session is unknown, said in no answer to our request: surely not processed
        └── DeadlineError       no answer in time

`message` is one sentence for a person; `hint` is the next step, also one sentence. Neither ever holds a secret value.
"""

from typing import Any

import msgspec


class OpenClawError(Exception):
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class UsageError(OpenClawError):
    exit_code = 2


class Problem(msgspec.Struct, frozen=True):
    """One fault of a config file. Line and column start at 1; 0 means the place is not known."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    hint: str = ""

    def __str__(self) -> str:
        place = ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])
        text = f"{self.path}: {self.message}" if self.path else self.message
        text = f"{place}: {text}" if place else text
        return f"{text} {self.hint}" if self.hint else text


class ConfigError(OpenClawError):
    exit_code = 2

    def __init__(self, problems: list[Problem] | tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(p) for p in problems))
        self.problems = tuple(problems)


class AddressError(OpenClawError):
    pass


class SecretError(OpenClawError):
    """`passing` is True when the store could not be reached: then the same reference may be resolved a little later."""

    def __init__(self, message: str, *, hint: str = "", passing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.passing = passing


class StoreError(OpenClawError):
    pass


class SessionBusyError(StoreError):
    """Another turn holds the session for longer than somebody could wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The session is busy with another turn, and was not free within {seconds:g} seconds.",
            hint="Try again when that turn has ended, or use another session key.",
        )


class ProcessError(OpenClawError):
    pass


class MediaError(OpenClawError):
    pass


class PathError(OpenClawError):
    pass


class ModelError(OpenClawError):
    pass


class CallError(OpenClawError):
    pass


class AuthError(OpenClawError):
    """`answer` is what the server said to a request that it may have carried out all the same: then it is not sent again."""

    answer: "HttpStatusError | None" = None

    def answered(self, answer: "HttpStatusError | None") -> None:
        self.answer = answer


class SignInNeededError(AuthError):
    def advise(self, hint: str) -> None:
        """One more thing that a person may try."""
        self.hint = f"{self.hint} {hint}"


class StepUpNeededError(SignInNeededError):
    pass


class RefusedError(AuthError):
    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class ProtocolError(OpenClawError):
    pass


class RpcError(ProtocolError):
    """`addressed` is False when the error named no request: then nothing says that ours was looked at."""

    def __init__(self, code: int, message: str, data: Any = None, *, addressed: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.addressed = addressed


class TransportError(OpenClawError):
    pass


class ConnectError(TransportError):
    pass


class LinkLostError(TransportError):
    def __init__(self, message: str, *, hint: str = "", maybe_sent: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.maybe_sent = maybe_sent


class HttpStatusError(TransportError):
    """`whole` is False when `body` is only the beginning of what the server said, or may be. `said` are its words as far as they are text:
    untrusted, and no part of the message."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str = "",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        whole: bool = True,
        said: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.said = said
        self.headers = headers or {}
        self.body = body
        self.whole = whole


class SessionExpiredError(TransportError):
    """`is_second`: the request had been sent once more already, and is not sent again."""

    def __init__(self, message: str, *, is_second: bool = False) -> None:
        super().__init__(message)
        self.is_second = is_second


class DeadlineError(TransportError):
    pass

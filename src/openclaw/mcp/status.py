"""How a server is doing, as a value: what `status` and the prompt show.

Owns the words for states. Everything here is safe to show: no credential, no MCP session id, no text of a
server that was not cleaned.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from openclaw.config.servers import ServerSpec
from openclaw.mcp.remedies import SHELL, CommandPrefix, with_remedy
from openclaw.mcp.tools.pins import Change, Upgrade
from openclaw.protocol.lifecycle import Remedy, State
from openclaw.redact import MASK, redact, tells_secret

Auth = Literal["none", "api-key", "headers", "oauth"]

# A server that the config switches off has no life, and is listed all the same.
ShownState = Literal[State, "disabled"]


class ServerStatus(msgspec.Struct, frozen=True):
    """`next_attempt` is in seconds from now; `last_heard`, `ready_for` and `last_error_ago` are seconds ago.

    `unusable` are tools the server lists in a way that cannot be offered, by the names they would have. `mcp_session_id` is a short hash.
    Latencies are seconds, of the calls that were answered lately. `last_error` stays when the server is well again.
    `reason` says what is wrong, and `remedy` which command takes a person further; `told` is both, with the
    command as `commands` writes it.
    `note` is what the agent is told beside the state, in words of ours.
    `is_refused`: the check of the config refuses its entry, so that it is not started; `reason` is what is wrong there, and
    `reason_has_place` whether it says where.
    `comes_up`: it is not up, its tools are known, and as far as is known a call brings it up.
    `is_passing`: it runs, or would run, for one command alone and ends with it; so says whoever knows that.
    `auth_expires_at` (seconds since the epoch) and `auth_renews` are of a sign-in; this package leaves them to whoever keeps tokens.
    """

    name: str
    state: ShownState
    reason: str = ""
    transport: str = ""
    target: str = ""
    revision: str = ""
    auth: Auth = "none"
    tools: int = 0
    unusable: tuple[str, ...] = ()
    pid: int | None = None
    owner: str = ""
    where: str = ""
    restarts: int = 0
    next_attempt: float | None = None
    last_heard: float | None = None
    ready_for: float | None = None
    in_flight: int = 0
    queued: int = 0
    mcp_session_id: str = ""
    server_name: str = ""
    server_version: str = ""
    changes: tuple[Change, ...] = ()
    upgrade: Upgrade | None = None
    latency_p50: float | None = None
    latency_p95: float | None = None
    last_error: str = ""
    last_error_ago: float | None = None
    note: str = ""
    auth_expires_at: float | None = None
    auth_renews: bool = False
    is_refused: bool = False
    reason_has_place: bool = False
    remedy: Remedy = ""
    commands: CommandPrefix = SHELL
    is_passing: bool = False
    comes_up: bool = False

    @property
    def told(self) -> str:
        """What is wrong and what to do about it, as far as the reason is known to have a remedy."""
        return self.told_for(self.commands)

    def told_for(self, prefix: CommandPrefix) -> str:
        """The same with its command as it is typed there."""
        return with_remedy(self.reason, self.remedy, self.name, self.owner, prefix=prefix)

    @property
    def shown(self) -> str:
        """The state in a list for people."""
        return self._shown(self.told)

    @property
    def shown_without_remedy(self) -> str:
        """The same, for who names the command beside it."""
        return self._shown(self.reason)

    def _shown(self, said: str) -> str:
        if self.is_refused:
            return f"not started ({said})"
        if self.state == "ready":
            up = "Works" if self.is_passing else up_words(self.pid)
            return f"{up}. {said}" if said else up
        state = "starts when needed" if self.state == "stopped" and self.is_passing else self.state
        return f"{state} ({said})" if said else state

    @property
    def word(self) -> str:
        """The state in the prompt. What a call would bring up counts as connected: to a model it is, and a prompt that says the same
        after every start can be kept by a vendor."""
        return "connected" if self.state == "ready" or self.comes_up else self.state


def up_words(pid: int | None) -> str:
    """How a server that is up is called: a program by its process."""
    return "Connected" if pid is None else f"Running (PID {pid})"


def auth_of(spec: ServerSpec) -> Auth:
    """What kind of credential the spec brings."""
    if spec.auth is not None:
        return "oauth"
    if spec.api_key:
        return "api-key"
    return "headers" if any(name.lower() == "authorization" for name, _ in spec.headers) else "none"


def target_of(spec: ServerSpec) -> str:
    """Where a server is, without what could be a credential: no query, no userinfo, known secrets masked."""
    if spec.facts.is_process:
        return redact(f"stdio://{' '.join([spec.command, *_shown(spec.args)])}")
    address, _, _ = spec.url.partition("?")
    scheme, separator, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return redact(f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}")


def _shown(args: Sequence[str]) -> Iterator[str]:
    """The arguments of a program, without one that is a credential by itself or by the option before it (`--api-key VALUE`)."""
    before = ""
    for arg in args:
        is_named = before.startswith("-") and "=" not in before and not arg.startswith("-")
        yield MASK if tells_secret(before.lstrip("-") if is_named else "", arg) else arg
        before = arg

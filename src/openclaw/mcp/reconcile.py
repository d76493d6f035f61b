"""Which servers to start, stop and leave alone when the configuration changes. Pure.

A spec has two halves. The shared one decides which process or connection serves it: agents for whom it is equal share a server. The rest
(names, filters, deadlines) belongs to the agent that looks at it, and changes without touching the server.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from openclaw.config.servers import ServerSpec

_BARE = ServerSpec("")


class Plan(msgspec.Struct, frozen=True):
    """Shared specs, each once, in the order they are configured. What is in neither stays as it is, or was never there."""

    start: tuple[ServerSpec, ...]
    stop: tuple[ServerSpec, ...]


def shared_spec(spec: ServerSpec) -> ServerSpec:
    """The half of a spec that a process or connection depends on; equal ones are one server.

    Tokens are kept per owner, so the owner counts where signing in can happen: at a URL without a credential of its own.
    """
    may_sign_in = bool(spec.url) and not spec.api_key and not _has_authorization(spec)
    return replace(
        spec,
        section=_BARE.section,
        where="",
        owner=spec.owner if may_sign_in else "",
        tool_prefix=_BARE.tool_prefix,
        tool_include=_BARE.tool_include,
        tool_exclude=_BARE.tool_exclude,
        call_timeout=_BARE.call_timeout,
        max_total_timeout=_BARE.max_total_timeout,
    )


def _has_authorization(spec: ServerSpec) -> bool:
    return any(name.lower() == "authorization" for name, _ in spec.headers)


def is_wanted(spec: ServerSpec) -> bool:
    """Whether a server is to run at all: not switched off, and nothing wrong with its entry."""
    return spec.enabled and not spec.fault


def reconcile(desired: Iterable[ServerSpec], running: Iterable[ServerSpec]) -> Plan:
    """Desired specs against the shared specs of the servers that run.

    - wanted, not running: start
    - running, not wanted any more (removed, disabled, at fault, or its shared half changed): stop
    - running and wanted with an equal shared half: keep, calls in flight included
    A changed one is a stop and a start: the two are different servers that happen to share a name.
    """
    wanted = dict.fromkeys(shared_spec(spec) for spec in desired if is_wanted(spec))
    present = dict.fromkeys(running)
    return Plan(
        start=tuple(spec for spec in wanted if spec not in present),
        stop=tuple(spec for spec in present if spec not in wanted),
    )

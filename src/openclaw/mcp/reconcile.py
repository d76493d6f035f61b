"""Which servers to start, stop and leave alone when the configuration changes. Pure.

A spec has two halves. The *link* decides which process or connection serves it: agents whose links are equal share one. The rest
(names, filters, deadlines) belongs to the agent that looks at it, and changes without touching the server.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from openclaw.config.servers import ServerSpec

_BARE = ServerSpec("")


class Plan(msgspec.Struct, frozen=True):
    """Links, each once, in the order they are configured. What is in neither stays as it is, or was never there."""

    start: tuple[ServerSpec, ...]
    stop: tuple[ServerSpec, ...]


def link_of(spec: ServerSpec) -> ServerSpec:
    """The half of a spec that a process or connection depends on; equal links are one server.

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
    """Desired specs against running links.

    - wanted, not running: start
    - running, not wanted any more (removed, disabled, at fault, or its link changed): stop
    - running and wanted with an equal link: keep, calls in flight included
    A changed link is a stop and a start: the two are different servers that happen to share a name.
    """
    wanted = dict.fromkeys(link_of(spec) for spec in desired if is_wanted(spec))
    present = dict.fromkeys(running)
    return Plan(
        start=tuple(link for link in wanted if link not in present),
        stop=tuple(link for link in present if link not in wanted),
    )

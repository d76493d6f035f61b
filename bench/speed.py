"""The table of speed: OpenClaw beside the fastest peers, line by line, each as one ratio or value. `make bench` prints it.

Pure. A line that is missed is printed as missed, with a profile of what it measured beside it (`ours/profile.py`) and what would reach it;
only one that could not be measured fails a run.
"""

from bench.placement import PLACES
from bench.rounds import against
from bench.targets import Target

TS_SDK, MCPORTER, FAST = "the TypeScript SDK", "mcporter", "the fast floor"
OLD_ERA = "2025-11-25"
# What a line is a profile of: a target of bench/ours/profile.py and how many calls are in flight.
STDIO, STDIO_MANY, MODERN, MODERN_MANY = "stdio 1", "stdio 64", "modern 1", "modern 64"
JSON, JSON_MANY, EVENTS, EVENTS_MANY = "json 1", "json 64", "events 1", "events 64"
TURN = "turn"

# What would reach a line that is missed, by its profile: what was tried and measured, and what was left out.
_INTERPRETER = (
    "Another build of the interpreter helps, but helps the floor nearly as much: on Debian's own Python 3.11 a stdio call took about 0.7x "
    "of the processor time that it took on one built from source with plain options, the fast floor 0.8x."
)
_FEWER_STEPS = (
    "After that only fewer steps in Python: a call is 1,780 bytecodes in 51 functions, of which the trail is a sixth, and with 64 in "
    "flight the limit leaves room for some 1,000. Compiled modules for the checks, the frame and the trail (left out, decision 0017), or "
    "to go without one of them."
)
_EXCHANGE = (
    "The exchange itself is begun and ended by callbacks. What is left of it: one question to the kernel whether the kept connection is "
    "still good, and one to the credentials."
)
_WOULD_REACH = {
    **dict.fromkeys((STDIO, STDIO_MANY, MODERN, MODERN_MANY), f"{_INTERPRETER} {_FEWER_STEPS}"),
    **dict.fromkeys((JSON, JSON_MANY, EVENTS, EVENTS_MANY), f"{_EXCHANGE} {_INTERPRETER}"),
    TURN: "To keep the view of a session in a form that the next turn need not check against what is stored.",
}
_NEW_ERA = (
    "A server that reads `_meta` faster: what a request of 2026-07-28 carries more (180 bytes) is encoded once for a connection here, and "
    "read by the server with every call. Counted in instructions, a call costs the client 0.5 % more."
)
_MEMORY = (
    "To find what is kept: as many objects were there after a day of turns as before it (`sys.getallocatedblocks`, behind a search for "
    "garbage); `tracemalloc` in the gateway, between the third hour and the last, names the lines that made what is more."
)

_SERVERS = {"stdio": "echo", "everything": "server-everything"}
_MANY = {
    "stdio x64": "64 in flight, digits",
    "stdio document x64": "64 in flight, a JSON document",
    "stdio letters x64": "64 in flight, accented text",
    "20 servers x16": "20 servers x 16",
}
# Of a client's processor, for one call: in the old era and in the new.
_COST = {
    "stdio, one core cpu": ("one by one", OLD_ERA, 3.2, STDIO, "placed"),
    "stdio-2026, one core cpu": ("one by one", "2026-07-28", 3.2, MODERN, "placed"),
    "stdio x64 cpu": ("64 in flight", OLD_ERA, 2.8, STDIO_MANY, "throughput"),
    "stdio-2026 x64 cpu": ("64 in flight", "2026-07-28", 2.8, MODERN_MANY, "throughput"),
}
_PROXIES = {"mcp-proxy": "mcp-proxy", "supergateway": "supergateway", "fastmcp": "FastMCP"}


def _ratio(
    title: str,
    measure: str,
    case: str,
    limit: float,
    base: str,
    profile: str,
    *,
    at_least: bool = False,
) -> Target:
    return Target(
        title,
        measure,
        against(case, base),
        "ratio",
        limit,
        at_least=at_least,
        base=base,
        profile=profile,
        would_reach=_NEW_ERA if base == OLD_ERA else _WOULD_REACH[profile],
    )


SPEED = (
    *(
        _ratio(f"stdio, one call, {title}, {place}", "placed", f"{server}, {place}", limit, base, STDIO)
        for server, title in _SERVERS.items()
        for place in PLACES
        for base, limit in ((TS_SDK, 1.0), (MCPORTER, 1.1))
    ),
    *(
        _ratio(f"stdio, calls/s, {title}", "throughput", case, 0.9, TS_SDK, STDIO_MANY, at_least=True)
        for case, title in _MANY.items()
    ),
    *(
        _ratio(f"processor time of a stdio call, {way}, {era}", measure, case, limit, FAST, profile)
        for case, (way, era, limit, profile, measure) in _COST.items()
    ),
    _ratio("a 2026-07-28 call, stdio, one core", "placed", "stdio-2026, one core", 1.05, OLD_ERA, MODERN),
    _ratio("a 2026-07-28 call, HTTP with JSON, one core", "placed", "json-2026, one core", 1.05, OLD_ERA, MODERN),
    _ratio("HTTP with JSON, one call, one core", "placed", "json, one core", 1.5, FAST, JSON),
    _ratio("HTTP with events, one call, one core", "placed", "events, one core", 2.0, FAST, EVENTS),
    _ratio("HTTP with JSON, 64 in flight", "throughput", "json x64", 0.4, FAST, JSON_MANY, at_least=True),
    _ratio("HTTP with events, 64 in flight", "throughput", "events x64", 0.3, FAST, EVENTS_MANY, at_least=True),
    *(
        Target(
            f"latency the gateway adds, {case} target",
            "gateway",
            case,
            "value",
            0.5e-3,
            profile=profile,
            would_reach=_WOULD_REACH[profile],
        )
        for case, profile in (("stdio", STDIO), ("http", JSON))
    ),
    *(
        _ratio(f"latency the gateway adds, {case} target", "gateway", case, 1.0, title, profile)
        for case, profile in (("stdio", STDIO), ("http", JSON))
        for title in _PROXIES.values()
    ),
    Target(
        "a turn in a session of 100,000 messages",
        "turns",
        against("100,000 messages", "10 messages"),
        "ratio",
        1.5,
        base="one in a session of 10, without the model",
        profile=TURN,
        would_reach=_WOULD_REACH[TURN],
    ),
    # Within the error of nothing: the least that it may be is no more than nothing.
    Target(
        "memory of the gateway over 24 hours of turns, at least, each hour",
        "day",
        "slope least",
        "value",
        0.0,
        unit="bytes",
        would_reach=_MEMORY,
    ),
)

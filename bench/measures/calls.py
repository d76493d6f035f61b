"""Warm calls: how long one takes (p50, p99), how many a second there are at 64 in flight and over 20 servers, and what each costs the
client's processor.

Everybody calls the same echo servers in turn, warmed up until its own p50 is steady. Texts are digits, a JSON document (quotes and line
ends that must be escaped) and letters outside ASCII. One call at a time is on one core; placed.py has it elsewhere. server-everything
stands for real servers, which take most of the time themselves.
"""

import json
from functools import partial

from bench.contenders.driver import TEXT, Target
from bench.contenders.entrants import TS_SDK
from bench.drivers import Driver, HttpServer, stdio_server
from bench.measures.placed import MODERN_ECHO, MODERN_EVENTS, MODERN_JSON, OTHERS, WHO
from bench.parts import Unavailable, node, npm_program
from bench.rounds import Warmth, add_against, add_figures, take_turns
from bench.run import Run

# One turn: enough calls for a steady median, a quarter of a second at most for the slow ones.
COUNT, SECONDS = 1_000, 0.25
# Many at once: as many calls as the fastest makes in this time, so that turns are of like length.
MANY_COUNT, MANY_SECONDS = 40_000, 0.4
# Node optimises what was called tens of thousands of times.
WARM_TURNS, MANY_WARM_TURNS = 24, 8
# What is judged and varies most has more rounds.
ROUNDS, ONE_SERVER_ROUNDS, MANY_SERVERS_ROUNDS = 9, 11, 7
IN_FLIGHT = 64
# What tools really return: a document of about 1 KB, and letters that take two to four bytes each.
DOCUMENT = json.dumps(
    [
        {
            "id": n,
            "title": f'Ticket "{n}"',
            "path": f"C:\\projects\\{n}",
            "body": "First line\nSecond line",
            "open": n % 2 == 0,
        }
        for n in range(8)
    ],
    indent=1,
)
LETTERS = "Grüße aus Köln nach Łódź, привет из Москвы; 東京の天気は晴れ、大阪は雨。 café naïve Ω 한국어 العربية 🚆 09:40 → Gleis 7"
TEXTS = {"document": DOCUMENT, "letters": LETTERS}
SERVERS, EACH = 20, 16


def measure(run: Run) -> None:
    _latency(run)
    _throughput(run)
    _new_era(run)
    _many_servers(run)


def _latency(run: Run) -> None:
    with HttpServer(place="one core") as http:
        targets: dict[str, Target] = {
            "stdio": stdio_server(place="one core"),
            "json": http.target("json/mcp"),
            "events": http.target("events/mcp"),
        }
        try:
            targets["everything"] = {"command": [node(), npm_program("mcp-server-everything"), "stdio"]}
        except Unavailable as error:
            run.note("calls", "server-everything", "skipped", str(error))
        with run.opened("calls", targets) as drivers:
            for case in targets:
                _one_at_a_time(run, case, case, TEXT, drivers)
            for kind, text in TEXTS.items():
                _one_at_a_time(run, f"stdio {kind}", "stdio", text, drivers)


def _throughput(run: Run) -> None:
    with HttpServer(place="two cores") as http:
        targets: dict[str, Target] = {
            "stdio": stdio_server(place="two cores"),
            "json": http.target("json/mcp"),
            "events": http.target("events/mcp"),
        }
        with run.opened("throughput", targets) as drivers:
            for case in targets:
                _many(run, f"{case} x{IN_FLIGHT}", (case,), IN_FLIGHT, drivers, ONE_SERVER_ROUNDS)
            fastest = {who: driver for who, driver in drivers.items() if who in WHO}
            for kind, text in TEXTS.items():
                _many(run, f"stdio {kind} x{IN_FLIGHT}", ("stdio",), IN_FLIGHT, fastest, MANY_SERVERS_ROUNDS, text)


def _new_era(run: Run) -> None:
    """The same of 2026-07-28, of the fastest."""
    with HttpServer("--modern", place="two cores") as http:
        targets: dict[str, Target] = {
            MODERN_ECHO: {**stdio_server("--modern", place="two cores"), "modern": True},
            MODERN_JSON: {**http.target("json/mcp"), "modern": True},
            MODERN_EVENTS: {**http.target("events/mcp"), "modern": True},
        }
        with run.opened("throughput", targets, only=WHO) as drivers:
            for case in targets:
                _many(run, f"{case} x{IN_FLIGHT}", (case,), IN_FLIGHT, drivers, ONE_SERVER_ROUNDS)


def _many_servers(run: Run) -> None:
    names = tuple(f"s{number}" for number in range(SERVERS))
    with run.opened("throughput", {name: stdio_server(place="two cores") for name in names}) as drivers:
        _many(run, f"{SERVERS} servers x{EACH}", names, EACH, drivers, MANY_SERVERS_ROUNDS)


def _one_at_a_time(run: Run, case: str, server: str, text: str, drivers: dict[str, Driver]) -> None:
    argument = "message" if server == "everything" else "text"
    turns = {
        who: partial(driver.calls, server, count=COUNT, seconds=SECONDS, argument=argument, text=text)
        for who, driver in drivers.items()
    }
    taken = take_turns(
        turns,
        run.rounds(ROUNDS, 3),
        lambda who, error: run.failed("calls", who, error, case),
        begin=lambda who: run.say(f"calls: {case}: warming up {who}"),
        warm=Warmth(lambda turn: turn["p50"], WARM_TURNS),
    )
    for field, label in (("p50", case), ("p99", f"{case} p99"), ("cpu", f"{case} cpu")):
        values = {who: [turn[field] for turn in given] for who, given in taken.items()}
        add_figures(run.results, "calls", label, "seconds", values)
    speeds = {who: [turn["calls"] / turn["seconds"] for turn in given] for who, given in taken.items()}
    add_figures(run.results, "throughput", f"{case} x1", "calls/s", speeds)
    if case == "stdio":
        p50 = {who: [turn["p50"] for turn in given] for who, given in taken.items()}
        add_against(run.results, "calls", case, "seconds", p50, {TS_SDK.key: OTHERS[TS_SDK.key]})


def _many(
    run: Run,
    case: str,
    servers: tuple[str, ...],
    each: int,
    drivers: dict[str, Driver],
    rounds: int,
    text: str = TEXT,
) -> None:
    turns = {
        who: partial(driver.calls, *servers, count=MANY_COUNT, seconds=MANY_SECONDS, in_flight=each, text=text)
        for who, driver in drivers.items()
    }
    taken = take_turns(
        turns,
        run.rounds(rounds, 3),
        lambda who, error: run.failed("throughput", who, error, case),
        begin=lambda who: run.say(f"throughput: {case}: warming up {who}"),
        warm=Warmth(lambda turn: turn["seconds"] / turn["calls"], MANY_WARM_TURNS),
    )
    speeds = {who: [turn["calls"] / turn["seconds"] for turn in given] for who, given in taken.items()}
    add_figures(run.results, "throughput", case, "calls/s", speeds)
    add_against(run.results, "throughput", case, "calls/s", speeds, OTHERS)
    costs = {who: [turn["cpu"] for turn in given] for who, given in taken.items()}
    add_figures(run.results, "throughput", f"{case} cpu", "seconds", costs)
    add_against(run.results, "throughput", f"{case} cpu", "seconds", costs, OTHERS)

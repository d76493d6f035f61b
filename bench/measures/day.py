"""A day of turns in a gateway, as fast as they go: whether its memory grows.

A real gateway with a server and a model (the offline one) is told something over HTTP as often as a busy person would in 24 hours: each
hour some conversations are begun and some go on, and a tool is called in each turn. Memory is read after every simulated hour. The slope
is the mean of what single hours added, when caches are full, with the interval that holds the true mean in 95 of 100 such days: memory
grows in steps, and the median hour of a gateway that takes a step every third hour adds nothing.
"""

import json
import math
import statistics
import tempfile
import time
from http.client import HTTPConnection, HTTPException
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from bench.contenders.entrants import OURS
from bench.drivers import memory, stdio_server
from bench.gateway import Gateway, running_gateway, write_config
from bench.processes import Failed
from bench.results import Figure
from bench.run import Run

HOURS = 24
# Turns of one hour: one in each half minute; a quick day has fewer.
TURNS, QUICK_TURNS = 120, 20
# Of an hour's turns, those that begin a conversation.
BEGUN = 12
# Hours of the days before, like those of the day, in which caches fill: what is kept of runs, of what happened, of conversations. Were
# their conversations shorter, the day would grow until those kept ready are its own: 64 of them, 280 KB in its first 20 hours. They do not
# count, and neither do the first hours.
BEFORE = 100
FILLING = 2
# Resident memory is told in pages, and an allocator begins to use one here and there of those it has: up to seven of them in a day of
# turns, with as many objects after it as before (333,127 and 333,467 blocks behind a search for garbage). What is less than one in an
# hour is not told from nothing; one object that each turn left would be.
PAGE = 4096
# 95 in 100 of Student's distribution lie within so many errors, with as many hours as count.
ERRORS = 2.08
# Tokens of the model's window: the conversation that runs through the day is shortened every hour or so, as a long one is.
WINDOW = 8_000
# For one turn.
PATIENCE = 30.0
# The longest that a day, and those before it, may take before the rest is left out.
MOST_SECONDS = 600.0


def measure(run: Run) -> None:
    if not run.wants(OURS.key):
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        write_config(Path(folder), {"echo": stdio_server()}, contextTokens=WINDOW)
        run.say("day: starting a gateway")
        try:
            with running_gateway(Path(folder)) as gateway:
                _day(run, gateway)
        except (Failed, OSError, HTTPException) as error:
            run.failed("day", OURS.key, error)


def _day(run: Run, gateway: Gateway) -> None:
    turns = QUICK_TURNS if run.quick else TURNS
    client = _Client(gateway)
    held = []
    begun = time.monotonic()
    run.say(f"day: {BEFORE * turns:,} turns of the days before")
    for hour in range(BEFORE):
        _hour(client, f"before-{hour}", turns)
    day_began = time.monotonic()
    for hour in range(HOURS):
        run.say(f"day: hour {hour + 1}")
        _hour(client, f"hour-{hour}", turns)
        held.append(float(memory(gateway.pid)))
        if time.monotonic() - begun > MOST_SECONDS:
            raise Failed(f"{hour + 1} hours of turns took more than {MOST_SECONDS:.0f} s")
    took = time.monotonic() - day_began
    each, least, most = slope(held[FILLING - 1 :], grain=PAGE)
    figures = {
        "slope": each,
        "slope least": least,
        "slope most": most,
        "begin": held[FILLING - 1],
        "end": held[-1],
    }
    for case, value in figures.items():
        run.results.add(Figure("day", case, OURS.key, value, "bytes"))
    run.results.add(Figure("day", "turns", OURS.key, float(HOURS * turns), "count"))
    run.results.add(Figure("day", "turn", OURS.key, took / (HOURS * turns), "seconds"))
    for hour, bytes_held in enumerate(held, 1):
        run.results.add(Figure("hours", f"hour {hour} memory", OURS.key, bytes_held, "bytes"))


def _hour(client: "_Client", name: str, turns: int) -> None:
    """Most turns go on with a conversation of this hour; one runs through the day."""
    for number in range(turns):
        session = "day" if not number % 3 else f"{name}-{number % BEGUN}"
        client.say(session, f"echo {name}:{number:03d} what is next on my list?")


def slope(held: list[float], *, grain: float = 0.0) -> tuple[float, float, float]:
    """What an hour adds to what was held after each of some; and from which to which it may be. It is known no better than to `grain`."""
    grown = [later - earlier for earlier, later in pairwise(held)]
    each = statistics.mean(grown)
    error = max(grain, ERRORS * statistics.stdev(grown) / math.sqrt(len(grown)))
    return each, each - error, each + error


class _Client:
    def __init__(self, gateway: Gateway) -> None:
        place = urlsplit(gateway.url)
        self._connection = HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
        self._headers = {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json"}

    def say(self, session: str, text: str) -> None:
        """Raises Failed when there is no answer."""
        body = {"model": "openclaw", "messages": [{"role": "user", "content": text}]}
        headers = self._headers | {"X-OpenClaw-Session-Key": session}
        self._connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise Failed(f"the gateway answered {answer.status}: {said[:200]!r}")

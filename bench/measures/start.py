"""From a shell to the first result: whole processes, from start to end, beside `-c pass` in the same interpreter.

What is called is an echo server; over stdio each run starts one too, so its own start is part of every figure. Caches are warm: each
command has run before. `mcp-server` is timed to the answer of `initialize`.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.contenders.driver import TEXT, Target
from bench.contenders.roster import ALTERNATIVES
from bench.drivers import DriverError, HttpServer, environment, stdio_server
from bench.gateway import OPENCLAW, running_gateway, write_config
from bench.parts import ROOT, Unavailable, node, npm_program
from bench.results import Figure, middle
from bench.rounds import ratios, take_turns
from bench.run import QUICK_KEYS, Run

BASE = "-c pass"
PATIENCE = 30.0
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


@dataclass(frozen=True)
class Program:
    """A command line to time. `expect` must be in what it prints."""

    command: list[str]
    env: dict[str, str]
    expect: str = ""

    def run(self) -> float:
        started = time.perf_counter()
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=self.env,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            # With whatever it started, which may hold its output open.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise DriverError(f"not done within {PATIENCE:.0f} s") from None
        took = time.perf_counter() - started
        if process.returncode or self.expect not in out.decode("utf-8", "replace"):
            words = (err or out).decode("utf-8", "replace").strip().splitlines()
            raise DriverError(f"exit code {process.returncode}: {words[-1] if words else 'without a word'}")
        return took

    def run_to_first_line(self) -> float:
        """Until it has answered one message; what comes after is not counted."""
        started = time.perf_counter()
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=self.env,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            took = time.perf_counter() - started
            if b'"result"' not in line:
                raise DriverError(f"answered {line[:100]!r}")
            return took
        finally:
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait()
            process.stdout.close()


# Who runs what, and how to time it once.
Turns = dict[tuple[str, str], Callable[[], float]]


def measure(run: Run) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, HttpServer() as http:
        home = Path(folder)
        targets: dict[str, Target] = {"stdio": stdio_server(), "http": http.target("json/mcp")}
        turns = _ours(home, targets) | _alternatives(run, home, targets)
        run.say(f"start: {len(turns)} commands")
        _rounds(run, home, turns)
        _through_gateway(run, home)


def _rounds(run: Run, home: Path, turns: Turns) -> None:
    """Everybody in turn, beside `-c pass`, after one run that does not count."""
    base = ("ours", BASE)
    turns = {base: Program([sys.executable, "-c", "pass"], environment(home)).run} | turns

    def failed(who: tuple[str, str], error: Exception) -> None:
        run.failed("start", f"{who[0]}, {who[1]}", error)

    warm = take_turns(turns, 1, failed)
    turns = {who: turn for who, turn in turns.items() if who in warm}
    taken = take_turns(turns, run.rounds(15, 4), failed)
    for (who, case), values in taken.items():
        if run.results.find("start", case, who) is None:
            ratio = middle(ratios(values, taken[base]))
            run.results.add(Figure("start", case, who, middle(values), "seconds", ratio, min(values), max(values)))


def _ours(home: Path, targets: dict[str, Target]) -> Turns:
    env = environment(home)
    write_config(home, targets)
    call = [OPENCLAW, "mcp", "call"]
    return {
        ("ours", "--version"): Program([OPENCLAW, "--version"], env, "openclaw").run,
        ("ours", "call over stdio"): Program([*call, "stdio__echo", f"text={TEXT}"], env, TEXT).run,
        ("ours", "call over http"): Program([*call, "http__echo", f"text={TEXT}"], env, TEXT).run,
        ("ours", "mcp-server"): Program([OPENCLAW, "mcp-server", "--local"], env).run_to_first_line,
    }


def _alternatives(run: Run, home: Path, targets: dict[str, Target]) -> Turns:
    env = environment(home)
    found: Turns = {}
    for entrant in ALTERNATIVES:
        if run.quick and entrant.key not in QUICK_KEYS:
            continue
        try:
            for case, target in targets.items():
                if entrant.key == "mcporter":
                    command = [*_mcporter(home, targets), f"echo-{case}.echo", f"text={TEXT}"]
                else:
                    command = [*entrant.command(), "--once", json.dumps(target)]
                found[entrant.key, f"call over {case}"] = Program(command, env | entrant.env(), TEXT).run
        except Unavailable as error:
            run.failed("start", entrant.key, error)
    return found


def _mcporter(home: Path, targets: dict[str, Target]) -> list[str]:
    """Its own command line, as a person would use it."""
    entries = {
        f"echo-{case}": {"baseUrl": target["url"]}
        if "url" in target
        else {"command": target["command"][0], "args": target["command"][1:]}
        for case, target in targets.items()
    }
    file = home / "mcporter.json"
    file.write_text(json.dumps({"mcpServers": entries, "imports": []}))
    return [node(), npm_program("mcporter"), "--config", str(file), "call"]


def _through_gateway(run: Run, home: Path) -> None:
    env = environment(home)
    call = [OPENCLAW, "mcp", "call", "stdio__echo", f"text={TEXT}"]
    try:
        with running_gateway(home):
            _rounds(run, home, {("ours", "call through the gateway"): Program(call, env, TEXT).run})
    except DriverError as error:
        run.failed("start", "call through the gateway", error)

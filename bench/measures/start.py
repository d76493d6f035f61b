"""From a shell to the first result: whole processes, from start to end, beside `-c pass` in the same interpreter.

What is called is an echo server; over stdio each run starts one too, so its own start is part of every figure. Caches are warm: each
command has run before. `mcp-server` and `acp` are timed to the answer of `initialize`.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.contenders.driver import TEXT, Target
from bench.contenders.entrants import ALTERNATIVES
from bench.drivers import HttpServer, environment, stdio_server
from bench.gateway import OPENCLAW, running_gateway, write_config
from bench.parts import ROOT, node, npm_program
from bench.processes import Failed, end, last_words, line_from, start
from bench.results import Figure, middle
from bench.rounds import ratios, take_turns
from bench.run import Run

BASE = "-c pass"
PATIENCE = 30.0
# Whole programs of others take a second each: these rounds tell enough.
OTHERS_ROUNDS = 5
CLIENT = {"name": "bench", "version": "1"}
# What a client says first, in each protocol.
MCP_PARAMS = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
ACP_PARAMS = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": CLIENT}


@dataclass(frozen=True)
class Program:
    """A command line to time. `expect` must be in what it prints."""

    command: list[str]
    env: dict[str, str]
    expect: str = ""

    def run(self) -> float:
        started = time.perf_counter()
        process = start(self.command, self.env, cwd=ROOT)
        try:
            out, err = process.communicate(timeout=PATIENCE)
            took = time.perf_counter() - started
        except subprocess.TimeoutExpired:
            raise Failed(f"not done within {PATIENCE:.0f} s") from None
        finally:
            end(process)
            _close(process)
        if process.returncode or self.expect not in out.decode("utf-8", "replace"):
            raise Failed(f"exit code {process.returncode}: {last_words(err or out)}")
        return took

    def run_to_initialized(self, params: dict[str, Any]) -> float:
        """Until it has answered `initialize`; what comes after is not counted."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        started = time.perf_counter()
        process = start(self.command, self.env, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            line = line_from(process.stdout.fileno(), PATIENCE)
            took = time.perf_counter() - started
        finally:
            end(process)
            _close(process)
        if b'"result"' not in line:
            raise Failed(f"answered {line[:100]!r}")
        return took


def _close(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


# Who runs what, and how to time it once.
Turns = dict[tuple[str, str], Callable[[], float]]


def measure(run: Run) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, HttpServer() as http:
        home = Path(folder)
        targets: dict[str, Target] = {"stdio": stdio_server(), "http": http.target("json/mcp")}
        _rounds(run, home, _ours(run, home, targets) | _alternatives(run, home, targets))
        if run.wants("ours"):
            _through_gateway(run, home)


def _rounds(run: Run, home: Path, turns: Turns) -> None:
    """Everybody in turn, beside `-c pass`."""
    base = ("ours", BASE)
    turns = {base: Program([sys.executable, "-c", "pass"], environment(home)).run} | turns
    taken = take_turns(
        turns,
        run.rounds(15, 4),
        lambda who, error: run.failed("start", who[0], error, who[1]),
        fewer={who: OTHERS_ROUNDS for who in turns if who[0] != "ours"},
        begin=lambda who: run.say(f"start: {who[1]}: {who[0]}"),
    )
    for (who, case), values in taken.items():
        if run.results.find("start", case, who) is None:
            ratio = middle(ratios(values, taken[base]))
            run.results.add(Figure("start", case, who, middle(values), "seconds", ratio, min(values), max(values)))


def _ours(run: Run, home: Path, targets: dict[str, Target]) -> Turns:
    if not run.wants("ours"):
        return {}
    env = environment(home)
    write_config(home, targets)
    call = [OPENCLAW, "mcp", "call"]
    return {
        ("ours", "--version"): Program([OPENCLAW, "--version"], env, "openclaw").run,
        ("ours", "call over stdio"): Program([*call, "stdio__echo", f"text={TEXT}"], env, TEXT).run,
        ("ours", "call over http"): Program([*call, "http__echo", f"text={TEXT}"], env, TEXT).run,
        ("ours", "mcp-server"): partial(
            Program([OPENCLAW, "mcp-server", "--local"], env).run_to_initialized, MCP_PARAMS
        ),
        ("ours", "acp"): partial(Program([OPENCLAW, "acp"], env).run_to_initialized, ACP_PARAMS),
    }


def _alternatives(run: Run, home: Path, targets: dict[str, Target]) -> Turns:
    env = environment(home)
    found: Turns = {}
    for entrant in run.entrants("start"):
        if entrant not in ALTERNATIVES:
            continue
        for case, target in targets.items():
            if entrant.key == "mcporter":
                command = [*_mcporter(home, targets), f"echo-{case}.echo", f"text={TEXT}"]
            else:
                command = [*entrant.command(), "--once", json.dumps(target)]
            found[entrant.key, f"call over {case}"] = Program(command, env | entrant.env(), TEXT).run
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
    except Failed as error:
        run.failed("start", "ours", error, "call through the gateway")

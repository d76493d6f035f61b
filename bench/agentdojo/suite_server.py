"""One suite of AgentDojo as an MCP server over standard input and output. Runs in AgentDojo's own environment.

    python suite_server.py SUITE SOCKET

Its tools are the suite's functions, with the schemas and words that AgentDojo gives models, and its answers the text that AgentDojo's own
pipeline makes of a result. The state is that of one task at a time. Which one is said on SOCKET, by whoever replays, one JSON object a
line: no tool leads there, so nothing that a model does can. `{"do": "tasks"}` tells what there is, `{"do": "load", …}` prepares the state
of a task, with the goal of an injection where the suite's own vectors put it, and `{"do": "judge", …}` has the suite say what was reached.
"""

import json
import pickle
import socket
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import yaml
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks.base_attacks import FixedJailbreakAttack
from agentdojo.attacks.important_instructions_attacks import ImportantInstructionsAttack
from agentdojo.functions_runtime import Function, FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suite
from agentdojo.types import text_content_block_from_string

VERSION = "v1.2.2"
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
METHOD_NOT_FOUND = -32601
# AgentDojo says of no tool whether it only reads. Its functions are named for what they do, and these do.
READING = ("check_", "get_", "list_", "read_", "search_")

# The same documents in a tenth of the time: a suite's state is read anew for every attack.
yaml.safe_load = lambda stream: yaml.load(stream, yaml.CSafeLoader)


class Stage:
    """The state of the task that is played now. Calls and judgements come from two threads, so each takes the lock."""

    def __init__(self, suite: str) -> None:
        self._suite = get_suite(VERSION, suite)
        self._attack = FixedJailbreakAttack(ImportantInstructionsAttack._JB_STRING, self._suite, None)
        self._runtime = FunctionsRuntime(self._suite.tools)
        self._lock = threading.Lock()
        self._loaded = cache(self._prepared)
        # Some checks take a quarter of a second, and most modes end most plays the same way.
        self._reached = cache(self._check)
        self._before = b""
        self._now: Any = None
        self._trace: list[FunctionCall] = []
        self.load("", "")

    @property
    def tools(self) -> Sequence[Function]:
        tools: Sequence[Function] = self._suite.tools
        return tools

    def tasks(self) -> dict[str, Any]:
        return {"user": list(self._suite.user_tasks), "injections": list(self._suite.injection_tasks)}

    def load(self, user: str, injection: str) -> dict[str, Any]:
        """Begin a task: its words and reference calls, and those of the injection."""
        with self._lock:
            self._before, told = self._loaded(user, injection)
            self._now = pickle.loads(self._before)
            self._trace = []
            return told

    def _prepared(self, user: str, injection: str) -> tuple[bytes, dict[str, Any]]:
        """What the world looks like before the task, and what is told of it. A goal is put wherever the task would read it.

        Pickled, because references and checks may change what they are given: to copy it takes five times as long.
        """
        task, attack = self._suite.user_tasks.get(user), self._suite.injection_tasks.get(injection)
        goals = self._attack.attack(task, attack) if attack else {}
        environment = self._suite.load_and_inject_default_environment(goals)
        world = pickle.dumps(task.init_environment(environment) if task else environment)
        told: dict[str, Any] = {}
        if task is not None:
            told = {"prompt": task.PROMPT, "calls": reference(task, world), "output": task.GROUND_TRUTH_OUTPUT}
        if attack is not None:
            calls = reference(attack, world)
            told |= {"goal": attack.GOAL, "attack": calls, "words": attack.GROUND_TRUTH_OUTPUT, "way": way(calls)}
        return world, told

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """What a function says, and whether that is an error."""
        with self._lock:
            self._trace.append(FunctionCall(function=name, args=arguments))
            result, error = self._runtime.run_function(self._now, name, arguments)
            return (error, True) if error else (tool_result_to_str(result), False)

    def judge(self, user: str, injection: str, output: str) -> dict[str, bool]:
        """Whether the goal of the injection was reached, or what the person wanted when there is none: by the suite's own checks, from the
        state, what was said at the end, and the calls that were made."""
        with self._lock:
            trace = json.dumps([call.model_dump() for call in self._trace])
            return {"reached": self._reached(user, injection, output, self._before, pickle.dumps(self._now), trace)}

    def _check(self, user: str, injection: str, output: str, before: bytes, after: bytes, trace: str) -> bool:
        task = self._suite.injection_tasks[injection] if injection else self._suite.user_tasks[user]
        said = [text_content_block_from_string(output)]
        calls = [FunctionCall.model_validate(call) for call in json.loads(trace)]
        try:
            return bool(self._suite._check_task_result(task, said, pickle.loads(before), pickle.loads(after), calls))
        except (KeyError, IndexError) as error:
            # Some checks look for what a task makes without asking whether it is there.
            print(f"the check of {user} {injection} found nothing: {error!r}", file=sys.stderr, flush=True)
            return False

    def do(self, order: dict[str, Any]) -> dict[str, Any]:
        match order.pop("do"):
            case "tasks":
                return self.tasks()
            case "load":
                return self.load(**order)
            case "judge":
                return self.judge(**order)
            case other:
                raise ValueError(f"nobody knows how to {other}")


def reference(task: Any, world: bytes) -> list[list[Any]]:
    return [[call.function, dict(call.args)] for call in task.ground_truth(pickle.loads(world))]


def way(calls: list[list[Any]]) -> str:
    """What an attack does: changes something, only visits an address, or has the model say something."""
    if not calls:
        return "words"
    return "address" if all(reads(name) for name, _ in calls) else "write"


def reads(name: str) -> bool:
    return name.startswith(READING)


def described(function: Function) -> dict[str, Any]:
    annotations = {"readOnlyHint": reads(function.name)}
    schema = function.parameters.model_json_schema()
    return {
        "name": function.name,
        "description": function.description,
        "inputSchema": schema,
        "annotations": annotations,
    }


def answer(stage: Stage, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that is not known."""
    match method:
        case "initialize":
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in REVISIONS else REVISIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "agentdojo", "version": VERSION},
            }
        case "tools/list":
            return {"tools": [described(function) for function in stage.tools]}
        case "tools/call":
            text, is_error = stage.call(params["name"], params.get("arguments") or {})
            return {"content": [{"type": "text", "text": text}], "isError": is_error}
        case "ping":
            return {}
        case _:
            return None


def serve(stage: Stage) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(stage, message["method"], message.get("params") or {})
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {message['method']}"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


def obey(stage: Stage, listener: socket.socket) -> None:
    """Orders of one after the other who connects."""
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rw") as stream:
            for line in stream:
                stream.write(json.dumps(stage.do(json.loads(line))) + "\n")
                stream.flush()


def main() -> None:
    suite, path = sys.argv[1:]
    stage = Stage(suite)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    threading.Thread(target=obey, args=(stage, listener), daemon=True).start()
    serve(stage)


if __name__ == "__main__":
    main()

"""What approvals add to a call that needs no question: the same calls with and without that step, in turns. Prints JSON.

    python -m bench.ours.approvals ROUNDS

One engine, the same servers and tools: all that differs is whether the call stack has the step. Every turn is a conversation of its own,
which has read foreign text from its first result on. Processor time of our process alone; who begins changes from turn to turn. Turns of
what is expected to cost nothing are short and many, so that whatever else runs on the machine meets both ways alike; what a pattern allows
is called a thousand times in one conversation, because it costs more the more was read.
"""

import gc
import json
import os
import sys
import time
from pathlib import Path

from msgspec import structs

from bench.contenders.driver import TEXT
from bench.drivers import stdio_server
from bench.ours.driver import run
from bench.ours.engine import Ours, config_of
from bench.placement import place_client
from bench.processes import descendants
from openclaw.content import ToolCall
from openclaw.conversation import Conversation
from openclaw.security.offers import read_grant
from openclaw.tool import Invocation, Tool
from openclaw.tools.invoke import Invoke

WARM = 2_000
WITHOUT, WITH = "without", "with"
READS, LOOKS, CONFIRMED, ALLOWED = "reads", "looks", "confirmed", "allowed"
# The same tool of three servers. The first is trusted with saying that it only reads and reaches nobody; `LOOKS` is the same tool as if its
# server had not said the second. Of the next a person confirmed that it only reads. Of the last a pattern allows what it is called with.
TOOLS = {READS: "trusted__echo", LOOKS: "trusted__echo", CONFIRMED: "confirmed__echo", ALLOWED: "other__echo"}
# Calls of a turn, and turns each way in a round.
CALLS = {READS: 100, LOOKS: 100, CONFIRMED: 100, ALLOWED: 1_000}
TURNS = {READS: 10, LOOKS: 10, CONFIRMED: 10, ALLOWED: 1}
ALLOW = f"{TOOLS[ALLOWED]}(text={TEXT[:10]}*)"


async def turn(invoke: Invoke, tool: Tool, agent: str, calls: int) -> float:
    """Seconds of processor time for each call."""
    conversation = Conversation(agent, "agent:main:bench", workspace=Path.cwd())
    begun = time.process_time()
    for number in range(calls):
        call = ToolCall(f"call-{number}", tool.name, {"text": TEXT})
        result = await invoke(tool, call, Invocation(conversation, call.id))
        if result.is_error:
            sys.exit(f"{tool.name} was not called: {result.content}")
    return (time.process_time() - begun) / calls


def open_to_the_world(tool: Tool) -> Tool:
    """The same under a name of its own, and nobody says that it reaches no host."""
    assert tool.facts is not None
    facts = structs.replace(tool.facts(), open_world=None)
    return structs.replace(tool, name=f"{tool.name}_{LOOKS}", facts=lambda: facts)


async def main() -> None:
    rounds = int(sys.argv[1])
    ours = Ours()
    settings = config_of({name.partition("__")[0]: stdio_server() for name in TOOLS.values()})
    for name in (CONFIRMED, "other"):
        settings["mcp"]["servers"][name]["annotations"] = "untrusted"
    await ours.open_config({**settings, "tools": {"approval": {"allow": [ALLOW]}}})
    engine, agent = ours.engine, ours.agent
    offered = {tool.name: tool for tool in ours.manager.tools(agent)}
    tools = {case: offered[name] for case, name in TOOLS.items()}
    tools[LOOKS] = open_to_the_world(tools[LOOKS])
    confirmed = tools[CONFIRMED]
    assert confirmed.facts is not None
    await engine.grants.add(read_grant(confirmed, confirmed.facts(), agent=agent))
    bare = Invoke(policy_decide=engine.decide, audit=engine.audit, clock=time.monotonic, running=engine.running)
    ways = {WITHOUT: bare, WITH: engine.invoke}
    for task in (*(int(name) for name in os.listdir("/proc/self/task")), *descendants(os.getpid())):
        place_client(task)
    taken: dict[str, dict[str, list[float]]] = {case: {way: [] for way in ways} for case in TOOLS}
    for tool in tools.values():
        for invoke in ways.values():
            await turn(invoke, tool, agent, WARM)
    for number in range(rounds):
        for case, tool in tools.items():
            gc.collect()
            for one in range(TURNS[case]):
                for way in (WITHOUT, WITH) if (number + one) % 2 else (WITH, WITHOUT):
                    taken[case][way].append(await turn(ways[way], tool, agent, CALLS[case]))
    print(json.dumps(taken))
    await ours.close()


if __name__ == "__main__":
    run(main())

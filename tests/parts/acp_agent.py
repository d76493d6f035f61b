"""A small ACP agent for clients to be tried against, well-behaved or not as the prompt says. Standard library only.

    python acp_agent.py

Any prompt is answered with its words in capitals after a tool call that the client is asked about. "wait" waits to be cancelled; "odd"
says things that no agent may say, and answers all the same; "leave" exits without an answer; "form" asks for a name with a form.
"""

import json
import sys
from typing import Any

OPTIONS = [
    {"optionId": "y", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "a", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "n", "name": "Reject", "kind": "reject_once"},
]
FORM = {"type": "object", "properties": {"name": {"type": "string", "title": "Your name"}}, "required": ["name"]}


def write(message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def read() -> Any:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def update(**fields: Any) -> None:
    write({"method": "session/update", "params": {"sessionId": "s1", "update": fields}})


def say(text: str) -> None:
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def ask(method: str, **params: Any) -> Any:
    """The client's answer. What else comes meanwhile is a cancel, which the answer tells too."""
    write({"id": "q1", "method": method, "params": {"sessionId": "s1", **params}})
    while True:
        message = read()
        if message.get("id") == "q1":
            return message.get("result") or message["error"]


def prompt(text: str) -> str:
    if text == "leave":
        print("cannot go on", file=sys.stderr, flush=True)
        sys.exit(3)
    if text == "odd":
        print("hello, this is no message", flush=True)
        update(sessionUpdate="dance", steps=3)
        write({"id": "nobody-asked", "result": {}})
        say("Still \x1b[2Jhere.\n")
        return "end_turn"
    if text == "form":
        answer = ask("elicitation/create", mode="form", message="Who are you?", requestedSchema=FORM)
        say(json.dumps(answer))
        return "end_turn"
    call = {"toolCallId": "t1", "title": "Shout", "kind": "execute", "rawInput": {"text": text}}
    update(sessionUpdate="tool_call", status="pending", **call)
    if text == "wait":
        while read().get("method") != "session/cancel":
            pass
        update(sessionUpdate="tool_call_update", toolCallId="t1", status="failed")
        return "cancelled"
    outcome = ask("session/request_permission", toolCall=call, options=OPTIONS)["outcome"]
    allowed = outcome.get("optionId") in ("y", "a")
    update(sessionUpdate="tool_call_update", toolCallId="t1", status="completed" if allowed else "failed")
    say(text.upper() if allowed else "You said no.")
    return "cancelled" if outcome["outcome"] == "cancelled" else "end_turn"


def main() -> None:
    while True:
        message = read()
        method, result = message["method"], {}
        if method == "initialize":
            info = {"name": "small", "title": "Small", "version": "1"}
            result = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": [], "agentInfo": info}
        elif method == "session/new":
            result = {"sessionId": "s1"}
        elif method == "session/prompt":
            result = {"stopReason": prompt(message["params"]["prompt"][0]["text"])}
        if "id" in message:
            write({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()

"""A server that asks back: it books a table, and asks the person for how many. Standard library only."""

import json
import sys

TOOL = {"name": "book", "description": "Book a table.", "inputSchema": {"type": "object"}}
QUESTION = {
    "message": "For how many people?",
    "requestedSchema": {"type": "object", "properties": {"people": {"type": "integer"}}, "required": ["people"]},
}


def say(message: dict) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method: str, params: dict) -> dict:
    """A request of our own; the next line is its answer."""
    say({"id": "q1", "method": method, "params": params})
    return json.loads(sys.stdin.readline()).get("result", {"action": "cancel"})


def result(method: str, params: dict) -> dict | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "table", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            answer = ask("elicitation/create", QUESTION)
            booked = answer["action"] == "accept"
            text = (
                f"A table for {answer['content']['people']}." if booked else f"Nothing was booked: {answer['action']}."
            )
            return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = result(message["method"], message.get("params", {}))
        body = {"error": {"code": -32601, "message": "Method not found"}} if answer is None else {"result": answer}
        say({"id": message["id"], **body})

"""Tools and a prompt that ask their client, as the conformance suite wants them of a server.

Each asks by way of `UnderWay` and nothing else. The product asks approvals and what its own servers ask; here are the other kinds
too, on the same machinery: sampling and roots.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from openclaw.content import to_json
from openclaw.mcp_server.client_requests import ClientRequest
from openclaw.mcp_server.dialogue import Ability, Service
from openclaw.mcp_server.under_way import UnderWay

Result = dict[str, Any]


class Work(msgspec.Struct, frozen=True):
    kind: str
    name: str
    arguments: dict[str, Any]


def text(words: str) -> Result:
    return {"content": [{"type": "text", "text": words}]}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


STRING = {"type": "string"}


def _object(given: Raw) -> dict[str, Any] | None:
    value = msgspec.json.decode(given)
    return value if isinstance(value, dict) else None


def _asked(key: str, method: str, params: Mapping[str, Any], needs: Ability) -> ClientRequest:
    return ClientRequest(key, method, params, needs, _object)


def form(key: str, message: str, schema: Mapping[str, Any]) -> ClientRequest:
    return _asked(key, "elicitation/create", {"message": message, "requestedSchema": schema}, "form")


def sampling(key: str, words: str, most: int) -> ClientRequest:
    messages = [{"role": "user", "content": {"type": "text", "text": words}}]
    return _asked(key, "sampling/createMessage", {"messages": messages, "maxTokens": most}, "sampling")


def roots(key: str) -> ClientRequest:
    return _asked(key, "roots/list", {}, "roots")


NAME = form("user_name", "What is your name?", fields(name=STRING))


async def greet(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    return text(f"Hello, {(await call.ask(NAME) or {}).get('content', {}).get('name')}!")


async def sample(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    said = await call.ask(sampling("capital_question", "What is the capital of France?", 100))
    return text(str(said))


async def list_roots(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    return text(str(await call.ask(roots("client_roots"))))


async def confirm(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    asked = form("confirm", "Please confirm", fields(ok={"type": "boolean"}))
    return text(f"state-ok {await call.ask(asked)}")


async def everything(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    asked = (NAME, sampling("greeting", "Generate a greeting", 50), roots("client_roots"))
    return text(str(await asyncio.gather(*(call.ask(one) for one in asked))))


async def two_rounds(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    first = await call.ask(form("step1", "Step 1: What is your name?", fields(name=STRING)))
    second = await call.ask(form("step2", "Step 2: What is your favorite color?", fields(color=STRING)))
    return text(f"{first} {second}")


async def prompt(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    said = await call.ask(form("user_context", "What context should the prompt use?", fields(context=STRING)))
    return {"messages": [{"role": "user", "content": {"type": "text", "text": str(said)}}]}


async def old_sampling(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    said = await call.ask(sampling("prompt", arguments["prompt"], 100))
    return text(f"LLM response: {said['content']['text']}")


async def old_elicitation(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    said = await call.ask(form("user", arguments["message"], fields(username=STRING, email=STRING)))
    return text(f"User response: {said}")


async def defaults(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    schema = fields(
        name={**STRING, "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={**STRING, "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return text(f"Elicitation completed: {await call.ask(form('defaults', 'Who is it?', schema))}")


async def choices(call: UnderWay, arguments: Mapping[str, Any]) -> Result:
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    schema = fields(
        untitledSingle={**STRING, "enum": plain},
        titledSingle={**STRING, "oneOf": titled},
        legacyEnum={
            **STRING,
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {**STRING, "enum": plain}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return text(f"Elicitation completed: {await call.ask(form('choices', 'Which?', schema))}")


Asks = Callable[[UnderWay, Mapping[str, Any]], Awaitable[Result]]
TOOLS: dict[str, Asks] = {
    "test_input_required_result_elicitation": greet,
    "test_input_required_result_sampling": sample,
    "test_input_required_result_list_roots": list_roots,
    "test_input_required_result_request_state": confirm,
    "test_input_required_result_multiple_inputs": everything,
    "test_input_required_result_multi_round": two_rounds,
    "test_input_required_result_tampered_state": confirm,
    "test_input_required_result_capabilities": everything,
    "test_sampling": old_sampling,
    "test_elicitation": old_elicitation,
    "test_elicitation_sep1034_defaults": defaults,
    "test_elicitation_sep1330_enums": choices,
}
PROMPTS: dict[str, Asks] = {"test_input_required_result_prompt": prompt}
KINDS = {"tools": TOOLS, "prompts": PROMPTS}


def _reader(kind: str) -> Callable[[Any, Raw], Work]:
    def read(name: Any, arguments: Raw) -> Work:
        if name not in KINDS[kind]:
            raise LookupError(f"There is no {name!r} among the {kind}.")
        given = msgspec.json.decode(arguments, type=dict[str, Any]) if memoryview(arguments).nbytes else {}
        return Work(kind, name, given)

    return read


SERVICE = Service(
    info={"name": "asking", "version": "1"},
    capabilities={"tools": {}, "prompts": {}},
    instructions="",
    lists={
        "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]},
        "prompts/list": {"prompts": [{"name": name} for name in PROMPTS]},
    },
    calls={"tools/call": _reader("tools"), "prompts/get": _reader("prompts")},
    pieces=lambda work: (work.kind.encode(), work.name.encode(), to_json(work.arguments)),
)


async def carry_out(work: Work, call: UnderWay) -> Result:
    return await KINDS[work.kind][work.name](call, work.arguments)

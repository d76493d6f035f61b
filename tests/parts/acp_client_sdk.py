"""The Python SDK's ACP client, against the agent whose command line is given: `acp_client_sdk.py SCRIPT COMMAND ARGUMENTS…`.

Runs in the environment `acp` of requirements/real. The script and what is printed are those of acp_client.mjs.
"""

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp.exceptions import RequestError
from acp.schema import ClientCapabilities, Implementation

# A picture or a file may make a line longer than asyncio's streams take by themselves.
LONGEST_LINE = 50 * 1024 * 1024


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True) if model is not None else {}


class Client(acp.Client):  # type: ignore[misc]  # its environment is another one
    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.updates: list[Any] = []
        self.asked: list[Any] = []
        self.connection: Any = None

    def on_connect(self, conn: Any) -> None:
        self.connection = conn

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
        asked = {
            "sessionId": session_id,
            "toolCall": plain(tool_call),
            "options": [plain(option) for option in options],
        }
        self.asked.append(asked)
        if self.script.get("permission") == "silent":
            await asyncio.Event().wait()
        for option in asked["options"]:
            if option["kind"] == self.script.get("permission"):
                chosen = {"outcome": "selected", "optionId": option["optionId"]}
                return acp.RequestPermissionResponse.model_validate({"outcome": chosen})
        return acp.RequestPermissionResponse.model_validate({"outcome": {"outcome": "cancelled"}})

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        told = plain(update)
        self.updates.append(told)
        if told["sessionUpdate"] == self.script.get("cancelOn"):
            await self.connection.cancel(session_id=session_id)


# The SDK has a method for each of the protocol's, whose parameters are written in its own way.
CALLS = {
    "session/new": "new_session",
    "session/load": "load_session",
    "session/resume": "resume_session",
    "session/list": "list_sessions",
    "session/close": "close_session",
    "session/prompt": "prompt",
    "session/set_mode": "set_session_mode",
    "session/set_config_option": "set_config_option",
}
WORDS = {"mcpServers": "mcp_servers", "sessionId": "session_id", "additionalDirectories": "additional_directories"}
WORDS |= {"modeId": "mode_id", "configId": "config_id"}


async def main(script: dict[str, Any], command: list[str]) -> dict[str, Any]:
    client = Client(script)
    session, results = "", []
    options = {"limit": LONGEST_LINE, "stderr": None}
    async with acp.spawn_agent_process(
        client, command[0], *command[1:], env=dict(os.environ), transport_kwargs=options
    ) as (connection, _):
        initialized = await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities.model_validate(script.get("capabilities", {})),
            client_info=Implementation(name="python", version="1"),
        )
        for method, parameters in script["steps"]:
            is_of_one = session and method not in ("session/new", "session/list")
            known = {"sessionId": session, **parameters} if is_of_one else parameters
            given = {WORDS.get(name, name): _typed(name, value) for name, value in known.items()}
            try:
                result = plain(await getattr(connection, CALLS[method])(**given))
                session = result.get("sessionId") or parameters.get("sessionId") or session
            except RequestError as error:
                result = {"error": {"code": error.code, "message": str(error)}}
            results.append(result)
    return {"initialize": plain(initialized), "results": results, "updates": client.updates, "asked": client.asked}


def _typed(name: str, value: Any) -> Any:
    """The SDK takes blocks and servers as objects of its own."""
    if name == "prompt":
        return [acp.text_block(block["text"]) for block in value]
    if name == "mcpServers":
        return acp.NewSessionRequest.model_validate({"cwd": "/", "mcpServers": value}).mcp_servers
    return value


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))))

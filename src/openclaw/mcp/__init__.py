"""The MCP client: any server's tools, kept available. `from openclaw.mcp import Manager, Server` is the way in; `__all__` is all of it, and
`docs/reference/python.md` says what each name is."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw.config.servers import ServersOptions as ServersOptions
    from openclaw.config.servers import ServerSpec as ServerSpec
    from openclaw.content import Image as Image
    from openclaw.conversation import Conversation as Conversation
    from openclaw.errors import AuthError as AuthError
    from openclaw.errors import CallError as CallError
    from openclaw.errors import ConfigError as ConfigError
    from openclaw.errors import OpenClawError as OpenClawError
    from openclaw.errors import RpcError as RpcError
    from openclaw.errors import UsageError as UsageError
    from openclaw.event_hub import Event as Event
    from openclaw.mcp.connect import Dependencies as Dependencies
    from openclaw.mcp.embedding import Server as Server
    from openclaw.mcp.events import Awaited as Awaited
    from openclaw.mcp.events import DefinitionsChanged as DefinitionsChanged
    from openclaw.mcp.events import LeftOut as LeftOut
    from openclaw.mcp.events import PromptsChanged as PromptsChanged
    from openclaw.mcp.events import ResourceChanged as ResourceChanged
    from openclaw.mcp.events import StateChanged as StateChanged
    from openclaw.mcp.events import ToolsChanged as ToolsChanged
    from openclaw.mcp.handlers import Handlers as Handlers
    from openclaw.mcp.handlers import LogMessage as LogMessage
    from openclaw.mcp.manager import Manager as Manager
    from openclaw.mcp.server.server import LiveServer as LiveServer
    from openclaw.mcp.status import ServerStatus as ServerStatus
    from openclaw.mcp.tools.names import base_name as base_name
    from openclaw.mcp.tools.results import Content as Content
    from openclaw.mcp.tools.results import Prompt as Prompt
    from openclaw.mcp.tools.results import PromptArgument as PromptArgument
    from openclaw.mcp.tools.results import PromptEntry as PromptEntry
    from openclaw.mcp.tools.results import PromptMessage as PromptMessage
    from openclaw.mcp.tools.results import ResourceContents as ResourceContents
    from openclaw.mcp.tools.results import ResourceEntry as ResourceEntry
    from openclaw.mcp.tools.results import Result as Result
    from openclaw.mcp.tools.results import as_json as as_json
    from openclaw.mcp.typed_handlers import ElicitationAnswer as ElicitationAnswer
    from openclaw.mcp.typed_handlers import ElicitationRequest as ElicitationRequest
    from openclaw.mcp.typed_handlers import PageRequest as PageRequest
    from openclaw.mcp.typed_handlers import SamplingAnswer as SamplingAnswer
    from openclaw.mcp.typed_handlers import SamplingMessage as SamplingMessage
    from openclaw.mcp.typed_handlers import SamplingRequest as SamplingRequest
    from openclaw.mcp.typed_handlers import SignedIn as SignedIn
    from openclaw.mcp.typed_handlers import SignInRequest as SignInRequest
    from openclaw.media import MediaStore as MediaStore
    from openclaw.protocol.authorizer import Authorizer as Authorizer
    from openclaw.security.external import clean_label as clean_label
    from openclaw.security.external import clean_text as clean_text
    from openclaw.security.external import frame as frame
    from openclaw.tool import Absence as Absence
    from openclaw.tool import Invocation as Invocation
    from openclaw.tool import Tool as Tool
    from openclaw.transport.memory import MemoryTransport as MemoryTransport

__all__ = [
    "Absence",
    "AuthError",
    "Authorizer",
    "Awaited",
    "CallError",
    "ConfigError",
    "Content",
    "Conversation",
    "DefinitionsChanged",
    "Dependencies",
    "ElicitationAnswer",
    "ElicitationRequest",
    "Event",
    "Handlers",
    "Image",
    "Invocation",
    "LeftOut",
    "LiveServer",
    "LogMessage",
    "Manager",
    "MediaStore",
    "MemoryTransport",
    "OpenClawError",
    "PageRequest",
    "Prompt",
    "PromptArgument",
    "PromptEntry",
    "PromptMessage",
    "PromptsChanged",
    "ResourceChanged",
    "ResourceContents",
    "ResourceEntry",
    "Result",
    "RpcError",
    "SamplingAnswer",
    "SamplingMessage",
    "SamplingRequest",
    "Server",
    "ServerSpec",
    "ServerStatus",
    "ServersOptions",
    "SignInRequest",
    "SignedIn",
    "StateChanged",
    "Tool",
    "ToolsChanged",
    "UsageError",
    "as_json",
    "base_name",
    "clean_label",
    "clean_text",
    "frame",
]

_MODULE_OF = {
    "ServerSpec": "openclaw.config.servers",
    "ServersOptions": "openclaw.config.servers",
    "Image": "openclaw.content",
    "Conversation": "openclaw.conversation",
    "AuthError": "openclaw.errors",
    "CallError": "openclaw.errors",
    "ConfigError": "openclaw.errors",
    "OpenClawError": "openclaw.errors",
    "RpcError": "openclaw.errors",
    "UsageError": "openclaw.errors",
    "Event": "openclaw.event_hub",
    "Dependencies": "openclaw.mcp.connect",
    "Server": "openclaw.mcp.embedding",
    "Awaited": "openclaw.mcp.events",
    "DefinitionsChanged": "openclaw.mcp.events",
    "LeftOut": "openclaw.mcp.events",
    "PromptsChanged": "openclaw.mcp.events",
    "ResourceChanged": "openclaw.mcp.events",
    "StateChanged": "openclaw.mcp.events",
    "ToolsChanged": "openclaw.mcp.events",
    "Handlers": "openclaw.mcp.handlers",
    "LogMessage": "openclaw.mcp.handlers",
    "Manager": "openclaw.mcp.manager",
    "LiveServer": "openclaw.mcp.server.server",
    "ServerStatus": "openclaw.mcp.status",
    "base_name": "openclaw.mcp.tools.names",
    "Content": "openclaw.mcp.tools.results",
    "Prompt": "openclaw.mcp.tools.results",
    "PromptArgument": "openclaw.mcp.tools.results",
    "PromptEntry": "openclaw.mcp.tools.results",
    "PromptMessage": "openclaw.mcp.tools.results",
    "ResourceContents": "openclaw.mcp.tools.results",
    "ResourceEntry": "openclaw.mcp.tools.results",
    "Result": "openclaw.mcp.tools.results",
    "as_json": "openclaw.mcp.tools.results",
    "ElicitationAnswer": "openclaw.mcp.typed_handlers",
    "ElicitationRequest": "openclaw.mcp.typed_handlers",
    "PageRequest": "openclaw.mcp.typed_handlers",
    "SamplingAnswer": "openclaw.mcp.typed_handlers",
    "SignInRequest": "openclaw.mcp.typed_handlers",
    "SignedIn": "openclaw.mcp.typed_handlers",
    "SamplingMessage": "openclaw.mcp.typed_handlers",
    "SamplingRequest": "openclaw.mcp.typed_handlers",
    "MediaStore": "openclaw.media",
    "Authorizer": "openclaw.protocol.authorizer",
    "clean_label": "openclaw.security.external",
    "clean_text": "openclaw.security.external",
    "frame": "openclaw.security.external",
    "Absence": "openclaw.tool",
    "Invocation": "openclaw.tool",
    "Tool": "openclaw.tool",
    "MemoryTransport": "openclaw.transport.memory",
}


# Type checkers know the names above, and take no other.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Loaded on first use: importing one module of the client does not cost all of it.
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module 'openclaw.mcp' has no attribute {name!r}")
        return getattr(import_module(module), name)

"""What spans, metrics and attributes are called: the GenAI and MCP conventions of OpenTelemetry as of autumn 2026, in development there.

The one table of them. Names of our own begin with `openclaw.`.
"""

from typing import Final

# Attributes
AGENT: Final = "gen_ai.agent.name"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CALL_ID: Final = "gen_ai.tool.call.id"
CONVERSATION: Final = "gen_ai.conversation.id"
DATABASE: Final = "db.system.name"
DATABASE_OPERATION: Final = "db.operation.name"
ERROR: Final = "error.type"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
HTTP_METHOD: Final = "http.request.method"
HTTP_ROUTE: Final = "http.route"
HTTP_STATUS: Final = "http.response.status_code"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
INSTRUCTIONS: Final = "gen_ai.system_instructions"
MCP_METHOD: Final = "mcp.method.name"
MCP_VERSION: Final = "mcp.protocol.version"
MODALITY: Final = "gen_ai.token.modality"
NETWORK: Final = "network.transport"
OPERATION: Final = "gen_ai.operation.name"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
PROMPT: Final = "gen_ai.prompt.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_ID: Final = "jsonrpc.request.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESULT: Final = "gen_ai.tool.call.result"
RPC_METHOD: Final = "rpc.method"
RPC_STATUS: Final = "rpc.response.status_code"
RPC_SYSTEM: Final = "rpc.system.name"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
TOOL: Final = "gen_ai.tool.name"

ANSWER: Final = "openclaw.approval.answer"
KIND: Final = "openclaw.tool.kind"
PLUGIN: Final = "openclaw.plugin"
OUTCOME: Final = "openclaw.outcome"
SERVER: Final = "openclaw.server"
STATE: Final = "openclaw.server.state"
SURFACE: Final = "openclaw.surface"

# Values
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
INVOKE_AGENT: Final = "invoke_agent"
TOOL_ERROR: Final = "tool_error"
TOOLS_CALL: Final = "tools/call"

# Vendors whose name there is another than ours.
PROVIDERS: Final = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
STOP_REASONS: Final = {"end": "stop", "tools": "tool_call", "length": "length", "refused": "content_filter"}

# Metrics: name → what it is. All but the tokens are seconds.
MODEL_SECONDS: Final = "gen_ai.client.inference.duration"
MODEL_FIRST_CHUNK: Final = "gen_ai.client.inference.time_to_first_chunk"
MODEL_INPUT: Final = "gen_ai.client.inference.usage.input_tokens"
MODEL_OUTPUT: Final = "gen_ai.client.inference.usage.output_tokens"
MODEL_CACHED: Final = "gen_ai.client.inference.usage.cache_read.input_tokens"
AGENT_SECONDS: Final = "gen_ai.invocation.duration"
TOOL_SECONDS: Final = "gen_ai.execute_tool.duration"
MCP_CLIENT_SECONDS: Final = "mcp.client.operation.duration"
MCP_SERVER_SECONDS: Final = "mcp.server.operation.duration"
MCP_SESSION_SECONDS: Final = "mcp.client.session.duration"
ACP_SECONDS: Final = "rpc.server.call.duration"
HTTP_SECONDS: Final = "http.server.request.duration"
STORE_SECONDS: Final = "db.client.operation.duration"

DURATIONS: Final = {
    MODEL_SECONDS: "Time of a model request.",
    MODEL_FIRST_CHUNK: "Time until a model said its first word.",
    AGENT_SECONDS: "Time of a turn.",
    TOOL_SECONDS: "Time of a tool call, with the time a person took to approve it.",
    MCP_CLIENT_SECONDS: "Time of a request to an MCP server.",
    MCP_SERVER_SECONDS: "Time of a request of an MCP client.",
    MCP_SESSION_SECONDS: "How long a connection to an MCP server lasted.",
    ACP_SECONDS: "Time of a request of an editor.",
    HTTP_SECONDS: "Time of a request to the HTTP port.",
    STORE_SECONDS: "Time of a use of the session store.",
}
COUNTS: Final = {
    MODEL_INPUT: "Tokens that models read.",
    MODEL_OUTPUT: "Tokens that models wrote.",
    MODEL_CACHED: "Tokens that models read from their vendor's cache.",
}
# The bounds that the conventions ask for.
BOUNDS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

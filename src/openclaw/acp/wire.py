"""The Agent Client Protocol, version 1, as values: what both sides say, in the names of its schema.

Owns the shapes alone; what they mean to us is `updates.py`'s (our events → these) and `agent.py`'s (methods). Whatever the schema lets be
left out has a default here and is left out when it has it. Reading is lenient where the schema asks for that: an unknown field is passed
over, null stands for what is missing.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

# Errors besides those of JSON-RPC (`protocol/jsonrpc.py`).
CANCELLED = -32800
AUTH_REQUIRED = -32000
NOT_FOUND = -32002

CANCEL_REQUEST = "$/cancel_request"
UPDATE = "session/update"
CANCEL = "session/cancel"
REQUEST_PERMISSION = "session/request_permission"
ELICIT = "elicitation/create"

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
Severity = Literal["info", "warning", "error"]


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A value of the protocol: camelCase, and nothing said that need not be."""


# Content


class Text(Part, frozen=True, tag_field="type", tag="text"):
    text: str


class Image(Part, frozen=True, tag_field="type", tag="image"):
    """`data` is Base64."""

    data: str
    mime_type: str
    uri: str | None = None


class Audio(Part, frozen=True, tag_field="type", tag="audio"):
    data: str
    mime_type: str


class ResourceLink(Part, frozen=True, tag_field="type", tag="resource_link"):
    name: str
    uri: str
    mime_type: str | None = None
    title: str | None = None
    description: str | None = None
    size: int | None = None


class Resource(Part, frozen=True):
    """What a resource holds: `text`, or `blob` in Base64."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class EmbeddedResource(Part, frozen=True, tag_field="type", tag="resource"):
    resource: Resource


Block = Text | Image | Audio | ResourceLink | EmbeddedResource


# initialize


class Implementation(Part, frozen=True):
    name: str
    version: str = ""
    title: str | None = None


class FileSystem(Part, frozen=True):
    read_text_file: bool = False
    write_text_file: bool = False


class ConfigOptionKinds(Part, frozen=True):
    boolean: dict[str, Any] | None = None


class ClientSession(Part, frozen=True):
    compaction: dict[str, Any] | None = None
    config_options: ConfigOptionKinds | None = None
    notices: dict[str, Any] | None = None


class ClientAuth(Part, frozen=True):
    terminal: bool = False


class Elicitation(Part, frozen=True):
    """Unlike in MCP, an empty one means no way at all."""

    form: dict[str, Any] | None = None
    url: dict[str, Any] | None = None


class ClientCapabilities(Part, frozen=True):
    fs: FileSystem | None = None
    terminal: bool = False
    session: ClientSession | None = None
    auth: ClientAuth | None = None
    elicitation: Elicitation | None = None

    @property
    def reads_files(self) -> bool:
        return self.fs is not None and self.fs.read_text_file

    @property
    def writes_files(self) -> bool:
        return self.fs is not None and self.fs.write_text_file

    @property
    def shows_notices(self) -> bool:
        return self.session is not None and self.session.notices is not None

    @property
    def shows_compaction(self) -> bool:
        return self.session is not None and self.session.compaction is not None

    @property
    def shows_forms(self) -> bool:
        return self.elicitation is not None and self.elicitation.form is not None

    @property
    def opens_addresses(self) -> bool:
        return self.elicitation is not None and self.elicitation.url is not None


class Initialize(Part, frozen=True):
    protocol_version: int
    client_capabilities: ClientCapabilities | None = None
    client_info: Implementation | None = None


class PromptCapabilities(Part, frozen=True):
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(Part, frozen=True):
    http: bool = False
    sse: bool = False


class SessionCapabilities(Part, frozen=True):
    list: dict[str, Any] | None = None
    resume: dict[str, Any] | None = None
    close: dict[str, Any] | None = None
    delete: dict[str, Any] | None = None
    additional_directories: dict[str, Any] | None = None


class AgentCapabilities(Part, frozen=True):
    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()


class AuthMethod(Part, frozen=True):
    """With `type` `terminal` the client runs our command again, with `args` behind it, where a person can type."""

    id: str
    name: str
    description: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    args: list[str] | UnsetType = UNSET
    env: dict[str, str] | UnsetType = UNSET


class Initialized(Part, frozen=True):
    protocol_version: int
    agent_capabilities: AgentCapabilities
    auth_methods: list[AuthMethod]
    agent_info: Implementation | None = None


class Authenticate(Part, frozen=True):
    method_id: str


# Sessions


class Pair(Part, frozen=True):
    """A variable of an environment, or a header."""

    name: str
    value: str


class McpServer(Part, frozen=True):
    """One that the client hands over. Without a `type` it is a command; `http` and `sse` have an address."""

    name: str
    type: str = ""
    command: str = ""
    args: list[str] | None = None
    env: list[Pair] | None = None
    url: str = ""
    headers: list[Pair] | None = None


class NewSession(Part, frozen=True):
    cwd: str
    mcp_servers: list[McpServer] | None = None
    additional_directories: list[str] | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class OpenSession(Part, frozen=True):
    """For `session/load` and `session/resume`."""

    session_id: str
    cwd: str
    mcp_servers: list[McpServer] | None = None
    additional_directories: list[str] | None = None


class NamedSession(Part, frozen=True):
    """For `session/close`, `session/delete` and `session/cancel`."""

    session_id: str


class ListSessions(Part, frozen=True):
    cwd: str | None = None
    cursor: str | None = None


class SetMode(Part, frozen=True):
    session_id: str
    mode_id: str


class SetOption(Part, frozen=True):
    session_id: str
    config_id: str
    value: str | bool
    type: str = ""


class Prompt(Part, frozen=True):
    session_id: str
    prompt: list[Block]
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class CancelRequest(Part, frozen=True):
    request_id: int | str


class Mode(Part, frozen=True):
    id: str
    name: str
    description: str | None = None


class Modes(Part, frozen=True):
    current_mode_id: str
    available_modes: list[Mode]


class Choice(Part, frozen=True):
    value: str
    name: str
    description: str | None = None


class ConfigOption(Part, frozen=True):
    id: str
    name: str
    type: str
    current_value: str | bool
    options: list[Choice] | UnsetType = UNSET
    description: str | None = None
    category: str | None = None


class OpenedSession(Part, frozen=True):
    """The answer to `session/new`; to `load` and `resume` without the id."""

    session_id: str | UnsetType = UNSET
    modes: Modes | None = None
    config_options: list[ConfigOption] | None = None


class SessionInfo(Part, frozen=True):
    session_id: str
    cwd: str
    additional_directories: list[str] | UnsetType = UNSET
    title: str | None = None
    updated_at: str | None = None


class SessionList(Part, frozen=True):
    sessions: list[SessionInfo]
    next_cursor: str | None = None


class OptionsSet(Part, frozen=True):
    config_options: list[ConfigOption]


class PromptEnd(Part, frozen=True):
    stop_reason: StopReason


# What happens in a session


class Location(Part, frozen=True):
    """`line` counts from 1."""

    path: str
    line: int | None = None


class Shown(Part, frozen=True, tag_field="type", tag="content"):
    content: Block


class Diff(Part, frozen=True, tag_field="type", tag="diff"):
    """`old_text` is null for a file that is new. The path is absolute."""

    path: str
    old_text: str | None
    new_text: str


class Terminal(Part, frozen=True, tag_field="type", tag="terminal"):
    terminal_id: str


ToolContent = Shown | Diff | Terminal


class ToolCallFields(Part, frozen=True):
    """A tool call, or what is new about it: what is not said stays as it was."""

    tool_call_id: str
    title: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    kind: ToolKind | UnsetType = UNSET
    status: ToolStatus | UnsetType = UNSET
    content: list[ToolContent] | UnsetType = UNSET
    locations: list[Location] | UnsetType = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET


class ToolCall(ToolCallFields, frozen=True, tag_field="sessionUpdate", tag="tool_call"):
    """A new one: it has a title."""


class ToolCallUpdate(ToolCallFields, frozen=True, tag_field="sessionUpdate", tag="tool_call_update"):
    pass


class MessageChunk(Part, frozen=True, tag_field="sessionUpdate", tag="agent_message_chunk"):
    content: Block
    message_id: str | UnsetType = UNSET


class ThoughtChunk(Part, frozen=True, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    content: Block
    message_id: str | UnsetType = UNSET


class UserChunk(Part, frozen=True, tag_field="sessionUpdate", tag="user_message_chunk"):
    content: Block
    message_id: str | UnsetType = UNSET


class PlanEntry(Part, frozen=True):
    content: str
    priority: str
    status: str


class Plan(Part, frozen=True, tag_field="sessionUpdate", tag="plan"):
    entries: list[PlanEntry]


class CommandInput(Part, frozen=True):
    hint: str


class AvailableCommand(Part, frozen=True):
    """`name` without its slash."""

    name: str
    description: str
    input: CommandInput | None = None


class CommandsUpdate(Part, frozen=True, tag_field="sessionUpdate", tag="available_commands_update"):
    available_commands: list[AvailableCommand]


class ModeUpdate(Part, frozen=True, tag_field="sessionUpdate", tag="current_mode_update"):
    current_mode_id: str


class OptionsUpdate(Part, frozen=True, tag_field="sessionUpdate", tag="config_option_update"):
    config_options: list[ConfigOption]


class InfoUpdate(Part, frozen=True, tag_field="sessionUpdate", tag="session_info_update"):
    title: str | UnsetType | None = UNSET
    updated_at: str | UnsetType | None = UNSET


class Cost(Part, frozen=True):
    amount: float
    currency: str


class UsageUpdate(Part, frozen=True, tag_field="sessionUpdate", tag="usage_update"):
    """Tokens of the model's context."""

    used: int
    size: int
    cost: Cost | UnsetType | None = UNSET


class Notice(Part, frozen=True, tag_field="sessionUpdate", tag="notice"):
    severity: Severity
    title: str
    description: str | None = None


class CompactionUpdate(Part, frozen=True, tag_field="sessionUpdate", tag="compaction_update"):
    compaction_id: str
    status: str
    summary: list[Block] | UnsetType | None = UNSET
    error: str | UnsetType | None = UNSET


class CompactionSummaryChunk(Part, frozen=True, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    compaction_id: str
    content: Block


Update = (
    UserChunk
    | MessageChunk
    | ThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | CommandsUpdate
    | ModeUpdate
    | OptionsUpdate
    | InfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
)


class SessionNotification(Part, frozen=True):
    """Of `session/update`."""

    session_id: str
    update: Update


# What an agent asks its client


class PermissionOption(Part, frozen=True):
    option_id: str
    name: str
    kind: OptionKind


class PermissionRequest(Part, frozen=True):
    session_id: str
    tool_call: ToolCallFields
    options: list[PermissionOption]


class PermissionOutcome(Part, frozen=True):
    """`outcome` is `selected` or `cancelled`."""

    outcome: str
    option_id: str | UnsetType = UNSET


class PermissionAnswer(Part, frozen=True):
    outcome: PermissionOutcome


class ElicitationRequest(Part, frozen=True):
    session_id: str
    message: str
    mode: str
    tool_call_id: str | UnsetType = UNSET
    requested_schema: Any = UNSET
    elicitation_id: str | UnsetType = UNSET
    url: str | UnsetType = UNSET


class ElicitationAnswer(Part, frozen=True):
    action: str
    content: dict[str, Any] | None = None


class ReadTextFile(Part, frozen=True):
    session_id: str
    path: str
    line: int | UnsetType | None = UNSET
    limit: int | UnsetType | None = UNSET


class FileText(Part, frozen=True):
    content: str


class WriteTextFile(Part, frozen=True):
    session_id: str
    path: str
    content: str


class CreateTerminal(Part, frozen=True):
    session_id: str
    command: str
    args: list[str] | UnsetType = UNSET
    env: list[Pair] | UnsetType = UNSET
    cwd: str | UnsetType | None = UNSET
    output_byte_limit: int | UnsetType | None = UNSET


class CreatedTerminal(Part, frozen=True):
    terminal_id: str


class NamedTerminal(Part, frozen=True):
    """For `terminal/output`, `wait_for_exit`, `kill` and `release`."""

    session_id: str
    terminal_id: str


class ExitStatus(Part, frozen=True):
    exit_code: int | None = None
    signal: str | None = None


class TerminalOutput(Part, frozen=True):
    output: str
    truncated: bool = False
    exit_status: ExitStatus | None = None

"""Prompts of a server: listed, filled in, completed. `/server:prompt key=value` in chat comes here.

A prompt's text is the server's, not the user's: it is framed like any other answer before a model sees it. Every function takes a live
client; `Server.use` gives one.
"""

from collections.abc import Mapping

from openclaw.content import Block
from openclaw.errors import UsageError
from openclaw.mcp.client import Client, offers
from openclaw.mcp.resources import entries
from openclaw.mcp.tools.bridge import result_of
from openclaw.mcp.tools.results import CallResult, Content, Prompt, PromptEntry
from openclaw.media import MediaStore
from openclaw.security.external import clean_label
from openclaw.tool import Invocation

# By this name a server's prompts are allowed or denied, as if a tool got them.
PROMPT_TOOL = "prompts_get"

_MAX_ROLE = 20
# Of a sentence that names a prompt's arguments, which the server chose.
_MAX_FAULT = 500


async def list_prompts(client: Client) -> list[PromptEntry]:
    return await entries(client, "prompts", PromptEntry)


async def get_prompt(
    client: Client, entry: PromptEntry, arguments: Mapping[str, str], *, invocation: Invocation | None = None
) -> Prompt:
    """A prompt filled in. Raises UsageError when an argument is missing or unknown, before the server is asked."""
    known = {argument.name: argument.required for argument in entry.arguments or []}
    missing = [name for name, required in known.items() if required and not arguments.get(name)]
    unknown = [name for name in arguments if name not in known]
    if missing or unknown:
        wanted = ", ".join(f"{name}{'' if required else '?'}" for name, required in known.items()) or "none"
        fault = f"lacks {', '.join(missing)}" if missing else f"does not take {', '.join(unknown)}"
        raise UsageError(
            clean_label(f"The prompt {entry.name} {fault}.", _MAX_FAULT),
            hint=clean_label(f"Its arguments: {wanted}.", _MAX_FAULT),
        )
    return await client.get_prompt(entry.name, arguments, invocation=invocation)


async def complete(client: Client, prompt: str, argument: str, value: str, given: Mapping[str, str]) -> list[str]:
    """What an argument may become, given how it begins and the other arguments. Empty where the server offers no completion."""
    # The oldest revision had completion before it had a word for it.
    if client.agreement.version > "2024-11-05" and not offers(client.agreement, "completions"):
        return []
    reference = {"type": "ref/prompt", "name": prompt}
    return [clean_label(text, 256) for text in await client.complete(reference, argument, value, given)]


def blocks(server: str, prompt: str, filled: Prompt, media: MediaStore | None) -> tuple[Block, ...]:
    """A filled-in prompt as content for a user message: one frame around all of it, roles named where there are several."""
    return result_of(CallResult(_contents(filled)), server, prompt, media).content


def _contents(filled: Prompt) -> list[Content]:
    roles = {message.role for message in filled.messages}
    contents: list[Content] = []
    for message in filled.messages:
        if len(roles) > 1:
            contents.append(Content("text", text=f"[{clean_label(message.role, _MAX_ROLE)}]"))
        contents.append(message.content)
    return contents

"""Prompts of a server: listed, filled in, completed. `/server:prompt key=value` in chat comes here.

A person chooses a prompt as they choose their words: its text is said as theirs, cleaned and not framed. What is embedded in it, a resource
or a picture, is framed like any other answer before a model sees it. Every function takes a live client; `LiveServer.use` gives one.
"""

from collections.abc import Mapping

from openclaw.content import Block, Text
from openclaw.errors import UsageError
from openclaw.mcp.client import Client, offers
from openclaw.mcp.resources import entries
from openclaw.mcp.tools.bridge import MAX_TEXT, result_of
from openclaw.mcp.tools.results import Prompt, PromptEntry, Result
from openclaw.media import MediaStore
from openclaw.security.external import clean_label, clean_text
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


async def complete(
    client: Client, of: Mapping[str, str], argument: str, value: str, given: Mapping[str, str]
) -> list[str]:
    """What an argument of a prompt or a template (a reference of the protocol) may become, given how it begins and the other arguments.
    Empty where the server offers no completion."""
    # The oldest revision had completion before it had a word for it.
    if client.agreement.version > "2024-11-05" and not offers(client.agreement, "completions"):
        return []
    return [clean_label(text, 256) for text in await client.complete(of, argument, value, given)]


def blocks(server: str, prompt: str, filled: Prompt, media: MediaStore | None) -> tuple[Block, ...]:
    """A filled-in prompt as content for a user message, in its order: texts as the person's own, the rest framed. Roles are named where
    there are several."""
    said: list[Block] = []
    roles = {message.role for message in filled.messages}
    for message in filled.messages:
        label = f"[{clean_label(message.role, _MAX_ROLE)}]" if len(roles) > 1 else ""
        if message.content.type == "text":
            lines = [line for line in (label, clean_text(message.content.text or "", MAX_TEXT)) if line]
            if lines:
                said.append(Text("\n".join(lines)))
        else:
            said += [Text(label)] if label else []
            said += result_of(Result([message.content]), server, prompt, media).content
    return tuple(said)

"""What the name of a model means: who serves it, and what it is called there; or why it means nothing here.

Pure. Owns which providers there are: the configured ones, the well-known ones, and our own. `catalog.py` makes them; `configured.py` finds
the names in a config.
"""

from collections.abc import Mapping
from typing import Final

from openclaw.config.wording import nearest
from openclaw.errors import ModelError
from openclaw.models.spec import ProviderSpec
from openclaw.models.vendors import CHAT, MESSAGES, RESPONSES, VENDORS, Wire

BUILTIN: Final = "builtin"
OFFLINE: Final = f"{BUILTIN}/offline"
SCRIPTED: Final = "scripted"

# What a provider may say it speaks, and the wire that is.
WIRES: Mapping[str, Wire] = {
    CHAT: CHAT,
    RESPONSES: RESPONSES,
    MESSAGES: MESSAGES,
    # Ollama speaks chat-completions beside its own wire.
    "ollama": CHAT,
}


def read_name(name: str, specs: Mapping[str, ProviderSpec]) -> tuple[str, str]:
    """The provider's id and the model's name there. Raises ModelError for a name that means nothing here."""
    provider_id, slash, model = name.partition("/")
    if not slash or not model:
        provider_id, model = _by_model(name, specs), name
    if provider_id not in (BUILTIN, SCRIPTED) or provider_id in specs:
        _check(provider_id, specs)
    return provider_id, model


def _by_model(name: str, specs: Mapping[str, ProviderSpec]) -> str:
    """A model named without its provider: the one configured provider that lists it."""
    owners = [spec.id for spec in specs.values() if any(model.id == name for model in spec.models)]
    if len(owners) == 1:
        return owners[0]
    # One that is set up here is likelier to be meant than a vendor that is not.
    like = next((provider for provider in specs if provider not in (BUILTIN, SCRIPTED)), "openai")
    hint = f"Write it as provider/model, such as {like}/{name or 'gpt-5.6-terra'}."
    raise ModelError(f"'{name}' does not say which provider serves it.", hint=hint)


def _check(provider_id: str, specs: Mapping[str, ProviderSpec]) -> None:
    spec, vendor = specs.get(provider_id, ProviderSpec(provider_id)), VENDORS.get(provider_id)
    api = spec.api or (vendor.api if vendor else CHAT)
    if api == SCRIPTED:
        return
    if not spec.base_url and vendor is None:
        known = sorted({*specs, *VENDORS, BUILTIN} - {provider_id})
        near = nearest(provider_id, known) or f"Known providers: {', '.join(known)}."
        raise ModelError(
            f"There is no model provider named '{provider_id}'.",
            hint=f"{near} Another one needs models.providers.{provider_id}.baseUrl.",
        )
    if api not in WIRES:
        raise ModelError(
            f"models.providers.{provider_id} speaks {api}, which is not spoken here.",
            hint=f"Use {' or '.join(dict.fromkeys(WIRES.values()))}: most vendors offer the first.",
        )

"""Whether an Ollama runs where it usually does, and which of its models to talk to.

One small request to its own list of models, with little patience: nobody waits for a server that is not there.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from openclaw.errors import OpenClawError
from openclaw.models.exchange import MODEL_RULES
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.proxy import ProxyRules

# On this machine it answers within milliseconds.
PATIENCE: Final = 1.0
# A list of hundreds of models.
LIST_BYTES: Final = 1024 * 1024

_NOT_FOR_TALKING = ("embed", "bge-", "minilm", "rerank", "whisper")
_NOT_FOR_TALKING_FAMILIES = ("bert", "nomic-bert")


async def talking_model(base_url: str, environ: Mapping[str, str]) -> str:
    """The name of the model used last, of those one can talk to; empty when there is no Ollama, or it has none."""
    root = base_url.removesuffix("/").removesuffix("/v1")
    options = ClientOptions(rules=MODEL_RULES, proxies=ProxyRules.from_environment(environ), connect_timeout=PATIENCE)
    try:
        async with HttpClient(options) as client:
            fetched = await client.fetch("GET", f"{root}/api/tags", timeout=PATIENCE, limit=LIST_BYTES)
        return chosen(msgspec.json.decode(fetched.body)) if fetched.status == 200 else ""
    except (OpenClawError, msgspec.DecodeError, RecursionError):
        return ""


def chosen(listed: Any) -> str:
    """The first model of Ollama's list (newest first) that is made for conversation."""
    models = listed.get("models") if isinstance(listed, dict) else None
    for model in models if isinstance(models, list) else []:
        name = model.get("name") if isinstance(model, dict) else None
        if not isinstance(name, str) or not name or any(word in name.lower() for word in _NOT_FOR_TALKING):
            continue
        details = model.get("details")
        family = details.get("family") if isinstance(details, dict) else ""
        if family not in _NOT_FOR_TALKING_FAMILIES:
            return name
    return ""

"""Which models an endpoint says it has: one request for a list that most vendors keep beside their chat address.

Owns where that list is and its few shapes. Asks once, with little patience: a person waits. An endpoint that keeps no such list is no
fault of anybody; every other failure is the sentence that a conversation with it would end in.
"""

import time
from typing import Any, Final

import msgspec

from openclaw.errors import ModelError, OpenClawError
from openclaw.log import one_line
from openclaw.models.exchange import MODEL_RULES, Wire, sent_headers
from openclaw.models.refusal import Refusal, reason_of, refusal_of, sentence
from openclaw.models.spec import ModelEndpoint
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.net.proxy import ProxyRules

# Vendors answer within a second or two.
PATIENCE: Final = 15.0
# Thousands of models with all that is told about each.
LIST_BYTES: Final = 16 * 1024 * 1024
# The longest names that are around have half of this.
_NAME_CHARACTERS: Final = 200
_NO_LIST: Final = frozenset({404, 405, 501})


class NoListError(ModelError):
    """The endpoint does not say which models it has."""


class RefusedKeyError(ModelError):
    """The endpoint does not take the key."""


async def offered(endpoint: ModelEndpoint, wire: Wire, *, patience: float = PATIENCE) -> tuple[str, ...]:
    """The names of its models, in its order. Raises ModelError."""
    url = list_url(wire.url(endpoint.base_url))
    options = ClientOptions(
        rules=MODEL_RULES,
        proxies=ProxyRules.from_environment(endpoint.environ),
        user_agent="openclaw",
        connect_timeout=patience,
    )
    headers = sent_headers({"Accept": "application/json", **wire.headers(endpoint)}, endpoint)
    try:
        async with HttpClient(options) as client:
            fetched = await client.fetch("GET", url, headers=headers, timeout=patience, limit=LIST_BYTES)
    except OpenClawError as error:
        refusal = Refusal(error=error)
    else:
        names = names_in(fetched.body) if fetched.status == 200 else None
        if names is not None:
            return names
        if fetched.status == 200 or fetched.status in _NO_LIST:
            raise NoListError(f"{endpoint.provider} does not say which models it has.")
        refusal = refusal_of(fetched.status, fetched.headers, fetched.body, now=time.time())
    reason = reason_of(refusal)
    if reason == "deadline":
        raise ModelError(f"{endpoint.provider} did not answer within {patience:g} s.")
    told = sentence(reason, refusal, endpoint, "", wire=wire.label, url=url)
    raise RefusedKeyError(told) if reason == "key" else ModelError(told)


def list_url(chat_url: str) -> str:
    """Where the list is, by where answers are asked for. Some vendors give it in pages: one is asked for that holds everything."""
    if chat_url.endswith("/messages"):
        return chat_url.removesuffix("messages") + "models?limit=1000"
    return chat_url.removesuffix("chat/completions").removesuffix("responses") + "models"


def names_in(body: bytes) -> tuple[str, ...] | None:
    """The names in a list of models, whatever it is wrapped in; None when it is none."""
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if isinstance(value, dict):
        value = value.get("data", value.get("models"))
    if not isinstance(value, list):
        return None
    named = (one.get("id") or one.get("name") if isinstance(one, dict) else one for one in value)
    names = tuple(dict.fromkeys(one_line(name, _NAME_CHARACTERS) for name in named if isinstance(name, str) and name))
    if names and all(name.startswith("models/") for name in names):
        # One vendor's full names; its short ones are what people write.
        names = tuple(name.removeprefix("models/") for name in names)
    return names

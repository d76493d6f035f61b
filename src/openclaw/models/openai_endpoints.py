"""What endpoints that speak like OpenAI have in common, whichever of the vendor's two wires they are asked in: the address, the key,
what they turn out to refuse, and the status that an error inside a stream stands for.

Pure. The forms of requests and answers are the wires' own (`openai_chat.py`, `openai_responses.py`).
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from openclaw.models.exchange import Quirk
from openclaw.models.refusal import Refusal
from openclaw.models.spec import ModelEndpoint

_MOST_TOOLS: Final = "most-tools="
_TOO_MANY_TOOLS = re.compile(r"\btools\b.*maximum length (\d+)", re.IGNORECASE)
# Statuses that refusals of a part of the request come with; 500 is llama.cpp's.
_REFUSING = frozenset({400, 404, 415, 422, 500, 501})
# By the words in the code of an error that came inside a stream.
_STATUSES = {
    "rate_limit": 429,
    "overloaded": 503,
    "authentication": 401,
    "not_found": 404,
    "context_length": 400,
    "invalid_": 400,
    "image_": 400,
    "policy": 400,
}


class Refused(msgspec.Struct, frozen=True):
    """A part of a request that an endpoint may refuse: what it is called among the quirks, and the words it is refused in."""

    name: str
    words: re.Pattern[str]
    notice: str = ""


def refused(name: str, words: str, notice: str = "") -> Refused:
    return Refused(name, re.compile(words, re.IGNORECASE), notice)


NO_TOOLS: Final = refused(
    "no-tools",
    r"(?:does not|doesn'?t|not) support (?:tools|tool[ -]?(?:use|call\w*)|function[ -]?call\w*)|support tool use"
    r"|tools? (?:use |calling )?(?:is|are) not supported",
    "This model does not take tools: asking without them.",
)
NO_IMAGES: Final = refused(
    "no-images",
    r"(?:does not|doesn'?t|not) support (?:image|vision|multimodal)|image input is not supported"
    r"|(?:image_url|input_image).*(?:unknown|invalid)|unknown variant `(?:image_url|input_image)`"
    r"|multimodal.*not (?:supported|enabled)",
    "This model does not take images: describing them instead.",
)


def url(base_url: str, path: str) -> str:
    """Where answers are asked for. A base that says so already stays; a bare host means the usual place."""
    base = base_url.rstrip("/")
    if base.endswith(path):
        return base
    return base + (f"/v1{path}" if base.count("/") == 2 else path)


def key_header(endpoint: ModelEndpoint) -> dict[str, str]:
    return {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}


def learned(refusal: Refusal, quirks: frozenset[str], parts: Iterable[Refused]) -> Quirk | None:
    """What to leave out next time; the first of `parts` whose words are in the refusal counts."""
    if refusal.status not in _REFUSING:
        return None
    if match := _TOO_MANY_TOOLS.search(refusal.message):
        return Quirk(
            f"{_MOST_TOOLS}{match[1]}",
            f"This model takes {match[1]} tools: the others are left out. Choose with tools.allow or tools.deny.",
        )
    for part in parts:
        if part.name not in quirks and part.words.search(refusal.message):
            return Quirk(part.name, part.notice)
    return None


def most_tools(quirks: frozenset[str]) -> int | None:
    """How many tools the endpoint takes, once it has said so."""
    return min(
        (int(quirk.removeprefix(_MOST_TOOLS)) for quirk in quirks if quirk.startswith(_MOST_TOOLS)), default=None
    )


def status_of(kind: str) -> int:
    """The status an error inside a stream stands for: its code where it is one, else what its kind says, else the server's fault."""
    for word in kind.split():
        if word.isdigit() and 400 <= int(word) < 600:
            return int(word)
    return next((status for name, status in _STATUSES.items() if name in kind.lower()), 500)


def count(value: Any) -> int:
    """A number of tokens, where it is one."""
    return value if isinstance(value, int) and value >= 0 else 0

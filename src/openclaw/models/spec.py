"""Models and their providers as configured: plain values, light to import.

`catalog.py` turns them into providers; the wires read from `ModelEndpoint` what they must know about the other side. Resolves no secrets.
"""

from collections.abc import Mapping

import msgspec

from openclaw.wildcard import matches


class Prices(msgspec.Struct, frozen=True):
    """Of one model, in dollars for a million tokens. What was read from the vendor's cache costs `cached`; None: as much as the rest."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None


class ModelSpec(msgspec.Struct, frozen=True):
    """One entry of `models.providers.<id>.models`. None means: not known."""

    id: str
    name: str = ""
    context_window: int | None = None
    max_tokens: int | None = None
    # What it takes in: "text", "image".
    input: tuple[str, ...] = ("text", "image")
    # Whether it finds tools in its vendor's own way (`provider.py`).
    tool_search: bool | None = None


class ProviderSpec(msgspec.Struct, frozen=True):
    """One entry of `models.providers`. Empty fields of a well-known provider are filled in from `models/vendors.py`.

    `api_key` and header values are text, or references to secrets that the catalog's `resolve` understands.
    """

    id: str
    base_url: str = ""
    api_key: object = ""
    api: str = ""
    headers: tuple[tuple[str, object], ...] = ()
    models: tuple[ModelSpec, ...] = ()
    # Seconds for one whole answer.
    timeout: float | None = None
    # Attempts after the first one.
    max_retries: int | None = None
    # The file that a provider with `api: "scripted"` plays.
    script: str = ""
    # Why it cannot be used as it is configured: a variable that is not set.
    fault: str = ""

    def __repr__(self) -> str:
        return f"ProviderSpec({self.id!r})"


class ModelEndpoint(msgspec.Struct, frozen=True):
    """Where a wire sends its requests, secrets resolved, and by which way.

    `key_place` says where the key is set, for messages: never the key. `environ` names the proxies, if there are any.
    """

    provider: str
    base_url: str
    api_key: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    models: tuple[ModelSpec, ...] = ()
    timeout: float | None = None
    max_retries: int | None = None
    key_place: str = ""
    environ: Mapping[str, str] = msgspec.field(default_factory=dict)
    # Names, with `*`, of models of which it is known that they find tools in their vendor's own way.
    searching: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # Never the key: a value is shown in tracebacks and logs.
        return f"ModelEndpoint({self.provider!r})"

    def model(self, model_id: str) -> ModelSpec:
        """What is known about a model; the defaults for one that is not listed."""
        return next((model for model in self.models if model.id == model_id), ModelSpec(model_id))

    def searches(self, model_id: str) -> bool:
        """Whether a model finds tools in its vendor's own way: what the config says, else what is known of its vendor."""
        said = self.model(model_id).tool_search
        return any(matches(pattern, model_id) for pattern in self.searching) if said is None else said

"""From `provider/model` to a provider that serves it, with what to try when it fails.

Owns which model is used when none is configured (the first one configured anywhere, a key in the environment, an Ollama on its usual
port, else `builtin/offline`), the order of fallbacks, and when secrets are resolved: at the first request, so that a broken key of a
fallback disturbs nobody, and again when the vendor refuses a key: it may have been changed where it is kept. Wires, and the offline model,
are loaded when they are first needed: neither pays for the other.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from openclaw.errors import ModelError, OpenClawError
from openclaw.models import scripted
from openclaw.models.naming import BUILTIN, OFFLINE, SCRIPTED, WIRES, read_name
from openclaw.models.provider import Done, ModelEvent, ModelRequest, Notice, Provider
from openclaw.models.spec import ModelEndpoint, ModelSpec, ProviderSpec
from openclaw.models.vendors import USUAL_WINDOW, VENDORS, Vendor, located
from openclaw.redact import SECRET_SCHEME, looks_secret, remember, remember_guess

if TYPE_CHECKING:
    from openclaw.models.exchange import HttpProvider

__all__ = ["OFFLINE", "Candidate", "Chain", "ModelSpec", "Models", "ProviderSpec", "Selection"]

# It reads the last message only; any number will do that never makes a conversation compact early.
OFFLINE_WINDOW: Final = 1_000_000

Resolve = Callable[[object], Awaitable[str]]


async def as_text(value: object) -> str:
    """The `resolve` of a catalog whose config holds no references."""
    return str(value)


class Candidate(msgspec.Struct, frozen=True):
    """One model of a chain: its full name, who serves it, what it is called there, and where that is."""

    name: str
    provider: Provider
    model: str
    address: str = ""


# Is given what a candidate answers to a request, and passes it on as it comes.
TraceModel = Callable[[Candidate, ModelRequest, AsyncGenerator[ModelEvent, None]], AsyncGenerator[ModelEvent, None]]


class Selection(msgspec.Struct, frozen=True):
    """What serves an agent. `provider` tries the fallbacks too, and needs no model name in the request.

    `found` says how a model was chosen that nobody configured; `problem` why the first one cannot work as things are (no key); `key`
    where its key comes from, never the key itself, and empty when none is sent.
    """

    name: str
    provider: Provider
    context_window: int
    max_tokens: int | None = None
    found: str = ""
    problem: str = ""
    key: str = ""


class Chain:
    """A provider that asks the next model when one fails before its first word, in a way that another may not."""

    def __init__(self, candidates: Sequence[Candidate], trace: TraceModel | None = None) -> None:
        self.name = candidates[0].provider.name
        self._candidates = tuple(candidates)
        self._trace = trace

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for candidate, following in zip(self._candidates, [*self._candidates[1:], None], strict=True):
            spoke = False
            asked = msgspec.structs.replace(request, model=candidate.model)
            answer = candidate.provider.stream(asked)
            if self._trace is not None:
                answer = self._trace(candidate, asked, answer)
            async with aclosing(answer) as events:
                async for event in events:
                    if isinstance(event, Done):
                        if following is None or spoke or not (event.error and event.retryable):
                            yield msgspec.structs.replace(event, model=candidate.name)
                            return
                        yield Notice(f"{event.error} Trying {following.name}.")
                        break
                    spoke = spoke or not isinstance(event, Notice)
                    yield event

    async def close(self) -> None:
        """The catalog closes the providers, which other chains share."""
        return


class Models:
    """The providers of one configuration. `resolve` turns a secret reference into its value; `base` is where script paths start; `trace`
    sees every request."""

    def __init__(
        self,
        providers: Iterable[ProviderSpec] = (),
        *,
        environ: Mapping[str, str] | None = None,
        resolve: Resolve = as_text,
        look_around: bool = True,
        base: Path | None = None,
        trace: TraceModel | None = None,
    ) -> None:
        self._trace = trace
        self._environ = os.environ if environ is None else environ
        self._resolve = resolve
        self._look_around = look_around
        self._base = base or Path()
        self._specs = {spec.id: spec for spec in providers}
        self._providers: dict[str, Provider] = {}
        self._users = 0
        self._is_retired = False

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """While a turn uses what was selected here: until then a retired catalog stays open."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._is_retired and not self._users:
                await self.close()

    async def retire(self) -> None:
        """Nothing more will be selected here: close when the last turn ends, which may be now."""
        self._is_retired = True
        if not self._users:
            await self.close()

    async def select(self, model: str = "", fallbacks: Sequence[str] = ()) -> Selection:
        """The model to use, by name or, without one, what can be found. Raises ModelError for a name that means nothing here."""
        found = ""
        if not model:
            model, found = await self._find()
        names = list(dict.fromkeys([model, *fallbacks]))
        candidates = [self._candidate(name) for name in names]
        provider_id, _, model_id = candidates[0].name.partition("/")
        spec, vendor = self._known(provider_id)
        listed = next((m for m in spec.models if m.id == model_id), ModelSpec(model_id))
        window = listed.context_window or (OFFLINE_WINDOW if provider_id == BUILTIN else vendor.context_window)
        problem, key = self._problem(provider_id), self.key_origin(provider_id)
        return Selection(
            candidates[0].name, Chain(candidates, self._trace), window, listed.max_tokens, found, problem, key
        )

    def full_name(self, model: str) -> str:
        """`provider/model` for a name that somebody wrote. Raises ModelError for one that means nothing here."""
        return "/".join(read_name(model, self._specs))

    async def offered(self, provider_id: str) -> tuple[str, ...]:
        """The models that a provider says it has, asked now. Raises ModelError or SecretError."""
        provider = self._candidate(f"{provider_id}/-").provider
        if isinstance(provider, _Lazy):
            return await provider.offered()
        if provider_id == BUILTIN:
            return (OFFLINE.partition("/")[2],)
        return tuple(model.id for model in self._known(provider_id)[0].models)

    def with_keys(self) -> list[str]:
        """The providers that have a key, wherever it comes from."""
        return [one for one in dict.fromkeys([*self._specs, *VENDORS]) if self.key_origin(one)]

    async def usable(self) -> list[str]:
        """The providers that are configured or have a key, and an Ollama that runs here."""
        found = [*self._specs, *(self.with_keys() if self._look_around else ())]
        if self._look_around and "ollama" not in found and await self._ollama():
            found.append("ollama")
        return list(dict.fromkeys(found))

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()
        self._providers.clear()

    async def _find(self) -> tuple[str, str]:
        """A model that nobody named, and where it was found."""
        for spec in self._specs.values():
            if spec.models:
                return f"{spec.id}/{spec.models[0].id}", f"the first model of models.providers.{spec.id}"
        for provider_id, spec in self._specs.items():
            if spec.api_key and (named := VENDORS.get(provider_id)) and named.model:
                return f"{provider_id}/{named.model}", f"models.providers.{provider_id}.apiKey is set"
        if not self._look_around:
            return OFFLINE, "no model is configured"
        for provider_id, vendor in VENDORS.items():
            variable = self._variable(vendor)
            if variable and vendor.model:
                return f"{provider_id}/{vendor.model}", f"{variable} is set"
        if running := await self._ollama():
            return f"ollama/{running}", f"Ollama runs at {self._known('ollama')[0].base_url}"
        return OFFLINE, "no model is configured, no key is set, and no Ollama runs here"

    async def _ollama(self) -> str:
        """The model to talk to of an Ollama on this machine; empty when none runs, or it has none."""
        from openclaw.models.ollama import talking_model

        return await talking_model(self._known("ollama")[0].base_url, self._environ)

    def _candidate(self, name: str) -> Candidate:
        provider_id, model = read_name(name, self._specs)
        if provider_id == SCRIPTED and provider_id not in self._specs:
            # Each script is a provider of its own: it counts its turns.
            return Candidate(name, self._kept(name, lambda: self._scripted(model, SCRIPTED)), model)
        provider = self._kept(provider_id, lambda: self._make(provider_id))
        return Candidate(f"{provider_id}/{model}", provider, model, self._known(provider_id)[0].base_url)

    def _kept(self, key: str, make: Callable[[], Provider]) -> Provider:
        if key not in self._providers:
            self._providers[key] = make()
        return self._providers[key]

    def _make(self, provider_id: str) -> Provider:
        if provider_id == BUILTIN:
            from openclaw.models.offline import Offline

            return Offline()
        spec, vendor = self._known(provider_id)
        if spec.api == SCRIPTED:
            return self._scripted(spec.script, provider_id)
        return _Lazy(
            spec, self._key_place(provider_id), self._problem(provider_id), self._resolve, self._environ, vendor
        )

    def _scripted(self, path: str, name: str) -> Provider:
        return scripted.Scripted(scripted.load(self._base / Path(path).expanduser()), name=name)

    def _known(self, provider_id: str) -> tuple[ProviderSpec, Vendor]:
        """What the config says of a provider, filled in with what is generally known of it."""
        spec = self._specs.get(provider_id, ProviderSpec(provider_id))
        vendor = VENDORS.get(provider_id, Vendor("", context_window=USUAL_WINDOW))
        base_url = spec.base_url or located(self._environ.get(vendor.base_variable, "")) or vendor.base_url
        key = spec.api_key or self._environ.get(self._variable(vendor), "")
        api = spec.api or vendor.api_at(base_url)
        return msgspec.structs.replace(spec, base_url=base_url, api=api, api_key=key), vendor

    def _variable(self, vendor: Vendor) -> str:
        """The environment variable that holds the vendor's key; empty when none does."""
        return next((name for name in vendor.variables if self._environ.get(name, "").strip()), "")

    def _key_place(self, provider_id: str) -> str:
        """Where the key stands that is really sent, or where to put one."""
        spec = self._specs.get(provider_id, ProviderSpec(provider_id))
        place = f"models.providers.{provider_id}.apiKey"
        vendor = VENDORS.get(provider_id)
        # A header of the operator's goes before the key.
        if header := _key_header(spec):
            return f"models.providers.{provider_id}.headers.{header}"
        if vendor is None or not vendor.variables or spec.api_key:
            return place
        return self._variable(vendor) or f"{vendor.variables[0]} or {place}"

    def key_origin(self, provider_id: str) -> str:
        """Where the key comes from, in words; empty when there is none."""
        spec = self._specs.get(provider_id, ProviderSpec(provider_id))
        place = f"models.providers.{provider_id}.apiKey"
        if header := _key_header(spec):
            return f"the header {header} in models.providers.{provider_id}.headers"
        if spec.api_key:
            return f"the {'secret' if str(spec.api_key).startswith(SECRET_SCHEME) else 'config'} at {place}"
        if variable := self._variable(VENDORS.get(provider_id, Vendor(""))):
            return f"the environment variable {variable}"
        return ""

    def _problem(self, provider_id: str) -> str:
        """A vendor that asks for a key, and has none. Elsewhere (a proxy, a server at home) it may do without."""
        spec, vendor = self._known(provider_id)
        if spec.fault:
            return f"models.providers.{provider_id} cannot be used: {spec.fault}."
        elsewhere = spec.base_url != vendor.base_url or _key_header(spec)
        if spec.api_key or not vendor.variables or elsewhere:
            return ""
        return f"{provider_id} has no API key. Run `openclaw keys set {provider_id}`, or set {self._key_place(provider_id)}."


_KEY_HEADERS = frozenset({"authorization", "x-api-key", "api-key"})


def _key_header(spec: ProviderSpec) -> str:
    """The header in which the operator sends a key; empty when there is none."""
    return next((name for name, _ in spec.headers if name.lower() in _KEY_HEADERS), "")


class _Lazy:
    """A provider whose wire is loaded, and whose secrets are resolved, at its first request."""

    def __init__(
        self,
        spec: ProviderSpec,
        key_place: str,
        problem: str,
        resolve: Resolve,
        environ: Mapping[str, str],
        vendor: Vendor,
    ) -> None:
        self.name = spec.id
        self._spec = spec
        self._key_place = key_place
        self._problem = problem
        self._resolve = resolve
        self._environ = environ
        self._searching = vendor.searching if vendor.is_at(spec.base_url) else ()
        self._provider: HttpProvider | None = None
        # Those whose key was changed where it is kept: answers that they began still come.
        self._former: list[HttpProvider] = []

    async def offered(self) -> tuple[str, ...]:
        """The models that it says it has. Raises ModelError or SecretError."""
        from openclaw.models.listing import offered

        if self._problem:
            raise ModelError(self._problem)
        provider = self._provider or self._connected(await self._endpoint())
        return await offered(provider.endpoint, provider.wire)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        try:
            if self._problem:
                raise ModelError(self._problem)
            provider = self._provider or self._connected(await self._endpoint())
        except OpenClawError as error:
            yield Done("error", error=str(error), retryable=True, model=f"{self.name}/{request.model}")
            return
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, Done) and event.key_refused:
                    renewed = await self._renewed(provider)
                    if renewed is not None:
                        break
                yield event
            else:
                return
        async with aclosing(renewed.stream(request)) as events:
            async for event in events:
                yield event

    async def _renewed(self, refused: "HttpProvider") -> "HttpProvider | None":
        """A provider with the key as it is kept now; None when that is the one which was refused."""
        if self._provider is not refused and self._provider is not None:
            return self._provider
        try:
            endpoint = await self._endpoint()
        except OpenClawError:
            return None
        if endpoint == refused.endpoint:
            return None
        if self._provider is refused:
            self._former.append(refused)
            self._provider = None
        return self._connected(endpoint)

    async def close(self) -> None:
        for provider in (*self._former, *([self._provider] if self._provider is not None else ())):
            await provider.close()

    def _connected(self, endpoint: ModelEndpoint) -> "HttpProvider":
        # Another request may have come this far while the secrets were resolved.
        if self._provider is None:
            match WIRES[self._spec.api]:
                case "openai-completions":
                    from openclaw.models.openai_chat import connect as connect_chat

                    self._provider = connect_chat(endpoint)
                case "openai-responses":
                    from openclaw.models.openai_responses import connect as connect_responses

                    self._provider = connect_responses(endpoint)
                case "anthropic-messages":
                    from openclaw.models.anthropic_messages import connect as connect_messages

                    self._provider = connect_messages(endpoint)
                case unknown:
                    assert_never(unknown)
        return self._provider

    async def _endpoint(self) -> ModelEndpoint:
        spec = self._spec
        key = (await self._resolve(spec.api_key)).strip() if spec.api_key else ""
        remember(key)
        headers = [(name, await self._resolve(value)) for name, value in spec.headers]
        for name, value in headers:
            if looks_secret(name, value):
                remember_guess(value)
        return ModelEndpoint(
            spec.id,
            spec.base_url,
            key,
            tuple(headers),
            spec.models,
            spec.timeout,
            spec.max_retries,
            self._key_place,
            self._environ,
            self._searching,
        )

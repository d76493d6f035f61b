"""What a config says of models: the providers, as the values the catalog takes, names to choose from, and names that mean nothing.

References to secrets stay as they are.
"""

from collections.abc import Collection, Iterator, Mapping

from openclaw.config.dotted import Path, format_path
from openclaw.config.load import Config
from openclaw.config.rules import agent_settings
from openclaw.config.sections import Model, ModelChoice
from openclaw.config.servers import secret_text
from openclaw.errors import ModelError, Problem
from openclaw.models.naming import OFFLINE, read_name
from openclaw.models.spec import ModelSpec, Prices, ProviderSpec
from openclaw.models.vendors import VENDORS


def provider_specs(config: Config) -> list[ProviderSpec]:
    return [
        ProviderSpec(
            id=name,
            base_url=provider.base_url or "",
            api_key=secret_text(provider.api_key),
            api=provider.api or "",
            headers=tuple((header, secret_text(value)) for header, value in provider.headers.items()),
            models=tuple(_model_spec(model) for model in provider.models),
            timeout=provider.timeout_seconds,
            max_retries=provider.max_retries,
            script=provider.script or "",
            fault=config.fault(("models", "providers", name)),
        )
        for name, provider in config.root.models.providers.items()
    ]


def _model_spec(model: str | Model) -> ModelSpec:
    if isinstance(model, str):
        return ModelSpec(model)
    # What an entry does not say stays as it is known.
    takes = ModelSpec(model.id).input if model.input is None else model.input
    return ModelSpec(model.id, model.name, model.context_window, model.max_tokens, takes, model.tool_search)


def model_names(config: Config, environ: Mapping[str, str]) -> list[str]:
    """Models that a person may want to choose from: those that the config lists or names, those that a key in the environment leads to,
    and the built-in one."""
    listed = [f"{spec.id}/{model.id}" for spec in provider_specs(config) for model in spec.models]
    keyed = [
        f"{name}/{vendor.model}"
        for name, vendor in VENDORS.items()
        if vendor.model and any(environ.get(variable, "").strip() for variable in vendor.variables)
    ]
    named = [name for _, name in _named(config)]
    return list(dict.fromkeys([*named, *listed, *keyed, OFFLINE]))


def model_meant(config: Config, environ: Mapping[str, str], words: str) -> str:
    """The model that a person means: a part of a name is enough where it fits one of those that they may choose from."""
    if "/" in words:
        return words
    fitting = [name for name in model_names(config, environ) if words.lower() in name.lower()]
    return fitting[0] if words and len(fitting) == 1 else words


def prices_of(config: Config, name: str) -> Prices | None:
    """What `provider/model` costs, where its entry says so."""
    provider, _, model = name.partition("/")
    section = config.root.models.providers.get(provider)
    for one in section.models if section is not None else ():
        if isinstance(one, Model) and one.id == model and one.cost is not None:
            return Prices(one.cost.input, one.cost.output, one.cost.cache_read)
    return None


def misnamed(config: Config, names: Collection[str] | None = None) -> list[Problem]:
    """Every model name of the config that means nothing here, with its place; of `names` alone when they are given."""
    specs = {spec.id: spec for spec in provider_specs(config)}
    problems = []
    for path, name in _named(config):
        if names is not None and name not in names:
            continue
        try:
            read_name(name, specs)
        except ModelError as error:
            problems.append(Problem(error.message, *config.locate(path), format_path(path), error.hint))
    return problems


def _named(config: Config) -> Iterator[tuple[Path, str]]:
    for path, settings in agent_settings(config):
        match settings.model:
            case str(name) if name:
                yield (*path, "model"), name
            case ModelChoice(primary=primary, fallbacks=fallbacks):
                if primary:
                    yield (*path, "model", "primary"), primary
                for index, name in enumerate(fallbacks):
                    yield (*path, "model", "fallbacks", str(index)), name

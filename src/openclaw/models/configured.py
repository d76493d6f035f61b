"""What a config says of models: the providers, as the values the catalog takes, and names of models that mean nothing.

References to secrets stay as they are.
"""

from collections.abc import Collection, Iterator

from openclaw.config.dotted import Path, format_path
from openclaw.config.load import Config
from openclaw.config.rules import agent_settings
from openclaw.config.sections import Model, ModelChoice
from openclaw.config.servers import secret_text
from openclaw.errors import ModelError, Problem
from openclaw.models.naming import read_name
from openclaw.models.spec import ModelSpec, ProviderSpec


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
    return ModelSpec(model.id, model.name, model.context_window, model.max_tokens, takes)


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

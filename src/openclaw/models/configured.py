"""The `models` section of a config as the values the catalog takes. References to secrets stay as they are."""

from openclaw.config.load import Config
from openclaw.config.sections import Model
from openclaw.config.servers import secret_text
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
    return ModelSpec(model.id, model.name, model.context_window, model.max_tokens, model.input)

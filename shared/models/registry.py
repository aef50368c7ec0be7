"""Models opened by `provider:model`; a provider's SDK is imported only when one of its models is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeAlias

from shared.errors import MaasError
from shared.models.image_models import ImageModel, ImageModels
from shared.models.provider import anthropic_access, gemini_access, openai_access, read_spec
from shared.models.types import Model
from shared.settings import Settings

ModelFactory: TypeAlias = Callable[[str, Settings], Model]
_ALTERNATIVE = "use extractive:builtin"
_IMAGE_ALTERNATIVE = "unset MAAS_IMAGE_MODEL and MAAS_IMAGE_FALLBACK"


def _openai(name: str, settings: Settings) -> Model:
    key, base_url = openai_access(name, settings, _ALTERNATIVE)
    from shared.models.openai import OpenAIModel

    return OpenAIModel(name, api_key=key, base_url=base_url)


def _gemini(name: str, settings: Settings) -> Model:
    key, base_url = gemini_access(name, settings, _ALTERNATIVE)
    from shared.models.gemini import GeminiModel

    return GeminiModel(name, api_key=key, base_url=base_url)


def _anthropic(name: str, settings: Settings) -> Model:
    key, base_url = anthropic_access(name, settings, _ALTERNATIVE)
    from shared.models.anthropic import AnthropicModel

    return AnthropicModel(name, api_key=key, base_url=base_url)


def _openai_images(name: str, settings: Settings) -> ImageModel:
    key, base_url = openai_access(name, settings, _IMAGE_ALTERNATIVE)
    from shared.models.openai import OpenAIImageModel

    return OpenAIImageModel(name, api_key=key, base_url=base_url)


def _gemini_images(name: str, settings: Settings) -> ImageModel:
    key, base_url = gemini_access(name, settings, _IMAGE_ALTERNATIVE)
    from shared.models.gemini import GeminiImageModel

    return GeminiImageModel(name, api_key=key, base_url=base_url)


_IMAGE_PROVIDERS: dict[str, Callable[[str, Settings], ImageModel]] = {
    "openai": _openai_images,
    "gemini": _gemini_images,
}
_PROVIDERS: dict[str, ModelFactory] = {
    "openai": _openai,
    "gemini": _gemini,
    "anthropic": _anthropic,
}


def open_model(spec: str, settings: Settings, local: Mapping[str, ModelFactory] = {}) -> Model:
    """Open `provider:model`, for instance `openai:gpt-4o`; the caller closes it.

    `local` maps the names of further providers, which need no network, to the factories of their models.
    Raises MaasError: `bad_setting` for a malformed name or unknown provider, `missing_key` for a provider without key,
    `missing_package` for one whose SDK is not installed.
    """
    providers = {**_PROVIDERS, **local}
    provider, name = read_spec(spec, providers, "openai:gpt-4o")
    return providers[provider](name, settings)


class ModelCache:
    """Models by `provider:model`, each opened when it is first requested; `local` as in `open_model`."""

    def __init__(self, settings: Settings, local: Mapping[str, ModelFactory] = {}) -> None:
        self._settings = settings
        self._local = local
        self._opened: dict[str, Model] = {}

    def get(self, spec: str) -> Model:
        """Return the model of `spec`. Raises MaasError as `open_model` does."""
        if spec not in self._opened:
            self._opened[spec] = open_model(spec, self._settings, self._local)
        return self._opened[spec]

    async def aclose(self) -> None:
        """Close all models that were opened."""
        for model in self._opened.values():
            await model.close()


@asynccontextmanager
async def open_images(settings: Settings) -> AsyncIterator[ImageModels | None]:
    """Open the image models; None if none is configured. Raises MaasError as `open_model` does."""
    if settings.image_model is None:
        if settings.image_fallback is not None:
            raise MaasError("bad_setting", "MAAS_IMAGE_FALLBACK stands in for MAAS_IMAGE_MODEL: set that, too")
        yield None
        return
    async with AsyncExitStack() as stack:

        def opened(spec: str) -> ImageModel:
            provider, name = read_spec(spec, _IMAGE_PROVIDERS, "gemini:gemini-2.5-flash-image")
            model = _IMAGE_PROVIDERS[provider](name, settings)
            stack.push_async_callback(model.close)
            return model

        fallback = settings.image_fallback
        yield ImageModels(opened(settings.image_model), opened(fallback) if fallback else None, settings.retry_delay)

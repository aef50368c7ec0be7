"""From `provider:model` to a model that can be asked; a provider's SDK is loaded only when it is configured."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from shared.errors import MaasError
from shared.models.access import anthropic_access, gemini_access, openai_access, read_spec
from shared.models.images import ImageModel, Images
from shared.models.types import Model
from shared.settings import Settings

_INSTEAD = "use extractive:builtin"
_UNDRAWN = "unset MAAS_IMAGE_MODEL and MAAS_IMAGE_FALLBACK"


def _extractive(name: str, settings: Settings) -> Model:
    from shared.models.extractive.model import Extractive

    if name != "builtin":
        raise MaasError("bad_setting", f"extractive:{name} is unknown; the built-in model is extractive:builtin")
    return Extractive()


def _openai(name: str, settings: Settings) -> Model:
    key, base_url = openai_access(name, settings, _INSTEAD)
    from shared.models.openai import OpenAIModel

    return OpenAIModel(name, api_key=key, base_url=base_url)


def _gemini(name: str, settings: Settings) -> Model:
    key, base_url = gemini_access(name, settings, _INSTEAD)
    from shared.models.gemini import GeminiModel

    return GeminiModel(name, api_key=key, base_url=base_url)


def _anthropic(name: str, settings: Settings) -> Model:
    key, base_url = anthropic_access(name, settings, _INSTEAD)
    from shared.models.anthropic import AnthropicModel

    return AnthropicModel(name, api_key=key, base_url=base_url)


def _openai_images(name: str, settings: Settings) -> ImageModel:
    key, base_url = openai_access(name, settings, _UNDRAWN)
    from shared.models.openai import OpenAIPainter

    return OpenAIPainter(name, api_key=key, base_url=base_url)


def _gemini_images(name: str, settings: Settings) -> ImageModel:
    key, base_url = gemini_access(name, settings, _UNDRAWN)
    from shared.models.gemini import GeminiPainter

    return GeminiPainter(name, api_key=key, base_url=base_url)


_PAINTERS: dict[str, Callable[[str, Settings], ImageModel]] = {"openai": _openai_images, "gemini": _gemini_images}
_PROVIDERS: dict[str, Callable[[str, Settings], Model]] = {
    "extractive": _extractive,
    "openai": _openai,
    "gemini": _gemini,
    "anthropic": _anthropic,
}


def open_model(spec: str, settings: Settings) -> Model:
    """Open `provider:model`, for instance `openai:gpt-4o`; the caller closes it.

    Raises MaasError: `bad_setting` for a malformed name or unknown provider, `missing_key` for a provider without key,
    `missing_package` for one whose SDK is not installed.
    """
    provider, name = read_spec(spec, _PROVIDERS, "openai:gpt-4o")
    return _PROVIDERS[provider](name, settings)


class NamedModels:
    """Models that are asked for by their `provider:model`: each is opened once, when it is first named."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: dict[str, Model] = {}

    def get(self, spec: str) -> Model:
        """Raises MaasError('bad_setting')."""
        if spec not in self._opened:
            self._opened[spec] = open_model(spec, self._settings)
        return self._opened[spec]

    async def aclose(self) -> None:
        for model in self._opened.values():
            await model.close()


@asynccontextmanager
async def open_images(settings: Settings) -> AsyncIterator[Images | None]:
    """Who draws; None where nobody is configured. Raises MaasError as `open_model` does."""
    if settings.image_model is None:
        if settings.image_fallback is not None:
            raise MaasError("bad_setting", "MAAS_IMAGE_FALLBACK stands in for MAAS_IMAGE_MODEL: set that, too")
        yield None
        return
    async with AsyncExitStack() as stack:

        def opened(spec: str) -> ImageModel:
            provider, name = read_spec(spec, _PAINTERS, "gemini:gemini-2.5-flash-image")
            model = _PAINTERS[provider](name, settings)
            stack.push_async_callback(model.close)
            return model

        fallback = settings.image_fallback
        yield Images(opened(settings.image_model), opened(fallback) if fallback else None, settings.retry_delay)

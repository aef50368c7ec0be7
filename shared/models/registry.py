"""From `provider:model` to a model that can be asked; a provider's SDK is loaded only when it is configured."""

from __future__ import annotations

from collections.abc import Callable

from shared.errors import MaasError
from shared.models.access import anthropic_access, gemini_access, openai_access, read_spec
from shared.models.types import Model
from shared.settings import Settings

_INSTEAD = "use extractive:builtin"


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

"""From `provider:model` to a model that can be asked; a provider's SDK is loaded only when it is configured."""

from __future__ import annotations

from collections.abc import Callable

from shared.errors import MaasError
from shared.models.types import Model
from shared.settings import Settings


def _extractive(name: str, settings: Settings) -> Model:
    from shared.models.extractive.model import Extractive

    if name != "builtin":
        raise MaasError("bad_setting", f"extractive:{name} is unknown; the built-in model is extractive:builtin")
    return Extractive()


def _openai(name: str, settings: Settings) -> Model:
    key, base_url = settings.openai_api_key, settings.openai_base_url
    if key is None and base_url is None:
        raise _needs("openai", name, "OPENAI_API_KEY (or OPENAI_BASE_URL for a compatible server that needs no key)")
    from shared.models.openai import OpenAIModel

    return OpenAIModel(name, api_key=key.get_secret_value() if key else "none", base_url=base_url)


def _gemini(name: str, settings: Settings) -> Model:
    key, base_url = settings.gemini_api_key, settings.gemini_base_url
    if key is None:
        raise _needs("gemini", name, "GEMINI_API_KEY")
    from shared.models.gemini import GeminiModel

    return GeminiModel(name, api_key=key.get_secret_value(), base_url=base_url)


_PROVIDERS: dict[str, Callable[[str, Settings], Model]] = {
    "extractive": _extractive,
    "openai": _openai,
    "gemini": _gemini,
}


def open_model(spec: str, settings: Settings) -> Model:
    """Open `provider:model`, for instance `openai:gpt-4o`; the caller closes it.

    Raises MaasError: `bad_setting` for a malformed name or unknown provider, `missing_key` for a provider without key.
    """
    provider, colon, name = (part.strip() for part in spec.partition(":"))
    if not (colon and name):
        raise MaasError("bad_setting", f"model {spec!r} must be written provider:model, for instance openai:gpt-4o")
    if provider not in _PROVIDERS:
        known = ", ".join(sorted(_PROVIDERS))
        raise MaasError("bad_setting", f"model {spec!r} names the unknown provider {provider!r}; known are {known}")
    return _PROVIDERS[provider](name, settings)


def _needs(provider: str, name: str, what: str) -> MaasError:
    return MaasError(
        "missing_key", f"{provider}:{name} needs {what}; set it in the environment or .env, or use extractive:builtin"
    )

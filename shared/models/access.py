"""From `provider:model` and the settings to what a provider's client needs."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from shared.errors import MaasError
from shared.settings import Settings

_SYNONYMS = {"claude": "anthropic"}


def read_spec(spec: str, providers: Iterable[str], example: str) -> tuple[str, str]:
    """Provider and model of `provider:model`. Raises MaasError('bad_setting')."""
    provider, colon, name = (part.strip() for part in spec.partition(":"))
    if not (colon and name):
        raise MaasError("bad_setting", f"model {spec!r} must be written provider:model, for instance {example}")
    provider = _SYNONYMS.get(provider, provider)
    if provider not in providers:
        known = ", ".join(sorted(providers))
        raise MaasError("bad_setting", f"model {spec!r} names the unknown provider {provider!r}; known are {known}")
    return provider, name


def openai_access(name: str, settings: Settings, instead: str) -> tuple[str, str | None]:
    """Key and base URL. Raises MaasError('missing_key')."""
    key, base_url = settings.openai_api_key, settings.openai_base_url
    if key is None and base_url is None:
        what = "OPENAI_API_KEY (or OPENAI_BASE_URL for a compatible server that needs no key)"
        raise _needs("openai", name, what, instead)
    return key.get_secret_value() if key else "none", base_url


def gemini_access(name: str, settings: Settings, instead: str) -> tuple[str, str | None]:
    """Key and base URL. Raises MaasError('missing_key')."""
    if settings.gemini_api_key is None:
        raise _needs("gemini", name, "GEMINI_API_KEY", instead)
    return settings.gemini_api_key.get_secret_value(), settings.gemini_base_url


def anthropic_access(name: str, settings: Settings, instead: str) -> tuple[str, str | None]:
    """Key and base URL. Raises MaasError('missing_package') without the SDK, MaasError('missing_key')."""
    if find_spec("anthropic") is None:
        how = "pip install 'maas[anthropic]' (in a checkout: make anthropic)"
        raise MaasError("missing_package", f"anthropic:{name} needs the package anthropic: {how}, or {instead}")
    key, base_url = settings.anthropic_api_key, settings.anthropic_base_url
    if key is None and base_url is None:
        what = "ANTHROPIC_API_KEY (or ANTHROPIC_BASE_URL for a compatible server that needs no key)"
        raise _needs("anthropic", name, what, instead)
    return key.get_secret_value() if key else "none", base_url


def _needs(provider: str, name: str, what: str, instead: str) -> MaasError:
    return MaasError("missing_key", f"{provider}:{name} needs {what}; set it in the environment or .env, or {instead}")

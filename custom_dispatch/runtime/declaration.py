"""What a function of a module takes and returns, from the declaration IREE keeps beside it.

IREE stores `sync func @f(%input0: tensor<?xf32>, %input1: i32) -> (%output0: tensor<?xf32>)` under
`iree.abi.declaration` in a function's reflection (IREE, compiler/src/iree/compiler/Bindings/
Native/Transforms/WrapEntryPoints.cpp).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType

_FUNCTION = re.compile(r"sync func @[^(]*\((?P<inputs>.*)\) -> \((?P<outputs>.*)\)", re.DOTALL)
_VALUE = re.compile(r"%[\w$.-]+:\s*([^%]+?)\s*(?:\{[^}]*\})?\s*(?:,\s*(?=%)|$)")
_TENSOR = re.compile(r"tensor<((?:(?:\?|\d+)x)*)(\w+)>")

# A model's integers are signless: an array of either signedness fits.
_BY_MLIR = {kind.mlir: kind for kind in reversed(ELEMENT_TYPES.values())}


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of an argument or result."""

    dtype: ElementType
    sizes: tuple[int | None, ...] | None
    """A tensor's sizes, None for one that is known when called; no tuple at all for a scalar."""

    def __str__(self) -> str:
        if self.sizes is None:
            return self.dtype.mlir
        sizes = "".join(f"{'?' if size is None else size}x" for size in self.sizes)
        return f"tensor<{sizes}{self.dtype.mlir}>"


@dataclass(frozen=True, slots=True)
class FunctionType:
    """The types of a function's arguments and results."""

    inputs: tuple[ValueType, ...]
    outputs: tuple[ValueType, ...]

    def with_results(self, names: str) -> FunctionType:
        """The same with the results' element types as a front end says them, with commas.

        What is no element type, or one of another kind than the declaration's, is passed over.
        """
        said = [ELEMENT_TYPES.get(name) for name in names.split(",")]
        if len(said) != len(self.outputs):
            return self
        outputs = (
            replace(value, dtype=kind) if kind and kind.mlir == value.dtype.mlir else value
            for value, kind in zip(self.outputs, said, strict=True)
        )
        return replace(self, outputs=tuple(outputs))

    def __str__(self) -> str:
        inputs, outputs = (", ".join(map(str, kinds)) for kinds in (self.inputs, self.outputs))
        return f"({inputs}) -> ({outputs})"


def parse_declaration(text: str) -> FunctionType | None:
    """Read a declaration; None where it has something else than tensors and numbers."""
    match = _FUNCTION.fullmatch(text.strip())
    if match is None:
        return None
    inputs = _parse_values(match["inputs"])
    outputs = _parse_values(match["outputs"])
    if inputs is None or outputs is None:
        return None
    return FunctionType(inputs, outputs)


def _parse_values(text: str) -> tuple[ValueType, ...] | None:
    found = []
    position = 0
    while position < len(text):
        match = _VALUE.match(text, position)
        kind = _parse_type(match[1]) if match else None
        if match is None or kind is None:
            return None
        found.append(kind)
        position = match.end()
    return tuple(found)


def _parse_type(text: str) -> ValueType | None:
    if text in _BY_MLIR:
        return ValueType(_BY_MLIR[text], None)
    match = _TENSOR.fullmatch(text)
    if match is None or match[2] not in _BY_MLIR:
        return None
    sizes = tuple(None if size == "?" else int(size) for size in match[1].split("x")[:-1])
    return ValueType(_BY_MLIR[match[2]], sizes)

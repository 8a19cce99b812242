"""Operators of PyTorch and ONNX that IREE 3.13 converts into others that are not the same."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import as_written, number_of
from custom_dispatch.link.dialects.torch_types import (
    CODES,
    builtin_type,
    constant,
    element_of_type,
    with_element,
)
from custom_dispatch.link.operations import create, kind_of, operations_of


@cache
def known_operators() -> dict[str, dict[str, str]]:
    """The tables of operators by their names."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


_ROOTS = {0.5: "torch.aten.sqrt", -0.5: "torch.aten.rsqrt"}
"""What PyTorch has for powers, but for those of f16: of -infinity, they are NaN."""
_FMOD = ("torch.aten.fmod.Tensor", "onnx.Mod")
_WIDE = {"f16": "f32", "bf16": "f32", "si8": "si32"}
_FLOATS = ("f16", "bf16", "f32", "f64")


def correct_operators(module: ir.Module, *, widens: bool) -> None:
    """Write operators that IREE converts rightly for those that it does not.

    `widens`: whether operators of 16 bits compute in f32. Patterns over MLIR have them as IREE
    converts them, in 16 bits.
    """
    with_tensors = known_operators()["with_tensors"]
    for op in operations_of(module):
        name = kind_of(op)
        if name in with_tensors:
            with ir.InsertionPoint(op), op.location:
                element = element_of_type(op.result.type)
                numbers = [_as_tensor(item, element) for item in op.operands]
                op = _replaced(op, with_tensors[name], *numbers)
            name = op.name
        elif name == "onnx.RMSNormalization":
            op = _rms_norm(op)
            name = op.name
        how = _how_widened(name) if widens else ""
        if name in _FMOD and element_of_type(op.result.type) in _FLOATS:
            if name == "onnx.Mod" and not _attribute(op, "fmod", 0):
                with ir.InsertionPoint(op), op.location:
                    _replaced(op, "torch.aten.remainder.Tensor", *op.operands)
            else:
                _write_fmod(op)
        elif how in ("scaled", "products"):
            _scale(op, is_product=how == "products")
        elif how and (how != "quotients" or _is_wide(op)):
            _compute_wide(op, len(op.operands), is_typed=how == "typed")
        elif name == "torch.aten.scaled_dot_product_attention":
            _give_mask_all_dims(op)
        elif name == "torch.aten.pow.Tensor_Scalar" and widens:
            root = _ROOTS.get(as_written(op.operands[1]) or 0)
            if root and element_of_type(op.result.type) != "f16":
                with ir.InsertionPoint(op), op.location:
                    _replaced(op, root, op.operands[0])


def _how_widened(name: str) -> str:
    """Which of the table's operators that round once in 16 bits one is; empty for another."""
    kinds = known_operators()["widened"].items()
    return next((kind for kind, names in kinds if re.fullmatch(names, name)), "")


def _replaced(op: ir.Operation, name: str, *operands: Any) -> ir.Operation:
    result = create(name, op.result.type, *operands)
    op.result.replace_all_uses_with(result)
    op.erase()
    return result.owner.operation


def _as_tensor(value: Any, element: str) -> Any:
    """A number as a tensor; an integer as one of the integers that the result consists of."""
    kind = {"!torch.int": "si64", "!torch.float": "f64"}.get(str(value.type))
    if kind is None:
        return value
    tensor = ir.Type.parse(f"!torch.vtensor<[],{kind}>")
    number = create("torch.prim.NumToTensor.Scalar", tensor, value)
    return (
        _cast(number, with_element(tensor, element))
        if kind == "si64" and "i" in element
        else number
    )


def _is_wide(op: ir.Operation) -> bool:
    """Whether a division is of i8, or a quotient by a number that no tensor held in 16 bits."""
    is_exact = "div" in op.name and element_of_type(op.operands[1].type) in ("f32", "f64")
    return element_of_type(op.result.type) == "si8" or is_exact


def _scale(op: ir.Operation, *, is_product: bool) -> None:
    """An operator with factors: none counts where it is 1, and 0 leaves nothing of NaN."""
    factors = [as_written(item) for item in op.operands[3 if is_product else 2 :]]
    if is_product and factors[0] == 0:
        with ir.InsertionPoint(op), op.location:
            first = op.operands[0]
            op.operands[0] = create("torch.aten.zero", first.type, first)
    if any(factor != 1 for factor in factors):
        # The other operands of a product stay small: what is summed up is in f32 anyway.
        _compute_wide(op, 1 if is_product else len(op.operands))


def _compute_wide(op: ir.Operation, count: int, *, is_typed: bool = False) -> None:
    """Cast the first operands that are small to wider types, and the results back."""
    last = len(op.operands) - 1
    kind = _wide(op.results[0].type)
    with ir.InsertionPoint(op), op.location:
        is_small = kind != op.results[0].type
        if is_typed and is_small and str(op.operands[last].type) == "!torch.int":
            op.operands[last] = constant(CODES[element_of_type(kind)])
        for index, value in enumerate(list(op.operands)[:count]):
            op.operands[index] = _cast(value, _wide(value.type))
    for result in op.results:
        kind = result.type
        if _wide(kind) != kind:
            result.set_type(_wide(kind))
            with ir.InsertionPoint.after(op), op.location:
                narrow = _cast(result, kind)
            result.replace_all_uses_except(narrow, narrow.owner.operation)


def _give_mask_all_dims(op: ir.Operation) -> None:
    """Put dims of 1 before those of a mask with fewer than the queries, which IREE refuses."""
    queries, mask = (builtin_type(op.operands[index].type) for index in (0, 3))
    tensor = ir.RankedTensorType
    if not (isinstance(queries, tensor) and isinstance(mask, tensor)):
        return
    with ir.InsertionPoint(op), op.location:
        for _ in range(queries.rank - mask.rank):
            kind = ir.Type.parse(str(op.operands[3].type).replace("[", "[1,", 1))
            op.operands[3] = create("torch.aten.unsqueeze", kind, op.operands[3], constant(0))


def _attribute(op: ir.Operation, name: str, default: float) -> float:
    """A number that a node of ONNX says."""
    found = op.attributes.get(f"torch.onnx.{name}")
    return default if found is None else number_of(found)


def _rms_norm(op: ir.Operation) -> ir.Operation:
    """ONNX's norm, which IREE imports and does not convert, as PyTorch's."""
    x, scale = op.operands
    axis, rank = int(_attribute(op, "axis", -1)), ir.RankedTensorType(builtin_type(x.type)).rank
    with ir.InsertionPoint(op), op.location:
        sizes = [
            create("torch.aten.size.int", ir.Type.parse("!torch.int"), x, constant(dim))
            for dim in range(axis % rank, rank)
        ]
        shape = create("torch.prim.ListConstruct", ir.Type.parse("!torch.list<int>"), *sizes)
        epsilon = constant(float(_attribute(op, "epsilon", 1e-5)))
        return _replaced(op, "torch.aten.rms_norm", x, shape, scale, epsilon)


def _write_fmod(op: ir.Operation) -> None:
    """fmod(x, y) of floats: the remainder of |x| by |y|, which is exact, with the sign of x."""
    kind = op.result.type
    element = element_of_type(kind)
    with ir.InsertionPoint(op), op.location:
        numbers = [_cast(item, with_element(item.type, element)) for item in op.operands]
        sizes = [create("torch.aten.abs", item.type, item) for item in numbers]
        rest = create("torch.aten.remainder.Tensor", kind, *sizes)
        least = create("torch.aten.minimum", kind, rest, numbers[0])  # -0.0 of -0.0
        opposite = create("torch.aten.neg", kind, rest)
        bit = with_element(numbers[0].type, "i1")
        is_negative = create("torch.aten.lt.Scalar", bit, numbers[0], constant(0))
        _replaced(op, "torch.aten.where.self", is_negative, opposite, least)


def _wide(kind: ir.Type) -> ir.Type:
    element = element_of_type(kind)
    return with_element(kind, _WIDE[element]) if element in _WIDE else kind


def _cast(value: Any, kind: ir.Type) -> Any:
    if value.type == kind:
        return value
    dtype = constant(CODES[element_of_type(kind)])
    return create("torch.prims.convert_element_type", kind, value, dtype)

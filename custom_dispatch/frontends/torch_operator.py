"""One operator of the torch dialect that stands for a kernel: checked, and made a call of it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy
from iree.compiler import ir

from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.frontends.torch_types import NUMBERS, builtin_type
from custom_dispatch.ir.signature import (
    Sizes,
    declared_signature,
    input_types,
    output_types,
    tensor_type,
)
from custom_dispatch.kernel.binding import bind_dims
from custom_dispatch.kernel.expr import Dim, dims_of, evaluate
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar

_LOCATION = re.compile(r'"([^"]+)":(\d+)')
_NONE = "!torch.none"
_CONSTANTS = ("torch.constant.int", "torch.constant.float", "torch.constant.bool")


def place_of(op: ir.Operation) -> str:
    """Where the model's source calls an operator, `" at model.py:7"`; empty where nobody knows."""
    found = _LOCATION.search(str(op.location))
    # What is parsed without a name is "-".
    return f" at {found[1]}:{found[2]}" if found and found[1] != "-" else ""


def replace_operator(op: ir.Operation, name: str, kernel: Kernel) -> None:
    """Put a call of a kernel's function in the place of an operator.

    Parameters
    ----------
    name
        The operator's name: "torch.NAMESPACE.KERNEL".

    Raises
    ------
    LinkError
        The operator's operands or results do not fit the kernel's declaration.
    """
    _Replacement(op, name.removeprefix("torch."), kernel).replace()


class _Replacement:
    def __init__(self, op: ir.Operation, name: str, kernel: Kernel) -> None:
        self._op = op
        self._kernel = kernel
        self._what = f"The operator `{name}`{place_of(op)}"

    def replace(self) -> None:
        op, kernel = self._op, self._kernel
        given = (len(op.operands), len(op.results))
        wanted = (len(kernel.arguments), len(kernel.outputs))
        if given != wanted:
            raise self._refusal(
                f"has {given[0]} operands and {given[1]} results",
                f"{wanted[0]} and {wanted[1]}, as kernel `{kernel.name}` is declared",
            )
        inputs = [
            self._tensor_sizes(operand, value.type) if isinstance(operand, Buffer) else ()
            for operand, value in zip(kernel.arguments, op.operands, strict=True)
        ]
        outputs = [
            self._tensor_sizes(operand, value.type)
            for operand, value in zip(kernel.outputs, op.results, strict=True)
        ]
        self._check_sizes(inputs, outputs)
        signature = declared_signature(kernel)
        types = input_types(kernel, signature)
        with op.location, ir.InsertionPoint(op):
            values = [
                self._tensor(operand, value, ir.Type.parse(kind))
                if isinstance(operand, Buffer)
                else self._number(operand, value)
                for operand, value, kind in zip(kernel.arguments, op.operands, types, strict=True)
            ]
            call = ir.Operation.create(
                "func.call",
                results=[ir.Type.parse(kind) for kind in output_types(kernel, signature)],
                operands=values,
                attributes={"callee": ir.FlatSymbolRefAttr.get(kernel.name)},
            )
            for old, new in zip(list(op.results), list(call.results), strict=True):
                tensor = _cast(new, builtin_type(old.type))
                old.replace_all_uses_with(_create("torch_c.from_builtin_tensor", old.type, tensor))
        op.erase()

    def _refusal(self, found: str, expected: str, next_step: str = "") -> LinkError:
        return LinkError(
            f"{self._what} {found}.",
            expected=expected,
            next_step=next_step or "correct the model, or the kernel's declaration.",
        )

    # -- tensors

    def _tensor_sizes(self, operand: Buffer, kind: ir.Type) -> Sizes:
        """A tensor's sizes; all zero for one that is absent."""
        if operand.optional and str(kind) == _NONE:
            return (0,) * operand.rank
        found = builtin_type(kind)
        if (
            not isinstance(found, ir.RankedTensorType)
            or found.rank != operand.rank
            or str(found.element_type) != operand.dtype.mlir
        ):
            wanted = tensor_type(operand.dtype, (None,) * operand.rank)
            raise self._refusal(
                f"has {found or kind} for `{operand.name}`",
                f"a tensor of rank {operand.rank} and type {operand.dtype.mlir}: {wanted}",
            )
        return tuple(
            None if found.is_dynamic_dim(axis) else found.get_dim_size(axis)
            for axis in range(found.rank)
        )

    def _check_sizes(self, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> None:
        """Compare all that is known of sizes; what is not, is compared when the kernel is called.

        A result's sizes are the model's word for what comes out: they have to follow from the
        declaration.
        """
        kernel = self._kernel
        shapes = {
            operand.name: sizes
            for operand, sizes in zip(kernel.arguments, inputs, strict=True)
            if isinstance(operand, Buffer)
        }
        try:
            known = self._known_dims(shapes)
            for operand, sizes in zip(kernel.outputs, outputs, strict=True):
                for axis, (expr, size) in enumerate(zip(operand.shape, sizes, strict=True)):
                    if size is None:
                        continue
                    certain = all(dim.name in known for dim in dims_of(expr))
                    if not certain or evaluate(expr, known) != size:
                        raise self._refusal(
                            f"has a result `{operand.name}` of size {size} in dimension {axis}",
                            f"{expr} = {evaluate(expr, known)}"
                            if certain
                            else f"{expr}, which is not known before the call",
                        )
        except (CallError, DeclarationError) as error:
            raise self._refusal(
                f"does not fit: {error.found.removesuffix('.')}",
                error.expected,
                "correct the model's sizes.",
            ) from None

    def _known_dims(self, shapes: dict[str, Sizes]) -> dict[str, int]:
        numbers = {name: [size for size in sizes if size is not None]
                   for name, sizes in shapes.items()}  # fmt: skip
        if all(len(numbers[name]) == len(sizes) for name, sizes in shapes.items()):
            return bind_dims(self._kernel, numbers)
        known: dict[str, int] = {}
        for operand in self._kernel.inputs:
            if not isinstance(operand, Buffer) or operand.optional:
                continue
            for expr, size in zip(operand.shape, shapes[operand.name], strict=True):
                if isinstance(expr, Dim) and size is not None:
                    known.setdefault(expr.name, size)
        return known

    def _tensor(self, operand: Buffer, value: Any, declared: ir.Type) -> Any:
        if str(value.type) == _NONE:
            empty = ir.Type.parse(tensor_type(operand.dtype, (0,) * operand.rank))
            return _cast(_create("tensor.empty", empty), declared)
        tensor = _create("torch_c.to_builtin_tensor", builtin_type(value.type), value)
        return _cast(tensor, declared)

    # -- numbers

    def _number(self, scalar: Scalar, value: Any) -> Any:
        kind = str(value.type)
        if kind not in NUMBERS:
            raise self._refusal(
                f"has {kind} for the scalar `{scalar.name}`", f"a number for {scalar.dtype}"
            )
        wanted = ir.Type.parse(scalar.argument_type)
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name in _CONSTANTS:
            attribute = self._constant(scalar, _python_value(owner), wanted)
            return _create("arith.constant", wanted, value=attribute)
        cast, plain = NUMBERS[kind]
        number = _create(f"torch_c.to_{cast}", ir.Type.parse(plain), value)
        if str(wanted) == plain:
            return number
        if kind == "!torch.float" and scalar.dtype.is_float:
            return _create("arith.truncf", wanted, number)
        raise self._refusal(
            f"has {kind} for the scalar `{scalar.name}`, which {scalar.dtype} may not hold",
            "a number that is written in the model, or one of the kernel's type",
            'declare the scalar as "i64" for a number that the model computes.',
        )

    def _constant(self, scalar: Scalar, value: float | int, wanted: ir.Type) -> ir.Attribute:
        dtype = scalar.dtype
        if dtype.is_float:
            with numpy.errstate(over="ignore"):
                held = float(numpy.asarray(float(value)).astype(dtype.to_numpy()))
            if math.isfinite(held) or not math.isfinite(value):
                return ir.FloatAttr.get(wanted, held)
        elif value == int(value):
            low = -dtype.largest - 1 if dtype.name.startswith("i") else 0
            if low <= value <= dtype.largest:
                number = int(value)
                # IR's integers have no sign: the upper half of the unsigned ones are negative.
                if dtype.name.startswith("u") and number >= 2 ** (dtype.bits - 1):
                    number -= 2**dtype.bits
                return ir.IntegerAttr.get(wanted, number)
        raise self._refusal(
            f"has {value} for the scalar `{scalar.name}`",
            f"a number that {dtype} holds",
            "correct the number, or declare a larger type.",
        )


def _python_value(op: ir.Operation) -> float | int:
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.FloatAttr):
        return float(attribute.value)
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    return int(ir.IntegerAttr(attribute).value)


def _cast(value: Any, kind: ir.Type) -> Any:
    return value if value.type == kind else _create("tensor.cast", kind, value)


def _create(name: str, kind: ir.Type, *operands: Any, **attributes: Any) -> Any:
    return ir.Operation.create(
        name, results=[kind], operands=list(operands), attributes=attributes
    ).result

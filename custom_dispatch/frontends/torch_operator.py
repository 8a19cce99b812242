"""One operator of the torch dialect that stands for a kernel: checked, and made a call of it."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy
from iree.compiler import ir

from custom_dispatch.frontends.call_site import Fitting, place_of, resolve
from custom_dispatch.frontends.declarations import Callees
from custom_dispatch.frontends.torch_types import NUMBERS, builtin_type
from custom_dispatch.ir.signature import (
    input_types,
    output_types,
    tensor_type,
)
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar

_LOCATION = re.compile(r'"([^"]+)":(\d+)')
_NONE = "!torch.none"
_CONSTANTS = ("torch.constant.int", "torch.constant.float", "torch.constant.bool")


def replace_operator(
    op: ir.Operation, name: str, item: Kernel | Choice, module: ir.Module, callees: Callees
) -> None:
    """Put a call of a kernel's function in the place of an operator.

    Parameters
    ----------
    name
        The operator's name: "torch.NAMESPACE.KERNEL".
    module, callees
        Where that function is, or is declared.

    Raises
    ------
    LinkError
        The operator's operands or results do not fit the kernel's declaration.
    """
    what = f"The operator `{name.removeprefix('torch.')}`{place_of(op)}"
    operands = [_type_of(value.type) for value in op.operands]
    results = [_type_of(value.type) for value in op.results]
    fitting = resolve(what, item, operands, results)
    symbol = callees.declare(module, item, fitting.signature, fitting.kernel)
    _Replacement(op, fitting).replace(symbol)


def _type_of(kind: ir.Type) -> ir.Type | None:
    return None if str(kind) == _NONE else builtin_type(kind) or kind


class _Replacement:
    def __init__(self, op: ir.Operation, fitting: Fitting) -> None:
        self._op = op
        self._site = fitting.site
        self._kernel = fitting.kernel
        self._signature = fitting.signature

    def replace(self, symbol: str) -> None:
        op, kernel = self._op, self._kernel
        types = input_types(kernel, self._signature)
        with op.location, ir.InsertionPoint(op):
            values = [
                self._tensor(operand, value, ir.Type.parse(kind))
                if isinstance(operand, Buffer)
                else self._number(operand, value)
                for operand, value, kind in zip(kernel.arguments, op.operands, types, strict=True)
            ]
            call = ir.Operation.create(
                "func.call",
                results=[ir.Type.parse(kind) for kind in output_types(kernel, self._signature)],
                operands=values,
                attributes={"callee": ir.FlatSymbolRefAttr.get(symbol)},
            )
            for old, new in zip(list(op.results), list(call.results), strict=True):
                tensor = _cast(new, builtin_type(old.type))
                old.replace_all_uses_with(_create("torch_c.from_builtin_tensor", old.type, tensor))
        op.erase()

    def _tensor(self, operand: Buffer, value: Any, declared: Any) -> Any:
        if str(value.type) == _NONE:
            empty = ir.Type.parse(tensor_type(operand.dtype, (0,) * declared.rank))
            return _cast(_create("tensor.empty", empty), declared)
        tensor = _create("torch_c.to_builtin_tensor", builtin_type(value.type), value)
        return _cast(tensor, declared)

    # -- numbers

    def _number(self, scalar: Scalar, value: Any) -> Any:
        kind = str(value.type)
        if kind not in NUMBERS:
            raise self._site.refusal(
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
        raise self._site.refusal(
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
        raise self._site.refusal(
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

"""One operator of the torch dialect that stands for a kernel: checked, and made a call of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.ir.signature import (
    input_types,
    output_types,
    tensor_type,
)
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.link.call_site import Fitting, place_of, resolve
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.dialects.torch_types import NUMBERS, builtin_type
from custom_dispatch.link.mlir_arguments import arrange, constant_of, number_of
from custom_dispatch.link.operations import cast, create

_LOCATION = re.compile(r'"([^"]+)":(\d+)')
_NONE = "!torch.none"
_ONNX = "onnx."
_ONNX_ATTRIBUTE = "torch.onnx."
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
    values = list(op.operands)
    attributes = {
        key.removeprefix(_ONNX_ATTRIBUTE): op.attributes[key]
        for key in op.attributes
        if key.startswith(_ONNX_ATTRIBUTE)
    }
    if name.startswith(_ONNX):
        values = arrange(what, item, values, attributes)
    operands = [_type_of(value) for value in values]
    results = [builtin_type(value.type) or value.type for value in op.results]
    fitting = resolve(what, item, operands, results)
    symbol = callees.declare(module, item, fitting.signature, fitting.kernel)
    _Replacement(op, values, fitting).replace(symbol)


def _type_of(value: Any) -> ir.Type | None:
    """A value's type; None for a tensor that is absent, and for a number beside the operands."""
    if value is None or isinstance(value, ir.Attribute) or str(value.type) == _NONE:
        return None
    return builtin_type(value.type) or value.type


class _Replacement:
    def __init__(self, op: ir.Operation, values: Sequence[Any], fitting: Fitting) -> None:
        self._op = op
        self._values = values
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
                for operand, value, kind in zip(kernel.arguments, self._values, types, strict=True)
            ]
            call = ir.Operation.create(
                "func.call",
                results=[ir.Type.parse(kind) for kind in output_types(kernel, self._signature)],
                operands=values,
                attributes={"callee": ir.FlatSymbolRefAttr.get(symbol)},
            )
            for old, new in zip(list(op.results), list(call.results), strict=True):
                tensor = cast(new, builtin_type(old.type))
                old.replace_all_uses_with(create("torch_c.from_builtin_tensor", old.type, tensor))
        op.erase()

    def _tensor(self, operand: Buffer, value: Any, declared: Any) -> Any:
        if value is None or str(value.type) == _NONE:
            empty = ir.Type.parse(tensor_type(operand.dtype, (0,) * declared.rank))
            return cast(create("tensor.empty", empty), declared)
        tensor = create("torch_c.to_builtin_tensor", builtin_type(value.type), value)
        return cast(tensor, declared)

    # -- numbers

    def _number(self, scalar: Scalar, value: Any) -> Any:
        if isinstance(value, ir.Attribute):
            return self._constant(scalar, value)
        kind = str(value.type)
        if kind not in NUMBERS:
            raise self._site.refusal(
                f"has {kind} for the scalar `{scalar.name}`", f"a number for {scalar.dtype}"
            )
        wanted = ir.Type.parse(scalar.argument_type)
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name in _CONSTANTS:
            return self._constant(scalar, owner.attributes["value"])
        conversion, plain = NUMBERS[kind]
        number = create(f"torch_c.to_{conversion}", ir.Type.parse(plain), value)
        if str(wanted) == plain:
            return number
        if kind == "!torch.float" and scalar.dtype.is_float:
            return create("arith.truncf", wanted, number)
        raise self._site.refusal(
            f"has {kind} for the scalar `{scalar.name}`, which {scalar.dtype} may not hold",
            "a number that is written in the model, or one of the kernel's type",
            'declare the scalar as "i64" for a number that the model computes.',
        )

    def _constant(self, scalar: Scalar, attribute: ir.Attribute) -> Any:
        wanted = ir.Type.parse(scalar.argument_type)
        number = number_of(self._site, scalar, attribute)
        held = constant_of(self._site, scalar, number, wanted)
        return create("arith.constant", wanted, value=held)

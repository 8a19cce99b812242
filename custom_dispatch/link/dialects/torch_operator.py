"""One operator of the torch dialect that stands for a kernel: checked, and made a call of it."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.link.call_site import CallSite, place_of, resolve
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.dialects.torch_types import NUMBERS, builtin_type
from custom_dispatch.link.mlir_arguments import arrange, constant_of
from custom_dispatch.link.operations import cast, create, empty_tensor

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
    rest = iter(values)

    def passed(argument: Buffer | Scalar, kind: ir.Type) -> Any:
        value = next(rest)
        if isinstance(argument, Scalar):
            return _number(fitting.site, argument, value)
        if value is None or str(value.type) == _NONE:
            return empty_tensor(kind)
        return cast(create("torch_c.to_builtin_tensor", builtin_type(value.type), value), kind)

    with op.location, ir.InsertionPoint(op):
        called = callees.call(module, item, fitting.kernel, fitting.signature, passed)
        for old, new in zip(list(op.results), called, strict=True):
            tensor = cast(new, builtin_type(old.type))
            old.replace_all_uses_with(create("torch_c.from_builtin_tensor", old.type, tensor))
    op.erase()


def _type_of(value: Any) -> ir.Type | None:
    """A value's type; None for a tensor that is absent, and for a number beside the operands."""
    if value is None or isinstance(value, ir.Attribute) or str(value.type) == _NONE:
        return None
    return builtin_type(value.type) or value.type


def _number(site: CallSite, scalar: Scalar, value: Any) -> Any:
    if isinstance(value, ir.Attribute):
        return constant_of(site, scalar, value)
    kind = str(value.type)
    if kind not in NUMBERS:
        raise site.refusal(
            f"has {kind} for the scalar `{scalar.name}`", f"a number for {scalar.dtype}"
        )
    owner = owner_of(value)
    if owner is not None and owner.name in _CONSTANTS:
        return constant_of(site, scalar, owner.attributes["value"])
    conversion, plain = NUMBERS[kind]
    number = create(f"torch_c.to_{conversion}", ir.Type.parse(plain), value)
    if scalar.argument_type == plain:
        return number
    if kind == "!torch.float" and scalar.dtype.is_float:
        return create("arith.truncf", ir.Type.parse(scalar.argument_type), number)
    raise site.refusal(
        f"has {kind} for the scalar `{scalar.name}`, which {scalar.dtype} may not hold",
        "a number that is written in the model, or one of the kernel's type",
        'declare the scalar as "i64" for a number that the model computes.',
    )

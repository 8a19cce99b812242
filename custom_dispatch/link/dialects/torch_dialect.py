"""Models in MLIR's torch dialect: from PyTorch, through the importer that comes with IREE.

An operator that no dialect knows arrives as

    torch.operator "torch.NAMESPACE.KERNEL"(%x, %epsilon) : (!torch.vtensor<[?,8],f32>, ...) -> ...

It becomes a call of the function `@KERNEL` over tensors, as every model calls a kernel; then IREE's
own passes convert the rest of the model. What comes out is linked like any other model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from iree.compiler import ir, passmanager
from iree.compiler.dialects import func

from custom_dispatch.errors import LinkError, ModelError
from custom_dispatch.ir.compiler_tool import convert_input
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.link.call_site import CallSite, place_of, resolve
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.corrections.torch_operators import correct_operators
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.dialects.torch_types import NUMBERS, builtin_type
from custom_dispatch.link.mlir_arguments import arrange, constant_of
from custom_dispatch.link.operations import (
    callee_of,
    cast,
    create,
    empty_tensor,
    functions_of,
    has_operation,
    is_declaration,
    is_public,
    name_of,
    operations_of,
    symbols_of,
    type_of,
)

OPERATOR = "torch.operator"
_FROM = "torch_c.from_"
_TO = "torch_c.to_"
# IREE would make each public function one over buffers, without a word on their types (IREE,
# compiler/plugins/input/Torch/InputConversion/FuncConversion.cpp). It passes over those with this.
_KEEP = "iree.abi.stub"
_TENSORS = "builtin.module(torch-func-backend-type-conversion)"
"""torch-mlir's pass: functions take and return tensors and numbers in place of torch's."""
_ONNX = "onnx."
DEFINITION = "custom_dispatch.definition"
"""Marks functions that compute what operators do which IREE does not know; those name them."""
_VERSION = "torch.onnx_meta.opset_version"


def is_torch(module: ir.Module) -> bool:
    """Whether a module has operations of the torch dialect, or of what becomes of some.

    A function that returns its arguments has its types alone.
    """
    has_types = any(map(_has_torchs_types, functions_of(module)))
    return has_types or has_operation(module, "torch.", "tm_tensor.")


def _has_torchs_types(function: ir.Operation) -> bool:
    return "!torch." in str(type_of(function))


def convert_torch(
    module: ir.Module, kernels: Mapping[str, Kernel | Choice], *, has_patterns: bool = False
) -> tuple[bytes, Mapping[str, Kernel | Choice]]:
    """A model over tensors that calls kernels, as MLIR bytecode; and the functions that stand for
    them, by symbol.

    - `module`: the model; it is changed.
    - `has_patterns`: whether patterns are looked for in what it is converted to.
    """
    with module.context, ir.Location.unknown():
        _call_definitions(module)
        callees = Callees(name_of(op) for op in symbols_of(module))
        others = _call_kernels(module, kernels, callees)
        passmanager.PassManager.parse(_TENSORS).run(module.operation)
        for op in functions_of(module):
            if is_public(op) and not is_declaration(op) and not _has_torchs_types(op):
                op.attributes[_KEEP] = ir.UnitAttr.get()
        _share_version(functions_of(module))
        correct_operators(module, widens=not has_patterns)
    done = convert_input(module)
    if done.returncode != 0:
        said = "\n".join(line for line in done.stderr.splitlines() if ": error: " in line)
        for name, place in others.items():
            if f'"{name}"' not in (said or done.stderr):
                continue
            if name.startswith(_ONNX):
                raise LinkError(
                    f"IREE does not convert the operator `{name}`{place}, at least not with these "
                    "attributes, inputs and types.",
                    expected="what IREE converts, or a node that a kernel takes",
                    next_step="export the model in another way, or replace the node with a "
                    "kernel: cd.onnx.Pattern.",
                )
            raise LinkError(
                f"The model calls the operator `{name.removeprefix('torch.')}`{place}, which "
                "IREE does not know, and no kernel has that name.",
                expected=f"a kernel that is given: {', '.join(sorted(kernels))}"
                if kernels
                else "operators of PyTorch that IREE knows, since no kernel is given",
                next_step="give the kernel too, or write the model without the operator.",
            )
        raise ModelError(
            "IREE cannot convert the model from the torch dialect.",
            next_step="write the model without the operation that the message names:",
            log=_errors(done.stderr),
        )
    return done.stdout, callees.kernels


def _share_version(functions: Sequence[ir.Operation]) -> None:
    """Say ONNX's version in all functions of a model from ONNX: IREE's conversion asks each."""
    versions = [op.attributes[_VERSION] for op in functions if _VERSION in op.attributes]
    for op in functions if versions else ():
        if _VERSION not in op.attributes:
            op.attributes[_VERSION] = versions[0]


def _errors(log: str) -> str:
    """The compiler's messages without the IR that it prints after them."""
    lines = [line for line in log.splitlines() if ": error: " in line or ": note: called" in line]
    return "\n".join(line[:400] for line in lines[:10]) or log[:4000]


def _call_kernels(
    module: ir.Module, kernels: Mapping[str, Kernel | Choice], callees: Callees
) -> dict[str, str]:
    """Call kernels in place of their operators; return the other operators, and where they are."""
    others: dict[str, str] = {}
    for op in operations_of(module, OPERATOR):
        name = str(ir.StringAttr(op.attributes["name"]).value)
        kernel = kernels.get(kernel_name(name))
        if kernel is None:
            others.setdefault(name, place_of(op))  # IREE knows some
            continue
        replace_operator(op, name, kernel, module, callees)
    return others


def _call_definitions(module: ir.Module) -> None:
    """Call what defines an operator in its place, where the model has a function for that."""
    for op in operations_of(module, OPERATOR):
        name = op.attributes.get(f"torch.onnx.{DEFINITION}")
        if name is None:
            continue
        with op.location, ir.InsertionPoint(op):
            results = [item.type for item in op.results]
            call = func.CallOp(results, ir.StringAttr(name).value, list(op.operands))
        for before, after in zip(op.results, call.results, strict=True):
            before.replace_all_uses_with(after)
        op.erase()
    if any(DEFINITION in op.attributes for op in functions_of(module)):
        passmanager.PassManager.parse("builtin.module(inline,symbol-dce)").run(module.operation)


def kernel_name(operator: str) -> str:
    """The KERNEL of "torch.NAMESPACE.KERNEL", maybe with an overload; empty if there is none."""
    parts = operator.split(".")
    return parts[1] if operator.startswith(_ONNX) else parts[2] if len(parts) > 2 else ""


_FUNCTION_ATTRIBUTES = ("sym_name", "sym_visibility", "function_type", "iree.reflection")


def tidy_converted(module: ir.Module) -> None:
    """Remove casts that cancel out, and make functions of the util dialect those of func again.

    The latter are what a model's checks are worked out from: see `link/preflight.py`.
    """
    with module.context, ir.Location.unknown():
        _drop_casts(module)
        functions = [op for op in functions_of(module) if op.name == "util.func"]
        if not any(_is_irees(op) for op in functions):
            for op in functions:
                _to_func(op)


def _is_irees(op: ir.Operation) -> bool:
    """Whether IREE has made a function over buffers of it, which stays as it is."""
    kind = type_of(op)
    return any("!hal." in str(item) for item in [*kind.inputs, *kind.results])


def _drop_casts(module: ir.Module) -> None:
    """Casts from tensors and numbers to torch's, and straight back."""
    every = operations_of(module)
    begins = [op for op in every if op.name.startswith(_FROM)]
    for op in [op for op in every if op.name.startswith(_TO)]:
        owner = op.operands[0].owner
        if isinstance(owner, ir.Block) or not owner.name.startswith(_FROM):
            continue
        value = owner.operands[0]
        if value.type != op.result.type:
            with ir.InsertionPoint(op):
                value = cast(value, op.result.type)
        op.result.replace_all_uses_with(value)
        op.erase()
    for op in begins:
        if not list(op.result.uses):
            op.erase()


def _to_func(op: ir.Operation) -> None:
    attributes = {
        name: op.attributes[name] for name in _FUNCTION_ATTRIBUTES if name in op.attributes
    }
    for name in ("arg_attrs", "res_attrs"):  # how somebody wants it to be called
        if name in op.attributes and "iree.abi." in str(op.attributes[name]):
            attributes[name] = op.attributes[name]
    with ir.InsertionPoint(op), op.location:
        function = ir.Operation.create("func.func", regions=1, attributes=attributes)
    for block in list(op.regions[0].blocks):
        block.append_to(function.regions[0])
    op.erase()
    for inner in operations_of(function, "util.call", "util.return"):
        results, operands = [each.type for each in inner.results], list(inner.operands)
        with ir.InsertionPoint(inner), inner.location:
            if inner.name == "util.return":
                func.ReturnOp(operands)
            else:
                new = func.CallOp(results, callee_of(inner), operands)
                for old, result in zip(list(inner.results), list(new.results), strict=True):
                    old.replace_all_uses_with(result)
        inner.erase()


_NONE = "!torch.none"
_ONNX_ATTRIBUTE = "torch.onnx."
_CONSTANTS = ("torch.constant.int", "torch.constant.float", "torch.constant.bool")


def replace_operator(
    op: ir.Operation, name: str, item: Kernel | Choice, module: ir.Module, callees: Callees
) -> None:
    """Put a call of a kernel's function in the place of an operator.

    - `name`: the operator's name: "torch.NAMESPACE.KERNEL".
    - `module`, `callees`: where that function is, or is declared.
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
    site, signature = resolve(what, item, operands, results)
    rest = iter(values)

    def passed(argument: Buffer | Scalar, kind: ir.Type) -> Any:
        value = next(rest)
        if isinstance(argument, Scalar):
            return _number(site, argument, value)
        if value is None or str(value.type) == _NONE:
            return empty_tensor(kind)
        return cast(create("torch_c.to_builtin_tensor", builtin_type(value.type), value), kind)

    with op.location, ir.InsertionPoint(op):
        called = callees.call(module, item, site.kernel, signature, passed)
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

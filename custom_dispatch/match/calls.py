"""A call of a kernel in the place of what it computes, in the model's dialect."""

from collections.abc import Callable, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.link.constants import shortest
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.dialects import torch_types
from custom_dispatch.link.mlir_arguments import constant
from custom_dispatch.link.operations import cast, create, empty_tensor
from custom_dispatch.match.known_sizes import number_for, signature_of
from custom_dispatch.match.pattern import fixed_numbers
from custom_dispatch.match.state import Match
from custom_dispatch.match.types import as_the_kernels, dialect_of, inverse, transpose

NAMESPACE = "custom_dispatch"
"""Of the operators that stand for kernels in the torch dialect."""
Values = Callable[[ir.Value], ir.Value]
"""What stands in the place of a value that another kernel gives by now."""


def scalar_of(match: Match, name: str) -> Any:
    """What a place has for a scalar of the kernel: a number, or a value of the model."""
    fixed = fixed_numbers(match.example.pattern)
    if name in fixed:
        value = fixed[name]
        return number_for(match, name, value) if callable(value) else value
    return match.scalars.get(name, match.operands.get(name))


def call_function(
    match: Match, current: Values, *, module: ir.Module, callees: Callees
) -> list[ir.Value]:
    """Call a kernel's function at the insertion point; return what has the types of the results."""
    pattern = match.example.pattern
    signature = signature_of(match)

    def passed(item: Any, kind: ir.Type) -> ir.Value:
        if isinstance(item, Scalar):
            return _number(match, item, kind, current)
        given = _given(match, item, current)
        return empty_tensor(kind) if given is None else cast(given, kind)

    return _as_in_model(
        match, callees.call(module, pattern.item, pattern.kernel, signature, passed)
    )


def _given(match: Match, operand: Buffer, current: Values) -> ir.Value | None:
    """A tensor of the model with its axes as the kernel takes them; None where it is absent."""
    value = match.operands.get(operand.name)
    if value is None:
        return None
    axes = match.example.pattern.axes.get(operand.name)
    back = None if axes is None else inverse(axes)
    return transpose(current(value), back, dialect_of(match.results[0].owner))


def _as_in_model(match: Match, called: Sequence[ir.Value]) -> list[ir.Value]:
    """What a kernel gives, with the axes and types of what is in the model."""
    pattern, results = match.example.pattern, []
    for item, old, new in zip(pattern.kernel.outputs, match.results, called, strict=True):
        axes = pattern.axes.get(item.name)
        kept = cast(new, as_the_kernels(old.type, axes))
        results.append(cast(transpose(kept, axes, dialect_of(old.owner)), old.type))
    return results


def _number(match: Match, scalar: Scalar, kind: ir.Type, current: Values) -> ir.Value:
    value = scalar_of(match, scalar.name)
    attribute = constant(scalar, value)
    if attribute is not None:
        return create("arith.constant", kind, value=attribute)
    value = current(value)
    if isinstance(value.type, ir.RankedTensorType):
        value = create("tensor.extract", ir.RankedTensorType(value.type).element_type, value)
    if value.type == kind:
        return value
    if str(value.type) == "index":
        return create("arith.index_cast", kind, value)
    return create("arith.extf", kind, value)


def call_operator(match: Match, current: Values) -> list[ir.Value]:
    """Call a kernel's operator, in the torch dialect; as `call_function`."""
    pattern = match.example.pattern
    values = []
    for item in pattern.kernel.arguments:
        if isinstance(item, Scalar):
            found = scalar_of(match, item.name)
            is_value = isinstance(found, ir.Value)
            values.append(current(found) if is_value else torch_types.constant(found))
        else:
            given = _given(match, item, current)
            values.append(_made(match, item, current) if given is None else given)
    kinds = [
        as_the_kernels(old.type, pattern.axes.get(item.name))
        for item, old in zip(pattern.kernel.outputs, match.results, strict=True)
    ]
    return _as_in_model(match, _operator(pattern.item.name, kinds, values))


def _operator(name: str, kinds: Sequence[ir.Type], values: Sequence[ir.Value]) -> list[ir.Value]:
    of = {"name": ir.StringAttr.get(f"torch.{NAMESPACE}.{name}")}
    call = ir.Operation.create("torch.operator", results=kinds, operands=values, attributes=of)
    return list(call.results)


def _made(match: Match, item: Buffer, current: Values) -> ir.Value:
    """An operand that the place does not have: what another kernel makes of others, or nothing."""
    kernel = match.example.pattern.made.get(item.name)
    given = [match.operands.get(each.name) for each in kernel.arguments] if kernel else []
    values = [current(value) for value in given if isinstance(value, ir.Value)]
    if kernel is None or len(values) < len(given):
        return torch_types.constant(None)
    name = ir.StringAttr.get(f"torch.{NAMESPACE}.{kernel.name}")
    for use in values[0].uses:  # an earlier place has it, of the same operands
        op = use.owner.operation
        is_there = op.block == ir.InsertionPoint.current.block and list(op.operands) == values
        if is_there and "name" in op.attributes and op.attributes["name"] == name:
            found: ir.Value = op.results[0]
            return found
    sizes = ",".join("?" * item.rank)
    kind = ir.Type.parse(f"!torch.vtensor<[{sizes}],s{item.dtype.mlir}>")
    return _operator(kernel.name, [kind], values)[0]


def numbers_of(match: Match) -> dict[str, Any]:
    """The numbers that a place has for the kernel's scalars."""
    found = {
        item.name: scalar_of(match, item.name)
        for item in match.example.pattern.kernel.arguments
        if isinstance(item, Scalar)
    }
    return {
        name: shortest(value)
        for name, value in found.items()
        if isinstance(value, bool | int | float)
    }

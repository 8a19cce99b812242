"""What IREE's conversion of the torch dialect leaves, made a model as others write it."""

from __future__ import annotations

from iree.compiler import ir

from custom_dispatch.link.operations import cast, operations_of
from custom_dispatch.link.symbols import functions_of, type_of

_FROM = "torch_c.from_"
_TO = "torch_c.to_"
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
        is_call = inner.name == "util.call"
        with ir.InsertionPoint(inner), inner.location:
            new = ir.Operation.create(
                "func.call" if is_call else "func.return",
                results=[result.type for result in inner.results],
                operands=list(inner.operands),
                attributes={"callee": inner.attributes["callee"]} if is_call else {},
            )
        for old, result in zip(list(inner.results), list(new.results), strict=True):
            old.replace_all_uses_with(result)
        inner.erase()

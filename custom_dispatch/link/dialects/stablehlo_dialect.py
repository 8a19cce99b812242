"""Models in the StableHLO dialect: from JAX, TensorFlow, and whatever else exports it.

A kernel is called in one of two ways:

    stablehlo.custom_call @NAMESPACE.KERNEL(%x, %weight) {mhlo.backend_config = {epsilon = 1.0e-5}}
    stablehlo.composite "NAMESPACE.KERNEL" %x {composite_attributes = ..., decomposition = @f}

Both become a call of the kernel's function, as every model calls a kernel, with the attributes as
its scalars. IREE knows no custom call; a composite that no kernel is given for is its
decomposition. Then IREE's own passes convert the rest of the model, and what comes out is linked
like any other.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.errors import LinkError, ModelError
from custom_dispatch.ir.compiler_tool import convert_input
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.link import operations
from custom_dispatch.link.call_site import CallSite, place_of, resolve
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.dialects.stablehlo_sizes import write_out_sizes
from custom_dispatch.link.mlir_arguments import arrange, constant_of

_CUSTOM_CALL = "stablehlo.custom_call"
_COMPOSITE = "stablehlo.composite"
# The attributes of JAX's FFI calls before and since version 4 of their interface.
_CONFIGURATIONS = ("mhlo.backend_config", "backend_config")


def convert_stablehlo(
    module: ir.Module, others: Mapping[str, str], kernels: Mapping[str, Kernel | Choice]
) -> bytes:
    """The same model over tensors alone, as MLIR bytecode.

    `others`: the custom calls in it, and their places.
    """
    write_out_sizes(module)
    done = convert_input(module)
    if done.returncode == 0:
        return done.stdout
    for name, place in others.items():
        if any(f"{before}{name}" in done.stderr for before in ("custom_call @", 'target_name = "')):
            raise LinkError(
                f"The model has a custom call of `{name}`{place}, which IREE does not know, and no "
                "kernel has that name.",
                expected=f"a kernel that is given: {', '.join(sorted(kernels))}",
                next_step="give the kernel too, or write the model without the call.",
            )
    lines = [line[:400] for line in done.stderr.splitlines() if ": error: " in line][:10]
    raise ModelError(
        "IREE cannot convert the StableHLO model.",
        next_step="write the model without the operation that the message names:",
        log="\n".join(lines) or done.stderr[:4000],
    )


def call_kernels(
    module: ir.Module, kernels: Mapping[str, Kernel | Choice], callees: Callees
) -> dict[str, str]:
    """Call kernels in place of what stands for them; return other custom calls, and where.

    - `module`: the model, in whose context this is; it is changed.
    - `callees`: where the functions are declared that stand for them.
    """
    others: dict[str, str] = {}
    decompositions: set[str] = set()
    for op in operations.operations_of(module, _CUSTOM_CALL):
        name = str(ir.StringAttr(op.attributes["call_target_name"]).value)
        item = _named(name, kernels)
        if item is None:
            others.setdefault(name, place_of(op))
            continue
        what = f"The custom call of `{name}`{place_of(op)}"
        attributes: dict[str, ir.Attribute] = {}
        for key in _CONFIGURATIONS:
            if key in op.attributes:
                attributes |= _dictionary(what, op.attributes[key])
        _replace(op, what, item, _without_shapes(op), attributes, module, callees)
    for op in operations.operations_of(module, _COMPOSITE):
        name = str(ir.StringAttr(op.attributes["name"]).value)
        item = _named(name, kernels)
        if item is None:
            continue
        what = f"The composite `{name}`{place_of(op)}"
        attributes = {}
        if "composite_attributes" in op.attributes:
            attributes = _dictionary(what, op.attributes["composite_attributes"])
        decomposition = str(ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value)
        try:
            _replace(op, what, item, list(op.operands), attributes, module, callees)
        except LinkError:
            if isinstance(item, Kernel):
                raise
            continue  # of a choice that has none for it, the decomposition is the last resort
        decompositions.add(decomposition)
    _drop_unused(module, decompositions)
    return others


def _named(name: str, kernels: Mapping[str, Kernel | Choice]) -> Kernel | Choice | None:
    """The kernel of "KERNEL" or "NAMESPACE.KERNEL"."""
    return kernels.get(name) or kernels.get(name.rpartition(".")[2])


def _dictionary(what: str, attribute: ir.Attribute) -> dict[str, ir.Attribute]:
    if isinstance(attribute, ir.DictAttr):
        return {item.name: item.attr for item in attribute}
    if isinstance(attribute, ir.StringAttr) and not attribute.value:
        return {}
    raise LinkError(
        f"{what} has the attributes {str(attribute)[:80]}.",
        expected="a dictionary: {epsilon = 1.0e-5 : f32}",
        next_step="pass numbers by their names; JAX does where they are keywords of an FFI call.",
    )


def _without_shapes(op: ir.Operation) -> list[Any]:
    """A custom call's operands but for those that only say what sizes its results have."""
    dropped: set[int] = set()
    if "indices_of_shape_operands" in op.attributes:
        dropped = {int(index) for index in ir.DenseIntElementsAttr(
            op.attributes["indices_of_shape_operands"])}  # fmt: skip
    return [value for index, value in enumerate(op.operands) if index not in dropped]


def _drop_unused(module: ir.Module, symbols: set[str]) -> None:
    """Remove decompositions that nothing refers to any more: one may have a kernel's name."""
    for op in operations.operations_of(module) if symbols else ():
        for name in op.attributes:
            item = op.attributes[name]
            if isinstance(item, ir.FlatSymbolRefAttr):
                symbols.discard(str(item.value))
    for op in operations.functions_of(module):
        if operations.name_of(op) in symbols and not operations.is_public(op):
            op.erase()


def _replace(
    op: ir.Operation,
    what: str,
    item: Kernel | Choice,
    given: Sequence[Any],
    attributes: Mapping[str, ir.Attribute],
    module: ir.Module,
    callees: Callees,
) -> None:
    values = arrange(what, item, given, attributes)
    operands = [
        None if value is None or isinstance(value, ir.Attribute) else _signless(value.type)
        for value in values
    ]
    results = [_signless(value.type) for value in op.results]
    site, signature = resolve(what, item, operands, results)
    rest = iter(values)

    def passed(argument: Buffer | Scalar, kind: ir.Type) -> Any:
        value = next(rest)
        if isinstance(argument, Scalar):
            return _number(site, argument, value)
        if value is None:
            return operations.empty_tensor(kind)
        return operations.cast(_as_type(value, _signless(value.type)), kind)

    with op.location, ir.InsertionPoint(op):
        called = callees.call(module, item, site.kernel, signature, passed)
        for old, new in zip(list(op.results), called, strict=True):
            old.replace_all_uses_with(_as_type(operations.cast(new, _signless(old.type)), old.type))
    op.erase()


def _signless(kind: ir.Type) -> ir.Type:
    """A tensor's type as kernels take it: StableHLO has unsigned integers."""
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    element = kind.element_type
    if not isinstance(element, ir.IntegerType) or element.is_signless:
        return kind
    return ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(element.width))


def _number(site: CallSite, scalar: Scalar, value: Any) -> Any:
    if isinstance(value, ir.Attribute):
        return constant_of(site, scalar, value)
    wanted = ir.Type.parse(scalar.argument_type)
    kind = _signless(value.type)
    if str(kind) != f"tensor<{wanted}>":
        raise site.refusal(
            f"has {value.type} for the scalar `{scalar.name}`",
            f"tensor<{wanted}>, or an attribute of that name",
            "convert it in the model.",
        )
    return operations.create("tensor.extract", wanted, _as_type(value, kind))


def _as_type(value: Any, kind: ir.Type) -> Any:
    """The same bits with integers of another signedness."""
    return (
        value if value.type == kind else operations.create("stablehlo.bitcast_convert", kind, value)
    )

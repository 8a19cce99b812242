"""Declared functions in a model: what is declared without a body gets one, over all elements."""

from collections.abc import Mapping, Sequence

from iree.compiler import ir

from custom_dispatch.errors import LinkError, ModelError
from custom_dispatch.ir.emitter import comma, quote
from custom_dispatch.ir.guards import INVALID_ARGUMENT
from custom_dispatch.ir.tensor_types import Sizes
from custom_dispatch.kernel.function import Function
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.kernel.target import Target
from custom_dispatch.link.model import parse_content
from custom_dispatch.link.operations import (
    functions_of,
    is_declaration,
    known_sizes,
    name_of,
    operations_of,
    type_of,
)
from custom_dispatch.scalar.translate import ScalarCode, translate
from custom_dispatch.toolchain.function_source import function_ptx


def define_functions(module: ir.Module, functions: Mapping[str, Function]) -> None:
    """Give bodies to those functions of a model that stand for declared ones.

    `functions`: by symbol. Where the model has no such declaration, nothing is done.
    """
    code: dict[str, ScalarCode] = {}
    for op in functions_of(module):
        function = functions.get(name_of(op))
        if function is None or not is_declaration(op):
            continue
        if function.name not in code:
            code[function.name] = translate(function_ptx(function), function)
        text = _written(function, op, code[function.name])
        added = parse_content(text.encode(), "The generated IR")
        moved = ir.Module.parse(str(added), module.context)
        module.body.append(moved.body.operations[0])
        op.erase()


def refuse_doubles(module: ir.Module, target: Target) -> None:
    """Refuse functions that compute with f64, where IREE cannot."""
    if target.backend not in ("metal", "vulkan"):
        return
    for function in functions_of(module):
        for op in operations_of(function):
            if any(str(value.type) == "f64" for value in op.results):
                raise ModelError(
                    f"The model's function `{name_of(function)}` computes with f64, and the target "
                    f"is {target}.",
                    expected="f32 and smaller types: IREE's code for it has no f64",
                    next_step="compute in f32. Sines, cosines, powers, products of bf16 and much "
                    'of what is CUDA\'s own with library="cuda" are computed with f64, too.',
                )


def _written(function: Function, op: ir.Operation, code: ScalarCode) -> str:
    """The text of a function that computes each element, for a declaration of a model's."""
    kind = type_of(op)
    inputs = _sizes(function, function.arguments, kind.inputs, numbers=True)
    outputs = _sizes(function, function.results, kind.results)
    if len({*outputs}) != 1 or outputs[0] is None:
        raise _refusal(function, "results of several shapes", "one shape for all results")
    shape = outputs[0]
    loops = [f"d{dim}" for dim in range(len(shape))]
    head, tensors, maps, elements, lines = [], [], [], [], []
    sizes = {dim: f"%s{dim}" for dim, size in enumerate(shape) if size is not None}
    lines += [f"{name} = arith.constant {shape[dim]} : index" for dim, name in sizes.items()]
    for index, (own, given) in enumerate(zip(inputs, kind.inputs, strict=True)):
        number, item = code.arguments[index], function.arguments[index]
        head.append(f"{number if own is None else f'%t{index}'}: {given}")
        if own is None:
            continue
        places = []
        first = len(shape) - len(own)
        for axis, size in enumerate(own):
            dim = first + axis
            if not (first >= 0 and (size == 1 or None in (size, shape[dim]) or size == shape[dim])):
                fitting = "sizes that broadcast to those of the results, as numpy has it"
                raise _refusal(function, f"{given} for `{item.name}`", fitting)
            is_spread = size == 1 and shape[dim] != 1
            places.append("0" if is_spread else loops[dim])
            if is_spread or None not in (size, shape[dim]):
                continue
            name = f"%n{index}_{axis}"
            lines += [
                f"{name}_i = arith.constant {axis} : index",
                f"{name} = tensor.dim %t{index}, {name}_i : {given}",
            ]
            if sizes.setdefault(dim, name) != name:
                lines += _comparison(function, item, dim, name, sizes[dim])
        tensors.append((f"%t{index}", str(given)))
        maps.append(f"affine_map<({comma(loops)}) -> ({comma(places)})>")
        elements.append(f"{number}: {item.dtype.mlir}")
    if len(sizes) < len(shape):
        found = "a size of the results that is open, and that no operand has"
        raise _refusal(function, found, "an operand of that size, or a size that is known")
    empties = [f"%e{index}" for index in range(len(outputs))]
    open_sizes = comma(sizes[dim] for dim, size in enumerate(shape) if size is None)
    kinds, types = list(map(str, kind.results)), [item.dtype.mlir for item in function.results]
    maps += [f"affine_map<({comma(loops)}) -> ({comma(loops)})>"] * len(kinds)
    elements += [f"{name}_o: {each}" for name, each in zip(empties, types, strict=True)]
    given = f"ins({comma(n for n, _ in tensors)} : {comma(t for _, t in tensors)}) "
    parallel = comma(['"parallel"'] * len(loops))
    returned = f"({comma(kinds)})"
    lines += [
        *(f"{n} = tensor.empty({open_sizes}) : {t}" for n, t in zip(empties, kinds, strict=True)),
        f"%g:{len(kinds)} = linalg.generic {{indexing_maps = [{comma(maps)}], iterator_types = "
        f"[{parallel}]}} {given if tensors else ''}outs({comma(empties)} : {comma(kinds)}) {{",
        f"^bb0({comma(elements)}):",
        *code.lines,
        f"linalg.yield {comma(code.results)} : {comma(types)}",
        f"}} -> {returned}",
        f"{op.name.partition('.')[0]}.return "
        f"{comma(f'%g#{index}' for index in range(len(kinds)))} : {comma(kinds)}",
    ]
    start = f"{op.name} private @{name_of(op)}({comma(head)}) -> {returned} {{"
    return "\n".join([start, *lines, "}"])


def _sizes(
    function: Function, items: Sequence[Scalar], kinds: Sequence[ir.Type], *, numbers: bool = False
) -> list[Sizes | None]:
    """The sizes of tensors, whose elements are compared with what is declared; None of a number.

    `numbers`: whether there may be some.
    """
    if len(items) != len(kinds):
        what = "operands" if numbers else "results"
        raise _refusal(function, f"{len(kinds)} {what}", str(len(items)))
    found: list[Sizes | None] = []
    for item, kind in zip(items, kinds, strict=True):
        if numbers and str(kind) == item.dtype.mlir:
            found.append(None)
        elif isinstance(kind, ir.RankedTensorType) and str(kind.element_type) == item.dtype.mlir:
            found.append(known_sizes(kind))
        else:
            raise _refusal(function, f"{kind} for `{item.name}`", f"a tensor of {item.dtype.mlir}")
    return found


def _comparison(
    function: Function, item: Scalar, dim: int, size: str, other: str
) -> tuple[str, ...]:
    """What lets a call fail where a size is another than that of the results."""
    message = quote(
        f"function `{function.name}`: size {dim} of `{item.name}`, aligned with the results, is "
        "another than theirs, and a size that is open is not broadcast"
    )
    return (
        f"{size}_d = arith.cmpi ne, {size}, {other} : index",
        f"scf.if {size}_d {{",
        f"{size}_s = arith.constant {INVALID_ARGUMENT} : i32",
        f"util.status.check_ok {size}_s, {message}",
        "}",
    )


def _refusal(function: Function, found: str, expected: str) -> LinkError:
    return LinkError(
        f"The model declares function `{function.name}` with {found}.",
        expected=expected,
        next_step="correct the model's declaration of the function.",
    )

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
    code: dict[Function, ScalarCode] = {}
    for op in functions_of(module):
        function = functions.get(name_of(op))
        if function is None or not is_declaration(op):
            continue
        if function not in code:
            code[function] = translate(function_ptx(function), function)
        text = _written(function, op, code[function])
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
    """The text of a function that computes each element, for a declaration of a model's; or of one
    of numbers, which may be called in the body of a loop: to combine two of them, or for an index.
    """
    kind = type_of(op)
    inputs = _sizes(function, "operands", function.arguments, kind.inputs)
    outputs = _sizes(function, "results", function.results, kind.results)
    if len({*outputs}) != 1:
        raise _refusal(function, "results of several shapes", "one shape for all results")
    (shape,) = {*outputs}
    if shape is None:
        pairs = zip(code.arguments, kind.inputs, inputs, strict=True)
        head = [f"{name}: {given}" for name, given, sizes in pairs if sizes is None]
        if len(head) < len(inputs):
            raise _refusal(function, "a tensor, and results that are none", "tensors, or numbers")
        return _function(op, head, [*code.lines], code.results)
    places = {
        index: _dims(function, index, own, shape)
        for index, own in enumerate(inputs)
        if own is not None
    }
    sizes, lines = _compared(function, kind, shape, places)
    tensors = [f"%t{index}" for index in places]
    given = [str(kind.inputs[index]) for index in places]
    empties = [f"%e{index}" for index in range(len(outputs))]
    kinds, types = list(map(str, kind.results)), [item.dtype.mlir for item in function.results]
    loops = range(len(shape))
    maps = [_map(loops, dims) for dims in (*places.values(), *[loops] * len(kinds))]
    elements = [f"{code.arguments[i]}: {function.arguments[i].dtype.mlir}" for i in places]
    elements += [f"{name}_o: {each}" for name, each in zip(empties, types, strict=True)]
    parallel = comma(['"parallel"'] * len(loops))
    lines += [
        *(f"{n} = tensor.empty({sizes}) : {t}" for n, t in zip(empties, kinds, strict=True)),
        f"%g:{len(kinds)} = linalg.generic {{indexing_maps = [{comma(maps)}], iterator_types = "
        f"[{parallel}]}} {f'ins({comma(tensors)} : {comma(given)}) ' if tensors else ''}"
        f"outs({comma(empties)} : {comma(kinds)}) {{",
        f"^bb0({comma(elements)}):",
        *code.lines,
        f"linalg.yield {comma(code.results)} : {comma(types)}",
        f"}} -> ({comma(kinds)})",
    ]
    head = [
        f"{f'%t{index}' if index in places else code.arguments[index]}: {each}"
        for index, each in enumerate(kind.inputs)
    ]
    return _function(op, head, lines, [f"%g#{index}" for index in range(len(kinds))])


def _map(loops: Sequence[int], dims: Sequence[int | None]) -> str:
    """The affine map from loops to a tensor's axes; None is an axis that is spread."""
    places = comma("0" if dim is None else f"d{dim}" for dim in dims)
    return f"affine_map<({comma(f'd{dim}' for dim in loops)}) -> ({places})>"


def _dims(function: Function, index: int, own: Sizes, shape: Sizes) -> list[int | None]:
    """The dim of the results that each axis of an operand is; None of one that is spread."""
    found: list[int | None] = []
    for dim, size in enumerate(own, len(shape) - len(own)):
        if dim < 0 or not (size == 1 or None in (size, shape[dim]) or size == shape[dim]):
            sizes = comma("?" if each is None else str(each) for each in own)
            raise _refusal(
                function,
                f"sizes ({sizes}) of `{function.arguments[index].name}`",
                "sizes that broadcast to those of the results, as numpy has it",
            )
        found.append(None if size == 1 and shape[dim] != 1 else dim)
    return found


def _compared(
    function: Function,
    kind: ir.FunctionType,
    shape: Sizes,
    places: Mapping[int, Sequence[int | None]],
) -> tuple[str, list[str]]:
    """The open sizes of the results, and the lines that read and compare those of operands.

    `places`: by operand what `_dims` gives.
    """
    known = {dim: f"%s{dim}" for dim, size in enumerate(shape) if size is not None}
    lines = [f"{name} = arith.constant {shape[dim]} : index" for dim, name in known.items()]
    for index, dims in places.items():
        for axis, dim in enumerate(dims):
            if dim is None or not (shape[dim] is None or kind.inputs[index].is_dynamic_dim(axis)):
                continue
            name = f"%n{index}_{axis}"
            lines += [
                f"{name}_i = arith.constant {axis} : index",
                f"{name} = tensor.dim %t{index}, {name}_i : {kind.inputs[index]}",
            ]
            if known.setdefault(dim, name) != name:
                lines += _comparison(function, function.arguments[index], dim, name, known[dim])
    if len(known) < len(shape):
        found = "a size of the results that is open, and that no operand has"
        raise _refusal(function, found, "an operand of that size, or a size that is known")
    return comma(known[dim] for dim, size in enumerate(shape) if size is None), lines


def _function(
    op: ir.Operation, head: Sequence[str], lines: Sequence[str], results: Sequence[str]
) -> str:
    """The text of a function in a declaration's place.

    - `head`: its arguments with their types.
    - `results`: the values that it returns.
    """
    kinds = comma(map(str, type_of(op).results))
    start = f"{op.name} private @{name_of(op)}({comma(head)}) -> ({kinds}) {{"
    end = f"{op.name.partition('.')[0]}.return {comma(results)} : {kinds}"
    return "\n".join([start, *lines, end, "}"])


def _sizes(
    function: Function, what: str, items: Sequence[Scalar], kinds: Sequence[ir.Type]
) -> list[Sizes | None]:
    """The sizes of tensors, whose elements are compared with what is declared; None of a number.

    `what`: what the items are: "operands".
    """
    if len(items) != len(kinds):
        raise _refusal(function, f"{len(kinds)} {what}", str(len(items)))
    found: list[Sizes | None] = []
    for item, kind in zip(items, kinds, strict=True):
        if str(kind) == item.dtype.mlir:
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

"""Keeping empty tensors away from code that IREE generates.

A kernel's own wrapper never launches an empty grid. But IREE's CUDA driver launches the code that
the compiler generates whatever its grid, and a zero in it fails and leaves the device unusable
(its HIP driver skips such launches since iree-org/iree#18835). So each public function whose
results are all empty returns them at once, without running its body. A function without side
effects may do that: there is nothing it could have computed.

The sizes of the results are needed before the body runs. MLIR's own passes compute them: in a copy
of the function every kernel is replaced by its sizes alone, the result sizes are resolved
(`resolve-ranked-shaped-type-result-dims`), and what is left must be arithmetic on the arguments'
sizes. Where it is not, because a size depends on data or on an operation that does not say, the
function stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir, passmanager

from custom_dispatch.ir.arithmetic import Arithmetic
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.signature import Signature, input_types, output_types
from custom_dispatch.kernel.expr import Dim
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer

_PIPELINE = (
    "builtin.module(inline,func.func(convert-elementwise-to-linalg),"
    "resolve-ranked-shaped-type-result-dims,canonicalize,cse)"
)
_PREFIX = "custom_dispatch_"
# Operations with an effect beyond their results.
_EFFECTS = ("util.global.store", "util.global.store.indirect", "ml_program.global_store")


def write_sizes_only(kernel: Kernel, signature: Signature, dialect: str) -> str:
    """A kernel's function, computing nothing but the sizes of its results."""
    body = Emitter(1)
    types = input_types(kernel, signature)
    names = [body.fresh(operand.name) for operand in kernel.inputs]
    dims: dict[str, str | int] = {}
    for name, operand, kind in zip(names, kernel.inputs, types, strict=True):
        for axis, size in enumerate(operand.shape if isinstance(operand, Buffer) else ()):
            if not isinstance(size, Dim):
                continue
            read = f"tensor.dim {name}, {body.index(axis)} : {kind}"
            value = body.pure(read, size.name)
            # Where operands disagree, the larger size: then the kernel's wrapper runs and says so.
            known = dims.setdefault(size.name, value)
            if known != value:
                dims[size.name] = body.pure(f"arith.maxui {known}, {value} : index")
    arithmetic = Arithmetic(body, dims)
    returned = []
    results = output_types(kernel, signature)
    for operand, sizes, kind in zip(kernel.outputs, signature.outputs, results, strict=True):
        dynamic = [
            arithmetic.value(expr)
            for expr, size in zip(operand.shape, sizes, strict=True)
            if size is None
        ]
        returned.append(body.pure(f"tensor.empty({comma(dynamic)}) : {kind}"))
    body.line(f"{dialect}.return {comma(returned)} : {comma(results)}")
    parameters = comma(f"{name}: {kind}" for name, kind in zip(names, types, strict=True))
    head = f"{dialect}.func private @{kernel.name}({parameters}) -> ({comma(results)}) {{"
    return "\n".join([head, *body.lines, "}"]) + "\n"


def result_sizes(model: ir.Module, sizes_only: str, functions: Sequence[str]) -> dict[str, str]:
    """For each function whose result sizes can be computed first, one that computes them.

    Parameters
    ----------
    model
        The model, with kernels declared and not yet linked. It stays as it is.
    sizes_only
        The kernels as `write_sizes_only` writes them.
    functions
        Names of functions that `can_be_guarded`.

    Returns
    -------
    dict
        By function, the text of a private function @custom_dispatch_sizes_NAME that takes the same
        arguments and returns every dynamic size of the results.
    """
    copy = ir.Module.parse(str(model), model.context)
    operations = {_name(op): op for op in _functions(copy)}
    replacements = ir.Module.parse(sizes_only, model.context)
    for op in list(replacements.body.operations):
        name = _name(op.operation)
        operations[name].erase()
        copy.body.append(op)
    for name in functions:
        _return_sizes(operations[name], f"{_PREFIX}sizes_{name}")
    try:
        passmanager.PassManager.parse(_PIPELINE, model.context).run(copy.operation)
    except ir.MLIRError:
        return {}  # an operation the passes do not take: guard nothing
    found = {}
    for op in _functions(copy):
        name = _name(op).removeprefix(f"{_PREFIX}sizes_")
        if name in functions and _is_arithmetic(op):
            # Public until here: the passes drop private functions that nobody calls.
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            found[name] = str(op)
    return found


def _functions(module: ir.Module) -> list[ir.Operation]:
    operations = [op.operation for op in module.body.operations]
    return [op for op in operations if op.name in ("func.func", "util.func")]


def _name(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


def has_effects(module: ir.Module, kernels: Sequence[str]) -> bool:
    """Whether a model does anything besides computing results from arguments."""
    external = [
        op for op in _functions(module) if not op.regions[0].blocks and _name(op) not in kernels
    ]
    if external:
        return True
    found = False

    def visit(op: ir.Operation) -> Any:
        nonlocal found
        found = found or op.name in _EFFECTS
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def can_be_guarded(op: ir.Operation) -> bool:
    """Whether a function has one block, and results that may all be empty."""
    if op.name != "func.func" or len(op.regions[0].blocks) != 1:
        return False
    results = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).results
    return bool(results) and all(_may_be_empty(kind) for kind in results)


def _may_be_empty(kind: Any) -> bool:
    if not isinstance(kind, ir.RankedTensorType) or kind.encoding is not None:
        return False
    return any(kind.is_dynamic_dim(axis) for axis in range(kind.rank))


def _return_sizes(op: ir.Operation, name: str) -> None:
    """Make a function return its results' dynamic sizes instead of the results."""
    block = op.regions[0].blocks[0]
    terminator = block.operations[len(block.operations) - 1].operation
    index = ir.IndexType.get()
    sizes = []
    with ir.InsertionPoint(terminator):
        for value in terminator.operands:
            for axis in range(value.type.rank):
                if value.type.is_dynamic_dim(axis):
                    number = ir.Operation.create(
                        "arith.constant",
                        results=[index],
                        attributes={"value": ir.IntegerAttr.get(index, axis)},
                    )
                    size = ir.Operation.create(
                        "tensor.dim", results=[index], operands=[value, number.result]
                    )
                    sizes.append(size.result)
        ir.Operation.create("func.return", operands=sizes)
    terminator.erase()
    inputs = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs
    kind = ir.FunctionType.get(inputs, [index] * len(sizes))
    op.attributes["function_type"] = ir.TypeAttr.get(kind)
    op.attributes["sym_name"] = ir.StringAttr.get(name)
    for extra in ("arg_attrs", "res_attrs", "iree.reflection"):
        if extra in op.attributes:
            del op.attributes[extra]


def _is_arithmetic(op: ir.Operation) -> bool:
    """Whether a function computes with sizes alone: nothing makes a tensor, or reads one."""
    for inner in op.regions[0].blocks[0].operations:
        operation = inner.operation
        if operation.regions or operation.name.endswith(".call"):
            return False
        values = [*operation.results]
        if operation.name != "tensor.dim":
            values += operation.operands
        if any(isinstance(value.type, ir.ShapedType) for value in values):
            return False
    return True


def write_guard(op: ir.Operation) -> tuple[str, str]:
    """The guarded function that takes a function's place, and the name its body moves to.

    It has the type and name of the original, asks @custom_dispatch_sizes_NAME for the sizes, and
    calls the body only if a result has elements.
    """
    name = _name(op)
    moved = f"{_PREFIX}body_{name}"
    kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    body = Emitter(1)
    arguments = [body.fresh(f"argument{index}") for index in range(len(kind.inputs))]
    results: list[Any] = list(kind.results)
    counts = [sum(r.is_dynamic_dim(axis) for axis in range(r.rank)) for r in results]
    sizes = [body.fresh("size") for _ in range(sum(counts))]
    inputs = comma(map(str, kind.inputs))
    body.line(
        f"{comma(sizes)} = func.call {_symbol(f'{_PREFIX}sizes_{name}')}({comma(arguments)}) : "
        f"({inputs}) -> ({comma(['index'] * len(sizes))})"
    )
    zero = body.index(0)
    runs = ""
    start = 0
    per_result = []
    for count in counts:
        mine = sizes[start : start + count]
        start += count
        per_result.append(mine)
        filled = ""
        for size in mine:
            positive = body.pure(f"arith.cmpi ne, {size}, {zero} : index")
            filled = body.pure(f"arith.andi {filled}, {positive} : i1") if filled else positive
        runs = body.pure(f"arith.ori {runs}, {filled} : i1") if runs else filled
    types = comma(map(str, results))
    names = [body.fresh("result") for _ in results]
    body.line(f"{comma(names)} = scf.if {runs} -> ({types}) {{")
    inner = body.nested()
    computed = [inner.fresh("computed") for _ in results]
    inner.line(
        f"{comma(computed)} = func.call {_symbol(moved)}({comma(arguments)}) : "
        f"({inputs}) -> ({types})"
    )
    inner.line(f"scf.yield {comma(computed)} : {types}")
    body.absorb(inner)
    body.line("} else {")
    skip = body.nested()
    empty = [
        skip.result(f"flow.tensor.empty : {kind}{{{comma(mine)}}}", "empty")
        for kind, mine in zip(results, per_result, strict=True)
    ]
    skip.line(f"scf.yield {comma(empty)} : {types}")
    body.absorb(skip)
    body.line("}")
    tied = [
        body.result(f"flow.tensor.tie_shape {value} : {kind}{{{comma(mine)}}}")
        for value, kind, mine in zip(names, results, per_result, strict=True)
    ]
    body.line(f"func.return {comma(tied)} : {types}")
    parameters = comma(
        f"{argument}: {kind}" for argument, kind in zip(arguments, kind.inputs, strict=True)
    )
    head = f"func.func @{quote(name)}({parameters}) -> ({types}) {{"
    return "\n".join([head, *body.lines, "}"]) + "\n", moved


def _symbol(name: str) -> str:
    return f"@{quote(name)}"

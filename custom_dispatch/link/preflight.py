"""What is done before a model's function runs: the kernels' checks, and the results' sizes.

Both are arithmetic on the sizes of the arguments, once MLIR's own passes have worked on a copy of
the function in which every kernel is replaced by its checks and tensors of its results' sizes
(`resolve-ranked-shaped-type-result-dims`). What is left then is the function's preflight. Where
something else is left, because a size depends on data or on an operation that does not say, the
function has none, and its kernels are checked one by one where they are called.

- The checks in front of everything leave nothing between two dispatches. Between them, they would
  make IREE submit every dispatch by itself (benchmarks/results/dispatch_chain_h200.json).
- IREE's CUDA driver launches the code that the compiler generates whatever its grid, and a zero in
  it fails and leaves the device unusable (its HIP driver skips such launches since
  iree-org/iree#18835). So a function whose results are all empty returns them at once: without side
  effects, there is nothing it could have computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir, passmanager
from iree.compiler.dialects import func

from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.function_body import Value, call_body
from custom_dispatch.ir.index_arithmetic import any_filled
from custom_dispatch.link.operations import (
    functions_of,
    is_declaration,
    known_sizes,
    last_of,
    name_of,
    open_sizes,
    operations_of,
    set_type,
    type_of,
    updates_of,
)
from custom_dispatch.link.public_functions import append_text

_PIPELINE = (
    "builtin.module(inline,func.func(convert-elementwise-to-linalg),"
    "resolve-ranked-shaped-type-result-dims,canonicalize,cse)"
)
_PREFIX = "custom_dispatch_"
# What a preflight may consist of, besides checks.
_SIZE_OPERATIONS = ("arith.", "affine.", "tensor.dim", "hal.device.", "func.return")
# Operations with an effect beyond their results.
_EFFECTS = ("util.global.store", "util.global.store.indirect", "ml_program.global_store")


def find_preflights(model: ir.Module, checks: str, functions: Mapping[str, bool]) -> dict[str, str]:
    """The preflight of each function that has one.

    - `model`: the model, with kernels declared and not yet linked. It stays as it is.
    - `checks`: the kernels' functions as `Part.CHECKS` of their wrappers.
    - `functions`: names of functions with one block; whether the sizes of their results are wanted.

    Returns: by function, the text of a private function @custom_dispatch_preflight_NAME that takes
    the same arguments, makes the checks, and returns every dynamic size of the results if wanted.
    """
    # A clone shares the model's constants, however large they are.
    copy = model.operation.clone()
    operations = {name_of(op): op for op in functions_of(copy)}
    replacements = ir.Module.parse(checks, model.context)
    for op in list(replacements.body.operations):
        name = name_of(op.operation)
        operations[name].erase()
        copy.regions[0].blocks[0].append(op)
    _drop_assertions(copy)
    _drop_stores(copy)
    for name, sizes_wanted in functions.items():
        _return_sizes(operations[name], preflight_symbol(name), sizes_wanted)
    try:
        passmanager.PassManager.parse(_PIPELINE, model.context).run(copy)
    except ir.MLIRError:
        return {}  # an operation that the passes do not take
    found = {}
    for op in functions_of(copy):
        name = name_of(op).removeprefix(preflight_symbol(""))
        if name in functions and _is_arithmetic(op):
            # Public until here: the passes drop private functions that nobody calls.
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            _drop_repeated_checks(op)
            found[name] = str(op)
    return found


def preflight_symbol(function: str) -> str:
    """The symbol of a function's preflight."""
    return f"{_PREFIX}preflight_{function}"


def has_effects(module: ir.Module, kernels: Sequence[str]) -> bool:
    """Whether a model does anything besides computing results from arguments."""
    external = [
        op for op in functions_of(module) if is_declaration(op) and name_of(op) not in kernels
    ]
    updating = [op for op in functions_of(module) if updates_of(op)]
    return bool(external or updating or operations_of(module, *_EFFECTS))


def has_one_block(op: ir.Operation) -> bool:
    """Whether a function is one that `find_preflights` takes."""
    return bool(op.name == "func.func" and len(op.regions[0].blocks) == 1)


def may_return_empty(op: ir.Operation) -> bool:
    """Whether a function has results, and all of them may be empty."""
    results = type_of(op).results
    return bool(results) and all(_may_be_empty(kind) for kind in results)


def _may_be_empty(kind: Any) -> bool:
    if not isinstance(kind, ir.RankedTensorType) or kind.encoding is not None:
        return False
    return any(kind.is_dynamic_dim(axis) for axis in range(kind.rank))


def _return_sizes(op: ir.Operation, name: str, sizes_wanted: bool) -> None:
    """Make a function return its results' dynamic sizes, or nothing, instead of the results."""
    block = op.regions[0].blocks[0]
    terminator = last_of(block)
    sizes: list[Any] = []
    with ir.InsertionPoint(terminator):
        for value in terminator.operands if sizes_wanted else ():
            sizes += open_sizes(value)
        func.ReturnOp(sizes)
    terminator.erase()
    set_type(op, type_of(op).inputs, [ir.IndexType.get()] * len(sizes))
    op.attributes["sym_name"] = ir.StringAttr.get(name)
    for extra in _OUTER:
        if extra in op.attributes:
            del op.attributes[extra]


def _drop_assertions(copy: ir.Operation) -> None:
    """Drop the model's own assertions, which its function goes on making where they are.

    A look into a table asserts its indices one by one (torch-mlir's embedding, gather and index).
    With that effect, nothing would be found to be of no use.
    """
    for op in operations_of(copy, "cf.assert"):
        op.erase()


def _drop_stores(copy: ir.Operation) -> None:
    """Drop what a function leaves in its state, and what hides constants: neither is a size."""
    for op in operations_of(copy, "util.global.store"):
        op.erase()
    for op in operations_of(copy, "util.optimization_barrier"):
        for result, operand in zip(op.results, op.operands, strict=True):
            result.replace_all_uses_with(operand)
        op.erase()


def _is_arithmetic(op: ir.Operation) -> bool:
    """Whether a function computes with sizes alone: nothing makes a tensor, or reads one."""
    return all(
        inner.operation.name.startswith(_SIZE_OPERATIONS) or _is_check(inner.operation)
        for inner in op.regions[0].blocks[0].operations
    ) and not any(
        isinstance(value.type, ir.ShapedType)
        for inner in op.regions[0].blocks[0].operations
        for value in inner.operation.results
    )


def _is_check(op: ir.Operation) -> bool:
    """Whether an operation is a check as wrappers write them: a branch that ends in a status."""
    if op.name != "scf.if" or op.results:
        return False
    *within, _ = operations_of(op)  # itself comes last
    return {each.name for each in within} <= {"arith.constant", "util.status.check_ok", "scf.yield"}


def _drop_repeated_checks(op: ir.Operation) -> None:
    """Drop checks of what was checked before: all layers of a model have the same sizes."""
    checked: set[ir.Value] = set()
    for inner in list(op.regions[0].blocks[0].operations):
        check = inner.operation
        if not _is_check(check) or len(check.regions[1].blocks):
            continue
        condition = check.operands[0]
        if condition in checked:
            check.erase()
        checked.add(condition)


_BODY = "custom_dispatch_body_"
_OUTER = ("arg_attrs", "res_attrs", "iree.reflection")
"""What belongs to the function that is called from outside."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """A function and its preflight."""

    function: ir.Operation
    text: str
    """The preflight, as a private function."""
    returns_sizes: bool
    """Whether it returns the sizes of the results, which may all be empty."""


def put_in_front(module: ir.Module, preflight: Preflight) -> None:
    """Make a function begin with its preflight, and return at once if its results are empty."""
    if preflight.returns_sizes:
        _guard(module, preflight)
        return
    append_text(module, preflight.text)
    block = preflight.function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        func.CallOp([], preflight_symbol(name_of(preflight.function)), list(block.arguments))


def _guard(module: ir.Module, preflight: Preflight) -> None:
    """Move a function's body into a private one, and put a guarded function in its place."""
    original = preflight.function
    name = original.attributes["sym_name"]
    text, moved = write_guard(original)
    outer = {
        attribute: original.attributes[attribute]
        for attribute in _OUTER
        if attribute in original.attributes
    }
    for attribute in outer:
        del original.attributes[attribute]
    original.attributes["sym_name"] = ir.StringAttr.get(moved)
    original.attributes["sym_visibility"] = ir.StringAttr.get("private")
    declared = f"func.func private @{quote(moved)}{type_of(original)}\n"
    for op in append_text(module, f"{text}{preflight.text}\n{declared}"):
        if op.attributes["sym_name"] == name:
            for attribute, value in outer.items():
                op.attributes[attribute] = value


def write_guard(op: ir.Operation) -> tuple[str, str]:
    """The guarded function that takes a function's place, and the name its body moves to.

    It has the type and name of the original, asks the preflight for the sizes of the results, and
    calls the body only if a result has elements.
    """
    name = name_of(op)
    moved = f"{_BODY}{name}"
    inputs, outputs = (
        [Value(str(kind)) for kind in kinds] for kinds in (type_of(op).inputs, type_of(op).results)
    )
    body = Emitter(1)
    arguments = [body.fresh(f"argument{index}") for index in range(len(inputs))]
    open_ = [known_sizes(kind).count(None) for kind in type_of(op).results]
    indices = [Value("index")] * sum(open_)
    found = iter(call_body(body, preflight_symbol(name), inputs, indices, arguments))
    sizes = [[next(found) for _ in range(count)] for count in open_]
    runs = any_filled(body, sizes)
    types = comma(item.type for item in outputs)
    inner, skip = body.nested(), body.nested()
    computed = call_body(inner, moved, inputs, outputs, arguments)
    inner.line(f"scf.yield {comma(computed)} : {types}")
    shapes = [f"{item.type}{{{comma(mine)}}}" for item, mine in zip(outputs, sizes, strict=True)]
    empty = [skip.result(f"flow.tensor.empty : {shape}", "empty") for shape in shapes]
    skip.line(f"scf.yield {comma(empty)} : {types}")
    names = [body.fresh("result") for _ in outputs]
    body.put_either(f"{comma(names)} = scf.if {runs} -> ({types})", inner, skip)
    tied = [
        body.result(f"flow.tensor.tie_shape {value} : {shape}")
        for value, shape in zip(names, shapes, strict=True)
    ]
    body.line(f"func.return {comma(tied)} : {types}")
    parameters = comma(
        f"{argument}: {item.type}" for argument, item in zip(arguments, inputs, strict=True)
    )
    head = f"func.func @{quote(name)}({parameters}) -> ({types}) {{"
    return "\n".join([head, *body.lines, "}"]) + "\n", moved

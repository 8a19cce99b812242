"""Updates in place that might reach a buffer of the caller's, and what keeps them from it."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import util

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import InOut
from custom_dispatch.link import operations
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.elementwise import hidden_copy, hide_results
from custom_dispatch.link.values import may_become, values_from_outside
from custom_dispatch.reachable import reachable

# Results of these may be any of their tensors.
_OF_TENSORS = ("tensor.", "iree_linalg_ext.", "flow.tensor.")
_DESTINATIONS = {
    "flow.tensor.update": 0,
    "tensor.insert": 1,
    "tensor.insert_slice": 1,
    "tensor.parallel_insert_slice": 1,
    "tensor.scatter": 1,
}
"""Operations that IREE does in place, and the operands in whose buffers it does."""
_LINALG = "linalg."
_FROM_OUTSIDE = ("util.global.load", "func.call", "util.call")
_RETURNS = ("func.return", "util.return")


def updated_arguments(
    module: ir.Module, kernels: Mapping[str, Kernel]
) -> dict[str, tuple[int, ...]]:
    """For each public function, the tensor arguments that an update in place might reach, and that
    it is not to write into.

    IREE updates a buffer where it stands when its value has no later use, and that buffer may be
    the caller's: also where what was computed before turns out to be an argument (`values.py`).
    """
    outside = values_from_outside(module)
    functions = [op for op in operations.functions_of(module) if not operations.is_declaration(op)]
    reached = {operations.name_of(op): _reached(op, kernels, outside) for op in functions}
    # One that is called may get anything of its caller's.
    called = {operations.callee_of(call) for call in operations.calls_of(module, set(reached))}
    is_anything = any(reached[name] for name in called)
    found = {}
    for op in functions:
        if operations.is_public(op):
            arguments = op.regions[0].blocks[0].arguments
            numbers = set(range(len(arguments)) if is_anything else reached[operations.name_of(op)])
            found[operations.name_of(op)] = tuple(
                index
                for index in sorted(numbers.difference(operations.updates_of(op)))
                if isinstance(arguments[index].type, ir.RankedTensorType)
            )
    return found


def _reached(
    function: ir.Operation, kernels: Mapping[str, Kernel], outside: Container[ir.Value]
) -> set[int]:
    """The arguments in whose buffers a function's own updates in place may be."""
    starts = [op.operands[index] for op, index in _updates(function, kernels)]
    return _buffers_of(starts, function, kernels, outside)


def _updates(function: ir.Operation, kernels: Mapping[str, Kernel]) -> list[tuple[Any, int]]:
    """The operations of a function that update in place, and which of their operands."""
    found = [
        (op, index) for op in operations.operations_of(function) for index in _destinations(op)
    ]
    for call in operations.calls_of(function, set(kernels)):
        found += [(call, index) for index in _updated_operands(call, kernels)]
    return found


def _buffers_of(
    waiting: list[Any],
    function: ir.Operation,
    kernels: Mapping[str, Kernel],
    outside: Container[ir.Value],
) -> set[int]:
    """The arguments in whose buffers values of a function may be."""
    everything = frozenset(range(len(function.regions[0].blocks[0].arguments)))
    seen: set[ir.Value] = set()
    found: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            before = _before(one, kernels, everything, outside)
            if isinstance(before, frozenset):
                found |= before
            else:
                waiting += before
    return found


def _destinations(op: ir.Operation) -> list[int]:
    """The operands in whose buffers IREE puts results of an operation of its own."""
    if op.name in _DESTINATIONS:
        return [_DESTINATIONS[op.name]]
    is_filled = op.name == "linalg.fill"  # whatever was there
    if is_filled or not op.name.startswith((_LINALG, "iree_linalg_ext.")):
        return []
    # Those whose results are elements, such as `linalg.index`, have no destination.
    return [
        len(op.operands) - len(op.results) + index
        for index, result in enumerate(op.results)
        if isinstance(result.type, ir.RankedTensorType)
    ]


def _before(
    value: Any,
    kernels: Mapping[str, Kernel],
    everything: frozenset[int],
    outside: Container[ir.Value],
) -> frozenset[int] | Sequence[ir.Value]:
    """The arguments that a value may be, all if unclear; or the values in whose buffers it is."""
    computed = may_become(value, outside)
    if computed is not None:
        return computed
    if isinstance(value.owner, ir.Block):
        block = value.owner
        function = block.owner.operation
        # What other blocks are given, and what a loop carries, may be anything.
        is_argument = operations.is_function(function) and block == function.regions[0].blocks[0]
        return frozenset([value.arg_number]) if is_argument else everything
    op = value.owner.operation
    if op.name.startswith(_OF_TENSORS):
        return [item for item in op.operands if isinstance(item.type, ir.RankedTensorType)]
    if op.name == "util.global.load":
        loaded = operations.global_of(op)
        # IREE copies an argument that a call before has stored in a state
        return () if loaded.startswith(operations.STATE) else everything
    if op.name in ("func.call", "util.call") and operations.callee_of(op) in kernels:
        kernel = kernels[operations.callee_of(op)]
        output = kernel.outputs[value.result_number]
        if not isinstance(output, InOut):
            return ()
        return [op.operands[kernel.arguments.index(output)]]
    return everything


def updated_in_place(value: Any, held: Any, kernels: Mapping[str, Kernel]) -> bool:
    """Whether a value is one that a function is given, updated where it is and by nothing else; or
    nobody reads the given one.

    Otherwise updates are made in a copy of it: in one of its own, since IREE has the copy of an
    argument where nothing can be recorded.
    """
    if not list(held.uses):
        return True
    before, alone = value, value != held
    while alone and before != held:
        op = owner_of(before)
        inside = [] if op is None else _updated_operands(op, kernels)
        if op is not None and op.name in _SAME_ELEMENTS:
            inside = [0]
        alone = bool(inside)
        if op is not None and inside:
            result = ir.OpResult(before).result_number
            before = op.operands[inside[min(result, len(inside) - 1)]]
            alone = len(list(before.uses)) == 1  # who else reads it may come later
    if alone:
        return True
    waiting = [held]
    while waiting:
        for use in list(waiting.pop().uses):
            op = use.owner.operation
            if op.name in _SAME_ELEMENTS:
                waiting.append(op.result)
            elif use.operand_number in _updated_operands(op, kernels):
                with ir.InsertionPoint(op), op.location:
                    op.operands[use.operand_number] = hidden_copy(op.operands[use.operand_number])
    return False


_SAME_ELEMENTS = ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape")


def _updated_operands(op: ir.Operation, kernels: Mapping[str, Kernel]) -> list[int]:
    """The operands in whose buffers results of an operation are put, of a kernel too."""
    if op.name not in ("func.call", "util.call"):
        return _destinations(op)
    arguments = (
        kernels[operations.callee_of(op)].arguments if operations.callee_of(op) in kernels else ()
    )
    return [index for index, item in enumerate(arguments) if isinstance(item, InOut)]


def separate_updates(module: ir.Module) -> None:
    """Give each update by IREE of what follows from nothing a copy of it that is its own.

    Two of one such value, and IREE makes equal ones that, have only one copy between them (two
    `topk` of one shape in a model): the second one updates what the first one left. Where loops
    that follow from nothing have several results, each copy of one is a copy of the first.
    """
    for op in operations.operations_of(module):
        results = list(op.results) if op.name == "linalg.generic" else []
        if len(results) > 1 and _follows_from_nothing(results[0]):
            hide_results(op)
        for index in _destinations(op):
            if not op.name.startswith(_LINALG) and _follows_from_nothing(op.operands[index]):
                with ir.InsertionPoint(op), op.location:
                    op.operands[index] = hidden_copy(op.operands[index])


def _follows_from_nothing(value: Any) -> bool:
    """Whether a tensor is computed, and from no argument, state or other function."""
    op = owner_of(value)
    if op is not None and op.name == "tensor.empty":
        return False
    every = reachable([op], lambda each: map(owner_of, each.operands) if each is not None else ())
    return not any(each is None or each.name in _FROM_OUTSIDE for each in every)


def update_copies(
    module: ir.Module, kernels: Mapping[str, Kernel], arguments: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """Let updates that might reach arguments update copies; return the arguments they still might.

    IREE's own copies, which `keep_arguments` asks for, are made where nothing can be recorded.
    """
    outside = values_from_outside(module)
    left = {name: set(each) for name, each in arguments.items()}
    for op in operations.functions_of(module):
        for update, index in _updates(op, kernels) if operations.name_of(op) in arguments else ():
            value = update.operands[index]
            reached = _buffers_of([value], op, kernels, outside) & {
                *arguments[operations.name_of(op)]
            }
            left[operations.name_of(op)] -= reached
            if reached:
                with ir.InsertionPoint(update), update.location:
                    update.operands[index] = hidden_copy(value)
    return {name: tuple(each) for name, each in left.items()}


def keep_arguments(module: ir.Module, arguments: Mapping[str, Sequence[int]]) -> None:
    """Use arguments once more when a function returns: an update in place then copies them."""
    for op in operations.functions_of(module):
        for block in op.regions[0].blocks if operations.name_of(op) in arguments else ():
            terminator = operations.last_of(block)
            if terminator.name not in _RETURNS:
                continue
            for index in arguments[operations.name_of(op)]:
                argument = op.regions[0].blocks[0].arguments[index]
                at = ir.InsertionPoint(terminator)
                util.OptimizationBarrierOp([argument.type], [argument], ip=at)

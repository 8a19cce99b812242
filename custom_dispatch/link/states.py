"""State of a model as arguments and results of its functions, with a buffer for each."""

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import arith, util

from custom_dispatch.errors import GraphError
from custom_dispatch.ir.function_body import Value
from custom_dispatch.ir.interface import State
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.elementwise import hidden_copy
from custom_dispatch.link.operations import (
    functions_of,
    global_of,
    is_declaration,
    last_of,
    mutable_globals,
    name_of,
    operations_of,
    set_type,
    symbols_of,
    type_of,
)
from custom_dispatch.link.updates_in_place import updated_in_place

_LOAD, _STORE = "util.global.load", "util.global.store"


def states_of(module: ir.Module) -> dict[str, ir.Type]:
    """The mutable globals of a module that hold tensors, by symbol."""
    return {
        name: kind
        for name, kind in mutable_globals(module).items()
        if isinstance(kind, ir.RankedTensorType)
    }


def pass_states(
    function: ir.Operation,
    states: Mapping[str, ir.Type],
    kernels: Mapping[str, Kernel],
    *,
    copies: bool = False,
) -> tuple[State, ...]:
    """Let a function take the states that it uses after its arguments, and return new values before
    its results.

    - `kernels`: those that it calls, by symbol.
    - `copies`: whether callers get results themselves, which then must not be what a state is in.

    Returns: the states that it uses, those that it changes first.
    """
    block = function.regions[0].blocks[0]
    used = [
        op.operation
        for op in block.operations
        if op.operation.name in (_LOAD, _STORE) and global_of(op.operation) in states
    ]
    changed = tuple(dict.fromkeys(global_of(op) for op in used if op.name == _STORE))
    names = tuple(dict.fromkeys([*changed, *map(global_of, used)]))
    # A bool is loaded as a byte, which it is in memory.
    loaded = {global_of(op): op.results[0].type for op in reversed(used) if op.name == _LOAD}
    kinds = [loaded.get(name, states[name]) for name in names]
    values = {
        name: block.add_argument(kind, function.location)
        for name, kind in zip(names, kinds, strict=True)
    }
    for op in used:
        name = global_of(op)
        if op.name == _LOAD:
            op.results[0].replace_all_uses_with(values[name])
        else:
            values[name] = op.operands[0]
        op.erase()
    end = last_of(block)
    new = [values[name] for name in changed]
    with ir.InsertionPoint(end), end.location:
        results = list(new)
        for each in end.operands:
            # A value that goes to two places would be computed in a third one.
            is_copied = each in new or (copies and names)
            is_tensor = isinstance(each.type, ir.RankedTensorType)
            results.append(hidden_copy(each) if is_copied and is_tensor else each)
        ir.Operation.create(end.name, operands=results)
    end.erase()
    kind = type_of(function)
    set_type(function, [*kind.inputs, *kinds], [value.type for value in results])
    found = []
    for name, held in zip(names, list(block.arguments)[len(kind.inputs) :], strict=True):
        in_place = updated_in_place(values[name], held, kernels)
        found.append(State(name, value_of(held.type), name in changed, in_place))
    _hide_first(block)
    return tuple(found)


def _hide_first(block: ir.Block) -> None:
    """Hide numbers from the compiler before all that takes time: IREE submits that together."""
    first = block.operations[0]
    for op in [op.operation for op in block.operations]:
        number = owner_of(op.operands[0]) if op.name == "util.optimization_barrier" else None
        if number is not None and number.name == "arith.constant":
            op.operands[0] = number.clone(ip=ir.InsertionPoint(first)).operation.result
            op.move_before(first)


def value_of(kind: ir.Type) -> Value:
    """A state's type as that of an argument."""
    kind = ir.RankedTensorType(kind)
    return Value(str(kind), tuple(kind.shape))


def outline_first_values(
    module: ir.Module, states: Mapping[str, ir.Type]
) -> list[tuple[str, ir.Operation, tuple[State, ...]]]:
    """Move what gives states their first values into functions, as `pass_states` makes them.

    Returns: of each function its symbol, itself, and the states.
    """
    bodies = [
        op.operation
        for op in module.body.operations
        if op.operation.name == "util.initializer"
        and any(
            inner.operation.name == _STORE and global_of(inner.operation) in states
            for inner in op.operation.regions[0].blocks[0].operations
        )
    ]
    constants = [
        op
        for op in symbols_of(module)
        if name_of(op) in states and "initial_value" in op.attributes
    ]
    found = []
    for number, source in enumerate([*constants, *bodies]):
        symbol = f"custom_dispatch_first_values_{number}"
        made = ir.Module.parse(f"func.func private @{symbol}() {{ return }}", module.context)
        function = made.body.operations[0].operation
        module.body.append(made.body.operations[0])
        end = function.regions[0].blocks[0].operations[0].operation
        if source.name == "util.global":
            value = source.attributes["initial_value"]
            with ir.InsertionPoint(end):
                constant = arith.constant(states[name_of(source)], value)
                util.GlobalStoreOp(constant, name_of(source))
        else:
            for op in list(source.regions[0].blocks[0].operations)[:-1]:
                op.operation.move_before(end)
            source.erase()
        found.append((symbol, function, pass_states(function, states, {})))
    return found


def check_kinds(module: ir.Module) -> None:
    """Require that what calls leave behind is tensors of known sizes: they have buffers."""
    kinds = mutable_globals(module)
    used = (op for each in functions_of(module) for op in operations_of(each, _LOAD, _STORE))
    for name in map(global_of, used):
        kind = kinds.get(name)
        if kind and not (isinstance(kind, ir.RankedTensorType) and kind.has_static_shape):
            raise GraphError(
                f"State `{name}` is {kind}, for which a graph has no buffer.",
                expected="state that is a tensor whose sizes are known",
                next_step='make it one, a number of rank 0; or write graph="where possible".',
            )


def check_states(module: ir.Module, states: Mapping[str, ir.Type]) -> None:
    """Require that no state is used other than by the functions that are called from outside."""
    for function in functions_of(module):
        if is_declaration(function):
            continue
        for op in operations_of(function, _LOAD, _STORE):
            if global_of(op) in states:
                raise GraphError(
                    f"State `{global_of(op)}` is used in a branch, a loop or a function that "
                    f"another calls, in `{name_of(function)}`.",
                    expected="state that a function reads and writes at its outermost level",
                    next_step='move it there, or write graph="where possible".',
                )

"""Operations of a model, at any depth: found by their names, and made."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.format.keys import UPDATES_KEY

_NAMED = re.compile(r'loc\("([\w.]+)"\)')
NODE = re.compile(r'loc\("([^"]+)"\)')
"""The location of an operation that ONNX has a name for."""
_OPERATOR = "torch.operator"


def kind_of(op: Any) -> str:
    """What an operation computes: its name, or that of the operator which it calls.

    An operator that its framework's dialect does not know is a `torch.operator`: each node of ONNX
    is one, such as "onnx.LayerNormalization".
    """
    name = op.name
    return str(ir.StringAttr(op.attributes["name"]).value) if name == _OPERATOR else str(name)


def name_in_text(value: Any) -> str:
    """What a model calls a value: an argument by its name in the source, if that is recorded."""
    if isinstance(value, ir.BlockArgument):
        named = _NAMED.match(str(value.location))
        if named:
            return named[1]
    return str(value.get_name())


def operations_of(root: ir.Module | ir.Operation, *names: str) -> list[ir.Operation]:
    """Every operation below a root, itself included, that has one of the names; all without any."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not names or op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.operation.walk(visit)
    return found


def outwards(op: Any) -> Iterator[ir.Operation]:
    """An operation, the one that it is in, and so on, without the module."""
    while op is not None and op.parent is not None:
        yield op.operation
        op = op.parent


def has_operation(root: ir.Module | ir.Operation, *beginnings: str) -> bool:
    """Whether the name of an operation below a root begins with one of these: "torch."."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or op.name.startswith(beginnings)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    root.operation.walk(visit)
    return found


def create(name: str, kind: ir.Type, *operands: Any, **attributes: ir.Attribute) -> Any:
    """Make an operation with one result where the insertion point is; return the result."""
    return ir.Operation.create(
        name, results=[kind], operands=list(operands), attributes=attributes
    ).result


def integer(number: int, kind: ir.Type | None = None) -> Any:
    """A constant integer; an index, unless a type is given."""
    kind = kind or ir.IndexType.get()
    return create("arith.constant", kind, value=ir.IntegerAttr.get(kind, number))


def copy_body(block: ir.Block, known: dict[ir.Value, Any]) -> list[Any]:
    """Copy a block's operations where the insertion point is; return what is in the place of those
    values that its last operation takes.

    `known`: what is in the place of its arguments.
    """
    *body, end = [item.operation for item in block.operations]
    for op in body:
        copy = op.clone().operation
        copy.location = ir.Location.current
        for index, value in enumerate(op.operands):
            copy.operands[index] = known.get(value, value)
        known |= dict(zip(op.results, copy.results, strict=True))
    return [known.get(value, value) for value in end.operands]


def size_of(tensor: Any, axis: int) -> Any:
    """A size of a tensor, as a value."""
    return create("tensor.dim", ir.IndexType.get(), tensor, integer(axis))


def open_sizes(tensor: Any) -> list[Any]:
    """The sizes of a tensor that its type does not say."""
    kind = tensor.type
    return [size_of(tensor, axis) for axis in range(kind.rank) if kind.is_dynamic_dim(axis)]


def empty_tensor(kind: ir.Type) -> Any:
    """A tensor without elements, of a type's rank, as one of that type: for one that is absent."""
    tensor = ir.RankedTensorType(kind)
    empty = ir.RankedTensorType.get([0] * tensor.rank, tensor.element_type)
    return cast(create("tensor.empty", empty), kind)


def cast(value: Any, kind: ir.Type) -> Any:
    """A tensor as one of another static or dynamic size."""
    return value if value.type == kind else create("tensor.cast", kind, value)


_FUNCTIONS = ("func.func", "util.func")
REFLECTION = "iree.reflection"
"""The attribute of what a function says of itself, besides its type."""

# Beginnings of symbols. With a dot: no function or kernel has one in its name.
PARAMETER = "parameter."
"""Of globals that are weights outside of the module."""
STATE = "custom_dispatch.state."
"""Of globals that calls change. Each is loaded before any is stored."""


def symbols_of(module: ir.Module | ir.Operation) -> list[ir.Operation]:
    """The operations at the top of a module that have a name."""
    body = module.body if isinstance(module, ir.Module) else module.regions[0].blocks[0]
    operations = [op.operation for op in body.operations]
    return [op for op in operations if "sym_name" in op.attributes]


def functions_of(module: ir.Module | ir.Operation) -> list[ir.Operation]:
    """The functions at the top of a module."""
    return [op for op in symbols_of(module) if is_function(op)]


def public_functions(module: ir.Module | ir.Operation) -> list[ir.Operation]:
    """The functions that can be called from outside, and have a body."""
    return [op for op in functions_of(module) if is_public(op) and not is_declaration(op)]


def is_function(op: ir.Operation) -> bool:
    """Whether an operation is a function."""
    return op.name in _FUNCTIONS


def name_of(op: ir.Operation) -> str:
    """A symbol's name."""
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


def global_of(op: ir.Operation) -> str:
    """The symbol of the global that an operation loads or stores."""
    return str(ir.FlatSymbolRefAttr(op.attributes["global"]).value)


def is_declaration(op: ir.Operation) -> bool:
    """Whether a function has no body."""
    return not op.regions or not op.regions[0].blocks


def is_public(op: ir.Operation) -> bool:
    """Whether a function can be called from outside."""
    if "sym_visibility" not in op.attributes:
        return True
    return str(ir.StringAttr(op.attributes["sym_visibility"]).value) == "public"


def type_of(op: ir.Operation) -> ir.FunctionType:
    """A function's type."""
    return ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)


def called_functions(module: ir.Operation) -> list[ir.Operation]:
    """The functions that take arguments from outside."""
    return [op for op in functions_of(module) if is_public(op) and type_of(op).inputs]


def set_type(op: ir.Operation, inputs: Sequence[ir.Type], results: Sequence[ir.Type]) -> None:
    """Give a function another type."""
    kind = ir.FunctionType.get(list(inputs), list(results))
    op.attributes["function_type"] = ir.TypeAttr.get(kind)


def updates_of(op: ir.Operation) -> tuple[int, ...]:
    """The arguments whose new values a function returns before its results."""
    said = reflection_of(op).get(UPDATES_KEY)
    return () if said is None else tuple(map(int, ir.StringAttr(said).value.split(",")))


def reflection_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """What a function says of itself, by key."""
    said = op.attributes.get(REFLECTION)
    return {} if said is None else {item.name: item.attr for item in ir.DictAttr(said)}


def say(op: ir.Operation, key: str, text: str) -> None:
    """Let a function say something of itself."""
    with op.context:
        said = reflection_of(op) | {key: ir.StringAttr.get(text)}
        op.attributes[REFLECTION] = ir.DictAttr.get(said)


def mutable_globals(module: ir.Module) -> dict[str, ir.Type]:
    """The types of the globals that calls change, by symbol."""
    return {
        name_of(op): ir.TypeAttr(op.attributes["type"]).value
        for op in symbols_of(module)
        if op.name == "util.global" and "is_mutable" in op.attributes
    }


def last_of(block: ir.Block) -> ir.Operation:
    """A block's last operation."""
    return block.operations[len(block.operations) - 1].operation


def known_sizes(kind: ir.RankedTensorType) -> tuple[int | None, ...]:
    """A tensor's sizes, as far as its type says them."""
    axes = range(kind.rank)
    return tuple(None if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis) for axis in axes)


def calls_of(module: ir.Module | ir.Operation, names: set[str]) -> list[ir.Operation]:
    """Every call of the named functions, at any depth."""
    calls = operations_of(module, "func.call", "util.call")
    return [op for op in calls if callee_of(op) in names]


def callee_of(call: ir.Operation) -> str:
    """The name of the function that is called."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)

"""Looking functions up in a model."""

from __future__ import annotations

from iree.compiler import ir

from custom_dispatch.link.operations import operations_of

_FUNCTIONS = ("func.func", "util.func")

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


def is_function(op: ir.Operation) -> bool:
    """Whether an operation is a function."""
    return op.name in _FUNCTIONS


def name_of(op: ir.Operation) -> str:
    """A symbol's name."""
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


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


def calls_of(module: ir.Module | ir.Operation, names: set[str]) -> list[ir.Operation]:
    """Every call of the named functions, at any depth."""
    calls = operations_of(module, "func.call", "util.call")
    return [op for op in calls if callee_of(op) in names]


def callee_of(call: ir.Operation) -> str:
    """The name of the function that is called."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)

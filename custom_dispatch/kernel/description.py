"""A declaration as plain data, and back: what a compiled module says of its kernels.

Operands and expressions are in the text that messages show them in, `In(lhs: f32[n])` and
`ceildiv(n, 64)`; this file reads that text again. The source, its options, the reference and the
fallback are not in it: none of them is needed to call or to launch what was built.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel import expr
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, In, InOut, Operand, Out, Scalar, Scratch, Struct
from custom_dispatch.kernel.sources import Implementation

_AMOUNTS = ("flops", "bytes_moved")

_BUFFER = (
    r"(?P<role>In|Out|InOut|Scratch)\((?P<name>\w+): (?P<dtype>\w+)(?P<shape>\[.*\])"
    r"(?P<optional>, optional)?\)"
)
_ROLES: dict[str, type[Buffer]] = {"Out": Out, "InOut": InOut, "Scratch": Scratch}
_SCALAR = r"Scalar\((?P<name>\w+): (?P<dtype>\w+)(?: = (?P<value>.+))?\)"
_STRUCT = r"Struct\((?P<name>\w+): \{(?P<fields>.+)\}(?:, aligned (?P<alignment>\d+))?\)"
_FIELD = r"(?P<name>\w+): (?P<dtype>\w+)(?:\[(?P<count>\d+)\])?"

_CALLS = ("ceildiv", "minimum", "maximum")
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def describe(kernel: Kernel) -> dict[str, Any]:
    """What a kernel declares, of JSON's types; parts that are at their default are left out."""
    described: dict[str, Any] = {
        "name": kernel.name,
        "operands": [str(operand) for operand in kernel.operands],
        **_describe_launch(kernel),
    }
    if kernel.variants:
        described["implementations"] = {
            str(target): _describe_launch(form) for target, form in kernel.variants
        }
    if kernel.requires:
        described["requires"] = list(map(str, kernel.requires))
    amounts = {part: getattr(kernel, part) for part in _AMOUNTS}
    return described | {part: str(item) for part, item in amounts.items() if item is not None}


def _describe_launch(kernel: Kernel) -> dict[str, Any]:
    """What may be another on other targets."""
    described: dict[str, Any] = {
        "entry": kernel.entry,
        "block": list(kernel.block),
        "grid": [str(size) for size in kernel.grid],
    }
    if kernel.dynamic_shared_memory:
        described["dynamic_shared_memory"] = kernel.dynamic_shared_memory
    if kernel.cluster is not None:
        described["cluster"] = list(kernel.cluster)
    return described


def read_description(described: Mapping[str, Any]) -> Kernel:
    """A kernel as `describe` described it. Its source is none that could be built.

    Raises `DeclarationError`: the text is not one that `describe` writes.
    Raises `KeyError`, `TypeError`: a part is missing, or of another type.
    """
    operands = [_read_operand(text) for text in described["operands"]]
    amounts: dict[str, Any] = {
        part: read_expression(described[part]) for part in _AMOUNTS if part in described
    }
    return Kernel(
        described["name"],
        operands=operands,
        source="not-here.cu",
        **_read_launch(described),
        implementations={
            target: Implementation(**_read_launch(item))
            for target, item in described.get("implementations", {}).items()
        },
        requires=[_condition(_parsed(text)) for text in described.get("requires", ())],
        **amounts,
    )


def _read_launch(described: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "entry": described["entry"],
        "block": described["block"],
        "grid": [read_expression(text, device=True) for text in described["grid"]],
        "dynamic_shared_memory": described.get("dynamic_shared_memory", 0),
        "cluster": described.get("cluster"),
    }


def read_expression(text: str, *, device: bool = False) -> expr.Expr:
    """An expression from its text.

    `device`: whether `compute_capability` is the device's, as it is in grids, and no dim.
    """
    return _expression(_parsed(text), device)


def _read_operand(text: str) -> Operand:
    if match := re.fullmatch(_BUFFER, text):
        shape = _parsed(match["shape"])
        if not isinstance(shape, ast.List):
            raise _unreadable(text)
        sizes = [_size(size) for size in shape.elts]
        if match["role"] == "In":
            return In(match["name"], match["dtype"], sizes, optional=match["optional"] is not None)
        return _ROLES[match["role"]](match["name"], match["dtype"], sizes)
    if match := re.fullmatch(_SCALAR, text):
        value = None if match["value"] is None else read_expression(match["value"])
        return Scalar(match["name"], match["dtype"], value)
    if match := re.fullmatch(_STRUCT, text):
        fields: dict[str, Any] = {}
        for part in match["fields"].split(", "):
            field = re.fullmatch(_FIELD, part)
            if field is None:
                raise _unreadable(text)
            dtype, count = field["dtype"], field["count"]
            fields[field["name"]] = dtype if count is None else (dtype, int(count))
        alignment = match["alignment"]
        return Struct(match["name"], None if alignment is None else int(alignment), **fields)
    raise _unreadable(text)


def _size(node: ast.expr) -> Any:
    """A size of a shape: an expression, or the `...` of leading dims."""
    is_leading = isinstance(node, ast.Constant) and node.value is ...
    return ... if is_leading else _expression(node, device=False)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unreadable(text) from None


def _expression(node: ast.expr, device: bool) -> expr.Expr:
    """Nothing is executed: every node is one of those that an expression's text is made of."""
    match node:
        case ast.Constant(value=int() as number):
            return expr.as_expr(number)
        case ast.Name(id="compute_capability") if device:
            return expr.compute_capability
        case ast.Name(id=name):
            return expr.dim(name)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            name = _OPERATORS[type(operator)]
            return expr.binary(name, _expression(left, device), _expression(right, device))
        case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in _CALLS:
            return expr.binary(name, _expression(left, device), _expression(right, device))
        case ast.Call(func=ast.Name(id="where"), args=[condition, yes, no]):
            return expr.where(
                _condition(condition, device), _expression(yes, device), _expression(no, device)
            )
    raise _unreadable(ast.unparse(node))


def _condition(node: ast.expr, device: bool = False) -> expr.Condition:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if (
            type(operator) in _OPERATORS
        ):
            name = _OPERATORS[type(operator)]
            return expr.Condition(name, _expression(left, device), _expression(right, device))
    raise _unreadable(ast.unparse(node))


def _unreadable(text: str) -> DeclarationError:
    return DeclarationError(
        f"{text[:80]!r} is not a part of a kernel's declaration.",
        expected="what this package writes into the modules that it compiles",
        next_step="compile the module again.",
    )

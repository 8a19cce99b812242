"""Putting a function's preflight in front of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from custom_dispatch.ir.arithmetic import any_filled
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.link.preflight import preflight_symbol
from custom_dispatch.link.symbols import is_declaration, name_of, type_of

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
    _append(module, preflight.text)
    block = preflight.function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        callee = ir.FlatSymbolRefAttr.get(preflight_symbol(name_of(preflight.function)))
        ir.Operation.create(
            "func.call", operands=list(block.arguments), attributes={"callee": callee}
        )


def _append(module: ir.Module, text: str) -> list[ir.Operation]:
    added = ir.Module.parse(text, module.context)
    operations = [op.operation for op in added.body.operations]
    kept = [op for op in operations if op.name != "func.func" or not is_declaration(op)]
    for op in kept:
        module.body.append(op)
    return kept


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
    for op in _append(module, f"{text}{preflight.text}\n{declared}"):
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
    kind = type_of(op)
    body = Emitter(1)
    arguments = [body.fresh(f"argument{index}") for index in range(len(kind.inputs))]
    results: list[Any] = list(kind.results)
    counts = [sum(r.is_dynamic_dim(axis) for axis in range(r.rank)) for r in results]
    sizes = [body.fresh("size") for _ in range(sum(counts))]
    inputs = comma(map(str, kind.inputs))
    body.line(
        f"{comma(sizes)} = func.call {_symbol(preflight_symbol(name))}({comma(arguments)}) : "
        f"({inputs}) -> ({comma(['index'] * len(sizes))})"
    )
    per_result = []
    start = 0
    for count in counts:
        per_result.append(sizes[start : start + count])
        start += count
    runs = any_filled(body, per_result)
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
    _yield_empty(body, results, per_result)
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


def _yield_empty(body: Emitter, results: Sequence[Any], per_result: Sequence[list[str]]) -> None:
    """Yield tensors of the results' sizes that nothing was computed into."""
    skip = body.nested()
    empty = [
        skip.result(f"flow.tensor.empty : {kind}{{{comma(sizes)}}}", "empty")
        for kind, sizes in zip(results, per_result, strict=True)
    ]
    skip.line(f"scf.yield {comma(empty)} : {comma(map(str, results))}")
    body.absorb(skip)


def _symbol(name: str) -> str:
    return f"@{quote(name)}"

"""Nodes of an exported graph as operations that say where they come from, and their sizes.

IREE's importer keeps the lines of a stack of calls. Here each operation has the path of its module
and the line of the user's own source; and what PyTorch knows of sizes is said in affine maps over
symbols (`torch.bind_symbolic_shape`).
"""

from collections.abc import Mapping
from typing import Any

import sympy
import torch
from iree.compiler import ir
from iree.compiler.extras.fx_importer import (
    ContextCache,
    FxImporter,
    FxImporterHooks,
    GraphNodeImporter,
)
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod

from custom_dispatch.frontends.torch.graph import node_place
from custom_dispatch.match.sizes import bind_shape, name_size


class _Places(ContextCache):  # type: ignore[misc]
    def get_node_location(self, node: torch.fx.Node) -> ir.Location | None:
        place = node_place(node)
        file, _, line = place.source.rpartition(":")
        location = ir.Location.unknown(context=self._c)
        if file:
            location = ir.Location.file(file, int(line), 0, context=self._c)
        if place.module:
            location = ir.Location.name(f"{place.module}/", location, context=self._c)
        return location


class _NodeImporter(GraphNodeImporter):  # type: ignore[misc]
    def __init__(self, importer: Any, context: ir.Context, _: ContextCache, block: ir.Block):
        places = _Places(context, py_attr_tracker=importer._py_attr_tracker)
        super().__init__(importer, context, places, block)

    def bind_node_value(self, node: torch.fx.Node, value: Any, result_index: int = 0) -> None:
        super().bind_node_value(node, value, result_index)
        if isinstance(value, ir.Value):
            self.fx_importer.values[node, result_index] = value


class Importer(FxImporter):  # type: ignore[misc]
    """IREE's importer, with places."""

    def __init__(self, hooks: FxImporterHooks, context: ir.Context) -> None:
        super().__init__(context=context, hooks=hooks, graph_node_importer_cls=_NodeImporter)
        self.values: dict[tuple[torch.fx.Node, int], ir.Value] = {}
        """What became of the results of nodes."""


def name_arguments(values: Mapping[tuple[torch.fx.Node, int], ir.Value]) -> None:
    """Let a function's arguments have the names that PyTorch gives them."""
    for (node, _), value in values.items():
        if isinstance(value, ir.BlockArgument):
            value.set_location(ir.Location.name(node.name, context=value.context))


def bind_sizes(
    values: Mapping[tuple[torch.fx.Node, int], ir.Value], program: torch.export.ExportedProgram
) -> None:
    """Say what is known of open sizes, at the end of the function that has the values."""
    symbols: dict[str, ir.Value] = {}
    ends: dict[Any, ir.InsertionPoint] = {}
    for (node, index), value in values.items():
        held = node.meta.get("val")
        if isinstance(held, list | tuple):
            held = held[index]
        if not isinstance(held, torch.Tensor) or all(isinstance(size, int) for size in held.shape):
            continue
        block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
        end = ends.setdefault(block, ir.InsertionPoint(block.operations[len(block.operations) - 1]))
        with ir.Location.unknown(value.context):
            _bind(value, held.shape, symbols, program, ir.InsertionPoint.at_block_begin(block), end)


def _bind(
    value: ir.Value,
    shape: torch.Size,
    symbols: dict[str, ir.Value],
    program: torch.export.ExportedProgram,
    begin: ir.InsertionPoint,
    end: ir.InsertionPoint,
) -> None:
    used: dict[str, ir.AffineExpr] = {}

    def symbol(expr: sympy.Expr) -> ir.AffineExpr:
        name = str(expr)
        if name not in symbols:
            bounds = program.range_constraints.get(expr)
            least = getattr(bounds, "lower", 0)
            number = int(least) if getattr(least, "is_Integer", False) else 0
            symbols[name] = name_size(name, number, begin)
        return used.setdefault(name, ir.AffineExpr.get_symbol(len(used)))

    def affine(expr: Any) -> ir.AffineExpr:
        if isinstance(expr, int | sympy.Integer):
            return ir.AffineExpr.get_constant(int(expr))
        match expr:
            case sympy.Add():
                return sum(map(affine, expr.args[1:]), affine(expr.args[0]))
            case sympy.Mul() if all(arg.is_integer for arg in expr.args):
                found = affine(expr.args[0])
                for arg in expr.args[1:]:
                    found = ir.AffineExpr.get_mul(found, affine(arg))
                return found
            case sympy.Pow() if expr.exp.is_Integer and expr.exp > 0:
                return affine(sympy.Mul(*[expr.base] * int(expr.exp), evaluate=False))
            case FloorDiv():
                return ir.AffineExpr.get_floor_div(affine(expr.args[0]), affine(expr.args[1]))
            case Mod() | PythonMod():
                return ir.AffineExpr.get_mod(affine(expr.args[0]), affine(expr.args[1]))
        return symbol(expr)

    sizes = [affine(size if isinstance(size, int) else size.node.expr) for size in shape]
    bind_shape(value, [symbols[name] for name in used], sizes, end)

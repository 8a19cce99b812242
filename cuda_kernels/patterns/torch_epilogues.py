"""Products of a PyTorch model with the operations that follow them, each pair as one kernel.

`everything` has products with the activations that they ship with. What else follows a product, and
works on single elements, becomes a function here, which the product calls before it stores; so do
functions of the user's that are operators:

    replace=torch_epilogues.everything_in(model, (x,))
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.patterns import torch as of_torch
from cuda_kernels.patterns.epilogues import (
    KINDS,
    POINTS,
    Chain,
    Statement,
    Value,
    connected,
    longest_chains,
    with_activation,
)
from cuda_kernels.patterns.profitable import product_on_cpus
from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    constants_of,
    dtype_of,
    is_call,
    keeps_results,
    named,
    number_of,
    put,
    same,
    shape_of,
)
from cuda_kernels.patterns.rewriting.pointwise import (
    TYPES,
    function_of,
    has_statement,
    keeps_elements,
    statement_of,
)
from cuda_kernels.patterns.rewriting.weights import write_linear
from custom_dispatch.frontends.functions import asked_for
from custom_dispatch.frontends.torch.graph import ASSERTION
from custom_dispatch.frontends.torch.importer import export_functions

Patterns = tuple[cd.torch.Pattern | cd.Pattern, ...]
_ARITHMETIC = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor)


def everything_in(
    model: Any,
    arguments: Sequence[Any] | Mapping[str, Sequence[Any]],
    *,
    dynamic_shapes: Any = None,
) -> Patterns:
    """`patterns.torch.everything`, and products with what follows them in this model.

    Parameters
    ----------
    model, arguments, dynamic_shapes
        As of `cd.torch.compile`: the model is exported once for this, unless it is what
        `torch.export.export` returns.
    """
    patterns = of_torch.everything
    # Sums go with norms rather than with products, and activations with products.
    names = [pattern.item.name for pattern in patterns]
    at = next(index for index, name in enumerate(names) if name.startswith("gelu"))
    found = epilogues_in(model, arguments, dynamic_shapes=dynamic_shapes)
    return (*patterns[:at], *found, *patterns[at:])


def epilogues_in(
    model: Any,
    arguments: Sequence[Any] | Mapping[str, Sequence[Any]],
    *,
    dynamic_shapes: Any = None,
) -> Patterns:
    """Those of products with what follows them alone; parameters as of `everything_in`."""
    found: dict[object, cd.torch.Pattern] = {}
    for program in export_functions(asked_for("main", model, arguments, dynamic_shapes)).values():
        _write(program)
        for chain in chains_of(program):
            keyed = _pattern_of(chain)
            if keyed is not None:
                found.setdefault(*keyed)
    return tuple(found.values())


@keeps_results
def _write(program: torch.export.ExportedProgram) -> None:
    """Write products of weights as `linear`, and numbers that are tensors as numbers."""
    write_linear(program)
    constants = constants_of(program)
    for node in calls(program.graph, operator.getitem):
        of, index = node.args
        if is_call(of, aten.broadcast_tensors.default):
            source, write = of.args[0][index], Writer(node)
            if same(shape_of(source), shape_of(node)):
                put(node, source)
            else:
                sizes = write.sizes(of.args[0], shape_of(node))
                put(node, write.call(aten.expand.default, source, sizes))
    for node in list(program.graph.nodes):
        if function_of(node) is None and not is_call(node, *_ARITHMETIC):
            continue
        known = {each: _number_of(each, constants) for each in node.all_input_nodes}
        tensors = [each for each, number in known.items() if number is None]
        for each, number in known.items():
            if number is None or not tensors or TYPES.get(dtype_of(each)) not in KINDS:
                continue
            if function_of(node) is not None:
                like = Writer(node).call(aten.full_like.default, tensors[0], number)
                node.replace_input_with(each, like)
            elif shape_of(each) == ():
                node.args = tuple(number if item is each else item for item in node.args)


def chains_of(program: torch.export.ExportedProgram) -> list[Chain]:
    """The longest chain of each product, of those that end in the same place the longest one."""
    values, products = _values_of(program), calls(program.graph, aten.linear.default)
    return longest_chains(values[each] for each in products if len(shape_of(each)) > 1)


def _values_of(program: torch.export.ExportedProgram) -> dict[Node, Value]:
    values: dict[Node, Value] = {}
    for node in program.graph.nodes:
        if node.op == "output":
            for each in node.all_input_nodes:
                values[each].is_result = True
        elif node.target is not ASSERTION:
            values[node] = _value_of(node, values)
    connected(values.values())
    return values


def _value_of(node: Node, values: Mapping[Node, Value]) -> Value:
    sizes = (size if isinstance(size, int) else size.node.expr for size in shape_of(node))
    value = Value(
        node,
        TYPES.get(dtype_of(node), ""),
        tuple(sizes),
        tuple(values[each] for each in node.all_input_nodes),
    )
    if has_statement(node):
        value.statement = _statement(node)
        value.function = function_of(node)
        if not keeps_elements(node):
            value.word = _word_of(node)
    return value


def _statement(node: Node) -> Statement:
    def statement(name: str, given: Sequence[str]) -> str:
        return statement_of(node, name, dict(zip(node.all_input_nodes, given, strict=True)))

    return statement


def _word_of(node: Node) -> str:
    """What names of functions call an operation; nothing for a number that is a tensor."""
    if is_call(node, aten.full_like.default, aten.zeros_like.default, aten.ones_like.default):
        return ""
    return str(node.target._schema.name).rpartition("::")[2]


def _number_of(node: Node, constants: Mapping[str, torch.Tensor]) -> float | None:
    """The number that a tensor is everywhere."""
    while is_call(node, aten.expand.default, aten.detach_.default, aten.detach.default):
        node = node.args[0]
    return number_of(node, constants)


def _pattern_of(chain: Chain) -> tuple[object, cd.torch.Pattern] | None:
    """What puts a kernel there, and what tells it from others; None where another pattern does."""
    if not chain.words or (chain.is_one and any(_ships(e.source) for e in chain.operations)):
        return None
    # The numbers of a model of 16 bits are exact.
    chain = with_activation(chain, _on_points, "f32")
    kernel = chain.kernel("linear")
    pattern = cd.torch.Pattern(kernel, _computing(chain), rewrites=_write, required=False)
    if chain.product.kind == "f32":
        pattern = pattern.profitable_where(cpu=product_on_cpus("linear"))
    return (kernel.name, chain.text, *(each.kind for each in chain.operations)), pattern


def _ships(node: Node) -> bool:
    """Whether there is a pattern of a product and this operation alone."""
    return is_call(
        node, aten.relu.default, aten.silu.default, aten.gelu.default, aten.add.Tensor
    ) and (not is_call(node, aten.add.Tensor) or named(node)["alpha"] == 1)


def _computing(chain: Chain) -> Any:
    """The product and the operations as a function of PyTorch, of the kernel's operands."""
    names = chain.names

    def computes(a: Any, b: Any, bias: Any = None, **others: Any) -> Any:
        given = {chain.product.source: functional.linear(a, b, bias)}
        taken = (each.source for each in chain.taken)
        given |= {node: others[name] for node, name in zip(taken, names, strict=True)}
        return _replayed(chain, given)

    kind = inspect.Parameter.KEYWORD_ONLY
    own = [*inspect.signature(computes).parameters.values()][:-1]
    computes.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*own, *(inspect.Parameter(name, kind) for name in names)]
    )
    return computes


def _on_points(chain: Chain) -> Any:
    points = {chain.product.source: torch.from_numpy(POINTS)}
    return _replayed(chain, points, exact=True).numpy()


def _replayed(chain: Chain, given: Mapping[Node, torch.Tensor], *, exact: bool = False) -> Any:
    """The operations again, on other tensors; without conversions if it is to be exact."""
    values = dict(given)
    for node in (each.source for each in chain.operations):
        if exact and keeps_elements(node):
            values[node] = values[node.all_input_nodes[0]]
            continue
        arguments, named_ones = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
        values[node] = node.target(*arguments, **named_ones)
    return values[chain.result.source]

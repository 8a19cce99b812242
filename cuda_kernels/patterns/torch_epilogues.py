"""Products of a PyTorch model with the operations that follow them, each pair as one kernel.

`everything` has products with the activations that they ship with. What else follows a product, and
works on single elements, becomes a function here, which the product calls before it stores; so do
functions of the user's that are operators:

    replace=torch_epilogues.everything_in(model, (x,))
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy
import torch
from torch.fx import Node
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import gemm
from cuda_kernels.gemm.names import ACTIVATIONS
from cuda_kernels.patterns import torch as of_torch
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
    function_of,
    has_statement,
    keeps_elements,
    statement_of,
)
from cuda_kernels.patterns.rewriting.weights import write_linear
from cuda_kernels.shared.activations import activated
from custom_dispatch.frontends.functions import asked_for
from custom_dispatch.frontends.torch.graph import ASSERTION
from custom_dispatch.frontends.torch.importer import export_functions
from custom_dispatch.toolchain.produced import file_of

Patterns = tuple[cd.torch.Pattern | cd.Pattern, ...]
_TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_POINTS = numpy.concatenate([numpy.linspace(-12, 12, 97), [-1e30, -1e4, -40, 40, 1e4, 1e30]])
"""Where operations are compared with activations."""
_ARITHMETIC = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor)
_MOST_LETTERS = 40
"""Of a function's name, before the digest."""


@dataclass(frozen=True)
class Chain:
    """A product, and operations on its elements of which nothing else reads any but the last."""

    product: Node
    operations: tuple[Node, ...]
    """In order."""
    tensor: Node | None
    """What else they take of the result's shape."""
    columns: tuple[Node, ...]
    """The vectors that they take, with an element for each column."""

    @property
    def result(self) -> Node:
        """The last of the operations."""
        return self.operations[-1]

    @property
    def computing(self) -> tuple[Node, ...]:
        """Those that do not merely convert."""
        return tuple(node for node in self.operations if not keeps_elements(node))


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
        As of `cd.torch.compile`: the model is exported once for this.
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
            if number is None or not tensors or dtype_of(each) not in _TYPES:
                continue
            if function_of(node) is not None:
                like = Writer(node).call(aten.full_like.default, tensors[0], number)
                node.replace_input_with(each, like)
            elif shape_of(each) == ():
                node.args = tuple(number if item is each else item for item in node.args)


def chains_of(program: torch.export.ExportedProgram) -> list[Chain]:
    """The longest chain of each product, of those that end in the same place the longest one."""
    found: dict[Node, Chain] = {}
    for product in calls(program.graph, aten.linear.default):
        if dtype_of(product) not in _TYPES or len(shape_of(product)) < 2:
            continue
        for chain in _chains_after(product):
            before = found.get(chain.result)
            if before is None or len(before.operations) < len(chain.operations):
                found[chain.result] = chain
    longest: dict[Node, Chain] = {}
    for chain in found.values():
        before = longest.get(chain.product)
        if before is None or len(before.operations) < len(chain.operations):
            longest[chain.product] = chain
    return [*longest.values()]


def _chains_after(product: Node) -> Iterator[Chain]:
    """Every chain of a product, from the shortest on."""
    inside: dict[Node, None] = {product: None}
    tensor: Node | None = None
    columns: dict[Node, None] = {}
    node = product.next
    while node.op != "output":
        taken = [each for each in node.all_input_nodes if each not in inside]
        if len(taken) < len(node.all_input_nodes) and _fits(node, product):
            vectors = [each for each in taken if _is_vector(each, product)]
            rest = [each for each in taken if each not in vectors and each is not tensor]
            if len(rest) <= (tensor is None) and all(_is_alike(e, product) for e in rest):
                inside[node] = None
                columns |= dict.fromkeys(vectors)
                tensor = rest[0] if rest else tensor
                leaving = [each for each in inside if any(u not in inside for u in _readers(each))]
                if leaving == [node] and _is_stored(node, product, tensor):
                    yield Chain(product, tuple(inside)[1:], tensor, tuple(columns))
        if all(user in inside for each in inside for user in _readers(each)):
            return
        node = node.next


def _is_stored(result: Node, product: Node, tensor: Node | None) -> bool:
    """Whether kernels store the result's type, and read a tensor's."""
    kinds = (dtype_of(product), torch.float32)
    return dtype_of(result) in kinds and (tensor is None or dtype_of(tensor) == dtype_of(result))


def _readers(node: Node) -> list[Node]:
    return [user for user in node.users if user.target is not ASSERTION]


def _number_of(node: Node, constants: Mapping[str, torch.Tensor]) -> float | None:
    """The number that a tensor is everywhere."""
    while is_call(node, aten.expand.default, aten.detach_.default, aten.detach.default):
        node = node.args[0]
    return number_of(node, constants)


def _fits(node: Node, product: Node) -> bool:
    return has_statement(node) and same(shape_of(node), shape_of(product))


def _is_alike(node: Node, product: Node) -> bool:
    return dtype_of(node) in _TYPES and same(shape_of(node), shape_of(product))


def _is_vector(node: Node, product: Node) -> bool:
    columns = shape_of(product)[-1:]
    return dtype_of(node) == dtype_of(product) and same(shape_of(node), columns)


def _pattern_of(chain: Chain) -> tuple[object, cd.torch.Pattern] | None:
    """What puts a kernel there, and what tells it from others; None where another pattern does."""
    dtype, out = (_TYPES[each.meta["val"].dtype] for each in (chain.product, chain.result))
    computing = chain.computing
    if not computing or (len(computing) == 1 and _ships(computing[0])):
        return None
    activation = _activation_of(chain)
    names, text = _text_of(chain)
    if activation is not None:
        choice = gemm.choice("linear", dtype, activation, out)
    else:
        tensors = [] if chain.tensor is None else names[1:2]
        columns = names[1 + len(tensors) :]
        function = _function_of(chain, names, text)
        choice = gemm.with_epilogue(
            function, "linear", dtype, out, tensors=tensors, columns=columns
        )
    pattern = cd.torch.Pattern(
        choice, _computing(chain, names[1:]), rewrites=_write, required=False
    )
    if dtype == "f32":
        pattern = pattern.profitable_where(cpu=product_on_cpus("linear"))
    return (choice.name, text, *map(dtype_of, chain.operations)), pattern


def _ships(node: Node) -> bool:
    """Whether there is a pattern of a product and this operation alone."""
    return is_call(
        node, aten.relu.default, aten.silu.default, aten.gelu.default, aten.add.Tensor
    ) and (not is_call(node, aten.add.Tensor) or named(node)["alpha"] == 1)


def _activation_of(chain: Chain) -> str | None:
    """The activation that the operations are, however they are written."""
    if chain.tensor is not None or chain.columns or any(map(function_of, chain.operations)):
        return None
    points = torch.from_numpy(_POINTS)
    got = _replayed(chain, {chain.product: points}, exact=True).numpy()
    for name in ACTIVATIONS:
        if name and numpy.allclose(got, activated(name, _POINTS), rtol=1e-6, atol=1e-9):
            return name
    return None


def _text_of(chain: Chain) -> tuple[list[str], str]:
    """The names of a function's operands, and the function from its parameters on."""
    names = {chain.product: "x"}
    if chain.tensor is not None:
        names[chain.tensor] = "other"
    names |= {node: f"vector_{index}" for index, node in enumerate(chain.columns)}
    operands, lines = list(names.values()), []
    for index, node in enumerate(chain.operations):
        lines.append(f"  {statement_of(node, f'y{index}', names)}\n")
        names[node] = f"y{index}"
    parameters = ", ".join(f"float {name}" for name in operands)
    return operands, f"({parameters}) {{\n{''.join(lines)}  return y{len(lines) - 1};\n}}\n"


def _function_of(chain: Chain, names: Sequence[str], text: str) -> cd.Function:
    """The operations as a function of CUDA."""
    called = [each for each in map(function_of, chain.operations) if each is not None]
    includes = "".join(f'#include "{path}"\n' for path in {each.source: None for each in called})
    words = [
        str(node.target._schema.name).rpartition("::")[2]
        for node in chain.computing
        if not is_call(node, aten.full_like.default)
    ]
    digest = sha256((includes + text).encode()).hexdigest()
    name = f"{'_'.join(words)[:_MOST_LETTERS].strip('_')}_{digest[:8]}"
    remark = "// Follows a product in a model.\n"
    return cd.Function(
        name,
        source=file_of(f"{remark}{includes}\n__device__ float {name}{text}", ".cuh"),
        operands=[cd.Scalar(each, "f32") for each in names],
        result="f32",
        include_dirs=[path for each in called for path in each.include_dirs],
        options=[option for each in called for option in each.options],
    )


def _computing(chain: Chain, names: Sequence[str]) -> Any:
    """The product and the operations as a function of PyTorch, of the kernel's operands."""
    taken = [*([] if chain.tensor is None else [chain.tensor]), *chain.columns]

    def computes(a: Any, b: Any, bias: Any = None, **others: Any) -> Any:
        given = {chain.product: functional.linear(a, b, bias)}
        given |= {node: others[name] for node, name in zip(taken, names, strict=True)}
        return _replayed(chain, given)

    kind = inspect.Parameter.KEYWORD_ONLY
    own = [*inspect.signature(computes).parameters.values()][:-1]
    computes.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*own, *(inspect.Parameter(name, kind) for name in names)]
    )
    return computes


def _replayed(chain: Chain, given: Mapping[Node, torch.Tensor], *, exact: bool = False) -> Any:
    """The operations again, on other tensors; without conversions if it is to be exact."""
    values = dict(given)
    for node in chain.operations:
        if exact and keeps_elements(node):
            values[node] = values[node.all_input_nodes[0]]
            continue
        arguments, named_ones = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
        values[node] = node.target(*arguments, **named_ones)
    return values[chain.result]

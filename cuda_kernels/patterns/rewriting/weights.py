"""Weights as kernels read them fastest: arranged while a model is compiled, and not when it runs.

Products of a weight [k, n], as in GPT-2's `Conv1D` and `x @ weight`, become `linear`, which takes
[n, k]: its kernels add a residual as well. What is new is a parameter of the module, and the old
one is none any more. Sums of two products and something else become sums that a product adds.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.activations import write_activations
from cuda_kernels.patterns.rewriting.einsum import write_einsum
from cuda_kernels.patterns.rewriting.graph import (
    KINDS,
    Writer,
    aten,
    calls,
    constants_of,
    dtype_of,
    is_call,
    keeps_results,
    named,
    only_user,
    put,
    same,
    shape_of,
)

_PRODUCTS = (aten.matmul.default, aten.mm.default, aten.addmm.default)


def held_by(program: torch.export.ExportedProgram, node: Any) -> torch.Tensor | None:
    """What a node is wherever the model is called; None where it is computed, given or changed."""
    if not isinstance(node, Node):
        return None
    if node.op == "get_attr":
        found = getattr(program.graph_module, str(node.target), None)
        return found if is_plain(found) else None
    found = constants_of(program, tuple(KINDS)).get(node.name)
    return found if is_plain(found) else None


def is_plain(value: Any) -> bool:
    """Whether a value is a tensor with numbers in it."""
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and not value.is_meta
        and not isinstance(value, torch._subclasses.FakeTensor)
    )


def hold(program: torch.export.ExportedProgram, tensor: torch.Tensor, write: Writer) -> Node:
    """A weight that a program does not have, as a node."""
    number = sum(1 for node in program.graph.nodes if node.op == "get_attr")
    while hasattr(program.graph_module, f"arranged_{number}"):
        number += 1
    name = f"arranged_{number}"
    program.graph_module.register_buffer(name, tensor.contiguous(), persistent=False)
    return write.get(name, tensor)


@keeps_results
def write_linear(program: torch.export.ExportedProgram) -> None:
    """Write products of weights as `linear`, and what may follow them as PyTorch's activations."""
    write_activations(program)
    write_einsum(program)
    _add_one_by_one(program)
    for node in calls(program.graph, *_PRODUCTS):
        left, right = ("mat1", "mat2") if node.target is aten.addmm.default else ("self", "mat2")
        given = named(node)
        b = given[right if right in given else "other"]
        if isinstance(b, Node) and _is_of_weight(node, given[left], b, program):
            _write(node, given[left], b, program)


def _is_of_weight(node: Node, a: Any, b: Node, program: torch.export.ExportedProgram) -> bool:
    if len(shape_of(b)) != 2 or len(shape_of(a)) < 2 or dtype_of(a) != dtype_of(b):
        return False
    if node.target is aten.addmm.default:
        given = named(node)
        if (given["beta"], given["alpha"]) != (1, 1) or len(shape_of(given["self"])) != 1:
            return False
    if is_call(b, aten.permute.default):
        source = b.args[0]
        return isinstance(source, Node) and source.op == "placeholder"
    # A weight that something else reads as it is would be there twice.
    return held_by(program, b) is not None and all(
        is_call(user, *_PRODUCTS) and list(user.args).index(b) == len(user.args) - 1
        for user in b.users
    )


def _write(node: Node, a: Node, b: Node, program: torch.export.ExportedProgram) -> None:
    write, last = Writer(node), node
    bias = named(node)["self"] if node.target is aten.addmm.default else None
    back = only_user(node)
    if is_call(a, aten.reshape.default) and back is not None:
        source, wanted = a.args[0], shape_of(back)
        leading = shape_of(source)[:-1]
        is_flat = is_call(back, aten.reshape.default) and same(
            shape_of(source)[-1], shape_of(a)[-1]
        )
        if isinstance(source, Node) and is_flat and same(wanted, (*leading, shape_of(b)[1])):
            a, last = source, back
    added = only_user(last)
    if bias is None and added is not None and is_call(added, aten.add.Tensor):
        one, other = added.args[:2]
        term = other if one is last else one
        is_bias = same(shape_of(term), (shape_of(b)[1],)) and dtype_of(term) == dtype_of(b)
        if is_bias and named(added)["alpha"] == 1:
            bias, last, write = term, added, Writer(added)
    if is_call(b, aten.permute.default):
        weight = b.args[0]
    else:
        held = held_by(program, b)
        assert held is not None  # noqa: S101 - as `_is_of_weight` has seen
        weight = hold(program, held.t(), write)
    put(last, write.call(aten.linear.default, a, weight, bias))


def _add_one_by_one(program: torch.export.ExportedProgram) -> None:
    """Write `(product + other product) + x` as `product + (other product + x)`.

    Parallel blocks have it (GPT-NeoX, Phi, Falcon). Each product then adds what it is given.
    """
    for node in calls(program.graph, aten.add.Tensor):
        for total, x in (node.args[:2], node.args[1::-1]):
            if not is_call(total, aten.add.Tensor) or only_user(total) is not node:
                continue
            terms = [*total.args[:2], x]
            if named(node)["alpha"] != 1 or named(total)["alpha"] != 1:
                continue
            if any(shape_of(each) != shape_of(node) for each in terms):
                continue
            if _is_product(terms[0]) and _is_product(terms[1]) and not _is_product(x):
                write = Writer(node)
                inner = write.call(aten.add.Tensor, terms[1], x)
                put(node, write.call(aten.add.Tensor, terms[0], inner))
                break


def _is_product(node: Any) -> bool:
    """Whether a value is a product that nothing else reads."""
    while is_call(node, aten.reshape.default) and only_user(node) is not None:
        node = node.args[0]
    return is_call(node, aten.linear.default, *_PRODUCTS) and only_user(node) is not None

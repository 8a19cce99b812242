"""Products of weights that a graph dequantises, as the operators that kernels compute.

The weights of any library are found by what is computed of them (`dequantised.py`), and put into a
kernel's layout, once (`cuda_kernels/quantised/fitting.py`). What is new is a parameter of the
module; what it was made of is none any more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cuda_kernels.patterns.rewriting.dequantised import Dequantised, Weights
from cuda_kernels.patterns.rewriting.graph import (
    KINDS,
    Writer,
    aten,
    calls,
    constants_of,
    dtype_of,
    keeps_results,
    named,
    put,
    shape_of,
)
from cuda_kernels.patterns.rewriting.weights import hold, is_plain
from cuda_kernels.quantised.fitting import Fitted, fit

LAYOUTS = {
    "int4": ("scales",),
    "int4_zeros": ("scales", "zeros"),
    "q8_0": (),
    "fp8": ("scales",),
    "fp8_blocks": ("scales",),
}
"""What their operators take besides x and weight."""
_LINEAR, _INT8 = aten.linear.default, aten._weight_int8pack_mm.default
_PRODUCTS = (aten.matmul.default, aten.mm.default)


def _like(x: Tensor, weight: Tensor, *_: Tensor) -> Tensor:
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _operator(layout: str) -> Any:
    def product(x: Tensor, weight: Tensor, *more: Tensor) -> Tensor:
        raise NotImplementedError("It stands in graphs alone, until a kernel takes its place.")

    names = ", ".join(f"Tensor {name}" for name in ("x", "weight", *LAYOUTS[layout]))
    name = f"custom_dispatch_forms::linear_{layout}"
    made = torch.library.custom_op(name, product, mutates_args=(), schema=f"({names}) -> Tensor")
    made.register_fake(_like)
    return made._opoverload


OPERATORS = {layout: _operator(layout) for layout in LAYOUTS}


def write_quantised(program: torch.export.ExportedProgram, dtype: torch.dtype) -> None:
    """Write products of x of a type and quantised weights as calls of the operators."""
    tensors = constants_of(program, tuple(KINDS))

    def held(node: Node) -> Tensor | None:
        is_own = node.op == "get_attr"
        found = getattr(program.graph_module, str(node.target), None) if is_own else None
        found = tensors.get(node.name) if node.op == "placeholder" else found
        return found if is_plain(found) else None

    weights = Weights(held)
    for node in calls(program.graph, _LINEAR, aten.addmm.default, _INT8, *_PRODUCTS):
        x, bias, found = _product(node, weights, dtype)
        if found is not None:
            write = Writer(node)
            if found.order is not None:
                order = hold(program, found.order, write)
                x = write.call(aten.index_select.default, x, len(shape_of(x)) - 1, order)
            operands = [hold(program, each, write) for each in found.operands]
            y = write.call(OPERATORS[found.layout], x, *operands)
            put(node, y if bias is None else write.call(aten.add.Tensor, y, bias))


def _product(node: Node, weights: Weights, dtype: torch.dtype) -> tuple[Any, Any, Fitted | None]:
    """What is multiplied by quantised weights, what is added, and the weights; None if not so."""
    given, bias = named(node), None
    if node.target is aten.addmm.default:
        x, weight, bias = given["mat1"], given["mat2"], given["self"]
        is_usual = given["beta"] == given["alpha"] == 1
    elif node.target is _LINEAR:
        x, weight, bias = (given[name] for name in ("input", "weight", "bias"))
        is_usual = True
    else:
        x, weight = given["self"], given["mat2"] if "mat2" in given else given["other"]
        is_usual = bool(shape_of(x))
    if not is_usual or dtype_of(x) != dtype or len(shape_of(weight)) != 2:
        return x, bias, None
    if node.target is _INT8:
        return x, None, _of_int8(weight, given["scales"], weights, dtype)
    if dtype_of(weight) != dtype or not weights.is_dequantised(weight):
        return x, bias, None
    found = weights.value(weight)
    if not isinstance(found, Dequantised):
        return x, bias, None
    found = found if node.target is _LINEAR else found.t()
    return x, bias, fit(found.numbers, found.scales, found.zeros, dtype, found.value)


def _of_int8(weight: Any, scales: Any, weights: Weights, dtype: torch.dtype) -> Fitted | None:
    """PyTorch's product with i8 [n, k] and a scale for each row."""
    if not (weights.is_known(weight) and weights.is_known(scales)):
        return None
    numbers, each = (weights.value(node) for node in (weight, scales))
    wide = each.float().reshape(-1, 1).expand(numbers.shape)
    return fit(numbers, wide, torch.zeros_like(wide), dtype)


_RULES = {
    name: keeps_results(partial(write_quantised, dtype=dtype))
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16))
}


def rule_for(dtype: str) -> Callable[[torch.export.ExportedProgram], None]:
    """The rule for an element type; the same one each time."""
    return _RULES[dtype]

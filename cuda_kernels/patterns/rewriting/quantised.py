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
from torch.nn import functional

from cuda_kernels.patterns.rewriting.dequantised import Dequantised, Weights
from cuda_kernels.patterns.rewriting.graph import (
    KINDS,
    Writer,
    aten,
    constants_of,
    dtype_of,
    keeps_results,
    named,
    put,
    shape_of,
)
from cuda_kernels.patterns.rewriting.weights import hold, is_plain
from cuda_kernels.quantised.fitting import Fitted, fit
from cuda_kernels.quantised.modules import FORMATS, QuantisedLinear

LAYOUTS = ("int4", "int4_zeros", "int8", "int8_groups", "fp8", "fp8_blocks")
"""Those that `fit` gives."""
_LINEAR = aten.linear.default
_PRODUCTS = (aten.matmul.default, aten.mm.default, aten.addmm.default, _LINEAR)
_BY_ROW = ("aten::_weight_int8pack_mm", "quanto::qbytes_mm")
"""Products of x, numbers [n, k] and a scale for each row."""
_INT4 = ("aten::_weight_int4pack_mm", "aten::_weight_int4pack_mm_for_cpu")


def _like(x: Tensor, weight: Tensor, *_: Tensor) -> Tensor:
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _operator(layout: str) -> Any:
    def product(x: Tensor, weight: Tensor, *more: Tensor) -> Tensor:
        layer = QuantisedLinear(layout, (weight, *more), x.dtype)
        return functional.linear(x, layer.dequantised())

    operands = (each.name for each in FORMATS[layout].operands("f16"))
    names = ", ".join(f"Tensor {name}" for name in ("x", *operands))
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
    for node in program.graph.nodes:
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
    name = node.target.name() if isinstance(node.target, torch._ops.OpOverload) else ""
    if name in (*_BY_ROW, *_INT4):
        return node.args[0], None, _of_operator(node, name, weights, dtype)
    if node.target not in _PRODUCTS:
        return None, None, None
    given: Any = named(node)
    if node.target is aten.addmm.default:
        x, weight, bias = given["mat1"], given["mat2"], given["self"]
        is_usual = given["beta"] == given["alpha"] == 1
    elif node.target is _LINEAR:
        x, weight, bias, is_usual = given["input"], given["weight"], given["bias"], True
    else:
        x, weight, bias = given["self"], given["mat2" if "mat2" in given else "other"], None
        is_usual = len(shape_of(x)) > 0
    is_typed = dtype_of(x) == dtype_of(weight) == dtype and len(shape_of(weight)) == 2
    if not is_usual or not is_typed or not weights.is_dequantised(weight):
        return x, bias, None
    found = weights.value(weight)
    if not isinstance(found, Dequantised):
        return x, bias, None
    found = found if node.target is _LINEAR else found.t()
    return x, bias, fit(found.numbers, found.scales, found.zeros, dtype, found.value)


def _of_operator(node: Node, name: str, weights: Weights, dtype: torch.dtype) -> Fitted | None:
    x, *more = node.all_input_nodes
    if dtype_of(x) != dtype or not all(map(weights.is_known, more)):
        return None
    of = _of_rows if name in _BY_ROW else _of_words
    return of(node, *map(weights.value, more), dtype=dtype)


def _of_rows(node: Node, numbers: Tensor, scales: Tensor, *, dtype: torch.dtype) -> Fitted | None:
    del node
    if scales.numel() not in (1, len(numbers)):
        return None
    wide = scales.float().reshape(-1, 1).expand(numbers.shape)
    return fit(numbers, wide, torch.zeros_like(wide), dtype)


def _of_words(node: Node, packed: Tensor, both: Tensor, *, dtype: torch.dtype) -> Fitted | None:
    """Weights of PyTorch's own product of 4 bits, (q - 8) scale + middle, both [k / group, n, 2].

    How its words are ordered depends on the processor. Its product with ones says what they are.
    """
    group: Any = node.args[2]
    ones = torch.eye(group * len(both), dtype=dtype, device=packed.device)
    value: Tensor = node.target(ones, packed, group, both).t().float()
    scales, middle = (each.t().repeat_interleave(group, 1).float() for each in both.unbind(-1))
    zeros = 8 - middle / scales
    numbers = (value / scales + zeros).round().to(torch.int16)
    return fit(numbers, scales, zeros, dtype, value)


_RULES = {
    name: keeps_results(partial(write_quantised, dtype=dtype))
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16))
}


def rule_for(dtype: str) -> Callable[[torch.export.ExportedProgram], None]:
    """The rule for an element type; the same one each time."""
    return _RULES[dtype]

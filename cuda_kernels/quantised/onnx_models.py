"""ONNX models whose weights are quantised, with the kernels' own operators in them.

`convert` takes products of what `DequantizeLinear` makes of initializers (QDQ), as `MatMul` or
`Gemm` have them, and `MatMulNBits` of onnxruntime, of any bits and groups that a layout holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy
import onnx
import torch
from onnx import helper, numpy_helper

import custom_dispatch as cd
from cuda_kernels import quantised
from cuda_kernels.quantised.fitting import Fitted, fit
from cuda_kernels.quantised.modules import NAMES, array_of, tensor_of

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

_TYPES = {
    numpy.dtype(numpy.float16): torch.float16,
    numpy.dtype(ml_dtypes.bfloat16): torch.bfloat16,
}
_DOMAIN = "custom_dispatch"
_F8 = numpy.dtype(ml_dtypes.float8_e4m3fn)


def convert(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    """A copy of a model that calls the kernels, and the names of their nodes.

    What activations of f32 are multiplied by stays as it is, and so does what no layout holds. The
    kernels' operators are registered: `cd.onnx.compile(model)` finds them.

    Parameters
    ----------
    model
        With its tensors in it, as `onnx.load` gives it.
    """
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    held = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            held[node.output[0]] = node.attribute[0].t
    makers = {name: node for node in graph.node for name in node.output}
    done, nodes, given = [], list[onnx.NodeProto](), set[str]()
    for node in graph.node:
        try:
            found = _product(node, makers, held)
        except _UnknownError:
            found = None
        if found is None:
            nodes.append(node)
            continue
        x, bias, dtype, fitted = found
        made = node.name or node.output[0]
        while made in given:
            made += "_"
        given.add(made)
        nodes += _calls(made, x, bias, node.output[0], dtype, fitted, graph)
        done.append(made)
    del graph.node[:]
    graph.node.extend(nodes)
    _drop_unused(graph)
    if done and all(item.domain != _DOMAIN for item in changed.opset_import):
        changed.opset_import.append(helper.make_opsetid(_DOMAIN, 1))
    return changed, done


class _UnknownError(Exception):
    """A value is not one of weights alone."""


def _calls(
    made: str,
    x: str,
    bias: str,
    gives: str,
    dtype: torch.dtype,
    fitted: Fitted,
    graph: onnx.GraphProto,
) -> list[onnx.NodeProto]:
    name = f"{fitted.layout}_{NAMES[dtype]}"
    cd.onnx.register(getattr(quantised, name))
    nodes, operands = [], []
    if fitted.order is not None:
        order, ordered = f"{made}.order", f"{made}.ordered"
        graph.initializer.append(numpy_helper.from_array(fitted.order.numpy(), order))
        nodes.append(helper.make_node("Gather", [x, order], [ordered], ordered, axis=-1))
        x = ordered
    for index, operand in enumerate(fitted.operands):
        operands.append(f"{made}.operand_{index}")
        graph.initializer.append(_tensor(array_of(operand), operands[-1]))
    result = f"{made}.product" if bias else gives
    nodes.append(helper.make_node(name, [x, *operands], [result], made, domain=_DOMAIN))
    if bias:
        nodes.append(helper.make_node("Add", [result, bias], [gives], f"{made}.bias"))
    return nodes


def _tensor(array: Array, name: str) -> onnx.TensorProto:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor(name, kind, array.shape, array.tobytes(), raw=True)


def _drop_unused(graph: onnx.GraphProto) -> None:
    """Take away what made the weights before."""
    while True:
        used = {name for node in graph.node for name in _read(node)}
        used |= {value.name for value in graph.output}
        nodes = [node for node in graph.node if used & {*node.output}]
        if len(nodes) == len(graph.node):
            break
        del graph.node[:]
        graph.node.extend(nodes)
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def _read(node: onnx.NodeProto) -> list[str]:
    inner = [item.g for item in node.attribute if item.type == onnx.AttributeProto.GRAPH]
    return [*node.input, *(name for graph in inner for each in graph.node for name in _read(each))]


Found = tuple[str, str, torch.dtype, Fitted]
"""What is multiplied, what is added or "", the type, and the weights."""


def _product(
    node: onnx.NodeProto,
    makers: Mapping[str, onnx.NodeProto],
    held: Mapping[str, onnx.TensorProto],
) -> Found | None:
    said = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    bias = ""
    if node.op_type == "MatMulNBits" and node.domain == "com.microsoft":
        numbers, scales, zeros, kind = _of_bits(node, said, held)
        bias = node.input[5] if len(node.input) > 5 else ""
    elif node.op_type in ("MatMul", "Gemm") and node.domain == "":
        usual = {"alpha": 1.0, "beta": 1.0, "transA": 0}
        if any(said.get(name, value) != value for name, value in usual.items()):
            return None
        parts = _dequantised(node.input[1], makers, held)
        numbers, scales, zeros, kind = parts
        if numbers.ndim != 2:
            return None
        if not said.get("transB", 0):
            numbers, scales, zeros = numbers.T, scales.T, zeros.T
        bias = node.input[2] if len(node.input) > 2 else ""
    else:
        return None
    if kind not in _TYPES:
        return None
    if numbers.dtype != _F8:
        numbers = numbers.astype(numpy.int32)
    dtype = _TYPES[kind]
    fitted = fit(tensor_of(numbers), tensor_of(scales), tensor_of(zeros), dtype)
    return None if fitted is None else (node.input[0], bias, dtype, fitted)


Parts = tuple[Array, Array, Array, "numpy.dtype[Any]"]
"""Numbers, scales and zeros of the same shape, and the type that they make."""


def _array(name: str, held: Mapping[str, onnx.TensorProto]) -> Array:
    if name not in held:
        raise _UnknownError
    return numpy.asarray(numpy_helper.to_array(held[name]))


def _dequantised(
    name: str, makers: Mapping[str, onnx.NodeProto], held: Mapping[str, onnx.TensorProto]
) -> Parts:
    node = makers.get(name)
    if node is None or node.domain not in ("", "com.microsoft"):
        raise _UnknownError
    said = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    if node.op_type == "Transpose" and list(said.get("perm", [1, 0])) == [1, 0]:
        numbers, scales, zeros, kind = _dequantised(node.input[0], makers, held)
        return numbers.T, scales.T, zeros.T, kind
    if node.op_type == "Cast":
        numbers, scales, zeros, _ = _dequantised(node.input[0], makers, held)
        return numbers, scales, zeros, numpy.dtype(helper.tensor_dtype_to_np_dtype(said["to"]))
    if node.op_type != "DequantizeLinear":
        raise _UnknownError
    numbers, scale = (_array(each, held) for each in node.input[:2])
    zero = numpy.zeros(scale.shape, numpy.float32)
    if len(node.input) > 2 and node.input[2]:
        zero = _array(node.input[2], held).astype(numpy.float32)
    axis, size = said.get("axis", 1), said.get("block_size", 0)
    wide = [
        _spread(each.astype(numpy.float32), numbers.shape, axis, size) for each in (scale, zero)
    ]
    kind = scale.dtype
    if said.get("output_dtype"):
        kind = numpy.dtype(helper.tensor_dtype_to_np_dtype(said["output_dtype"]))
    return numbers, wide[0], wide[1], kind


def _spread(part: Array, shape: tuple[int, ...], axis: int, size: int) -> Array:
    """A scale for all, for each index of an axis, or for each block along it, as one for each."""
    if size:
        part = part.repeat(size, axis)[tuple(map(slice, shape))]
    elif part.size > 1:
        part = part.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))])
    else:
        part = part.reshape([1] * len(shape))
    return numpy.broadcast_to(part, shape)


def _of_bits(
    node: onnx.NodeProto, said: Mapping[str, Any], held: Mapping[str, onnx.TensorProto]
) -> Parts:
    """`MatMulNBits`: bytes [N, blocks, bytes of a block], the lowest bits first."""
    n, k, size, bits = said["N"], said["K"], said["block_size"], said.get("bits", 4)
    names = [*node.input, "", "", ""]
    if 8 % bits or names[4]:
        raise _UnknownError
    blocks = -(-k // size)
    packed = _array(names[1], held).reshape(n, blocks, -1)
    scale = _array(names[2], held)
    zero = numpy.full((n, blocks), 1 << bits - 1, numpy.float32)
    if names[3]:
        zero = _array(names[3], held)
        if zero.dtype == numpy.uint8:
            zero = _unpacked(zero.reshape(n, -1), bits)[:, :blocks]
        zero = zero.reshape(n, blocks).astype(numpy.float32)
    wide = [each.astype(numpy.float32).reshape(n, blocks) for each in (scale, zero)]
    wide = [each.repeat(size, 1)[:, :k] for each in wide]
    numbers = _unpacked(packed, bits).reshape(n, -1)[:, :k]
    return numbers, wide[0], wide[1], scale.dtype


def _unpacked(packed: Array, bits: int) -> Array:
    shifts = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    apart = packed[..., None] >> shifts & (1 << bits) - 1
    return apart.reshape(*packed.shape[:-1], -1)

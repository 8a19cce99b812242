"""Sizes that a model of ONNX leaves open, found as expressions of its inputs' sizes.

ONNX's own inference gives up where a graph computes a shape, as PyTorch's TorchScript exporter
writes each reshape: `Concat(Gather(Shape(x), 0), -1, 12, 64)`. What is written twice then seems to
be two sizes, and no kernel may take a place that needs them to be one.
"""

import re
from functools import cache
from typing import Any

import onnx

from custom_dispatch.frontends.onnx.node import tensor_type

_OWN = "size_{}"
"""What sizes are called meanwhile: names in a file may be anything, such as powers of powers."""
_OWN_NAME = re.compile(r"\bsize_(\d+)\b")
_UNKNOWN = re.compile(r"\b_d\d+\b|\bNone\b")
"""In what the package calls sizes that it does not know."""


def infer_sizes(model: onnx.ModelProto) -> None:
    """Write the sizes into a model that follow from its inputs' sizes, by name.

    Where the package onnx-shape-inference, which the extra `onnx` brings, is not installed, or
    fails, the model stays as it is.

    `model`: valid, each open size of an input with a name. Its `value_info` and its outputs get
    sizes, and what is computed of known sizes becomes a constant.
    """
    names = _names_of(model.graph)
    if not names:
        return
    try:
        import onnx_ir
        from onnx_shape_inference import infer_symbolic_shapes
    except ImportError:
        return
    try:
        given = onnx_ir.from_proto(_renamed(model, names))
        _follow_expansions()
        infer_symbolic_shapes(given, warn_on_missing=False, adopt_declared_symbols=False)
    except Exception:  # noqa: BLE001 - less is known then, and nothing is wrong
        return
    known = {item.name: item for item in [*model.graph.output, *model.graph.value_info]}
    by_number = list(names)
    for value in (output for node in given.graph for output in node.outputs):
        if value.name and value.shape is not None and value.dtype is not None:
            sizes = [_as_given(str(size), by_number) for size in value.shape]
            _write(model.graph, known.get(value.name), value.name, int(value.dtype), sizes)
    for node, found in zip(model.graph.node, given.graph, strict=True):
        value = found.outputs[0] if len(found.outputs) == 1 else None
        if value is not None and value.const_value is not None and found.op_type != "Constant":
            # Such as half of a known size, where the halves of a head begin.
            number = onnx.numpy_helper.from_array(value.const_value.numpy())
            node.CopyFrom(onnx.helper.make_node("Constant", [], [value.name], value=number))


def _names_of(graph: onnx.GraphProto) -> dict[str, str]:
    """The names of sizes in a model's inputs, each with the one that it has meanwhile."""
    names: dict[str, str] = {}
    for item in graph.input:
        for dim in item.type.tensor_type.shape.dim:
            if dim.dim_param:
                names.setdefault(dim.dim_param, _OWN.format(len(names)))
    return names


def _as_given(size: str, names: list[str]) -> int | str | None:
    """A size, with the model's own names; some that cancel out are numbers in words.

    None for one that the package does not know, and that the model itself may have a name for.
    """
    if size.isdecimal():
        return int(size)
    if _UNKNOWN.search(size):
        return None
    return _OWN_NAME.sub(lambda found: names[int(found[1])], size)


def _renamed(model: onnx.ModelProto, names: dict[str, str]) -> onnx.ModelProto:
    """The model with safe names in its inputs, and without those of what it computes."""
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    del copied.graph.value_info[:]
    for item in [*copied.graph.input, *copied.graph.output]:
        for dim in item.type.tensor_type.shape.dim:
            if dim.dim_param in names:
                dim.dim_param = names[dim.dim_param]
            elif dim.dim_param:
                dim.ClearField("value")
    return copied


def _write(
    graph: onnx.GraphProto,
    item: onnx.ValueInfoProto | None,
    name: str,
    element: int,
    sizes: list[int | str | None],
) -> None:
    if item is None:
        graph.value_info.append(onnx.helper.make_tensor_value_info(name, element, sizes))
        return
    kind = tensor_type(item.type)
    if kind is None or kind.element != element or len(kind.shape or ()) != len(sizes):
        return
    for dim, size in zip(item.type.tensor_type.shape.dim, sizes, strict=True):
        if dim.HasField("dim_value") or size is None:
            continue
        if isinstance(size, int):
            dim.dim_value = size
        else:
            dim.dim_param = size


@cache
def _follow_expansions() -> None:
    """Let the package follow what the TorchScript exporter computes the shape of an Expand by.

    `expand(-1, n)` becomes `Where(Equal(shape, -1), 1, shape)`, and the ones and minus ones come
    from ConstantOfShape. A size is never -1, so that what the choice gives is known.
    """
    import onnx_ir
    from onnx_shape_inference import registry

    registry.collect()
    of_shape, where = (registry.get("", name, 21) for name in ("ConstantOfShape", "Where"))

    def constant_of_shape(context: Any, node: Any) -> None:
        of_shape(context, node)
        sizes = context.get_symbolic_value(node.inputs[0])
        if sizes is None:
            return
        context.set_shape(node.outputs[0], onnx_ir.Shape(sizes))
        value = node.attributes.get("value")
        of_integers = value is not None and value.as_tensor().dtype.is_integer()
        if of_integers and len(sizes) == 1 and sizes[0] in range(_MOST_DIMS + 1):
            number = int(value.as_tensor().numpy().flatten()[0])
            context.set_symbolic_value(node.outputs[0], [number] * sizes[0])

    def choice(context: Any, node: Any) -> None:
        where(context, node)
        condition, given, otherwise = node.inputs
        test = condition.producer() if condition is not None else None
        if test is None or test.op_type != "Equal" or otherwise not in test.inputs:
            return
        other = test.inputs[1 - list(test.inputs).index(otherwise)]
        found = [context.get_symbolic_value(item) for item in (other, given, otherwise)]
        if None in found or len({len(item) for item in found}) != 1 or {*found[0]} != {-1}:
            return
        chosen = [one if size == -1 else size for _, one, size in zip(*found, strict=True)]
        context.set_symbolic_value(node.outputs[0], chosen)

    registry.register("", "ConstantOfShape", 9)(constant_of_shape)
    registry.register("", "Where", 9)(choice)


_MOST_DIMS = 16
"""Of shapes that are computed: what is longer is data."""

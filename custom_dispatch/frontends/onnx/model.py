"""Reading ONNX models: the graph with its small tensors, and the large ones apart.

What is read is a copy. Its large tensors are inputs of the graph, so that neither ONNX's checker,
nor its inference, nor IREE's importer copies them, wherever their bytes are: in the model, or in
files beside it.
"""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import inliner

from custom_dispatch.errors import ModelError
from custom_dispatch.files import check_ends
from custom_dispatch.frontends.onnx.damage import array_of, check_undamaged
from custom_dispatch.frontends.onnx.node import nodes_of, numpy_type, type_name
from custom_dispatch.frontends.onnx.onnxruntime_operators import written_out
from custom_dispatch.frontends.outside_weights import bytes_of
from custom_dispatch.kernel.names import shown
from custom_dispatch.parameters import Parameter

_ALWAYS_INSIDE = 128
"""Bytes of what IREE has to know to import a node: axes and shapes, and pads of eight dims."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A model without its large tensors."""

    model: onnx.ModelProto
    weights: dict[str, Parameter]
    """Those, by name; each is an input of the graph."""


def read_model(
    source: Any, name: str, inline_bytes: int, is_kernel: Callable[[str, str], bool]
) -> Graph:
    """Read a model.

    - `source`: a path, or a `ModelProto`, which stays as it is.
    - `name`: what its graph is to be called.
    - `inline_bytes`: up to how many bytes a tensor stays in the graph; axes and shapes always do.
    - `is_kernel`: whether a kernel takes the place of a domain's operator, which the model may
      define too.

    Raises `ModelError`: the file does not exist or holds no model, or its tensors cannot be read.
    """
    given, directory = _given(source)
    check_undamaged(given.graph)
    model, weights = _without_large(given, directory, max(inline_bytes, _ALWAYS_INSIDE))
    others = [item for item in given.functions if not is_kernel(item.domain, item.name)]
    del model.functions[:]
    if others:
        model.functions.extend(others)
        model = _inlined(model)
    _declare(model.graph, weights, given.graph.initializer, given.graph.node)
    for item in [*model.graph.input, *model.graph.value_info, *model.graph.output]:
        for dim in item.type.tensor_type.shape.dim:
            if dim.dim_value < 0:  # which Paddle writes for a size that is not known
                dim.ClearField("dim_value")
    model = written_out(model, is_kernel, _KNOWN_VERSION)
    if any(node.op_type in _FOLDED for node in nodes_of(model.graph)):
        _fold(model)
    model.graph.name = name
    for node in nodes_of(model.graph):
        # Every message is to name the node.
        node.name = node.name or f"-> {next((item for item in node.output if item), '')}"
    return Graph(model, weights)


def _given(source: Any) -> tuple[onnx.ModelProto, Path | None]:
    """A model, and the directory that its tensors' files are in."""
    if isinstance(source, onnx.ModelProto):
        given, directory = source, None
    elif isinstance(source, str | os.PathLike):
        given, directory = _load(Path(source)), Path(source).parent
    else:
        raise ModelError(
            f"The model is {shown(source)}.",
            expected="the path of an .onnx file, or an onnx.ModelProto",
            next_step="pass one of these.",
        )
    if not given.graph.output:
        raise ModelError(
            "The model has no graph, or one without outputs.",
            expected="an ONNX model",
            next_step="export the model again.",
        )
    return given, directory


def _without_large(
    given: onnx.ModelProto, directory: Path | None, inline_bytes: int
) -> tuple[onnx.ModelProto, dict[str, Parameter]]:
    """A copy of a model without its tensors of more bytes than given, and these by name."""
    model = onnx.ModelProto()
    for entry, value in given.ListFields():
        if entry.name != "graph":
            _set(model, entry, value)
    for entry, value in given.graph.ListFields():
        if entry.name not in ("initializer", "node"):
            _set(model.graph, entry, value)
    weights: dict[str, Parameter] = {}

    def take(name: str, tensor: onnx.TensorProto) -> bool:
        """Take a tensor out, if it is a large one."""
        weight = _weight(name, tensor, directory)
        if weight is None or weight.size_bytes <= inline_bytes:
            return False
        weights[name] = weight
        return True

    for node in given.graph.node:
        tensor = _constant(node)
        if tensor is None or not take(node.output[0], tensor):
            model.graph.node.add().CopyFrom(node)
    for tensor in given.graph.initializer:
        if not take(tensor.name, tensor):
            model.graph.initializer.add().CopyFrom(_inside(tensor, directory))
    for node in nodes_of(model.graph):
        for attribute in node.attribute:
            for tensor in [attribute.t, *attribute.tensors, *attribute.g.initializer]:
                if tensor.data_location == onnx.TensorProto.EXTERNAL:
                    tensor.CopyFrom(_inside(tensor, directory))
    return model, weights


_KNOWN_VERSION = 17
"""From this version on IREE's conversion is tested: its documentation advises to convert older
models to it."""


def _load(path: Path) -> onnx.ModelProto:
    check_ends(path, "The model", ModelError)
    try:
        return onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ModelError(
            f"The model `{path}` cannot be read: {error.strerror or error}.",
            expected="an .onnx file",
            next_step="correct the path.",
        ) from error
    except Exception as error:  # each of ONNX's formats has its own
        raise ModelError(
            f"`{path}` is not an ONNX model, or it was cut short.",
            expected="an .onnx file",
            next_step="export the model again; ONNX says:",
            log=str(error),
        ) from error


def _set(message: Any, entry: Any, value: Any) -> None:
    if entry.is_repeated:
        getattr(message, entry.name).extend(value)
    elif entry.message_type is not None:
        getattr(message, entry.name).CopyFrom(value)
    else:
        setattr(message, entry.name, value)


def _constant(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """The tensor of a node that is a constant."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.output) != 1:
        return None
    return next((item.t for item in node.attribute if item.name == "value"), None)


def _inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model's own functions where they are called."""
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:  # C++ raises whatever it finds
        raise ModelError(
            "ONNX cannot put the model's functions where they are called.",
            next_step="export the model without functions; ONNX says:",
            log=str(error),
        ) from error


_FOLDED = ("ConstantOfShape", "If", "Shape", "Size")
"""Operators that other nodes are known with before the model runs."""
_MOST_FOLDED = 16
"""Elements of a shape, and more."""


def _fold(model: onnx.ModelProto) -> None:
    """Make constants of what is known before the model runs: sizes, and which branch is taken."""
    from onnxscript import optimizer

    def is_folded(node: Any) -> bool | None:
        """Whether a node is: None for as usual, which leaves all `ConstantOfShape`."""
        shape = node.inputs[0].const_value if node.op_type == "ConstantOfShape" else None
        return None if shape is None else math.prod(shape.numpy()) <= _MOST_FOLDED

    try:
        optimizer.fold_constants(model, onnx_shape_inference=True, should_fold=is_folded)
        optimizer.remove_unused_nodes(model)
    except Exception:  # noqa: BLE001 - what is wrong with a model is said where it is checked
        return


def _declare(
    graph: onnx.GraphProto,
    weights: dict[str, Parameter],
    initializers: Iterable[onnx.TensorProto],
    nodes: Iterable[onnx.NodeProto],
) -> None:
    """Make inputs of the tensors that are outside."""
    types = {item.name: item.data_type for item in initializers}
    for node in nodes:
        tensor = _constant(node)
        if tensor is not None:
            types[node.output[0]] = tensor.data_type
    declared = {item.name for item in graph.input}
    for weight in weights.values():
        if weight.name not in declared:
            graph.input.append(
                onnx.helper.make_tensor_value_info(weight.name, types[weight.name], weight.shape)
            )


# -- tensors


def _weight(name: str, tensor: onnx.TensorProto, directory: Path | None) -> Parameter | None:
    """A tensor that can be left outside; None for any other."""
    dtype = numpy_type(tensor.data_type)
    if dtype is None or dtype.kind == "c":
        return None
    size = math.prod(tensor.dims) * dtype.itemsize
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        read = _outside(tensor, size, directory)
    elif tensor.HasField("raw_data"):
        read = partial(_raw, tensor)
    else:
        read = partial(_listed, tensor)
    return Parameter(name, dtype.name, tuple(tensor.dims), size, read)


def _raw(tensor: onnx.TensorProto) -> memoryview:
    return memoryview(tensor.raw_data)


def _listed(tensor: onnx.TensorProto) -> memoryview:
    return bytes_of(array_of(tensor))


def _outside(
    tensor: onnx.TensorProto, size: int, directory: Path | None
) -> Callable[[], memoryview]:
    """How the bytes of a tensor in another file are read: that file is mapped into memory."""
    said = {item.key: item.value for item in tensor.external_data}
    what = f"The tensor `{tensor.name}`"
    if directory is None:
        raise ModelError(
            f"{what} is in another file, `{said.get('location', '')}`.",
            expected="the path of the model, beside which that file is",
            next_step='pass the path: cd.onnx.compile("model.onnx", ...).',
        )
    location = said.get("location", "")
    path = directory / location
    # As ONNX's own checks: a model refers to no file that is elsewhere.
    if not location or not path.resolve().is_relative_to(directory.resolve()):
        raise ModelError(
            f"{what} is in `{location}`, which is not below the model's directory.",
            expected=f"a file in `{directory}`",
            next_step="save the model again with its data beside it.",
        )
    try:
        offset, length = int(said.get("offset", 0)), int(said.get("length", size))
        has = path.stat().st_size
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{what} is in `{path}`, which cannot be read: "
            f"{getattr(error, 'strerror', None) or error}.",
            expected="the file that was saved with the model",
            next_step="copy it beside the model.",
        ) from error
    if length != size or offset < 0 or offset + size > has:
        raise ModelError(
            f"{what} has {size} bytes, and `{path}` has {has}, in which it is said to have "
            f"{length} from {offset} on.",
            expected="the file that was saved with the model",
            next_step="copy it beside the model again.",
        )
    return partial(_mapped, path, offset, size) if size else lambda: memoryview(b"")


def _mapped(path: Path, offset: int, size: int) -> memoryview:
    return numpy.memmap(path, numpy.uint8, "r", offset, (size,)).data


def _inside(tensor: onnx.TensorProto, directory: Path | None) -> onnx.TensorProto:
    """A tensor with its bytes."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return tensor
    weight = _weight(tensor.name, tensor, directory)
    if weight is None:
        raise ModelError(
            f"The tensor `{tensor.name}` is in another file, and of type "
            f"{type_name(tensor.data_type)}.",
            expected="one whose elements have whole bytes",
            next_step="save the model with this tensor in it.",
        )
    found = onnx.TensorProto()
    found.CopyFrom(tensor)
    found.ClearField("external_data")
    found.ClearField("data_location")
    found.raw_data = bytes(weight.read())
    return found

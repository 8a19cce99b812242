"""What ONNX's own evaluator computes of a model, for random inputs."""

from typing import Any

import numpy
import onnx
from onnx.reference import ReferenceEvaluator

from custom_dispatch.errors import ModelError, excerpt
from custom_dispatch.frontends.onnx.importer import Nodes
from custom_dispatch.frontends.onnx.model import Graph
from custom_dispatch.frontends.onnx.node import numpy_type
from custom_dispatch.frontends.onnx.operator import evaluated
from custom_dispatch.verifying import Tensor, plain

_OPEN_SIZE = 3


def _random_inputs(graph: Graph) -> dict[str, numpy.ndarray[Any, Any]]:
    """Normal floats, and integers of 0 and 1, which may be indices or a mask, by name."""
    random = numpy.random.default_rng(0)
    stored = {item.name for item in graph.model.graph.initializer} | {*graph.weights}
    found = {}
    for item in (item for item in graph.model.graph.input if item.name not in stored):
        kind = item.type.tensor_type
        shape = [dim.dim_value or _OPEN_SIZE for dim in kind.shape.dim]
        dtype = numpy_type(kind.elem_type) or numpy.dtype(numpy.float32)
        is_whole = dtype.kind in "iub"
        numbers = random.integers(2, size=shape) if is_whole else random.normal(size=shape)
        found[item.name] = numpy.asarray(numbers).astype(dtype)
    return found


def evaluate(source: Any, graph: Graph, nodes: Nodes) -> tuple[list[Any], list[Tensor]]:
    """Random inputs of a model, and its results for them.

    It is evaluated as it is given, `source`, and where ONNX lacks operators of that as it is
    imported, `graph`.
    """
    inputs = _random_inputs(graph)
    operators = [evaluated(kernel, domain) for (domain, _), kernel in nodes.items()]
    weights = {
        name: numpy.frombuffer(weight.read(), numpy.dtype(weight.dtype)).reshape(weight.shape)
        for name, weight in graph.weights.items()
    }
    given = source if isinstance(source, onnx.ModelProto) else str(source)
    for model, values in ((given, inputs), (graph.model, {**inputs, **weights})):
        try:
            evaluator = ReferenceEvaluator(model, new_ops=operators)
            return [*inputs.values()], [plain(item) for item in evaluator.run(None, values)]
        except Exception as error:  # noqa: BLE001 - it raises whatever an operator does
            said = f"{type(error).__name__}: {error}"
    raise ModelError(
        "ONNX's own evaluator cannot run the model with random inputs, to verify it.",
        expected=f"one that takes integers of 0 and 1, and {_OPEN_SIZE} for every open size",
        next_step="leave out verify, and compare the results of inputs of yours with "
        "onnx.reference or onnxruntime:",
        log=excerpt(said),
    )

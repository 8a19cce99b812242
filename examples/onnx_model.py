"""Put a kernel into an ONNX model: checked and run by ONNX, compiled, and shipped.

    python examples/onnx_model.py

Needs ONNX.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import custom_dispatch as cd
from cuda_kernels.norms import layer_norm_f32


def build(width: int) -> onnx.ModelProto:
    """A normalised linear layer: the normalisation is the kernel, the rest ONNX's."""
    rng = numpy.random.default_rng(0)
    weights = {
        "weight": rng.standard_normal(width, numpy.float32),
        "matrix": rng.standard_normal((width, 2 * width), numpy.float32),
    }
    graph = helper.make_graph(
        [
            helper.make_node(
                "layer_norm_f32",
                ["x", "weight"],  # its bias is optional
                ["normed"],
                domain="custom_dispatch",
                epsilon=1e-5,
            ),
            helper.make_node("MatMul", ["normed", "matrix"], ["y"]),
        ],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "rows", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "rows", 2 * width])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("custom_dispatch", 1)]
    return helper.make_model(graph, opset_imports=versions)


def main() -> None:
    """Go the whole way."""
    operator = cd.onnx.register(layer_norm_f32)
    model = build(64)
    onnx.checker.check_model(model, full_check=True)
    print("ONNX knows the operator, and the types of its results")

    x = numpy.random.default_rng(1).standard_normal((2, 5, 64), numpy.float32)
    (expected,) = ReferenceEvaluator(model, new_ops=[operator]).run(None, {"x": x})
    print("ONNX's reference evaluator runs the kernel")

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.vmfb"
        cd.onnx.compile(model).save(path)
        # The matrix is beside it: model.irpa.
        program = cd.load(path, device="auto")
        numpy.testing.assert_allclose(program.main(x), expected, rtol=1e-3, atol=1e-3)
        print(f"one module for all devices: {program.main.type}")


if __name__ == "__main__":
    main()

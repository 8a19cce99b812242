"""`verify=True`: a model that computes something else than ONNX says is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from onnx import numpy_helper, parser

import custom_dispatch as cd
from custom_dispatch.errors import ModelError, VerificationError
from tests.frontends.test_torch_verify import SOURCE


def relu(directory: Path, shift: str) -> cd.onnx.Pattern:
    """A pattern whose kernel computes relu, unless it is shifted."""
    (directory / "relu.cu").write_text(SOURCE.replace("SHIFT", shift))
    kernel = cd.Kernel(
        "relu",
        source=directory / "relu.cu",
        operands=[
            cd.In("x", "f32", [...]),
            cd.Out("y", "f32", [...]),
            cd.Scalar("count", "i32", cd.batch),
        ],
        block=64,
        grid=cd.ceildiv(cd.batch, 64),
    )
    return cd.onnx.Pattern(kernel, "Relu")


def model(body: str) -> onnx.ModelProto:
    head = '<ir_version: 8, opset_import: ["": 17]>'
    types = "main (float[n, 8] x, int64[n] i, float[40, 8] table) => (float[n, 8] y)"
    made = parser.parse_model(f"{head} {types} {{ {body} }}")
    weights = numpy.random.default_rng(1).standard_normal((40, 8)).astype("f4")
    made.graph.initializer.append(numpy_helper.from_array(weights, "table"))
    return made


LOOKED_UP = model("t = Relu (x)  u = Gather (table, i)  y = Add (t, u)")


def test_a_wrong_kernel_is_found(tmp_path: Path) -> None:
    onnx.save(LOOKED_UP, tmp_path / "model.onnx")
    options: dict[str, Any] = {"inline_bytes": 256, "verify": True}  # the table is outside
    right = relu(tmp_path, "0.0f")
    module = cd.onnx.compile(tmp_path / "model.onnx", ["cuda:sm_80"], replace=right, **options)
    assert module.replaced is not None
    assert [target.is_cuda for target in module.targets] == [True]
    with pytest.raises(VerificationError) as caught:
        cd.onnx.compile(LOOKED_UP, ["cpu"], replace=relu(tmp_path, "0.1f"), **options)
    assert caught.value.found.startswith(
        "Result 0 of the model, run once on the CPU, has a relative error of "
    )
    assert caught.value.found.endswith("ONNX's own evaluator computes something else.")
    assert caught.value.expected == "what ONNX's own evaluator gives for the same arguments"


def test_a_model_that_takes_no_random_inputs(tmp_path: Path) -> None:
    other = model("four = Constant <value_ints = [4, 8]> ()  y = Reshape (x, four)")
    with pytest.raises(ModelError) as caught:
        cd.onnx.compile(other, ["cpu"], verify=True)
    assert caught.value.found == (
        "ONNX's own evaluator cannot run the model with random inputs, to verify it."
    )
    assert caught.value.expected == (
        "one that takes integers of 0 and 1, and 3 for every open size"
    )
    assert "leave out verify" in caught.value.next_step

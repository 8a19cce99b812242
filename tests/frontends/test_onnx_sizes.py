"""Sizes that follow from those of an ONNX model's inputs, as PyTorch's exporters leave them."""

from __future__ import annotations

import io
import sys
import warnings

import numpy as np
import onnx
import onnx.parser
import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.patterns import onnx as onnx_patterns
from custom_dispatch.frontends.onnx.sizes import infer_sizes

HEADS = """<ir_version: 8, opset_import: ["" : 17]>
heads (float[BATCH, LENGTH, 128] x) => (float[N, M, L, K] y)
<int64 zero = {0}, int64 last = {2}, int64[1] two = {2}, int64[1] axis = {0}, int64 half = {2}> {
  shape = Shape (x)
  batch = Gather <axis = 0> (shape, zero)
  first = Unsqueeze (batch, axis)
  open = Constant <value = int64[1] {-1}> ()
  wide = Constant <value = int64[1] {64}> ()
  to = Concat <axis = 0> (first, open, two, wide)
  split = Reshape (x, to)
  width = Gather <axis = 0> (shape, last)
  narrow = Div (width, half)
  y = Transpose <perm = [0, 2, 1, 3]> (split)
  z = Add (narrow, half)
}"""
EXPANDED = """<ir_version: 8, opset_import: ["" : 17]>
expanded (float[BATCH, 1, LENGTH] x, float[BATCH, 4, LENGTH] like) => (float[N, M, L] y)
<int64 zero = {0}, int64[1] axis = {0}, int64[1] four = {4}, int64 minus = {-1}> {
  shape = Shape (like)
  batch = Gather <axis = 0> (shape, zero)
  first = Unsqueeze (batch, axis)
  kept = Constant <value = int64[1] {-1}> ()
  to = Concat <axis = 0> (first, four, kept)
  rank = Shape (to)
  ones = ConstantOfShape <value = int64[1] {1}> (rank)
  negative = Mul (ones, minus)
  same = Equal (to, negative)
  sizes = Where (same, ones, to)
  y = Expand (x, sizes)
}"""


def sizes_of(text: str, name: str, batch: str = "batch", length: str = "length") -> list[str | int]:
    model = onnx.parser.parse_model(text.replace("BATCH", "b").replace("LENGTH", "l"))
    for item in model.graph.input:
        for dim in item.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = {"b": batch, "l": length}[dim.dim_param]
    infer_sizes(model)
    items = {item.name: item for item in [*model.graph.value_info, *model.graph.output]}
    return [
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param
        for dim in items[name].type.tensor_type.shape.dim
    ]


def test_a_reshape_to_computed_sizes_keeps_those_of_the_input() -> None:
    assert sizes_of(HEADS, "split") == ["batch", "length", 2, 64]
    assert sizes_of(HEADS, "y") == ["batch", 2, "length", 64]


def test_an_expansion_that_keeps_a_size_has_that_size() -> None:
    assert sizes_of(EXPANDED, "y") == ["batch", 4, "length"]


@pytest.mark.parametrize(
    "name", ["9**9**9**9**9", "size_1", "x.shape[0]", "a b", "__import__('os')"]
)
def test_names_of_sizes_may_be_anything(name: str) -> None:
    assert sizes_of(HEADS, "split", batch=name) == [name, "length", 2, 64]
    assert sizes_of(HEADS, "split", batch="a", length=name) == ["a", name, 2, 64]


def test_what_is_computed_of_known_sizes_is_a_constant() -> None:
    model = onnx.parser.parse_model(HEADS)
    infer_sizes(model)
    node = next(node for node in model.graph.node if node.output[0] == "narrow")
    assert node.op_type == "Constant"
    assert onnx.numpy_helper.to_array(node.attribute[0].t) == 64


def test_without_the_package_a_model_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx.parser.parse_model(HEADS)
    before = model.SerializeToString(deterministic=True)
    monkeypatch.setitem(sys.modules, "onnx_shape_inference", None)
    infer_sizes(model)
    assert model.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize(
    "step", ["onnx_ir.from_proto", "onnx_shape_inference.infer_symbolic_shapes"]
)
def test_where_the_package_fails_a_model_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fails(*given: object, **options: object) -> None:
        raise NotImplementedError

    model = onnx.parser.parse_model(HEADS)
    before = model.SerializeToString(deterministic=True)
    monkeypatch.setattr(step, fails)
    infer_sizes(model)
    assert model.SerializeToString(deterministic=True) == before


class Attention(torch.nn.Module):
    """Heads of 64 with rotary embedding of their halves, as models write it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = torch.nn.ModuleList(torch.nn.Linear(128, 128) for _ in range(3))
        self.last = torch.nn.Linear(128, 128)

    def forward(self, x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part(x).view(batch, length, -1, 64).transpose(1, 2).contiguous() for part in self.qkv
        )
        cos, sin = (torch.cat([f(angles)] * 2, -1)[None, None] for f in (torch.cos, torch.sin))
        q, k = (
            item * cos
            + torch.cat((-item[..., item.shape[-1] // 2 :], item[..., : item.shape[-1] // 2]), -1)
            * sin
            for item in (q, k)
        )
        found = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return self.last(found.transpose(1, 2).reshape(batch, length, width))


def test_a_model_of_torchscripts_exporter_with_open_sizes_is_found_whole() -> None:
    torch.manual_seed(0)
    model, file = Attention().eval(), io.BytesIO()
    given = torch.randn(2, 6, 128), torch.randn(6, 32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, given, file, dynamo=False, opset_version=17, input_names=["x", "angles"],
            dynamic_axes={"x": {0: "batch", 1: "length"}, "angles": {0: "length"}},
        )  # fmt: skip
    compiled = cd.onnx.compile(
        onnx.load_from_string(file.getvalue()), ["cpu"], replace=onnx_patterns.everything
    )
    kinds = sorted(item.kernel.partition("_f32")[0] for item in compiled.replaced)
    assert kinds == ["attention", *["matmul"] * 4, *["rotary"] * 2], compiled.replaced
    assert compiled.replaced.remaining == ()
    loaded = cd.load(compiled, "cpu")
    for batch, length in ((1, 1), (3, 9)):
        x, angles = torch.randn(batch, length, 128), torch.randn(length, 32)
        with torch.no_grad():
            wanted = model(x, angles)
        found = np.asarray(loaded.main(x.numpy(), angles.numpy()))
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-4, atol=1e-5)

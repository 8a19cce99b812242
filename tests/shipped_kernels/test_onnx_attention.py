"""Attention as PyTorch's exporter to ONNX writes it before version 23, as in BERT and in GPT-2."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import custom_dispatch as cd
from cuda_kernels.attention import masked_attention_f32_32
from cuda_kernels.patterns import onnx as onnx_patterns
from custom_dispatch.errors import DeclarationError, ReplacementWarning

torch = pytest.importorskip("torch")
functional = torch.nn.functional
BATCH, HEADS, LENGTH, SIZE = 2, 2, 6, 32
WIDTH = HEADS * SIZE


class Encoder(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Attention of BERT with padding and of GPT-2, each written out and PyTorch's own."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.projection = torch.nn.Linear(WIDTH, 3 * WIDTH)

    def heads(self, x: Any) -> tuple[Any, ...]:
        parts = self.projection(x).split(WIDTH, dim=2)
        return tuple(each.view(BATCH, LENGTH, HEADS, SIZE).transpose(1, 2) for each in parts)

    def forward(self, x: Any, attended: Any) -> Any:
        least = torch.finfo(x.dtype).min
        padding = (1.0 - attended[:, None, None, :].to(x.dtype)) * least
        earlier = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()[None, None]
        causal = torch.where(earlier, 0.0, least).expand(BATCH, 1, LENGTH, LENGTH)
        for mask, scale in ((padding, SIZE**-0.5), (causal, 0.25)):
            q, k, v = self.heads(x)
            weights = functional.softmax(q @ k.transpose(2, 3) * scale + mask, dim=-1)
            x = x + (weights @ v).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
        q, k, v = self.heads(x)
        seen = attended[:, None, None, :].bool().expand(BATCH, 1, LENGTH, LENGTH)
        x = x + functional.scaled_dot_product_attention(q, k, v, seen).transpose(1, 2).reshape(
            x.shape
        )
        q, k, v = self.heads(x)
        return x + functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)


@pytest.mark.filterwarnings("ignore")
def test_it_is_found_and_gives_what_pytorch_does(tmp_path: Path) -> None:
    model = Encoder().eval()
    attended = torch.ones(BATCH, LENGTH, dtype=torch.int64)
    attended[1, 4:] = 0
    x = torch.randn(BATCH, LENGTH, WIDTH)
    program = torch.onnx.export(model, (x, attended), opset_version=18, verbose=False)
    program.save(tmp_path / "model.onnx")
    operators = {(node.domain, node.op_type) for node in program.model_proto.graph.node}
    assert not any(domain or operator == "Attention" for domain, operator in operators)
    module = cd.onnx.compile(tmp_path / "model.onnx", ["cpu"], replace=onnx_patterns.attention)
    assert module.replaced is not None
    assert Counter(item.kernel for item in module.replaced) == {
        "attention_f32_32": 2,  # with a mask of one row, and without
        "masked_attention_f32_32": 2,
    }
    scales = sorted(item.scalars["scale"] for item in module.replaced)
    assert scales == pytest.approx([*[SIZE**-0.5] * 3, 0.25])
    found = cd.load(module, "cpu").main(x.numpy(), attended.numpy())
    with torch.no_grad():
        wanted = model(x, attended).numpy()
    numpy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def graph_of(*, axis: int = -1, mask: tuple[int, ...] = (2, 1, 6, 6), zero: float = 0.0) -> Any:
    """Attention with a mask, as `scaled_dot_product_attention` is exported."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["q", "k"], ["scores"]),
        node("Add", ["scores", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["weights"], axis=axis),
        node("IsNaN", ["weights"], ["none"]),
        node("Where", ["none", "zero", "weights"], ["known"]),
        node("MatMul", ["known", "v"], ["out"]),
    ]
    shapes = {"q": (2, 2, 6, 32), "k": (2, 2, 32, 6), "v": (2, 2, 6, 32), "mask": mask}
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "attention",
        [value(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [value("out", TensorProto.FLOAT, (2, 2, 6, 32))],
        [numpy_helper.from_array(numpy.float32(zero), "zero")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize(
    "mask",
    [
        (2, 1, 6, 6),
        *(pytest.param(m, marks=pytest.mark.thorough) for m in ((2, 2, 6, 6), (1, 2, 6, 6))),
    ],
)
def test_a_query_that_sees_nothing_gets_zeros(mask: tuple[int, ...]) -> None:
    """Also where each head has a mask, or all sequences have one."""
    model = graph_of(mask=mask)
    module = cd.onnx.compile(model, ["cpu"], replace=onnx_patterns.attention)
    random = numpy.random.default_rng(1)
    shapes = ((2, 2, 6, 32), (2, 2, 32, 6), (2, 2, 6, 32), mask)
    given = [random.standard_normal(shape).astype("f4") for shape in shapes]
    given[3][-1, :, 2] = -numpy.inf
    found = cd.load(module, "cpu").main(*given)
    with numpy.errstate(invalid="ignore"):
        (wanted,) = onnx.reference.ReferenceEvaluator(model).run(
            None, dict(zip(("q", "k", "v", "mask"), given, strict=True))
        )
    assert not numpy.asarray(found)[1, :, 2].any()
    numpy.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"axis": -2}, "`axis` of onnx.Softmax is -2, and in the pattern -1"),
        ({"zero": 1.0}, "1.0, where the pattern has 0.0"),
        ({"mask": (6, 6)}, "the place has tensor<6x6xf32> for `mask`"),
    ],
)
def test_what_only_looks_like_it_is_left(options: Any, reason: str) -> None:
    with pytest.warns(ReplacementWarning) as caught:
        cd.onnx.compile(graph_of(**options), ["cpu"], replace=onnx_patterns.attention)
    assert reason in str(caught[0].message)


def test_axes_are_those_of_operands_and_results() -> None:
    for axes, said in (
        ({"out": (0, 2, 1, 2)}, "has `out` with the axes (0, 2, 1, 2)"),
        ({"k": (0, 1, 1, 3)}, "has `k` with the axes (0, 1, 1, 3)"),
        ({"x": (0,)}, "has axes of `x`"),
    ):
        with pytest.raises(DeclarationError) as caught:
            cd.onnx.Pattern(
                masked_attention_f32_32,
                helper.make_node("Attention", ["q", "k", "v", "mask"], ["out"]),
                fixed={"causal": False},
                axes=axes,
            )
        assert said in str(caught.value)

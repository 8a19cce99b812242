"""What stays with IREE is said in a line for each kind."""

from __future__ import annotations

import torch
from onnx import TensorProto, helper
from torch.nn import functional

import custom_dispatch as cd
from custom_dispatch.replaced import Place, Remaining, Replaced, Replacement
from tests.places import replaced_in_onnx, replaced_in_torch
from tests.sample_kernels.rows import row_norm


def norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, epsilon)


NORM = cd.torch.Pattern(row_norm, norm, required=False)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = torch.nn.RMSNorm(48, 1e-5), torch.nn.RMSNorm(48)
        self.wide = torch.nn.Linear(48, 48)
        self.conv = torch.nn.Conv1d(4, 6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.wide(self.last(self.wide(self.first(x))))
        q = x.view(2, 4, 4, 12)
        return self.conv(functional.scaled_dot_product_attention(q, q, q).reshape(2, 4, 48))


def test_large_operations_that_no_kernel_took_are_counted() -> None:
    found = replaced_in_torch(Model().eval(), (torch.randn(2, 4, 48),), NORM)
    assert {item.kind: item for item in found.remaining} == {
        "norm": Remaining("norm", 1, 2, ("tensor<2x4x48xf32>",)),
        "product": Remaining("product", 2, 2, ("tensor<2x4x48xf32>",)),
        "attention": Remaining("attention", 1, 1, ("tensor<2x4x4x12xf32>",)),
        "convolution": Remaining("convolution", 1, 1, ("tensor<2x6x46xf32>",)),
    }
    said = str(found).splitlines()
    assert "1 of 2 norms stays with IREE: tensor<2x4x48xf32>" in said
    assert "2 of 2 products stay with IREE: tensor<2x4x48xf32>" in said


def test_operations_of_onnx_are_counted() -> None:
    kind = helper.make_tensor_value_info
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Softmax", ["y"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [kind("x", TensorProto.FLOAT, [3, 8]), kind("w", TensorProto.FLOAT, [8, 5])],
        [kind("z", TensorProto.FLOAT, [3, 5])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    pattern = cd.onnx.Pattern(row_norm, "RMSNormalization", required=False)
    assert list(map(str, replaced_in_onnx(model, [pattern]).remaining)) == [
        "1 of 1 product stays with IREE: tensor<3x5xf32>",
        "1 of 1 softmax stays with IREE: tensor<3x5xf32>",
    ]


def test_a_later_search_counts_what_an_earlier_one_replaced() -> None:
    place = Replacement("kernel", Place("", ""), ())
    before = Replaced((place,), (), (Remaining("product", 2, 3, ("tensor<4xf32>",)),))
    after = Replaced((place,), (), (Remaining("product", 1, 2, ("tensor<4xf32>",)),))
    both = before.and_those(after)
    assert both.remaining == (Remaining("product", 1, 3, ("tensor<4xf32>",)),)
    types = tuple(f"tensor<{size}xf32>" for size in range(5))
    assert str(Remaining("softmax", 3, 3, types)) == (
        "3 of 3 softmaxes stay with IREE: tensor<0xf32>, tensor<1xf32>, tensor<2xf32>, ..."
    )

"""Models that call a kernel of shape `[..., n]` with any number of leading dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import custom_dispatch as cd
from custom_dispatch.errors import CallError, LinkError, ModelError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path
from custom_dispatch.toolchain.library import Library
from tests.sample_kernels.rows import row_norm

n = cd.dim("n")
ADD = """
extern "C" __global__ void add_rows(const float* x, const float* other, const float* row,
                                    float* y, float* sums, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    float value = x[blockIdx.x * n + i] + row[i];
    if (other) value += other[blockIdx.x * n + i];
    y[blockIdx.x * n + i] += value;
    sum += value;
  }
  sums[blockIdx.x] = sum;
}
"""


@pytest.fixture(scope="module")
def add_rows(tmp_path_factory: pytest.TempPathFactory) -> cd.Kernel:
    """Every kind of operand with leading dims, and one without."""
    source = tmp_path_factory.mktemp("add_rows") / "add_rows.cu"
    source.write_text(ADD)
    return cd.Kernel(
        "add_rows",
        source=source,
        operands=[
            cd.In("x", "f32", [..., n]),
            cd.In("other", "f32", [..., n], optional=True),
            cd.In("row", "f32", [n]),
            cd.InOut("y", "f32", [..., n]),
            cd.Out("sums", "f32", [...]),
            cd.Scalar("n", "i32", n),
        ],
        block=1,
        grid=cd.batch,
    )


@pytest.fixture(scope="module")
def library() -> Library:
    return cd.build([row_norm], ["cuda:sm_80"])


def model(x: str, y: str | None = None, weight: str = "tensor<8xf32>") -> str:
    """A model that normalises its argument, as the tensor types say."""
    types = f"({x}, {weight}, f32) -> {y or x}"
    return f"""
      func.func private @row_norm{types}
      func.func @main(%x: {x}, %weight: {weight}) -> {y or x} {{
        %epsilon = arith.constant 1.0e-5 : f32
        %0 = call @row_norm(%x, %weight, %epsilon) : {types}
        return %0 : {y or x}
      }}"""


X = np.arange(48, dtype=np.float32).reshape(2, 3, 8)
WEIGHT = np.linspace(1, 2, 8, dtype=np.float32)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("tensor<?x?x8xf32>", (2, 3, 8)),
        ("tensor<2x?x8xf32>", (2, 3, 8)),
        ("tensor<2x1x3x8xf32>", (2, 1, 3, 8)),
        ("tensor<?x8xf32>", (6, 8)),
        ("tensor<8xf32>", (8,)),
        ("tensor<?x?x8xf32>", (0, 3, 8)),
    ],
)
def test_a_model_declares_the_rank_that_it_has(kind: str, shape: tuple[int, ...]) -> None:
    program = cd.load(cd.compile(model(kind), row_norm, ["cuda:sm_80", "cpu"]), "cpu")
    assert str(program.main.type) == f"({kind}, tensor<8xf32>) -> ({kind})"
    x = X.reshape(-1)[: int(np.prod(shape))].reshape(shape)
    assert row_norm.reference is not None
    wanted = row_norm.reference(x, WEIGHT, 1e-5)
    np.testing.assert_allclose(program.main(x, WEIGHT), wanted, rtol=1e-5)


def test_static_sizes_stay_static_and_need_no_branch(library: Library) -> None:
    text = link(model("tensor<2x3x8xf32>"), library, by_path).text
    wrapper = text[text.index("func.func private @row_norm(") :]
    assert "tensor.collapse_shape" in wrapper
    assert "tensor<2x3x8xf32> into tensor<6x8xf32>" in wrapper
    assert "tensor<6x8xf32> into tensor<2x3x8xf32>" in wrapper
    assert "scf.if" not in wrapper


def test_every_kind_of_operand_may_have_them(add_rows: cd.Kernel) -> None:
    kind, sums = "tensor<?x?x8xf32>", "tensor<?x?xf32>"
    types = f"({kind}, tensor<?x?x?xf32>, tensor<8xf32>, {kind}) -> ({kind}, {sums})"
    source = f"""
      func.func private @add_rows{types}
      func.func @main(%x: {kind}, %row: tensor<8xf32>, %y: {kind}) -> ({kind}, {sums}) {{
        %other = tensor.empty() : tensor<0x0x0xf32>
        %none = tensor.cast %other : tensor<0x0x0xf32> to tensor<?x?x?xf32>
        %0:2 = call @add_rows(%x, %none, %row, %y) : {types}
        return %0#0, %0#1 : {kind}, {sums}
      }}"""
    program = cd.load(cd.compile(source, add_rows, ["cpu"]))
    y, ones = np.ones((2, 3, 8), np.float32), np.ones(8, np.float32)
    updated, summed = program.main(X, ones, y)
    np.testing.assert_array_equal(updated, X + 2)
    np.testing.assert_array_equal(summed, (X + 1).sum(axis=-1))
    np.testing.assert_array_equal(y, np.ones((2, 3, 8)))


def test_leading_dims_that_disagree_are_refused_when_they_are_known(add_rows: cd.Kernel) -> None:
    parts = {"x": "2x3", "other": "2x3", "y": "2x3", "sums": "2x3x"}

    def declaration(**changed: str) -> str:
        x, other, y, sums = (parts | changed).values()
        kinds = f"(tensor<{x}x8xf32>, tensor<{other}x8xf32>, tensor<8xf32>, tensor<{y}x8xf32>)"
        return f"""
          func.func private @add_rows{kinds} -> (tensor<{y}x8xf32>, tensor<{sums}f32>)"""

    def refusal(**changed: str) -> str:
        with pytest.raises(LinkError) as caught:
            link(declaration(**changed), built, by_path)
        return str(caught.value)

    built = cd.build([add_rows], ["cuda:sm_80"])
    assert link(declaration(), built, by_path).kernels == (add_rows,)
    assert link(declaration(other="?x?", sums="?x3x"), built, by_path).kernels == (add_rows,)
    message = refusal(y="3x2")
    disagree = "disagree, which are leading dims"
    assert f"`x`.shape[0] and `y`.shape[0] {disagree}: 2 and 3." in message
    assert "sizes that agree: x[..., n], other[..., n], row[n], y[..., n]" in message
    assert "`x` has 2 of them, and `y` 1." in refusal(y="6")
    assert f"`x`.shape[1] and `sums`.shape[1] {disagree}: 3 and 4" in refusal(sums="2x4x")
    assert "`x` has 2 of them, and `sums` 0." in refusal(sums="")


def test_leading_dims_that_disagree_are_refused_when_the_model_runs(add_rows: cd.Kernel) -> None:
    kind = "tensor<?x?x8xf32>"
    types = f"({kind}, {kind}, tensor<8xf32>, {kind}) -> ({kind}, tensor<?x?xf32>)"
    source = f"""
      func.func private @add_rows{types}
      func.func @main(%x: {kind}, %row: tensor<8xf32>, %y: {kind}) -> {kind} {{
        %0:2 = call @add_rows(%x, %x, %row, %y) : {types}
        return %0#0 : {kind}
      }}"""
    program = cd.load(cd.compile(source, add_rows, ["cpu"]))
    with pytest.raises(CallError) as caught:
        program.main(X, WEIGHT, np.ones((3, 2, 8), np.float32))
    assert "`x`.shape[0] and `y`.shape[0] disagree, which are leading dims" in str(caught.value)


def test_a_rank_below_the_declared_dims_is_refused(library: Library) -> None:
    with pytest.raises(LinkError) as caught:
        link(model("tensor<f32>"), library, by_path)
    assert "declaration of `row_norm` has tensor<f32> for `x`" in str(caught.value)
    assert "a tensor of rank 1 or more and type f32: tensor<?x?xf32>" in str(caught.value)


class Ranks(torch.nn.Module):
    """Calls of one kernel with tensors of several ranks."""

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> Any:
        norm = cd.torch.register(row_norm)
        return norm(x, weight, 1e-5), norm(x[0], weight, 1e-5), norm(x[0, 0], weight, 1e-5)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_pytorch_model_calls_one_kernel_with_several_ranks(dynamic: bool) -> None:
    x, weight = torch.randn(2, 3, 8), torch.rand(8)
    shapes = ({0: torch.export.Dim("a"), 1: torch.export.Dim("b")}, None) if dynamic else None
    module = cd.torch.compile(Ranks(), (x, weight), ["cpu"], dynamic_shapes=shapes)
    if dynamic:
        x = torch.randn(4, 5, 8)
    results = cd.load(module).main(x, weight)
    for result, wanted in zip(results, (x, x[0], x[0, 0]), strict=True):
        normal = torch.nn.functional.rms_norm(wanted, (8,), weight, 1e-5)
        torch.testing.assert_close(torch.from_dlpack(result), normal)
    assert module.kernels == ("row_norm",)


def test_operators_whose_leading_dims_disagree_are_refused(add_rows: cd.Kernel) -> None:
    def refusal(operands: str, types: str, result: str) -> str:
        source = f"""
          func.func @main({operands}) -> {result} {{
            %none = torch.constant.none
            %0:2 = torch.operator "torch.mine.add_rows"(%x, %none, %row, %y) : ({types})
              -> ({result}, !torch.vtensor<[2,3],f32>)
            return %0#0 : {result}
          }}"""
        with pytest.raises((LinkError, ModelError)) as caught:
            link(source, built, by_path)
        return str(caught.value)

    built = cd.build([add_rows], ["cuda:sm_80"])
    x, row = "!torch.vtensor<[2,3,8],f32>", "!torch.vtensor<[8],f32>"
    counts = "the operands disagree on their leading dims: `x` has 2 of them, and `y` "
    for sizes, found in (
        ("3,2", "`x`.shape[0] and `y`.shape[0] disagree, which are leading dims: 2 and 3"),
        ("6", f"{counts}1"),
        ("2,3,1", f"{counts}3"),
    ):
        y = f"!torch.vtensor<[{sizes},8],f32>"
        operands = f"%x: {x}, %row: {row}, %y: {y}"
        message = refusal(operands, f"{x}, !torch.none, {row}, {y}", y)
        assert f"The operator `mine.add_rows` does not fit: Kernel `add_rows`: {found}" in message


def test_tracing_gives_leading_dims_through(add_rows: cd.Kernel) -> None:
    operator = cd.torch.register(add_rows)
    x, row = torch.zeros(2, 3, 8), torch.zeros(8)
    torch.library.opcheck(operator, (x, None, row, x.clone()))
    torch.library.opcheck(operator, (x[0, 0], None, row, x[0, 0].clone()))
    with pytest.raises(CallError) as caught:
        operator(x, None, row, torch.zeros(3, 2, 8))
    assert "`x`.shape[0] and `y`.shape[0] disagree, which are leading" in str(caught.value)

    class Traced(torch.nn.Module):
        def forward(self, x: torch.Tensor, row: torch.Tensor, y: torch.Tensor) -> Any:
            return operator(x, None, row, y)

    dims = {0: torch.export.Dim("a"), 1: torch.export.Dim("b")}
    program = torch.export.export(Traced(), (x, row, x.clone()), dynamic_shapes=(dims, None, dims))
    (out,) = (node for node in program.graph.nodes if node.op == "output")
    y, sums = (node.meta["val"].shape for node in out.args[0])
    assert [len(y), len(sums)] == [3, 2]
    assert y[:2] == sums

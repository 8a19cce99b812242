"""Kernels as operators of PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.norms import rms_norm_f32
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.operator import schema_of
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import Expr
from tests.sample_kernels import scratch
from tests.sample_kernels.rows import row_norm

AFFINE = """
struct Shift { float scale; int by[2]; };
extern "C" __global__ void affine(const float* x, const float* bias, Shift shift, bool negate,
                                  long long extra, float* y, int* seen, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = x[i] * shift.scale + shift.by[0] - shift.by[1] + float(extra >> 32);
  if (bias) value += bias[i];
  y[i] = negate ? -value : value;
  seen[i] = i;
}
"""
n = cd.dim("n")


def test_a_scratch_is_no_part_of_an_operator() -> None:
    kernel = scratch.ALL[0]
    operator = cd.torch.register(kernel)
    without = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])]
    assert schema_of(kernel) == schema_of(kernel_of("reversed", operands=without))
    x = torch.arange(128.0)
    assert torch.equal(operator(x), x.reshape(-1, 64).flip(1).flatten())


def kernel_of(name: str, **parts: Any) -> cd.Kernel:
    """A kernel of which nothing is built: tracing a model asks its declaration alone."""
    parts = {"source": "not-here.cu", "block": 64, "grid": cd.ceildiv(n, 64), **parts}
    return cd.Kernel(name, **parts)


@pytest.fixture(scope="module")
def affine(tmp_path_factory: pytest.TempPathFactory) -> cd.Kernel:
    """Every kind of operand."""
    source = tmp_path_factory.mktemp("affine") / "affine.cu"
    source.write_text(AFFINE)
    return cd.Kernel(
        "affine",
        source=source,
        operands=[
            cd.In("x", "f32", [n]),
            cd.In("bias", "f32", [n], optional=True),
            cd.Struct("shift", scale="f32", by=("i32", 2)),
            cd.Scalar("negate", "bool"),
            cd.Scalar("extra", "i64"),
            cd.Out("y", "f32", [n]),
            cd.Out("seen", "i32", [n]),
            cd.Scalar("n", "i32", n),
        ],
        block=64,
        grid=cd.ceildiv(n, 64),
    )


def refusal(call: Any, *arguments: Any) -> str:
    with pytest.raises(CallError) as caught:
        call(*arguments)
    return str(caught.value)


def test_the_package_does_not_load_torch() -> None:
    code = "import custom_dispatch as cd, sys; cd.Kernel; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_without_torch_a_sentence_says_what_to_install() -> None:
    code = (
        "import custom_dispatch as cd, importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "try:\n    cd.torch\nexcept cd.CustomDispatchError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "PyTorch is not installed in this Python environment.",
        "  expected: the package torch, which `cd.torch` is for",
        "  next step: pip install -e '.[torch]' (in the clone).",
    ], done.stderr


@pytest.mark.parametrize("kind", ELEMENT_TYPES.values(), ids=str)
def test_every_element_type_is_a_dtype_of_torch(kind: Any) -> None:
    assert torch_dtype(kind).itemsize == kind.bytes


def test_opcheck_passes_for_an_elementwise_kernel() -> None:
    operator = cd.torch.register(simple_mul)
    a, b = torch.randn(100), torch.randn(100)
    assert torch.equal(torch.ops.custom_dispatch.simple_mul(a, b), a * b)
    for arguments in [(a, b), (a[::2], b[1:51]), (torch.empty(0), torch.empty(0))]:
        torch.library.opcheck(operator, arguments)


@pytest.mark.parametrize("is_choice", [False, True])
def test_opcheck_passes_for_a_norm_and_a_choice_of_them(is_choice: bool) -> None:
    kernel: cd.Kernel | cd.Choice = row_norm
    if is_choice:
        few = row_norm.with_launch(name="few").requiring([cd.batch <= 4])
        kernel = cd.Choice("norms", [few, row_norm])
    operator = cd.torch.register(kernel, "opcheck")
    x, weight = torch.randn(5, 33), torch.randn(33)
    expected = torch.nn.functional.rms_norm(x, (33,), weight, 1e-5)
    torch.testing.assert_close(operator(x, weight, 1e-5), expected)
    torch.library.opcheck(operator, (x, weight, 1e-5))


def test_scalars_structs_and_absent_operands_are_arguments(affine: cd.Kernel) -> None:
    operator = cd.torch.register(affine)
    assert str(torch.ops.custom_dispatch.affine.default._schema) == (
        "custom_dispatch::affine(Tensor x, Tensor? bias, float shift_scale, SymInt shift_by_0, "
        "SymInt shift_by_1, bool negate, SymInt extra) -> (Tensor, Tensor)"
    )
    x, bias = torch.arange(70.0), torch.ones(70)
    for arguments, expected in [
        ((x, bias, 2.0, 7, 3, True, 5 << 32), -(2 * x + 10)),
        ((x, None, 0.5, -7, 3, False, 0), 0.5 * x - 10),
    ]:
        y, seen = operator(*arguments)
        assert torch.equal(y, expected)
        assert torch.equal(seen, torch.arange(70, dtype=torch.int32))
        torch.library.opcheck(operator, arguments)


def test_an_update_in_place_returns_a_new_tensor() -> None:
    operator = cd.torch.register(simple_mul_inplace)
    a, b = torch.randn(64), torch.randn(64)
    kept = b.clone()
    assert torch.equal(operator(a, b), a * kept)
    assert torch.equal(b, kept)
    torch.library.opcheck(operator, (a, b))


def test_tensors_go_in_and_out_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    from custom_dispatch.runtime import device_array, incoming

    operator = cd.torch.register(simple_mul)
    a, b = torch.randn(4096), torch.randn(4096)
    operator(a, b)

    def copied(*_: Any) -> None:
        raise AssertionError("an array was copied")

    for module, name in [(incoming, "to_device"), (device_array, "to_host")]:
        monkeypatch.setattr(module, name, copied)
    assert torch.equal(operator(a, b), a * b)
    with pytest.raises(AssertionError, match="was copied"):  # the check itself notices one
        operator(torch.randn(4097)[1:], b)


def test_a_tensor_that_wants_a_gradient_is_taken() -> None:
    operator = cd.torch.register(simple_mul)
    a = torch.randn(8, requires_grad=True)
    assert torch.equal(operator(a, a.detach()), (a * a).detach())


def test_a_derivative_can_be_registered() -> None:
    kernel = simple_mul.with_launch(name="simple_mul", block=128, grid=cd.ceildiv(n, 128))
    operator = cd.torch.register(kernel, "with_derivative")

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a, b = ctx.saved_tensors
        return operator(gradient, b), operator(gradient, a)

    operator.register_autograd(backward, setup_context=keep)
    a, b = (torch.randn(8, requires_grad=True) for _ in range(2))
    operator(a, b).sum().backward()
    assert torch.equal(a.grad, b.detach())
    torch.library.opcheck(operator, (a, b))


class Model(torch.nn.Module):
    """An operator between others."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, 33))
        self.norm = cd.torch.register(rms_norm_f32)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(x * y, self.weight, 1e-5)) + 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile_captures_a_whole_graph(backend: str) -> None:
    model = Model()
    compiled = torch.compile(model, fullgraph=True, backend=backend, dynamic=True)
    with torch.no_grad():
        for rows in (5, 3):
            x, y = torch.randn(rows, 33), torch.randn(rows, 33)
            assert torch.equal(compiled(x, y), model(x, y))
    torch._dynamo.reset()


def test_export_keeps_the_operator_and_its_dynamic_size() -> None:
    rows = torch.export.Dim("rows", min=2, max=512)
    x, y = torch.randn(5, 33), torch.randn(5, 33)
    exported = torch.export.export(Model(), (x, y), dynamic_shapes=({0: rows}, {0: rows}))
    (node,) = [
        node
        for node in exported.graph.nodes
        if node.target is torch.ops.custom_dispatch.rms_norm_f32.default
    ]
    assert isinstance(node.meta["val"].shape[0], torch.SymInt)
    assert node.meta["val"].shape[1] == 33
    x, y = torch.randn(9, 33), torch.randn(9, 33)
    assert torch.equal(exported.module()(x, y), Model()(x, y))


# All at least 2: of a size that may be 0 or 1, PyTorch itself makes another case.
EXPRESSIONS = {
    "sum": n + 3,
    "difference": 3 * n - n,
    "quotient": n // 7,
    "remainder": n % 5 + 2,
    "rounded_up": cd.ceildiv(n, 4),
    "smaller": cd.minimum(n, 19),
    "larger": cd.maximum(n, 19),
    "chosen": cd.where(n >= 20, n // 2, n * 2),
    "chosen_else": cd.where(n < 20, n, cd.where(n > 32, 7, n - 1)),
    "chosen_at_most": cd.where(n <= 20, 3, 2),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_shapes_of_symbols_are_those_of_numbers(name: str) -> None:
    expr: Expr = EXPRESSIONS[name]
    kernel = kernel_of(f"by_{name}", operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [expr])])
    operator = cd.torch.register(kernel)

    class Calls(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return operator(x)

    exported = torch.export.export(
        Calls(), (torch.empty(24),), dynamic_shapes=({0: torch.export.Dim("n", min=16, max=64)},)
    )
    (node,) = [node for node in exported.graph.nodes if node.op == "call_function"
               and "by_" in str(node.target)]  # fmt: skip
    (size,) = node.meta["val"].shape
    (placeholder,) = [node for node in exported.graph.nodes if node.op == "placeholder"]
    symbol = placeholder.meta["val"].shape[0].node.expr
    assert size.node.expr.free_symbols == {symbol}
    for value in range(16, 65):
        found = size.node.expr.subs(symbol, value)
        assert int(found) == evaluate(expr, {"n": value}), value
        assert operator(torch.empty(value, device="meta")).shape == (int(found),)


def test_a_choice_that_may_be_small_holds_for_one_side() -> None:
    size = cd.where(n >= 40, n - 40, 3)
    kernel = kernel_of("maybe", operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [size])])
    operator = cd.torch.register(kernel)

    class Calls(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return operator(x)

    x, rows = torch.empty(24), torch.export.Dim("rows", min=16, max=64)
    with pytest.raises(RuntimeError, match="max=39"):
        torch.export.export(Calls(), (x,), dynamic_shapes=({0: rows},))
    rows = torch.export.Dim("rows", min=16, max=39)
    exported = torch.export.export(Calls(), (x,), dynamic_shapes=({0: rows},))
    assert "maybe" in exported.graph_module.code


def test_symbols_that_cannot_fit_are_refused_by_a_sentence() -> None:
    operator = cd.torch.register(simple_mul)

    class Calls(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return operator(x, y)

    sizes = ({0: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC})
    with pytest.raises(RuntimeError, match=r"`lhs`.shape\[0\] and `rhs`.shape\[0\] disagree"):
        torch.export.export(Calls(), (torch.empty(8), torch.empty(9)), dynamic_shapes=sizes)


def test_bad_tensors_are_refused_by_sentences() -> None:
    operator = cd.torch.register(simple_mul)
    a = torch.randn(8)
    assert refusal(operator, a.double(), a) == (
        "Kernel `simple_mul`: operand `lhs` has dtype torch.float64.\n"
        "  expected: torch.float32 (f32)\n"
        "  next step: convert it: tensor.to(torch.float32)."
    )
    assert refusal(operator, a, a.to("meta")) == (
        "Kernel `simple_mul`: operand `rhs` is on meta, and `lhs` on cpu.\n"
        "  expected: all tensors on one device\n"
        '  next step: move it: tensor.to("cpu").'
    )
    assert refusal(operator, a, a.to_sparse()) == (
        "Kernel `simple_mul`: operand `rhs` is a tensor of layout torch.sparse_coo.\n"
        "  expected: a dense tensor\n"
        "  next step: convert it: tensor.to_dense()."
    )
    assert "`lhs`.shape[0] and `rhs`.shape[0] disagree on dim n: 8 and 5" in refusal(
        operator, a, a[:5]
    )
    for device in ("cpu", "meta"):
        assert "is rank 2" in refusal(operator, *[torch.empty(2, 4, device=device)] * 2)
    assert "operand `lhs` has dtype torch.complex64" in refusal(operator, a.to(torch.cfloat), a)


def test_numbers_out_of_range_are_refused(affine: cd.Kernel) -> None:
    operator = cd.torch.register(affine)
    message = refusal(operator, torch.ones(4), None, 1.0, 1 << 40, 0, False, 0)
    assert "shift.by.0" in message
    assert str(1 << 40) in message


def test_a_kernel_is_registered_once() -> None:
    first = cd.torch.register(simple_mul, "once")
    assert cd.torch.register(simple_mul, "once") is first
    again = simple_mul.with_launch(name="simple_mul")
    assert cd.torch.register(again, "once") is first
    with pytest.raises(DeclarationError) as caught:
        cd.torch.register(simple_mul.with_launch(block=32), "once")
    assert str(caught.value) == (
        "PyTorch's operator `once::simple_mul` is another kernel.\n"
        "  expected: a name that is free: PyTorch keeps an operator as long as the process lives\n"
        '  next step: choose another namespace: cd.torch.register(kernel, namespace="mine").'
    )
    relu = kernel_of("relu", operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])])
    with pytest.raises(DeclarationError, match="`aten::relu` is an operator that this package did"):
        cd.torch.register(relu, "aten")


def test_what_cannot_be_registered_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"'my\.ops' cannot name a namespace"):
        cd.torch.register(simple_mul, "my.ops")
    with pytest.raises(DeclarationError, match=r"cd\.torch\.register is given 'simple_mul'"):
        cd.torch.register("simple_mul")
    fill = kernel_of("fill", operands=[cd.Out("y", "f32", [64])], grid=1)
    with pytest.raises(DeclarationError) as caught:
        cd.torch.register(fill)
    assert str(caught.value) == (
        "Kernel `fill` takes no buffer.\n"
        "  expected: an In or InOut that is not optional: it runs where that tensor is\n"
        "  next step: declare an InOut in place of an Out, and pass an empty tensor of its size."
    )


def test_what_may_be_left_out_comes_last_in_the_schema() -> None:
    x, y = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])
    bias = cd.In("params_alpha", "f32", [n], optional=True)
    kernel = kernel_of("k", operands=[x, cd.Struct("params", alpha="f32"), bias, y])
    assert schema_of(kernel) == (
        "(Tensor x, float params_alpha_, Tensor? params_alpha=None) -> Tensor"
    )
    assert Path(kernel.source).name == "not-here.cu"


def test_automatic_casts_convert_operands_to_what_a_kernel_takes() -> None:
    multiply = cd.torch.register(simple_mul, namespace="autocast")
    x = torch.rand(8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = multiply(x.bfloat16(), x)
    assert torch.equal(found, x.bfloat16().float() * x)

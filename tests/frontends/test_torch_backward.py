"""Derivatives of operators: functions of PyTorch, and kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CallError, DeclarationError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels.patterns import add_relu, squared_relu

n = cd.dim("n")
SOURCE = """
extern "C" __global__ void scaled_mul(const float* x, const float* w, float scale, float* y,
                                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * w[i] * scale;
}
extern "C" __global__ void scaled_mul_back(const float* grad_y, const float* x, const float* w,
                                           float scale, float* grad_x, float* grad_w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  grad_x[i] = grad_y[i] * w[i] * scale;
  grad_w[i] = grad_y[i] * x[i] * scale;
}
"""


def kernels(directory: Path, suffix: str = "") -> tuple[cd.Kernel, cd.Kernel]:
    (directory / "mul.cu").write_text(SOURCE)
    common: dict[str, Any] = {
        "source": directory / "mul.cu",
        "block": 64,
        "grid": cd.ceildiv(n, 64),
    }
    inputs = [cd.In("x", "f32", [n]), cd.In("w", "f32", [n]), cd.Scalar("scale", "f32")]
    count = cd.Scalar("n", "i32", n)
    forward = cd.Kernel(
        f"scaled_mul{suffix}",
        entry="scaled_mul",
        operands=[*inputs, cd.Out("y", "f32", [n]), count],
        **common,
    )
    backward = cd.Kernel(
        f"scaled_mul_back{suffix}",
        entry="scaled_mul_back",
        operands=[
            cd.In("grad_y", "f32", [n]),
            *inputs,
            cd.Out("grad_x", "f32", [n]),
            cd.Out("grad_w", "f32", [n]),
            count,
        ],
        **common,
    )
    return forward, backward


def leaves(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, requires_grad=True) for shape in shapes]


def test_a_kernel_is_a_kernels_derivative(tmp_path: Path) -> None:
    forward, backward = kernels(tmp_path)
    operator = cd.torch.register(forward, backward=backward)
    x, w = leaves((70,), (70,))
    (operator(x, w, 0.5) ** 2).sum().backward()
    found = x.grad, w.grad
    x.grad = w.grad = None
    ((x * w * 0.5) ** 2).sum().backward()
    torch.testing.assert_close(found, (x.grad, w.grad))
    torch.library.opcheck(operator, (x, w, 0.5))


def test_it_works_in_torch_compile_with_sizes_that_vary(tmp_path: Path) -> None:
    forward, backward = kernels(tmp_path, "_compiled")
    operator = cd.torch.register(forward, backward=backward)
    model = torch.compile(
        lambda x, w: operator(x, w, 3.0).relu().sum(),
        backend="aot_eager",
        fullgraph=True,
        dynamic=True,
    )
    for size in (8, 33):
        x, w = leaves((size,), (size,))
        model(x, w).backward()
        found = x.grad, w.grad
        x.grad = w.grad = None
        (x * w * 3.0).relu().sum().backward()
        torch.testing.assert_close(found, (x.grad, w.grad))


def test_a_function_is_a_derivative_of_several_results() -> None:
    def backward(grad_sum: torch.Tensor, grad_y: torch.Tensor, sum: torch.Tensor) -> Any:  # noqa: A002
        both = grad_sum + grad_y * (sum > 0)
        return both, both

    operator = cd.torch.register(add_relu, namespace="differentiated", backward=backward)
    x, y = leaves((3, 5), (3, 5))
    for used in ((0, 1), (1,), (0,)):
        sum(operator(x, y)[which].square().sum() for which in used).backward()
        found = x.grad, y.grad
        x.grad = y.grad = None
        sum((x + y, torch.relu(x + y))[which].square().sum() for which in used).backward()
        torch.testing.assert_close(found, (x.grad, y.grad))
        x.grad = y.grad = None
    torch.library.opcheck(operator, (x, y))


def test_a_mapping_gives_some_of_the_gradients() -> None:
    operator = cd.torch.register(
        simple_mul,
        namespace="partly",
        backward=lambda grad_product, lhs: {"rhs": grad_product * lhs},
    )
    x, y = leaves((8,), (8,))
    operator(x.detach(), y).sum().backward()
    torch.testing.assert_close(y.grad, x.detach())


def refusal(kind: type[Exception], call: Any) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_derivatives_that_are_none_are_refused(tmp_path: Path) -> None:
    relu = squared_relu(1)

    def register(backward: Any) -> Any:
        return cd.torch.register(relu, namespace="refused", backward=backward)

    assert refusal(DeclarationError, lambda: register(3)) == (
        "The backward of kernel `squared_relu_1` is 3.\n"
        "  expected: a function of PyTorch, or a cd.Kernel\n"
        "  next step: pass one."
    )
    assert refusal(DeclarationError, lambda: register(lambda grad: grad)) == (
        "The backward of kernel `squared_relu_1` takes `grad`.\n"
        "  expected: some of x, scale, y, grad_y\n"
        "  next step: name what it takes after the kernel's operands."
    )
    assert refusal(DeclarationError, lambda: register(simple_mul)) == (
        "The backward of kernel `squared_relu_1` gives `product`.\n"
        "  expected: results named grad_x for the gradient of `x`\n"
        "  next step: name its results after the kernel's operands."
    )
    operator = register(lambda grad_y: (grad_y, grad_y))
    (x,) = leaves((8,))
    assert refusal(CallError, lambda: operator(x, 1.0).sum().backward()) == (
        "The backward of kernel `squared_relu_1` returns 2 gradients.\n"
        "  expected: one each of x, or a mapping from these names; None where there is none\n"
        "  next step: correct what it returns."
    )
    forward, backward = kernels(tmp_path, "_partly")
    one = cd.Kernel(
        "only_x",
        entry="scaled_mul",
        source=backward.source,
        operands=[
            cd.In("grad_y", "f32", [n]),
            cd.In("w", "f32", [n]),
            cd.Scalar("scale", "f32"),
            cd.Out("grad_x", "f32", [n]),
            cd.Scalar("n", "i32", n),
        ],
        block=64,
        grid=cd.ceildiv(n, 64),
    )
    operator = cd.torch.register(forward, backward=one)
    x, w = leaves((8,), (8,))
    operator(x, w.detach(), 2.0).sum().backward()
    torch.testing.assert_close(x.grad, 2 * w.detach())
    assert refusal(CallError, lambda: operator(x, w, 2.0)) == (
        "Kernel `scaled_mul_partly` has no derivative by `w`, which requires a gradient.\n"
        "  expected: gradients of x alone: the backward kernel gives no other\n"
        "  next step: pass `w`.detach(), or let the backward give `grad_w`."
    )

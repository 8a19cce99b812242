"""`torch.vmap` of kernels: one call where they have leading dims for it, else one for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from tests.sample_kernels.rows import row_norm

multiply = cd.torch.register(
    simple_mul,
    "mapped",
    backward=lambda grad_product, lhs, rhs: (grad_product * rhs, grad_product * lhs),
)
norm = cd.torch.register(row_norm, "mapped")
torch.manual_seed(0)
X, Y, Z, W = torch.randn(3, 8), torch.randn(3, 8), torch.randn(2, 3, 8), torch.randn(8)


def normalised(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)


def own(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return norm(x, weight, 1e-5)


CASES: dict[str, tuple[Any, Any, tuple[Any, ...], dict[str, Any], int]] = {
    # the operator, the same in PyTorch, the arguments, how they are mapped, and calls of the kernel
    "for each": (multiply, torch.mul, (X, Y), {}, 3),
    "one for all": (multiply, torch.mul, (X, W), {"in_dims": (0, None)}, 3),
    "other dims": (multiply, torch.mul, (X.T, Y), {"in_dims": (1, 0), "out_dims": 1}, 3),
    "nothing": (multiply, torch.mul, (X[:0], Y[:0]), {}, 0),
    "a leading dim": (own, normalised, (Z, W), {"in_dims": (1, None), "out_dims": 1}, 1),
    "no leading dims yet": (own, normalised, (X, W), {"in_dims": (0, None)}, 1),
    "nothing in it": (own, normalised, (X[:0], W), {"in_dims": (0, None)}, 1),
    "another weight for each": (own, normalised, (X, Y), {}, 3),
    "the weight alone": (own, normalised, (X, Y), {"in_dims": (None, 0)}, 3),
}


@pytest.mark.parametrize("case", CASES)
def test_vmap_gives_what_pytorchs_operations_give(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, reference, arguments, how, count = CASES[case]
    calls = []
    on = cd.Kernel.on

    def counted(kernel: cd.Kernel, *given: Any, **more: Any) -> Any:
        calls.append(kernel)
        return on(kernel, *given, **more)

    monkeypatch.setattr(cd.Kernel, "on", counted)
    found = torch.vmap(function, **how)(*arguments)
    torch.testing.assert_close(found, torch.vmap(reference, **how)(*arguments))
    assert len(calls) == count


def test_vmap_within_vmap_and_beside_derivatives() -> None:
    inner = torch.vmap(multiply, in_dims=(0, None))
    torch.testing.assert_close(torch.vmap(inner)(Z, Y[:2]), Z * Y[:2, None])
    torch.testing.assert_close(torch.vmap(torch.vmap(own, (0, None)), (1, None))(Z, W),
                               normalised(Z.transpose(0, 1), W))  # fmt: skip
    x = X.clone().requires_grad_()
    torch.vmap(multiply)(x, Y).sum().backward()
    torch.testing.assert_close(x.grad, Y)


def test_vmap_of_several_results_and_an_absent_operand(tmp_path: Path) -> None:
    (tmp_path / "both.cu").write_text(
        'extern "C" __global__ void both(const float* x, const float* bias, float* y, float* z,'
        " int n) {\n  if (threadIdx.x < n) {\n"
        "    y[threadIdx.x] = x[threadIdx.x] * 3 + (bias ? bias[threadIdx.x] : 0);\n"
        "    z[threadIdx.x] = -x[threadIdx.x];\n  }\n}\n"
    )
    n = cd.dim("n")
    both = cd.Kernel(
        "both", source=tmp_path / "both.cu", block=32, grid=1,
        operands=[cd.In("x", "f32", [n]), cd.In("bias", "f32", [n], optional=True),
                  cd.Out("y", "f32", [n]), cd.Out("z", "f32", [n]), cd.Scalar("n", "i32", n)],
    )  # fmt: skip
    operator = cd.torch.register(both, "mapped")
    for rest, bias in (((), 0), ((None,), 0), ((Y[0],), Y[0])):
        y, z = torch.vmap(lambda x, rest=rest: operator(x, *rest))(X)
        torch.testing.assert_close(y, X * 3 + bias)
        torch.testing.assert_close(z, -X)


def test_autocast_gives_the_kernel_its_type() -> None:
    half, single = W.to(torch.bfloat16), X[0]
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(multiply(half, single), half.float() * single)

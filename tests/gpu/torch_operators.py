"""Kernels as operators of PyTorch, on a GPU, and a model compiled with them.

Run where there is a GPU, PyTorch with CUDA, and this package with its compilers:

    python tests/gpu/torch_operators.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from cuda_kernels.norms import rms_norm_f16, rms_norm_f32
from cuda_kernels.patterns.torch import everything
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import CallError
from gpu.each import run_each


def _rand(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(*sizes, device="cuda", dtype=dtype) + 0.5


def opcheck_passes() -> None:
    for kernel, arguments in [
        (simple_mul, (_rand(1000), _rand(1000))),
        (simple_mul_inplace, (_rand(1000), _rand(1000))),
        (rms_norm_f32, (_rand(5, 33), _rand(33), 1e-5)),
        (rms_norm_f16, (_rand(5, 33, dtype=torch.half), _rand(33, dtype=torch.half), 1e-5)),
    ]:
        torch.library.opcheck(cd.torch.register(kernel), arguments)


def results_are_right_and_on_the_gpu() -> None:
    multiply = cd.torch.register(simple_mul)
    a, b = _rand(100_003), _rand(100_003)
    for left, right in [(a, b), (a[1:], b[:-1]), (a[::2], b[:50_002])]:
        product = multiply(left, right)
        assert product.is_cuda
        torch.testing.assert_close(product, left * right, rtol=0, atol=0)


def work_of_the_current_stream_is_waited_for() -> None:
    multiply = cd.torch.register(simple_mul)
    stream, big = torch.cuda.Stream(), _rand(4096, 4096)
    for _ in range(20):
        with torch.cuda.stream(stream):
            for _ in range(8):
                last = big @ big
            a = last[0].contiguous() * 0 + 3
            result = multiply(a, a) + 1
        stream.synchronize()
        assert torch.equal(result, torch.full_like(result, 10))


def tensors_on_two_devices_are_refused() -> None:
    multiply = cd.torch.register(simple_mul)
    with pytest.raises(CallError, match="is on cpu, and `lhs` on cuda:0"):
        multiply(_rand(8), torch.ones(8))


def pytorch_compiles_a_graph_with_the_operator() -> None:
    norm = cd.torch.register(rms_norm_f32)

    def step(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.relu(norm(x * 2, weight, 1e-5)) + 1

    compiled: Any = torch.compile(step, fullgraph=True, backend="aot_eager")
    x, weight = _rand(64, 33), _rand(33)
    torch.testing.assert_close(compiled(x, weight), step(x, weight))


@torch.no_grad()
def a_compiled_model_agrees() -> None:
    norm = cd.torch.register(rms_norm_f32)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, 64))
            self.out = torch.nn.Linear(64, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(norm(x, self.weight, 1e-5))

    model, rows = Model(), {0: torch.export.Dim("rows")}
    module = cd.torch.compile(model, (torch.rand(8, 64),), dynamic_shapes=(rows,))
    program = cd.load(module, device="cuda")
    model.cuda()
    for size in (8, 1000):
        x = _rand(size, 64)
        result = torch.from_dlpack(program.main(x))
        assert result.is_cuda
        torch.testing.assert_close(result, model(x), rtol=2e-3, atol=2e-3)


@torch.no_grad()
def an_unchanged_model_and_its_weights_in_a_file_agree() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.RMSNorm(128, eps=1e-5)
            self.last = torch.nn.LayerNorm(128)
            self.register_buffer("brain", torch.rand(128, 128).bfloat16())
            self.register_buffer("bytes", (torch.rand(64, 128) * 255).to(torch.uint8))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = self.last(torch.nn.functional.gelu(self.norm(x) @ self.brain.float()))
            return torch.softmax(y, dim=-1), self.bytes + 1

    model, rows = Model().eval(), {0: torch.export.Dim("rows")}
    module = cd.torch.compile(
        model,
        (torch.rand(8, 128),),
        replace=everything,
        dynamic_shapes=(rows,),
    )
    assert len(module.replaced) == 5, module.replaced
    with tempfile.TemporaryDirectory() as directory:
        program = cd.load(module.save(Path(directory) / "model.vmfb"), device="cuda")
    model.cuda()
    for size in (8, 1000):
        x = _rand(size, 128)
        for result, wanted in zip(program.main(x), model(x), strict=True):
            found = torch.from_dlpack(result)
            assert found.is_cuda
            torch.testing.assert_close(found, wanted, rtol=2e-3, atol=2e-3)


def a_derivative_is_computed_on_the_gpu() -> None:
    multiply = cd.torch.register(
        simple_mul,
        namespace="trained_on_gpu",
        backward=lambda grad_product, lhs, rhs: (grad_product * rhs, grad_product * lhs),
    )
    a, b = _rand(1000).requires_grad_(), _rand(1000).requires_grad_()
    multiply(a, b).sum().backward()
    assert torch.equal(a.grad, b)
    assert torch.equal(b.grad, a)
    torch.library.opcheck(multiply, (a, b))


CASES = (
    opcheck_passes,
    results_are_right_and_on_the_gpu,
    work_of_the_current_stream_is_waited_for,
    tensors_on_two_devices_are_refused,
    pytorch_compiles_a_graph_with_the_operator,
    a_compiled_model_agrees,
    an_unchanged_model_and_its_weights_in_a_file_agree,
    a_derivative_is_computed_on_the_gpu,
)


def main() -> int:
    """Run every case."""
    return run_each(CASES, tuple)


if __name__ == "__main__":
    sys.exit(main())

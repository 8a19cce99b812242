"""`verify=True`: a model that computes something else than PyTorch is refused, with the place."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, VerificationError
from custom_dispatch.frontends import mlir

SOURCE = """
extern "C" __global__ void relu(const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] > 0.0f ? x[i] + SHIFT : 0.0f;
}
"""


def relu(directory: Path, shift: str = "0.0f") -> cd.torch.Pattern:
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
    return cd.torch.Pattern(kernel, lambda x: torch.relu(x))


@pytest.fixture
def wrong(tmp_path: Path) -> cd.torch.Pattern:
    return relu(tmp_path, "0.1f")


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.middle = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.ReLU())
        self.last = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.middle(self.first(x)))


def compiled(model: torch.nn.Module, *given: Any, **options: Any) -> cd.CompiledModule:
    return cd.torch.compile(model.eval(), given, ["cpu"], verify=True, **options)


def test_a_right_model_is_compiled_and_stays_as_it_was(tmp_path: Path) -> None:
    model = Layers()
    before = copy.deepcopy(model.state_dict())
    module = compiled(model, torch.randn(3, 8), replace=relu(tmp_path))
    assert [item.kernel for item in module.replaced or ()] == ["relu"]
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_kernel_that_computes_something_else_is_named_with_its_place(
    wrong: cd.torch.Pattern,
) -> None:
    with pytest.raises(VerificationError) as caught:
        compiled(Layers(), torch.randn(3, 8), replace=wrong)
    said = str(caught.value)
    assert said.startswith("Result 0 of the model, run once on the CPU, has a relative error of ")
    assert "PyTorch computes something else." in said
    assert "The first value that differs is that of kernel `relu` (`middle.1`" in said
    assert "expected: what PyTorch gives for the same arguments" in said


def test_an_operation_that_iree_computes_wrongly_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clamped(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 2).clamp(-1, 1) + 1

    x = torch.randn(5)
    x[2] = float("nan")
    compiled(Clamped(), x)  # as this package corrects it
    monkeypatch.setattr(mlir, "correct", lambda *_, **__: None)
    with pytest.raises(VerificationError) as caught:
        cd.torch.compile(Clamped(), (x,), ["cpu"], verify=True, store=False)
    assert "has NaN or infinities in other places" in str(caught.value)
    assert "The first value that differs is that of IREE's code of torch.aten.clamp" in str(
        caught.value
    )


def test_a_module_for_gpus_alone_is_verified_on_the_cpu(wrong: cd.torch.Pattern) -> None:
    with pytest.raises(VerificationError, match="kernel `relu`"):
        cd.torch.compile(
            Layers().eval(),
            (torch.randn(2, 8),),
            ["cuda:sm_80"],
            replace=wrong,
            verify=1e-4,
        )


def test_states_and_several_results_are_compared() -> None:
    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            self.total += x
            return self.total * 2, {"half": x / 2, "place": x.argmax()}

    model = Counts()
    compiled(model, torch.randn(4))
    assert torch.equal(model.total, torch.zeros(4))


@pytest.mark.parametrize("verify", ["yes", 0, -1.0, float("inf"), None])
def test_what_is_no_tolerance_is_refused(verify: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.torch.compile(Layers().eval(), (torch.randn(2, 8),), ["cpu"], verify=verify)
    assert str(caught.value).endswith(
        "expected: True, False, or the largest relative error as a number: 1e-3\n"
        "  next step: write verify=True for the usual errors of each element type."
    )

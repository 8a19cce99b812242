"""Models that cannot be compiled: each refused by a sentence with the operation and the place."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import LinkError, ModelError

multiply = cd.torch.register(simple_mul)


@torch.library.custom_op("refusals::scale_", mutates_args=("values",))
def scale_(values: torch.Tensor) -> None:
    values.mul_(2)


@torch.library.custom_op("refusals::simple_mul", mutates_args=())
def several(lhs: torch.Tensor, rhs: torch.Tensor, mode: str) -> torch.Tensor:
    return lhs * rhs


@several.register_fake
def _(lhs: torch.Tensor, rhs: torch.Tensor, mode: str) -> torch.Tensor:
    return torch.empty_like(lhs)


class Model(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def refusal(
    function: Any, *arguments: Any, kind: type[Exception] = ModelError, **options: Any
) -> str:
    model = function if isinstance(function, torch.nn.Module) else Model(function)
    with pytest.raises(kind) as caught:
        cd.torch.compile(model, arguments, ["cpu"], **options)
    return re.sub(r" at \S+/(\w+\.py):\d+", r" at \1", str(caught.value))


X = torch.randn(8)


def test_an_operator_that_writes_into_its_arguments() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        scale_(y)
        return multiply(y, y)

    assert refusal(model, X) == (
        "The operator `refusals.scale_` at test_torch_refusals.py changes its argument `values`.\n"
        "  expected: an operator that returns new values: mutates_args=()\n"
        "  next step: return the new value from the operator, and use that in the model; a kernel "
        "that updates a buffer in place is declared with cd.InOut."
    )


def test_sizes_and_ways_that_depend_on_data() -> None:
    said = (
        "  expected: sizes that follow from those of the arguments, as with a mask in place of a "
        "selection\n"
        "  next step: compute on all elements (torch.where), or take that part out of the model:\n"
    )
    assert refusal(lambda x: multiply(x[x > 0], x[x > 0]), X).startswith(
        "Sizes or branches of the model depend on its data at test_torch_refusals.py: those of "
        f"aten.index.Tensor.\n{said}"
    )
    for model in (
        lambda x: multiply(x, x)[: int(x.sum())],
        lambda x: multiply(x, x) if x.sum() > 0 else x,
    ):
        assert refusal(model, X).startswith(
            f"Sizes or branches of the model depend on its data at test_torch_refusals.py.\n{said}"
        )


def test_a_loop_over_experts() -> None:
    """Of transformers' mixtures of experts, whose other ways have none."""
    experts = Model(lambda x: multiply(x, x)[: int(x.sum())])
    experts.config = SimpleNamespace(_experts_implementation="eager")
    experts._can_set_experts_implementation = lambda: True
    assert (
        '  next step: call model.set_experts_implementation("grouped_mm"), which has no loop over '
        "experts:\n"
    ) in refusal(torch.nn.Sequential(experts), X)


def test_tensors_that_do_not_fit_the_kernel(caplog: pytest.LogCaptureFixture) -> None:
    prefix = "The model does not fit a kernel at test_torch_refusals.py: Kernel `simple_mul`: "
    assert refusal(lambda x: multiply(x.view(2, 4), x.view(2, 4)), X) == (
        f"{prefix}operand `lhs` has shape [2, 4], which is rank 2.\n"
        "  expected: rank 1: [n]\n"
        "  next step: reshape the array."
    )
    assert refusal(lambda x: multiply(x, x[:3]), X) == (
        f"{prefix}`lhs`.shape[0] and `rhs`.shape[0] disagree on dim n: 8 and 3.\n"
        "  expected: sizes that agree: lhs[n], rhs[n], product[n]\n"
        "  next step: pass arrays whose sizes agree, broadcast where they have to be."
    )
    assert refusal(lambda x: multiply(x.to(torch.complex64), x), X) == (
        f"{prefix}operand `lhs` has dtype torch.complex64.\n"
        "  expected: torch.float32 (f32)\n"
        "  next step: convert it: tensor.to(torch.float32)."
    )
    assert refusal(lambda x: multiply(x, x.to("meta")), X) == (
        f"{prefix}operand `rhs` is on meta, and `lhs` on cpu.\n"
        "  expected: all tensors on one device\n"
        '  next step: move it: tensor.to("cpu").'
    )
    # PyTorch would log a traceback besides.
    assert [item for item in caplog.records if item.levelno >= logging.WARNING] == []


def test_an_attribute_that_the_kernel_does_not_know() -> None:
    assert refusal(
        lambda x: several(x, x, "fast"), X, kind=LinkError, kernels=[simple_mul]
    ).startswith(
        "The operator `refusals.simple_mul` at test_torch_refusals.py has 3 operands and 1 "
        "results.\n"
        "  expected: 2 and 1: @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
    )


@pytest.mark.parametrize(
    ("tensor", "dtype"),
    [
        (torch.zeros(3, dtype=torch.complex64), "complex64"),
        (torch.zeros(3, dtype=torch.uint16), "uint16"),
        (torch.zeros(3, dtype=torch.uint64), "uint64"),
        (torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2), "float4_e2m1fn_x2"),
    ],
)
def test_types_that_modules_do_not_have(tensor: torch.Tensor, dtype: str) -> None:
    wanted = (
        "  expected: real numbers of 8 bits or more: float32, bfloat16, int64, uint8, ...\n"
        "  next step: pass complex numbers as real ones (torch.view_as_real), packed ones as uint8 "
        "(tensor.view), and other integers as the next larger type."
    )
    assert refusal(lambda x, y: (multiply(x, x), y.view(torch.uint8)), X, tensor) == (
        f"The model's argument `arguments_1` is torch.{dtype}, which modules do not take.\n{wanted}"
    )
    assert refusal(lambda x: (multiply(x, x), tensor), X).startswith(
        f"The model's result 1 is torch.{dtype}, which modules do not take.\n"
    )


def test_complex_numbers_in_the_middle() -> None:
    assert refusal(lambda x: (multiply(x, x), torch.view_as_real(torch.fft.fft(x))), X).startswith(
        "IREE does not take the complex numbers of aten.fft_fft.default at "
        "test_torch_refusals.py.\n"
        "  expected: real numbers\n"
        "  next step: compute real and imaginary parts by themselves; IREE says:\n"
    )


def test_weights_without_values_sparse_tensors_and_results_that_are_none() -> None:
    class Meta(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.empty(8, device="meta"))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return multiply(x, x) + self.weight.sum()

    assert refusal(Meta(), torch.empty(8, device="meta")) == (
        "The weight `weight` has no values: it is on the device meta.\n"
        "  expected: a model with its weights\n"
        "  next step: load them: model.to_empty(device='cpu'), and load_state_dict."
    )
    assert refusal(lambda x, y: (multiply(x, x), y.to_dense()), X, torch.eye(3).to_sparse()) == (
        "The model's argument `arguments_1` has the layout torch.sparse_coo.\n"
        "  expected: a dense tensor\n"
        "  next step: pass tensor.to_dense()."
    )
    assert refusal(lambda x: (multiply(x, x), None), X) == (
        "The model's result 1 is None.\n"
        "  expected: tensors and numbers\n"
        "  next step: leave it out of what the model returns."
    )


@torch.no_grad()
def test_tensors_with_gaps_are_taken() -> None:
    x, y = torch.randn(8, 2)[:, 0], torch.randn(16)[1::2]
    program = cd.load(cd.torch.compile(Model(multiply), (x, y), ["cpu"]), device="cpu")
    torch.testing.assert_close(torch.from_dlpack(program.main(x, y)), x * y)

"""Gated linear units: the kernels against their references, and where models have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy
import pytest
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import elementwise
from cuda_kernels.elementwise.glu import ACTIVATIONS
from cuda_kernels.patterns import torch as shipped
from tests.places import replaced_in_torch


class Calls(torch.nn.Module):  # type: ignore[misc]
    """Functions as a model."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *given: torch.Tensor) -> Any:
        return tuple(function(*given) for function in self.functions)


def of_phi3(x: Any) -> Any:
    gate, up = x.chunk(2, dim=-1)
    return up * functional.silu(gate)


def of_modernbert(x: Any) -> Any:
    first, gate = x.chunk(2, dim=-1)
    return functional.gelu(first) * gate


def of_diffusers(x: Any) -> Any:
    hidden, gate = x.split(x.shape[-1] // 2, dim=-1)
    return hidden * functional.gelu(gate)


def sliced(x: Any) -> Any:
    half = x.shape[-1] // 2
    return functional.gelu(x[..., half:], approximate="tanh") * x[..., :half]


def unbound(x: Any) -> Any:
    gate, up = x.unflatten(-1, (2, -1)).unbind(-2)
    return functional.relu(gate) * up


def written_out(x: Any) -> Any:
    gate, up = torch.split(x, [x.shape[-1] // 2] * 2, dim=-1)
    return gate * torch.sigmoid(gate) * up


def of_channels(x: Any) -> Any:
    """As Conformer's convolutions have them."""
    return functional.glu(x.reshape(2, 4, 18), dim=1)


NAMES = [*ACTIVATIONS]
UNITS: dict[Callable[..., Any], tuple[str, int]] = {
    of_phi3: ("silu", 0),
    of_modernbert: ("gelu_erf", 0),
    of_diffusers: ("gelu_erf", 1),
    sliced: ("gelu_tanh", 1),
    unbound: ("relu", 0),
    written_out: ("silu", 0),
    functional.glu: ("sigmoid", 1),
    of_channels: ("sigmoid", 1),
}


@pytest.mark.parametrize("function", UNITS)
def test_halves_of_one_tensor_are_gated_where_they_are(function: Callable[..., Any]) -> None:
    name, second = UNITS[function]
    given = (torch.randn(2, 3, 24, dtype=torch.bfloat16),)
    (found,) = replaced_in_torch(Calls(function), given, shipped.glu_of_halves)
    assert found.kernel == "glu_of_halves_bf16"
    assert found.scalars == {"activation": NAMES.index(name), "gate_is_second": second}


def test_units_in_a_model_compute_the_same() -> None:
    given = (torch.randn(2, 3, 24),)
    functions = [*UNITS, lambda x: functional.gelu(x) * (x + 1)]
    patterns = [*shipped.geglu, *shipped.glu_of_halves]
    module = cd.torch.compile(Calls(*functions), given, ["cpu:host"], replace=patterns, verify=1e-6)
    assert Counter(item.kernel for item in module.replaced or ()) == {
        "geglu_erf_f32": 1,
        "glu_of_halves_f32": len(UNITS),
    }


@pytest.mark.parametrize(
    "function",
    [
        lambda x: functional.silu(x[..., :12]) * x[..., :12],
        lambda x: functional.silu(x[..., ::2]) * x[..., 1::2],
        lambda x: functional.silu(x[..., :8]) * x[..., 8:16],
        lambda x: functional.elu(x[..., :12]) * x[..., 12:],
        lambda x: functional.silu(x[:1]) * x[1:],
    ],
)
def test_what_is_no_unit_of_halves_stays(function: Callable[..., Any]) -> None:
    assert not replaced_in_torch(Calls(function), (torch.randn(2, 3, 24),), shipped.glu_of_halves)


@pytest.mark.parametrize("written", [functional.gelu, None])
def test_products_stay_products_before_a_gelu_that_gates(written: Any) -> None:
    def gelu_new(x: Any) -> Any:
        return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))

    class Block(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.up = torch.nn.Linear(16, 24), torch.nn.Linear(16, 24)

        def forward(self, x: Any) -> Any:
            return (written or gelu_new)(self.gate(x)) * self.up(x)

    patterns = [*shipped.gelu, *shipped.geglu, *shipped.linear]
    patterns = [each for each in patterns if each.item.name.endswith("_f32")]
    found = replaced_in_torch(Block(), (torch.randn(2, 3, 16),), patterns)
    name = "geglu_erf_f32" if written else "geglu_tanh_f32"
    assert Counter(item.kernel for item in found) == {"linear_f32": 2, name: 1}


@pytest.mark.parametrize(
    "dtype",
    ["f32", "bf16", pytest.param("f16", marks=pytest.mark.thorough)],
)
def test_every_activation_of_either_half(dtype: str) -> None:
    element = {"f32": numpy.float32, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16}[dtype]
    numbers = numpy.random.default_rng(0)
    kernel = getattr(elementwise, f"glu_of_halves_{dtype}")
    for columns in (16, 5):
        x = (numbers.standard_normal((2, 3, 2 * columns)) * 3).astype(element)
        x[0, 0, :4] = [numpy.inf, -50, 50, numpy.nan]
        for activation, second in product(range(len(ACTIVATIONS)), (0, 1)):
            with numpy.errstate(invalid="ignore"):
                found, wanted = (
                    numpy.asarray(call(x, activation, second)).astype(numpy.float64)
                    for call in (kernel, kernel.reference)
                )
            numpy.testing.assert_allclose(
                found, wanted, rtol=2e-6 if dtype == "f32" else 8e-3, atol=1e-6
            )


@pytest.mark.parametrize("form", ["erf", "tanh"])
def test_geglu(form: str) -> None:
    kernel = getattr(elementwise, f"geglu_{form}_f32")
    gate, up = numpy.random.default_rng(0).standard_normal((2, 3, 37)).astype(numpy.float32)
    found = numpy.asarray(kernel(gate, up))
    numpy.testing.assert_allclose(found, kernel.reference(gate, up), rtol=2e-6, atol=1e-6)

"""PyTorch models that write into their arguments."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.norms import rms_norm_f32
from cuda_kernels.patterns.torch import rms_norm
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import CallError, ModelError
from custom_dispatch.frontends.torch.importer import export_model
from custom_dispatch.runtime.program import Program
from tests.places import replaced_in_torch

multiply = cd.torch.register(simple_mul, namespace="updates")
scaled = cd.torch.register(simple_mul_inplace, namespace="updates")  # (x, y): the new y


class Calls(torch.nn.Module):
    """A function as a model."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self.function(*arguments)


def scale(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    state.copy_(scaled(x, state))
    return state + 1


@pytest.fixture(scope="module")
def program() -> Program:
    example = (torch.ones(8), torch.ones(8))
    return cd.load(cd.torch.compile(Calls(scale), example, ["cpu"]), "cpu")


def values() -> tuple[Any, Any]:
    return numpy.arange(8, dtype=numpy.float32), numpy.full(8, 3, numpy.float32)


def test_a_graph_updates_its_input_and_a_plain_call_the_array_that_it_is_given() -> None:
    example = (torch.ones(8), torch.ones(8))
    program = cd.load(cd.torch.compile(Calls(scale), example, ["cpu"], graph=True), "cpu")
    main, (x, state) = program.main, values()
    for given, times in (((x, state), 3 * x), ((x,), 3 * x * x)):
        (found,) = main.replay(*given)
        numpy.testing.assert_array_equal(found, times + 1)
        numpy.testing.assert_array_equal(main.inputs[1], times)
    here = program.to_device(state)
    for times in (3 * x, 3 * x * x):
        numpy.testing.assert_array_equal(main(x, here), times + 1)
        numpy.testing.assert_array_equal(here.to_host(), times)


def test_an_array_on_the_device_is_updated(program: Program) -> None:
    x, state = values()
    here = program.to_device(state)
    assert program.main.writes == (1,)
    assert str(program.main.type) == "(tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)"
    for times in (3 * x, 3 * x * x):
        numpy.testing.assert_array_equal(program.main(x, here), times + 1)
        numpy.testing.assert_array_equal(here.to_host(), times)
    numpy.testing.assert_array_equal(state, 3)  # it was copied to the device


def test_a_tensor_of_pytorch_is_updated(program: Program) -> None:
    x, state = map(torch.from_numpy, values())
    state = state.clone()  # aligned, as PyTorch's own are
    program.main(x, state)
    assert torch.equal(state, 3 * x)


def test_who_reads_it_waits_for_a_call_under_way(program: Program) -> None:
    x, state = values()
    here = program.to_device(state)
    given = program.to_device(x)
    calls = [program.main.submit(given, here) for _ in range(3)]
    numpy.testing.assert_array_equal(here.to_host(), 3 * x**3)
    assert [call.result().to_host()[2] for call in calls] == [7, 13, 25]


def test_what_cannot_be_updated_is_refused(program: Program) -> None:
    x, state = values()
    with pytest.raises(CallError) as caught:
        program.main(x, state)
    assert str(caught.value) == (
        "Argument 1 of `main` is written into, and only a copy of it would be on cpu.\n"
        "  expected: an array on cpu\n"
        "  next step: pass what program.to_device(array) returns; it has the new values after "
        "the call."
    )
    here = program.to_device(state)
    with pytest.raises(CallError) as caught:
        program.main(here, here)
    assert str(caught.value) == (
        "Arguments 0 and 1 of `main` are one array, and the call writes into it.\n"
        "  expected: an array of its own for each argument that is written into\n"
        "  next step: pass a copy for one of them."
    )


def test_other_operations_stay_as_patterns_look_for_them() -> None:
    def function(x: torch.Tensor, weight: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        y = weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))
        state.add_(1)
        return y * state.to(torch.float32)

    given = (torch.ones(2, 8), torch.ones(8), torch.ones(2, 8))
    program = export_model(Calls(function), given, None)
    found = replaced_in_torch(program, (), rms_norm[0])
    assert [item.kernel for item in found] == [rms_norm_f32.name]
    assert list(program.graph_signature.user_inputs_to_mutate.values()) == ["arguments_2"]
    y = function(*(each.clone() for each in given))
    torch.testing.assert_close(program.module()(*given), y)
    assert torch.equal(given[2], torch.full((2, 8), 2.0))


def test_a_wider_value_is_rounded_to_the_arguments_type() -> None:
    def function(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return state.add_(x) * 1

    given = (torch.full((4,), 0.1), torch.ones(4, dtype=torch.half))
    program = export_model(Calls(function), given, None)
    wanted = function(*(each.clone() for each in given))
    found = program.module()(*given)
    assert found.dtype == torch.half
    assert torch.equal(found, wanted)
    assert torch.equal(given[1], wanted)


def by_keyword(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    state.copy_(scaled(rhs=state, lhs=x))
    return state + 1


def test_a_kernel_may_be_given_the_argument_by_keyword() -> None:
    module = cd.torch.compile(Calls(by_keyword), (torch.ones(8), torch.ones(8)), ["cpu"])
    loaded = cd.load(module, "cpu")
    x, state = values()
    here = loaded.to_device(state)
    loaded.main(x, here)
    numpy.testing.assert_array_equal(here.to_host(), 3 * x)


def in_a_view(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    state[2:4] = x[2:4]
    return multiply(x, state)


def swapped(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    old = x.clone()
    x.copy_(state)
    state.copy_(old)
    return multiply(x, state)


def read_before(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    old = state.flip(0)
    state.copy_(scaled(x, state))
    return old


def of_another(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    state.copy_(scaled(state, x))
    return state + 1


def by_no_kernel(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    return multiply(x, state.add_(1))


@pytest.mark.parametrize("function", [by_no_kernel, in_a_view, swapped, read_before, of_another])
def test_what_no_kernel_does_in_place_is_refused(function: Any) -> None:
    with pytest.raises(ModelError) as caught:
        cd.torch.compile(Calls(function), (torch.ones(8), torch.ones(8)), ["cpu"])
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("The model changes its argument `arguments_")
    assert first.endswith(", and not by kernels alone that update it in place.")
    assert rest == [
        "  expected: a kernel that has the argument as a cd.InOut, and nothing else that reads "
        "what was there before it",
        "  next step: put such a kernel there, as replace=cuda_kernels.patterns.torch.write_cache "
        "puts one in the place of index_copy_; or return the new value instead.",
    ]

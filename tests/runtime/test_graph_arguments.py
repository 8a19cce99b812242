"""What calls and replays of a graph say of arrays that do not fit, and which they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from foreign_arrays import Elsewhere, Foreign
from graph_model import COUNT, MODEL, T, drawn

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CallError

X, Y = drawn(1), drawn(2)
WRONG = "Argument 0 of `step` "
UNREADABLE = (
    "expected: an array that offers DLPack\n"
    "next step: pass a plain copy of it: one that needs no gradient, is dense, and can be written."
)
WRITTEN_OVER = (
    "which the call writes over.\nexpected: an array of its own\nnext step: pass a copy: "
    "numpy.array(step.inputs[{}]); or let `replay` run on what the inputs hold."
)
ANOTHER_TYPE = 'expected: float32 (f32)\nnext step: convert it: array.astype("float32").'


@pytest.fixture(scope="module")
def step() -> Any:
    return cd.load(cd.compile(MODEL, simple_mul, ["cpu"], graph=True), "cpu").step


def said(call: Callable[[], object]) -> str:
    with pytest.raises(CallError) as caught:
        call()
    return "\n".join(line.strip() for line in str(caught.value).splitlines())


REFUSED: dict[str, tuple[Any, str]] = {
    "size": (
        X[:3],
        f"has size 3 in dimension 0.\nexpected: {COUNT}: {T}\nnext step: pass an array of that "
        "size.",
    ),
    "no elements": (
        Foreign(X[:0]),
        f"has size 0 in dimension 0.\nexpected: {COUNT}: {T}\nnext step: pass an array of that "
        "size.",
    ),
    "rank": (
        torch.zeros(8, 8),
        f"has shape [8, 8], which is rank 2.\nexpected: rank 1: {T}\nnext step: reshape the array.",
    ),
    "dtype": (X.astype(np.float64), f"has dtype float64.\n{ANOTHER_TYPE}"),
    "dtype of torch": (torch.zeros(COUNT).bool(), f"has dtype bool.\n{ANOTHER_TYPE}"),
    "complex": (torch.zeros(COUNT) + 0j, f"has dtype complex64.\n{ANOTHER_TYPE}"),
    "byte order": (X.astype(">f4"), f"has dtype >f4.\n{ANOTHER_TYPE}"),
    "byte order of others": (
        Foreign(X.astype(">f4")),
        "cannot be read as an array: DLPack only supports native byte order.\n" + UNREADABLE,
    ),
    "read-only": (
        Foreign(np.broadcast_to(np.float32(1), (COUNT,))),
        "cannot be read as an array: Cannot export readonly array since signalling readonly is "
        "unsupported by DLPack (supported by newer DLPack version).\n" + UNREADABLE,
    ),
    "gradient": (
        torch.zeros(COUNT, requires_grad=True),
        "cannot be read as an array: Can't export tensors that require gradient, use "
        "tensor.detach().\n" + UNREADABLE,
    ),
    "GPU": (
        Elsewhere(X),
        "is on cuda:0, and the program runs on cpu.\nexpected: an array on cpu or in host memory\n"
        "next step: pass a copy on the CPU: tensor.cpu(), or load the program on the other device.",
    ),
    "list": (
        [1.0] * COUNT,
        "is list.\nexpected: a numpy array, or one that offers DLPack\nnext step: make it an array "
        "with the declared dtype: numpy.asarray(value, dtype=...).",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_array_that_does_not_fit_is_refused(step: Any, case: str) -> None:
    value, message = REFUSED[case]
    for call in (step, step.submit, step.replay):
        assert said(lambda call=call: call(value, Y)) == WRONG + message  # type: ignore[misc]


def test_a_replay_that_is_refused_changes_no_input(step: Any) -> None:
    step.replay(X, Y)
    for wrong in (X[:3], "y", Elsewhere(X)):
        said(lambda wrong=wrong: step.replay(Y, wrong))  # type: ignore[misc]
    np.testing.assert_array_equal(step.inputs[0], X)
    np.testing.assert_allclose(step.replay()[0], X * Y + Y, rtol=1e-6)


TAKEN: dict[str, Callable[[], Any]] = {
    "read-only": lambda: np.frombuffer(X.tobytes(), np.float32),
    "with gaps": lambda: np.repeat(X, 2)[::2],
    "backwards": lambda: X[::-1].copy()[::-1],
    "of torch with gaps": lambda: torch.tensor(X).repeat_interleave(2)[::2],
    "of others backwards": lambda: Foreign(X[::-1].copy()[::-1]),
    "on the device": lambda: cd.load(cd.compile(None, simple_mul, ["cpu"])).to_device(X),
}


@pytest.mark.parametrize("case", TAKEN)
def test_arrays_however_they_lie_in_memory_are_taken(step: Any, case: str) -> None:
    for call in (step, step.replay):
        np.testing.assert_allclose(np.asarray(call(TAKEN[case](), Y)[0]), X * Y + Y, rtol=1e-6)


def test_another_number_of_arrays_is_refused(step: Any) -> None:
    types = f"({T}, {T}) -> ({T}, {T})"
    assert said(lambda: step.replay(X, Y, X)) == (
        f"`step` is given 3 arrays.\nexpected: at most 2: {types}\n"
        "next step: pass them in the order of its inputs."
    )
    for call in (step, step.submit):
        for given in ((X,), (X, Y, X), ()):
            assert said(lambda call=call, given=given: call(*given)) == (  # type: ignore[misc]
                f"`step` is called with {len(given)} arguments.\nexpected: 2: {types}\n"
                "next step: correct the call."
            )


def test_inputs_that_change_places_are_refused_or_copied_first(step: Any) -> None:
    first, second = map(torch.from_dlpack, step.inputs)
    for given in (step.inputs[::-1], (second, first)):
        for call in (step, step.submit, step.replay):
            step.replay(X, Y)
            assert said(lambda call=call, given=given: call(*given)) == (  # type: ignore[misc]
                f"Argument 1 of `step` is its input 0, {WRITTEN_OVER.format(0)}"
            )
    for call in (step, step.replay):
        step.replay(X, Y)
        found = call(*(np.asarray(array) for array in step.inputs[::-1]))
        np.testing.assert_allclose(found[0], X * Y + X, rtol=1e-6)


def test_an_input_may_be_given_for_itself_or_for_one_that_stays(step: Any) -> None:
    own = torch.from_dlpack(step.inputs[0])
    for given in (step.inputs, (own, Y), (step.inputs[0], Y)):
        step.replay(X, Y)
        np.testing.assert_allclose(step.replay(*given)[0], X * Y + Y, rtol=1e-6)
        assert said(lambda given=given: step(*given)) == (  # type: ignore[misc]
            f"Argument 0 of `step` is its input 0, {WRITTEN_OVER.format(0)}"
        )
    step.replay(X, Y)
    np.testing.assert_allclose(step.replay(step.inputs[1])[0], Y * Y + Y, rtol=1e-6)
    # Results of the call before are read before they are written over.
    step.replay(X, Y)
    np.testing.assert_allclose(step.replay(step.outputs[0])[0], (X * Y + Y) * Y + Y, rtol=1e-5)

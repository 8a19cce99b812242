"""Calls of a kernel of shape `[..., n]` with any leading dims, without moving an element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from foreign_arrays import Foreign, aligned
from sample_kernels.rows import row_norm

import custom_dispatch as cd
from custom_dispatch.errors import CallError

n = cd.dim("n")
INCREMENT = """
extern "C" __global__ void increment(float* y, const float* by, int n) {
  for (int i = 0; i < n; ++i) y[blockIdx.x * n + i] += by[blockIdx.x];
}
"""
SHAPES = [(2, 3, 8), (6, 8), (8,), (1, 1, 6, 8), (0, 3, 8), (3, 0, 8)]
X = np.arange(48, dtype=np.float32).reshape(2, 3, 8)
WEIGHT = np.linspace(1, 2, 8, dtype=np.float32)


def normalised(x: Any) -> Any:
    assert row_norm.reference is not None
    return row_norm.reference(x, WEIGHT, 1e-5)


@pytest.fixture(scope="module")
def increment(tmp_path_factory: pytest.TempPathFactory) -> cd.Kernel:
    source = tmp_path_factory.mktemp("increment") / "increment.cu"
    source.write_text(INCREMENT)
    return cd.Kernel(
        "increment",
        source=source,
        operands=[
            cd.InOut("y", "f32", [..., n]),
            cd.In("by", "f32", [...]),
            cd.Scalar("n", "i32", n),
        ],
        block=1,
        grid=cd.batch,
    )


@pytest.fixture(scope="module")
def program(increment: cd.Kernel) -> cd.Program:
    return cd.load(cd.compile(None, [row_norm, increment], ["cpu"]), "cpu")


@pytest.mark.parametrize("shape", SHAPES)
def test_results_have_the_leading_dims_of_the_arguments(
    program: cd.Program, shape: tuple[int, ...]
) -> None:
    x = X.reshape(-1)[: int(np.prod(shape))].reshape(shape)
    for function in (row_norm.on("cpu"), program.row_norm):
        for _ in range(2):  # the second call finds what the first one checked
            result = function(x, WEIGHT, 1e-5)
            assert result.shape == shape
            np.testing.assert_allclose(result, normalised(x), rtol=1e-5)
    assert program.row_norm.submit(x, WEIGHT, 1e-5).result().shape == shape
    there = program.row_norm(program.to_device(x), WEIGHT, 1e-5)
    assert (type(there), there.shape) == (cd.DeviceArray, shape)
    np.testing.assert_allclose(there.to_host(), normalised(x), rtol=1e-5)


def test_nothing_is_copied(program: cd.Program, increment: cd.Kernel) -> None:
    memory, by = aligned(48).reshape(2, 3, 8), np.ones((2, 3), np.float32)
    wanted = memory + 1
    given = Foreign(memory)
    assert program.increment(given, by, out=given) is given
    np.testing.assert_array_equal(memory, wanted)
    there = program.to_device(memory)
    assert increment.on("cpu")(there, by, out=there) is there
    np.testing.assert_array_equal(there.to_host(), wanted + 1)
    np.testing.assert_array_equal(memory, wanted)


def test_results_go_into_arrays_with_leading_dims(program: cd.Program) -> None:
    memory = aligned(48).reshape(2, 3, 8)
    wide = np.zeros((2, 3, 16), np.float32)
    for out in (np.zeros((2, 3, 8), np.float32), Foreign(memory), wide[:, :, ::2]):
        assert program.row_norm(X, WEIGHT, 1e-5, out=out) is out
        assert row_norm.on("cpu")(X, WEIGHT, 1e-5, out=out) is out
        assert program.row_norm.submit(X, WEIGHT, 1e-5, out=out).result() is out
    for result in (memory, wide[:, :, ::2]):
        np.testing.assert_allclose(result, normalised(X), rtol=1e-5)
    assert not wide[:, :, 1::2].any()


@pytest.mark.parametrize("eager", [True, False])
def test_what_does_not_fit_is_refused(
    program: cd.Program, increment: cd.Kernel, eager: bool
) -> None:
    def refusal(name: str, *arguments: Any, out: Any = None) -> str:
        kernels = {"row_norm": row_norm, "increment": increment}
        function = kernels[name].on("cpu") if eager else program.function(name)
        with pytest.raises(CallError) as caught:
            function(*arguments, out=out)
        return str(caught.value)

    message = refusal("increment", X, np.ones((3, 2), np.float32))
    assert "`y`.shape[0] and `by`.shape[0] disagree, which are leading dims: 2 and 3." in message
    assert "sizes that agree: y[..., n], by[...]" in message
    message = refusal("row_norm", X[:, :, :7], WEIGHT, 1e-5)
    assert "`x`.shape[2] and `weight`.shape[0] disagree on dim columns: 7 and 8" in message
    message = refusal("row_norm", np.float32(1), WEIGHT, 1e-5)
    assert "rank 0" in message
    assert "rank 1 or more: [..., columns]" in message
    out = np.zeros((3, 2, 8), np.float32)
    message = refusal("row_norm", X, WEIGHT, 1e-5, out=out)
    assert "`out` for `y` of kernel `row_norm` has shape [3, 2, 8]." in message
    assert "[2, 3, columns]: the leading dims of the arguments are [2, 3]" in message
    gaps = np.zeros((3, 2, 8), np.float32).transpose(1, 0, 2)
    message = refusal("row_norm", X, WEIGHT, 1e-5, out=gaps)
    assert "has gaps between its elements, or another order than that of its dimensions" in message


def test_another_librarys_array_with_gaps_is_read(program: cd.Program) -> None:
    memory = aligned(48).reshape(3, 2, 8).transpose(1, 0, 2)
    result = program.row_norm(Foreign(memory), WEIGHT, 1e-5)
    assert result.shape == (2, 3, 8)
    np.testing.assert_allclose(result.to_host(), normalised(memory), rtol=1e-5)

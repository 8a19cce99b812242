"""Memory that IREE allocates for a kernel alone: no argument, no result."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_kernels import scratch

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.ir.stored import find_compiler_tool
from custom_dispatch.kernel.description import describe, read_description
from custom_dispatch.measure.check import check_kernel
from custom_dispatch.measure.inputs import bytes_moved

backwards, alignments, incremented = scratch.ALL
n = cd.dim("n")
X = np.arange(6400, dtype=np.float32)
BACKWARDS = X.reshape(-1, 64)[:, ::-1].ravel()

MODEL = """
func.func private @reversed(tensor<?xf32>) -> tensor<?xf32>
func.func @run(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %a = call @reversed(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %b = call @reversed(%y) : (tensor<?xf32>) -> tensor<?xf32>
  %c = call @reversed(%b) : (tensor<?xf32>) -> tensor<?xf32>
  return %a, %c : tensor<?xf32>, tensor<?xf32>
}
"""


def test_it_is_passed_at_its_place_and_nowhere_else() -> None:
    assert [item.name for item in backwards.inputs] == ["x"]
    assert [item.name for item in backwards.outputs] == ["y"]
    assert [item.name for item in backwards.abi.bindings] == ["x", "staged", "y"]
    assert [item.name for item in backwards.abi.parameters and backwards.operands] == [
        "x", "staged", "y", "count",
    ]  # fmt: skip
    assert str(backwards.scratches[0].size_bytes) == "maximum(4 * n, 1)"


@pytest.mark.parametrize("device", ["cpu", "cpu:checked"])
def test_calls_see_nothing_of_it(device: str) -> None:
    for count in (6400, 64, 0, 6400):
        found = backwards.on(device)(X[:count])
        assert np.array_equal(found, X[:count].reshape(-1, 64)[:, ::-1].ravel())
    for count in (1, 100, 0):
        assert np.array_equal(incremented.on(device)(X[:count]), X[:count] + 1)


def test_it_begins_at_a_multiple_of_64_bytes() -> None:
    for count in (1, 2, 33):
        *aligned, total = alignments.on("cpu")(np.zeros(count, np.float32))
        assert min(aligned) >= 64
        assert total == 6


def test_results_can_be_written_into_buffers() -> None:
    out = np.empty_like(X)
    assert backwards.on("cpu")(X, out=out) is out
    assert np.array_equal(out, BACKWARDS)


def streams(directory: Path, kernels: list[cd.Kernel], model: str | None = None) -> str:
    """What IREE makes of a module, before it is code of the host."""
    path = directory / "model.mlir"
    emitted = cd.emit(kernels, ["cuda:sm_80"], into=model, output=path)
    flags = [word for word in emitted.command if word.startswith("--")]
    return subprocess.run(
        [find_compiler_tool(), path.name, "--compile-to=stream", *flags],
        cwd=directory, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_iree_allocates_it_uninitialised_and_apart_from_those_in_use(tmp_path: Path) -> None:
    """Two calls that may run at once have two; a third one takes that of the call before it."""
    text = streams(tmp_path, [backwards], MODEL)
    for what in ("fill", "copy"):
        assert f"stream.cmd.{what}" not in text
    assert text.count("stream.resource.alloca uninitialized") == text.count("resource.alloca")
    bound = re.findall(r"(ro|wo|rw) (%\w+\[%\w+) for", text)
    assert [how for how, _ in bound] == ["ro", "ro", "wo"] * 3
    places = [place for _, place in bound]
    assert len(set(places[1::3])) == 2
    assert not set(places[1::3]) & set(places[0::3] + places[2::3])


def test_a_function_of_one_kernel_gives_nothing_back_before_it_returns(tmp_path: Path) -> None:
    """IREE's CUDA device waits for the work there; and results go where they are to be."""
    text = streams(tmp_path, [backwards, alignments])
    assert text.count("hal.allocator.allocate<") == 2 * (1 + 3)
    for what in ("resource.dealloca", "resource<transient>", "cmd.copy", "cmd.fill"):
        assert f"stream.{what}" not in text


def test_models_have_it_wherever_they_call() -> None:
    program = cd.load(cd.compile(MODEL, scratch.ALL, ["cpu"]))
    for _ in range(10):
        first, second = program.run(X, 3 * X[:640])
        assert np.array_equal(first, BACKWARDS)
        assert np.array_equal(second, 3 * X[:640])


def test_kernels_of_a_choice_may_have_others() -> None:
    small = cd.Kernel(
        "small",
        entry="reversed",
        source=backwards.source,
        operands=backwards.operands,
        block=64,
        grid=cd.ceildiv(n, 64),
        requires=[n <= 64],
    )
    choice = cd.Choice("turned", [small, backwards])
    program = cd.load(cd.compile(None, choice, ["cpu"]))
    for count in (64, 6400, 0):
        expected = X[:count].reshape(-1, 64)[:, ::-1].ravel()
        assert np.array_equal(program.turned(X[:count]), expected)


def test_the_reference_does_not_get_it_and_nothing_is_moved_for_it() -> None:
    kernel = cd.Kernel(
        "incremented",
        source=incremented.source,
        operands=incremented.operands,
        block=64,
        grid=cd.ceildiv(n, 64),
        reference=lambda x: x + 1,
    )
    assert all(result.passed for result in check_kernel(kernel, "cpu"))
    assert bytes_moved(kernel, {"n": 100}) == 800


def test_any_pointer_may_hold_it_but_one_to_constants(tmp_path: Path) -> None:
    def build(parameter: str) -> None:
        source = tmp_path / "k.cu"
        source.write_text(
            f'struct Table {{ long long words[16]; }};\nextern "C" __global__ '
            f"void k(float* y, {parameter} work) {{ y[0] = 1; }}"
        )
        operands = [cd.Out("y", "f32", [1]), cd.Scratch("work", "u8", [256])]
        cd.build(cd.Kernel("k", source=source, operands=operands, block=1, grid=1), ["cuda:sm_80"])

    for parameter in ("void*", "Table*", "float*", "unsigned char* __restrict__"):
        build(parameter)
    with pytest.raises(PtxError) as caught:
        build("const int*")
    assert "a pointer to something that may be written" in caught.value.expected
    with pytest.raises(PtxError):
        build("int")


def test_a_description_has_it() -> None:
    again = read_description(describe(backwards))
    assert list(map(str, again.operands)) == list(map(str, backwards.operands))
    assert str(again.operands[1]) == "Scratch(staged: f32[n])"


@pytest.mark.parametrize(
    ("operands", "found"),
    [
        (lambda: [cd.Scratch("s", "f32", [..., 4])], "the shape of a cd.Scratch has `...`."),
        (lambda: [cd.Scratch("s", "f32", [4])], "has no cd.Out and no cd.InOut"),
        (
            lambda: [cd.Out("y", "f32", [4]), cd.Scratch("s", "f32", [n])],
            "dim `n`, used in the shape of `s`, has no value.",
        ),
        (
            lambda: [cd.Out("y", "f32", [4]), cd.Scratch("s", "f32", [cd.compute_capability])],
            "its shape depends on the device",
        ),
        (lambda: [cd.Scratch("s", "f99", [4])], "f99"),
    ],
)
def test_what_is_no_scratch_is_refused(operands: Any, found: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.Kernel("k", source="k.cu", operands=operands(), block=1, grid=1)
    assert found in caught.value.found
    assert caught.value.next_step


def test_a_size_that_is_too_large_for_a_number_is_refused() -> None:
    kernel = cd.Kernel(
        "incremented",
        source=incremented.source,
        operands=[cd.Scratch("s", "f32", [n * n, n * n, n * n, n * n]), *incremented.operands[1:]],
        block=64,
        grid=cd.ceildiv(n, 64),
    )
    with pytest.raises(cd.CustomDispatchError, match=r"2\*\*63 - 1"):
        kernel.on("cpu")(X)

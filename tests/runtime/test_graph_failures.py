"""Graphs whose calls fail: what is said, what stays, and what can be done afterwards."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from graph_model import T, drawn

import custom_dispatch as cd
from custom_dispatch.errors import DeviceError, KernelError

SOURCE = """\
extern "C" __global__ void guarded(const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { if (x[i] < 0) __trap(); y[i] = x[i] * 2; }
}
"""
MODEL = f"""
func.func private @guarded({T}) -> {T}
func.func @step(%x: {T}) -> {T} {{
  %0 = call @guarded(%x) : ({T}) -> {T}
  return %0 : {T}
}}
func.func @other(%x: {T}) -> {T} {{
  %0 = call @guarded(%x) : ({T}) -> {T}
  return %0 : {T}
}}
"""
GOOD, BAD = drawn(1), drawn(1) - 1
TRAPPED = (
    "`step` failed on the CPU: a kernel executed `trap`.\n"
    "  next step: compile it for cpu:checked, which names the line, thread and block."
)
FOUND = (
    "Kernel `guarded` executes a trap at guarded.cu:3 (`trap`), thread ({}, 0, 0), block "
    "(0, 0, 0).\n  expected: no trap\n  next step: correct what the kernel checks there."
)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> cd.Kernel:
    source = tmp_path_factory.mktemp("guarded") / "guarded.cu"
    source.write_text(SOURCE)
    n = cd.dim("n")
    operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("count", "i32", n)]
    return cd.Kernel("guarded", source=source, operands=operands, block=64, grid=cd.ceildiv(n, 64))


def said(call: Callable[[], object]) -> str:
    with pytest.raises(KernelError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("target", ["cpu", "cpu:checked"])
def test_a_kernel_that_traps_in_a_graph_is_named(kernel: cd.Kernel, target: str) -> None:
    program = cd.load(cd.compile(MODEL, kernel, [target], graph=True), "cpu")
    step = program.step
    wanted = FOUND.format(int(np.argmax(BAD < 0))) if target == "cpu:checked" else TRAPPED
    for call in (
        lambda: step(BAD),
        lambda: step.submit(BAD).result(),
        lambda: step.replay(BAD),
        lambda: step.replay(BAD, wait=False).result(),
    ):
        for _ in range(3):
            assert said(call) == wanted
        # The program goes on, and what the call was given is there.
        np.testing.assert_array_equal(step.inputs[0], BAD)
        np.testing.assert_allclose(program.other.replay(GOOD)[0], 2 * GOOD)
        np.testing.assert_allclose(step(GOOD), 2 * GOOD)


def test_after_a_failure_inputs_can_be_written_and_outputs_are_not_there(
    kernel: cd.Kernel,
) -> None:
    step = cd.load(cd.compile(MODEL, kernel, ["cpu"], graph=True), "cpu").step
    assert said(lambda: step.replay(BAD)) == TRAPPED
    assert said(lambda: np.asarray(step.outputs[0])) == TRAPPED
    torch.from_dlpack(step.inputs[0]).copy_(torch.tensor(GOOD))
    np.testing.assert_allclose(step.replay()[0], 2 * GOOD)
    np.testing.assert_allclose(step.outputs[0], 2 * GOOD)


LARGE = "tensor<4194304x4xf32>"
COUNTS = f"""
util.global private mutable @count = dense<0.0> : tensor<4xf32>
func.func @next() -> {LARGE} {{
  %old = util.global.load @count : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %new = arith.addf %old, %one : tensor<4xf32>
  util.global.store %new, @count : tensor<4xf32>
  %empty = tensor.empty() : {LARGE}
  %all = linalg.broadcast ins(%new : tensor<4xf32>) outs(%empty : {LARGE}) dimensions = [0]
  return %all : {LARGE}
}}
"""


def test_a_call_that_finds_no_memory_changes_no_state() -> None:
    step = cd.load(cd.compile(COUNTS, [], ["cpu"], graph=True), "cpu").next
    assert np.asarray(step())[-1].tolist() == [1] * 4
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + (16 << 20), limits[1]))
    try:
        with pytest.raises(DeviceError, match="`next` failed") as caught:
            step()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert "RESOURCE_EXHAUSTED" in str(caught.value)
    assert np.asarray(step())[-1].tolist() == [2] * 4

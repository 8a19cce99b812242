"""Graphs whose calls fail: what is said, what stays, and what can be done afterwards."""

from __future__ import annotations

import re
import resource
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graph_model import T, drawn

import custom_dispatch as cd
from custom_dispatch.errors import DeviceError, KernelError
from custom_dispatch.runtime import access, graph_log
from custom_dispatch.runtime.access import Access
from custom_dispatch.runtime.device import OpenDevice

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


LINES = (
    "[10:11:12.131][{0}][CUDA][E] Failed to allocate resources for the kernel nodes on each ctx\n"
    "[10:11:12.131][{0}][CUDA][E] Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from {1}\n"
    "[10:11:12.132][1][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuGraphInstantiate\n"
)


class _Driver:
    """As much of the CUDA driver as keeps its errors."""

    def __init__(self, text: str, status: int = 0) -> None:
        self.text, self.status, self.asked = text.encode(), status, 0

    def cuLogsCurrent(self, place: Any, flags: int) -> int:  # noqa: N802 - the driver's name
        place._obj.value = 7
        return self.status

    def cuLogsDumpToMemory(self, place: Any, text: Any, size: Any, flags: int) -> int:  # noqa: N802
        assert place._obj.value == 7
        assert size._obj.value >= len(self.text)
        text.value = self.text
        self.asked += 1
        return self.status


def _with_driver(monkeypatch: pytest.MonkeyPatch, driver: object) -> None:
    monkeypatch.setattr(graph_log, "cuda_library", lambda: driver)
    monkeypatch.setattr(graph_log, "has_initialised", lambda: True)


def test_a_graph_that_the_driver_could_not_make_is_no_program(
    kernel: cd.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = cd.compile(MODEL, kernel, ["cpu"], graph=True)
    plain = cd.compile(MODEL, kernel, ["cpu"])
    said = LINES.format(threading.get_ident(), "cuGraphInstantiate")
    driver = _Driver(said)
    _with_driver(monkeypatch, driver)
    with pytest.raises(DeviceError) as caught:
        cd.load(module, "cpu")
    lines = str(caught.value).splitlines()
    assert re.sub(r"cpu \(.*\)(?=:)", "GPU", lines[0]) == (
        "The module could not be loaded on GPU: the driver could not make the CUDA graph of one of "
        "its functions."
    )
    assert lines[1:] == [
        "  next step: free some of the GPU's memory, or compile the model without graph=True; the "
        "driver says:",
        *said.splitlines()[:2],
    ]
    cd.load(plain, "cpu")
    assert driver.asked == 2  # once more without what is kept; who has no graphs asks nothing


@pytest.mark.parametrize(
    "driver",
    [
        object(),  # before CUDA 12.9
        _Driver("", status=1),
        _Driver(""),
        _Driver(LINES.format(threading.get_ident(), "cuMemAlloc_v2")),
        _Driver(LINES.format(2, "cuGraphInstantiate")),  # other threads have made that
    ],
)
def test_other_words_of_the_driver_end_nothing(
    kernel: cd.Kernel, monkeypatch: pytest.MonkeyPatch, driver: object
) -> None:
    _with_driver(monkeypatch, driver)
    program = cd.load(cd.compile(MODEL, kernel, ["cpu"], graph=True), "cpu")
    np.testing.assert_allclose(program.step.replay(GOOD)[0], 2 * GOOD)


def test_what_is_kept_for_later_calls_goes_if_a_module_finds_no_memory(
    kernel: cd.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [LINES.format(threading.get_ident(), "cuGraphInstantiate"), ""]
    given_back: list[int] = []

    class Driver(_Driver):
        def cuLogsDumpToMemory(self, place: Any, text: Any, size: Any, flags: int) -> int:  # noqa: N802
            text.value = said[len(given_back)].encode()
            return 0

    _with_driver(monkeypatch, Driver(""))
    monkeypatch.setattr(OpenDevice, "give_back_memory", lambda *_: given_back.append(1))
    program = cd.load(cd.compile(MODEL, kernel, ["cpu"], graph=True), "cpu")
    np.testing.assert_allclose(program.step.replay(GOOD)[0], 2 * GOOD)
    assert given_back == [1]


def test_a_module_that_is_larger_than_the_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    large = "tensor<70368744177664xf32>"
    text = f"func.func @main(%x: {large}) -> {large} {{ return %x : {large} }}"
    given_back: list[int] = []
    monkeypatch.setattr(OpenDevice, "give_back_memory", lambda *_: given_back.append(1))
    with pytest.raises(DeviceError) as caught:
        cd.load(cd.compile(text, [], ["cpu"], graph=True), "cpu")
    assert re.sub(r"cpu \(.*\)(?=:)", "CPU", caught.value.found) == (
        "The module could not be loaded on CPU: there is too little memory for its weights and "
        "buffers."
    )
    assert caught.value.next_step == ("free memory there, or compile for smaller sizes; IREE says:")
    assert "RESOURCE_EXHAUSTED" in caught.value.log
    assert given_back == [1]


@pytest.mark.parametrize("status", ["INVALID_VALUE' (1)", "OUT_OF_MEMORY' (2)"])
def test_a_graph_that_cannot_be_launched_says_so(
    kernel: cd.Kernel, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    """The device is a CPU that is taken for a GPU, whose launches fail as IREE's CUDA device's."""
    step = cd.load(cd.compile(MODEL, kernel, ["cpu"], graph=True), "cpu").step
    gpu = Access("cuda")
    monkeypatch.setattr(step, "access", gpu)
    monkeypatch.setattr(access, "_refuses", lambda *_: True)
    monkeypatch.setattr(access, "_keep_for_ever", lambda *_: None)
    failed = RuntimeError(f"cuda_device.c:275: X; CUDA driver error 'CUDA_ERROR_{status}: refused")
    error = step.translated(failed)
    assert str(error) == (
        "CUDA can no longer be used in this process: in `step`, the CUDA graph could not be "
        "launched (there may have been no memory to make it), and IREE's CUDA device refuses all "
        "further work.\n"
        "  next step: start a new process with more of the GPU's memory free, or compile the model "
        f"without graph=True.\n{failed}"
    )
    with pytest.raises(DeviceError) as caught:
        step.replay(GOOD)
    assert caught.value.found == error.found


def test_a_shortage_of_memory_for_a_call_ends_nothing(
    kernel: cd.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = cd.load(cd.compile(MODEL, kernel, ["cpu"], graph=True), "cpu").step
    monkeypatch.setattr(step, "access", Access("cuda"))
    monkeypatch.setattr(access, "_refuses", lambda *_: False)
    full = "RESOURCE_EXHAUSTED; CUDA driver error 'CUDA_ERROR_OUT_OF_MEMORY' (2): out of memory"
    assert step.translated(RuntimeError(full)).found == "`step` failed."
    assert not step.access.problem

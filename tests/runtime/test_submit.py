"""Calls that are not waited for."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_arrays import Foreign, aligned

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CallError, KernelError
from custom_dispatch.runtime import flight
from custom_dispatch.runtime.flight import Flight, Submission

KERNEL = "func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
COUNTER = f"""
{KERNEL}
util.global private mutable @total = dense<1.0> : tensor<4xf32>
func.func @times(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %old = util.global.load @total : tensor<4xf32>
  %d = tensor.cast %old : tensor<4xf32> to tensor<?xf32>
  %b = tensor.cast %a : tensor<4xf32> to tensor<?xf32>
  %p = call @simple_mul(%d, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %new = tensor.cast %p : tensor<?xf32> to tensor<4xf32>
  util.global.store %new, @total : tensor<4xf32>
  return %new : tensor<4xf32>
}}
"""


@pytest.fixture(scope="module", params=[True, False], ids=["fences", "thread"])
def program(request: pytest.FixtureRequest) -> cd.Program:
    """With functions that do not wait, and with a thread that does."""
    return cd.load(cd.compile(None, [simple_mul], ["cpu"], asynchronous=request.param), "cpu")


A, B = aligned(1000), aligned(1000) + 1


def test_a_call_is_submitted_and_waited_for(program: cd.Program) -> None:
    submission = program.simple_mul.submit(A, B)
    result = submission.result()
    assert submission.done()
    assert repr(submission) == "Submission(done)"
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, A * B)
    np.testing.assert_array_equal(submission.result(timeout=1), A * B)


def test_results_are_passed_on_before_they_are_there(program: cd.Program) -> None:
    value = program.to_device(A)
    expected = A
    for _ in range(30):
        value = program.simple_mul.submit(value, B).arrays
        expected = expected * B
    np.testing.assert_array_equal(np.asarray(value), expected)
    # A call that is waited for takes them too.
    np.testing.assert_array_equal(
        program.simple_mul(program.simple_mul.submit(value, B).arrays, B).to_host(),
        expected * B * B,
    )


def test_operands_live_until_the_call_is_done(program: cd.Program) -> None:
    submissions = [
        program.simple_mul.submit(Foreign(aligned(5000)), Foreign(aligned(5000))) for _ in range(50)
    ]
    gc.collect()
    for submission in submissions:
        np.testing.assert_array_equal(submission.result().to_host(), aligned(5000) ** 2)


def test_a_numpy_array_may_be_changed_once_the_call_is_submitted(program: cd.Program) -> None:
    mine = A.copy()
    submission = program.simple_mul.submit(mine, B)
    mine[:] = np.nan
    np.testing.assert_array_equal(submission.result(), A * B)


def test_results_are_written_into_given_arrays(program: cd.Program) -> None:
    out = program.to_device(np.full(1000, np.nan, np.float32))
    assert program.simple_mul.submit(program.to_device(A), B, out=out).result() is out
    np.testing.assert_array_equal(out.to_host(), A * B)
    host = np.full(1000, np.nan, np.float32)
    program.simple_mul.submit(A, B, out=host).result()
    np.testing.assert_array_equal(host, A * B)


def test_a_submission_is_awaited(program: cd.Program) -> None:
    async def main() -> list[np.ndarray]:  # type: ignore[type-arg]
        submissions = [program.simple_mul.submit(A, B + step) for step in range(5)]
        return [await submission for submission in submissions]

    for step, result in enumerate(asyncio.run(main())):
        np.testing.assert_array_equal(result, A * (B + step))


def test_what_is_known_at_once_is_said_at_once() -> None:
    program = cd.load(cd.compile(None, [simple_mul], ["cpu"]), "cpu")
    with pytest.raises(CallError, match="disagree on dim n"):
        program.simple_mul.submit(A, B[:3])
    with pytest.raises(CallError, match="has dtype float64"):
        program.simple_mul.submit(A.astype(np.float64), B)
    np.testing.assert_array_equal(program.simple_mul.submit(A, B).result(), A * B)


def test_waiting_has_an_end_if_it_is_given_one() -> None:
    program = cd.load(cd.compile(None, [simple_mul], ["cpu"]), "cpu")
    flight = Flight(program.simple_mul.open_device, None, lambda error: error)
    submission = Submission(flight, lambda: "there", None)
    with pytest.raises(TimeoutError, match=r"the call is not done after 0\.02 s"):
        submission.result(timeout=0.02)
    assert repr(submission) == "Submission(under way)"
    flight.fence().signal()
    assert submission.result(timeout=5) == "there"


@pytest.mark.parametrize("how", ["submit", "mixed", "threads"])
def test_calls_of_a_program_with_state_take_effect_in_order(how: str) -> None:
    program = cd.load(cd.compile(COUNTER, [simple_mul], ["cpu"]), "cpu")
    two = np.full(4, 2, np.float32)
    if how == "threads":
        lock = threading.Lock()

        def work() -> None:
            for _ in range(5):
                with lock:
                    program.times.submit(two)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        for step in range(10):
            if how == "mixed" and step % 3 == 2:
                assert program.times(two)[0] == 2.0 ** (step + 1)
            else:
                program.times.submit(two)
    assert program.times(two)[0] == 2.0**11


def test_a_failure_comes_with_the_result_and_ends_there(tmp_path: Path) -> None:
    source = tmp_path / "picky.cu"
    source.write_text(
        'extern "C" __global__ void picky(const float* x, float* y, int n) {\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) { if (x[i] < 0) __trap(); y[i] = x[i]; }\n}"
    )
    n = cd.dim("n")
    kernel = cd.Kernel(
        "picky",
        source=source,
        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)],
        block=64,
        grid=cd.ceildiv(n, 64),
    )
    program = cd.load(cd.compile(None, [kernel], ["cpu"]), "cpu")
    good, bad = np.ones(100, np.float32), np.full(100, -1, np.float32)
    submission = program.picky.submit(bad)
    for _ in range(2):
        with pytest.raises(KernelError, match="`picky` failed on the CPU: a kernel executed"):
            submission.result()
    arrays = program.picky.submit(program.to_device(bad)).arrays
    with pytest.raises(KernelError, match="executed `trap`"):
        arrays.to_host()
    with pytest.raises(KernelError, match="executed `trap`"):
        program.picky(arrays)
    np.testing.assert_array_equal(program.picky.submit(good).result(), good)
    np.testing.assert_array_equal(program.picky(good), good)


def test_the_interpreter_ends_with_calls_under_way(tmp_path: Path) -> None:
    path = cd.compile(None, [simple_mul], ["cpu"]).save(tmp_path / "it.vmfb")
    code = (
        "import sys, numpy as np, custom_dispatch as cd\n"
        "p = cd.load(sys.argv[1], 'cpu')\n"
        "a = np.ones(1_000_000, np.float32)\n"
        "kept = [p.simple_mul.submit(a, a) for _ in range(20)]\n"
        "print('submitted')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "submitted\n", "")


def test_a_thread_lets_go_of_no_call_that_another_has_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Call:
        def __init__(self, over: bool, meanwhile: Any = lambda: None) -> None:
            self.over, self.meanwhile = over, meanwhile

        def done(self) -> bool:
            meanwhile, self.meanwhile = self.meanwhile, lambda: None
            meanwhile()
            return self.over

    monkeypatch.setattr(flight, "_under_way", deque())
    second: Any = Call(over=False)
    first: Any = Call(over=True, meanwhile=lambda: flight.keep_until_done(second))
    third: Any = Call(over=False)
    flight.keep_until_done(first)
    flight.keep_until_done(third)
    assert list(flight._under_way) == [second, third]

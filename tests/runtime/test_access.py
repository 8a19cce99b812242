"""One thread alone among others that call."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.runtime.access import Access


def test_a_thread_is_alone_when_the_others_have_left() -> None:
    access = Access("cpu")
    entered, leave, inside = threading.Event(), threading.Event(), []

    def other() -> None:
        with access:
            entered.set()
            leave.wait(10)
            with access:  # a call within a call goes on
                inside.append("nested")
        with access:
            inside.append("after")

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    with access, access.alone(0.05) as alone:
        assert not alone
        with access.alone(0.05) as twice:
            assert not twice
    threading.Timer(0.1, leave.set).start()
    with access, access.alone(10) as alone:
        assert alone
        assert inside == ["nested"]
        time.sleep(0.05)
        assert inside == ["nested"], "nobody begins meanwhile"
    thread.join(10)
    assert inside == ["nested", "after"]


@pytest.mark.parametrize("threads", [1, 4])
def test_memory_is_given_back_among_calls(threads: int) -> None:
    program = cd.load(cd.compile(None, [simple_mul], ["cpu"]), "cpu")
    device = program.simple_mul.open_device
    wrong = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for step in range(200):
            a = generator.standard_normal(int(generator.integers(1, 2000))).astype(np.float32)
            if not np.array_equal(program.simple_mul(program.to_device(a), a).to_host(), a * a):
                wrong.append(step)
            if step % 20 == seed:
                device.give_back_memory(0.05)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not wrong
    assert device.give_back_memory(1)


def test_a_script_that_keeps_everything_ends_in_silence() -> None:
    """A registry of ONNX keeps the script's globals: programs, arrays and frames with devices."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import threading, numpy, custom_dispatch as cd\n"
            "from cuda_kernels.simple_mul import simple_mul\n"
            "operator = cd.onnx.register(simple_mul)\n"
            "program = cd.load(cd.compile(None, simple_mul, 'cpu'))\n"
            "x = numpy.ones(4, numpy.float32)\n"
            "array, product = program.to_device(x), simple_mul(x, x)\n"
            "try:\n    program.simple_mul(x, numpy.ones((2, 2)))\n"
            "except cd.CustomDispatchError as error:\n    kept = error\n"
            "def call_on():\n    while True:\n        program.simple_mul(array, array)\n"
            "threading.Thread(target=call_on, daemon=True).start()\n",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

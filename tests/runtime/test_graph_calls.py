"""What docs/calling.md promises of calls holds for functions that are graphs, too."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from graph_model import COUNT, MODEL, T, drawn

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import DeviceError
from custom_dispatch.runtime.device_array import DeviceArray

X, Y = drawn(1), drawn(2)
SUM = X * Y + Y


@pytest.fixture(scope="module")
def module() -> cd.CompiledModule:
    return cd.compile(MODEL, simple_mul, ["cpu"], graph=True)


@pytest.fixture
def program(module: cd.CompiledModule) -> cd.Program:
    return cd.load(module, "cpu")


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)


def test_results_are_numpys_if_all_arguments_are(program: cd.Program) -> None:
    assert all(type(result) is np.ndarray for result in program.step(X, Y))
    assert all(type(result) is np.ndarray for result in program.step.submit(X, Y).result())
    for given in (program.to_device(X), torch.tensor(X)):
        for results in (program.step(given, Y), program.step.submit(given, Y).result()):
            assert all(type(result) is DeviceArray for result in results)
            close(results[0], SUM)


def test_results_go_into_arrays_of_the_caller(program: cd.Program) -> None:
    step = program.step
    kinds: list[tuple[Any, Any]] = [
        (np.empty(COUNT, np.float32), torch.empty(COUNT)),
        (program.to_device(X), np.empty(COUNT, np.float32)),
        step.outputs,
        step.inputs,
    ]
    for out in kinds:
        assert step(X, Y, out=out) is out
        close(out[0], SUM)
        out = tuple(out)
        assert step.submit(Y, Y, out=out).result() is out
        close(out[0], Y * Y + Y)


def test_numpy_arrays_are_read_before_a_call_returns(program: cd.Program) -> None:
    for begin in (program.step.submit, lambda *given: program.step.replay(*given, wait=False)):
        x, y = X.copy(), Y.copy()
        flight = begin(x, y)
        x[:], y[:] = 0, 0
        close(flight.result()[0], SUM)


def test_arrays_of_others_live_until_a_call_is_done(program: cd.Program) -> None:
    x = torch.tensor(X)
    flight = program.step.submit(x, Y)
    del x
    gc.collect()
    others = [torch.zeros(COUNT) for _ in range(100)]
    close(flight.result()[0], SUM)
    assert len(others) == 100


def test_a_call_in_flight_can_be_awaited_and_passed_on(program: cd.Program) -> None:
    step = program.step

    async def both() -> tuple[Any, Any]:
        return await step.submit(X, Y), await step.replay(X, Y, wait=False)

    for results in asyncio.run(both()):
        close(results[0], SUM)
    flight = step.replay(X, Y, wait=False)
    close(step.replay(flight.arrays[0])[0], SUM * Y + Y)
    close(step.submit(step.submit(X, Y).arrays[0], Y).result()[0], SUM * Y + Y)
    assert flight.done()
    assert flight.result(timeout=10) == flight.arrays


def test_outputs_are_those_of_the_last_call_and_results_of_plain_calls_stay(
    program: cd.Program,
) -> None:
    step = program.step
    before, result = step.outputs, step(program.to_device(X), Y)[0]
    seen = torch.from_dlpack(before[0])
    step.replay(Y, Y, wait=False)
    close(before[0], Y * Y + Y)  # reading waits
    close(seen, Y * Y + Y)
    close(result, SUM)
    step(X, Y)
    close(before[0], SUM)  # a plain call writes there too


def test_who_waits_for_a_call_does_not_forget_the_next_one(program: cd.Program) -> None:
    class Call:
        def __init__(self, meanwhile: Any = lambda: None) -> None:
            self.meanwhile, self.waited = meanwhile, 0

        def wait(self) -> None:
            self.waited += 1
            self.meanwhile()

    array = program.to_device(X)
    later: Any = Call()
    now: Any = Call(lambda: array.written_by(later))  # another thread does so
    array.written_by(now)
    array.wait()
    array.wait()
    assert (now.waited, later.waited) == (1, 1)


def test_what_is_made_of_a_graphs_buffers_outlives_its_program(module: cd.CompiledModule) -> None:
    step = cd.load(module, "cpu").step
    step.replay(X, Y)
    output = step.outputs[0]
    made = [torch.from_dlpack(output), np.asarray(output), np.from_dlpack(output), output]
    given = torch.from_dlpack(step.inputs[0])
    del step, output
    gc.collect()
    others = [np.full(COUNT, 7, np.float32) for _ in range(1000)]
    for array in made:
        close(array, SUM)
    close(given, X)
    made[0].fill_(3)
    close(made[3], np.full(COUNT, 3))
    assert len(others) == 1000
    flight = cd.load(module, "cpu").step.replay(X, Y, wait=False)
    gc.collect()
    close(flight.result()[0], SUM)


def test_a_forked_process_is_told_and_may_load_anew(
    module: cd.CompiledModule, program: cd.Program
) -> None:
    program.step.replay(X, Y)
    flight = program.step.replay(wait=False)
    array, receiver, sender = program.step.outputs[0], *os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        said = []
        for use in (
            program.step.replay,
            lambda: program.step(X, Y),
            lambda: program.step.submit(X, Y),
            lambda: program.step.replay(X, wait=False),
            lambda: torch.from_dlpack(array),
            array.to_host,
            flight.result,
        ):
            try:
                said.append(f"nothing: {use()}")
            except DeviceError as error:
                said.append(str(error))
        close(cd.load(module, "cpu").step.replay(X, Y)[0], SUM)
        os.write(sender, "\n\n".join(dict.fromkeys(said)).encode())
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.read(receiver, 65536).decode() == (
        "This program was loaded before the process was forked, and devices do not survive a fork."
        '\n  next step: load it in the child, or start processes with the method "spawn" '
        '(multiprocessing.get_context("spawn")).'
    )
    close(flight.result()[0], SUM)


def test_the_arrays_that_stay_are_made_once(program: cd.Program) -> None:
    # Before any thread asks: from Python 3.12 on, two that ask at once make two.
    assert {"inputs", "outputs", "_read", "_written"} <= set(vars(program.step))


def test_threads_may_call_while_one_replays(program: cd.Program) -> None:
    step, wrong = program.step, []

    def call(seed: int) -> None:
        for index in range(60):
            x, y = drawn(100 * seed + index), drawn(100 * seed + index + 50)
            given = (program.to_device(x), torch.tensor(y)) if seed % 2 else (x, y)
            out = (np.empty(COUNT, np.float32), np.empty(COUNT, np.float32))
            made: Any = [
                lambda given=given: step(*given),
                lambda given=given: step.submit(*given).result(),
                lambda given=given, out=out: step(*given, out=out),
            ][index % 3]()
            wrong.append(not np.allclose(np.asarray(made[0]), x * y + y, rtol=1e-6))

    def replay() -> None:
        for seed in range(60):
            step.replay(drawn(seed), Y)
            step.replay(wait=False)
            program.kept_now()

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(3)]
    threads.append(threading.Thread(target=replay))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 180


OTHERS = f"""
util.global private mutable @kept = dense<2.0> : {T}
func.func @double() -> {T} {{
  %0 = util.global.load @kept : {T}
  %1 = arith.addf %0, %0 : {T}
  util.global.store %1, @kept : {T}
  return %1 : {T}
}}
func.func @set(%x: {T}) {{
  util.global.store %x, @kept : {T}
  return
}}
func.func @halve() {{
  %0 = util.global.load @kept : {T}
  %half = arith.constant dense<0.5> : {T}
  %1 = arith.mulf %0, %half : {T}
  util.global.store %1, @kept : {T}
  return
}}
func.func @number(%x: tensor<f32>) -> tensor<f32> {{
  %0 = arith.addf %x, %x : tensor<f32>
  return %0 : tensor<f32>
}}
"""


def test_functions_without_arguments_or_results_and_numbers(tmp_path: Any) -> None:
    program = cd.load(cd.compile(OTHERS, [], ["cpu"], graph=True), "cpu")
    for set_, halve, wanted in (
        (program.set.replay, program.halve.replay, ()),
        (program.set, program.halve, None),
        (lambda x: program.set.submit(x).result(), lambda: program.halve.submit().result(), None),
    ):
        assert set_(X) == wanted
        assert halve() == wanted
        close(program.double.replay()[0], X)
        close(program.double(), 2 * X)
    assert program.set.outputs == program.halve.inputs == ()
    assert program.number.replay(torch.tensor(2.0))[0].item() == 4
    assert program.number(np.float32(3)) == 6


@pytest.mark.parametrize("kind", ["i1", "i8", "i64", "f16", "bf16", "f64"])
def test_arrays_of_other_types(kind: str) -> None:
    tensor = f"tensor<8x{kind}>"
    text = f"func.func @main(%x: {tensor}) -> {tensor} {{ return %x : {tensor} }}"
    main = cd.load(cd.compile(text, [], ["cpu"], graph=True), "cpu").main
    x = (np.arange(8) % 2).astype(main.inputs[0].dtype)
    assert (main(x) == x).all()
    assert (main.replay(x)[0].to_host() == x).all()
    torch.from_dlpack(main.inputs[0]).fill_(1)
    assert torch.from_dlpack(main.replay()[0]).tolist() == [1] * 8


COUNTS = f"""
util.global private mutable @count = dense<0.0> : {T}
func.func @next() -> {T} {{
  %0 = util.global.load @count : {T}
  %one = arith.constant dense<1.0> : {T}
  %1 = arith.addf %0, %one : {T}
  util.global.store %1, @count : {T}
  return %1 : {T}
}}
func.func @after(%x: tensor<?xf32>) -> {T} {{
  %0 = util.global.load @count : {T}
  %one = arith.constant dense<1.0> : {T}
  %1 = arith.addf %0, %one : {T}
  util.global.store %1, @count : {T}
  return %1 : {T}
}}
"""


@pytest.mark.parametrize("graph", ["where possible", False])
def test_threads_change_state_one_after_the_other(graph: Any) -> None:
    program = cd.load(cd.compile(COUNTS, [], ["cpu"], graph=graph), "cpu")
    numbers: list[float] = []

    def call(make: Any) -> None:
        for _ in range(150):
            found = make()
            assert (found == found[0]).all()
            numbers.append(float(found[0]))

    x = X[:3]
    every = [program.next, lambda: program.next.submit().result()]
    every += [lambda: program.after(x), lambda: program.after.submit(x).result()]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(call, make) for make in every]:
                done.result()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(numbers) == list(range(1, 601))


def test_a_call_that_a_thread_makes_keeps_its_place() -> None:
    program = cd.load(cd.compile(COUNTS, [], ["cpu"], graph="where possible"), "cpu")
    out, x, wanted = np.empty(COUNT, np.float32), X[:3], 0
    for _ in range(20):
        for begin in (
            lambda: program.next.replay(wait=False),
            program.next.submit,
            program.next,
            lambda: program.after.submit(x),
            lambda: program.after(x),
        ):
            program.next.replay(wait=False)
            flight = program.next.submit(out=out)  # only a thread can wait to write there
            begin()
            wanted += 3
            flight.result()
            assert out[0] == wanted - 1
    assert program.next()[0] == wanted + 1

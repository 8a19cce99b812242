"""The word that a graph writes last, by which the host sees that it is done."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_graphs import COUNT, drawn, module

import custom_dispatch as cd
from custom_dispatch.runtime import device_array
from custom_dispatch.runtime.flight import NO_MARK, Flight

__all__ = ["module"]


@pytest.fixture(autouse=True)
def _in_the_hosts_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_array, "_address_on_gpu", lambda *_: None)


def marked(program: cd.Program) -> Any:
    """A program on the CPU whose functions wait as they do on a GPU."""
    for function in program.functions.values():
        function.open_device = replace(function.open_device, is_cuda=True)
        function._take_buffers()
    return program


def test_the_mark_that_a_graph_writes_last_says_that_it_is_done(module: cd.CompiledModule) -> None:
    step = marked(cd.load(module, "cpu")).step
    x, y = drawn(1), drawn(2)
    for _ in range(100):
        x, y = y, x
        found = step.replay(x, y)
        assert step._mark[0] == 1
        np.testing.assert_allclose(found[0], x * y + y, rtol=1e-6)
    mark = memoryview(bytearray(1))
    flight = Flight(step.open_device, None, lambda error: error, mark=mark)
    assert not flight.done()
    step._last = flight
    thread = threading.Thread(target=step.replay)
    thread.start()
    while step._last is flight:
        time.sleep(0.001)
    assert step._last._mark is NO_MARK  # the call before may still set it
    assert not step._last.done()
    mark[0] = 1
    assert flight.wait()  # its semaphore follows
    flight._semaphore.signal(1)
    thread.join()


def test_a_call_that_was_interrupted_may_still_set_the_mark(
    module: cd.CompiledModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = marked(cd.load(module, "cpu")).step
    x, y = drawn(1), drawn(2)
    step.replay(x, y)
    real, mark = step._context, step._mark

    def invoke(*arguments: Any) -> None:
        real.invoke(*arguments)
        raise KeyboardInterrupt

    for call in (step.replay, lambda: step(x, y)):
        step._mark = mark
        with monkeypatch.context() as patch:
            patch.setattr(step, "_context", SimpleNamespace(invoke=invoke))
            with pytest.raises(KeyboardInterrupt):
                call()
        (found, _) = step.replay()
        assert step._last._mark is NO_MARK
        np.testing.assert_allclose(found, x * y + y, rtol=1e-6)


def test_replays_of_several_threads_are_done_when_they_return(module: cd.CompiledModule) -> None:
    program = marked(cd.load(module, "cpu"))
    factor = 1 + 2.0**-10
    program.step.replay(np.full(COUNT, factor - 1, np.float32), np.ones(COUNT, np.float32))
    early = []

    def replays() -> float:
        return round(float(np.log(program.step.outputs[1].to_host()[0] / 2) / np.log(factor)))

    def call() -> None:
        for own in range(1, 41):
            flight = None if own % 5 else program.step.replay(wait=False)
            if flight is None:
                program.step.replay()
            else:
                flight.result()
            if replays() <= own:
                early.append(own)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not early
    assert replays() == 161

"""What the table of docs/checks.md claims of graphs: see `readme_checks.py`."""

from __future__ import annotations

import threading
from typing import Any

import numpy
from graph_model import BRANCH, KERNEL, MODEL, T
from readme_checks import ROWS, Bench, row

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul

_NO_KERNEL = f"func.func @main(%x: TYPE) -> {T} {{\n  BODY\n  return %0 : {T}\n}}"


def _graph(text: str, **changed: Any) -> cd.CompiledModule:
    kernels = [simple_mul] if "@simple_mul" in text else []
    return cd.compile(text, kernels, ["cpu"], **({"graph": True} | changed))


def _of(kind: str) -> str:
    return _NO_KERNEL.replace("TYPE", kind).replace("BODY", f"%0 = tensor.empty() : {T}")


_NUMBER = "util.global private mutable @count = 2.0 : f32\n" + _NO_KERNEL.replace(
    "BODY",
    f"""%n = util.global.load @count : f32
  %next = arith.addf %n, %n : f32
  util.global.store %next, @count : f32
  %e = tensor.empty() : {T}
  %0 = linalg.fill ins(%n : f32) outs(%e : {T}) -> {T}""",
).replace("TYPE", T)
_BELOW = f"""{KERNEL}
util.global private mutable @kept = dense<2.0> : {T}
func.func private @inner(%x: {T}) -> {T} attributes {{noinline}} {{
  %0 = util.global.load @kept : {T}
  %1 = func.call @simple_mul(%x, %0) : ({T}, {T}) -> {T}
  return %1 : {T}
}}
func.func @main(%x: {T}) -> {T} {{
  %0 = call @inner(%x) : ({T}) -> {T}
  return %0 : {T}
}}
"""

ROWS |= {
    "A graph of open sizes": lambda _: _graph(_of("tensor<?xf32>")),
    "A graph that is called with a number": lambda _: _graph(_of("f32")),
    "A graph that is called with no elements": lambda _: _graph(_of("tensor<0xf32>")),
    "A graph with a branch on its data": lambda _: _graph(BRANCH),
    "A graph whose state is a number": lambda _: _graph(_NUMBER),
    "State of a graph that an inner function uses": lambda _: _graph(_BELOW),
    "A graph of kernels without a model": lambda bench: cd.compile(
        None, bench.kernel(), ["cpu"], graph=True
    ),
    "A graph, and a flag that ends the compiler before": lambda _: _graph(
        MODEL, flags=["--compile-to=flow"]
    ),
    "A replay of a function that is no graph": lambda _: cd.load(
        _graph(MODEL, graph=False), "cpu"
    ).step.replay(),
}


@row("An input of a graph that is given for another input")
def _changed_places(_: Bench) -> None:
    step = cd.load(_graph(MODEL), "cpu").step
    step.replay(*step.inputs[::-1])


@row("A CUDA graph that the driver cannot make")
def _not_made(bench: Bench) -> None:
    from custom_dispatch.runtime import graph_log

    class Driver:
        def cuLogsCurrent(self, place: Any, flags: int) -> int:  # noqa: N802 - the driver's name
            return 0

        def cuLogsDumpToMemory(self, place: Any, text: Any, *_: Any) -> int:  # noqa: N802
            text.value = b"[%d] Returning 2 from cuGraphInstantiate" % threading.get_ident()
            return 0

    bench.monkeypatch.setattr(graph_log, "cuda_library", Driver)
    bench.monkeypatch.setattr(graph_log, "has_initialised", lambda: True)
    cd.load(_graph(MODEL), "cpu")


@row("Two calls of a graph by two threads")
def _two_threads(_: Bench) -> None:
    step, wrong = cd.load(_graph(MODEL), "cpu").step, []

    def call(seed: int) -> None:
        x, y = numpy.random.default_rng(seed).random((2, 64), numpy.float32)
        for _ in range(50):
            wrong.append(not numpy.allclose(step(x, y)[0], x * y + y))

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 100

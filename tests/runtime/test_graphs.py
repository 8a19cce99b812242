"""Functions that are graphs: recorded when a module is loaded, over buffers that stay."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_model import BRANCH, COUNT, KERNEL, MODEL, T, drawn

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CallError, DeclarationError, GraphError


@pytest.fixture(scope="module")
def module() -> cd.CompiledModule:
    return cd.compile(MODEL, simple_mul, ["cuda:sm_80", "cuda:sm_90", "cpu"], graph=True)


def test_a_plain_call_copies_in_and_out_and_state_stays(module: cd.CompiledModule) -> None:
    program = cd.load(module, "cpu")
    kept, results = np.full(COUNT, 2, np.float32), []
    for seed in range(3):
        x, y = drawn(seed), drawn(seed + 10)
        results.append((program.step(x, y), x * y + y))
        kept = kept * (x * y + y)
        np.testing.assert_allclose(results[-1][0][1], kept, rtol=1e-6)
        np.testing.assert_allclose(program.kept_now(), kept, rtol=1e-6)
    for (found, _), wanted in results:  # none was written over
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_replay_reads_the_inputs_and_writes_the_outputs(module: cd.CompiledModule) -> None:
    step = cd.load(module, "cpu").step
    x, y, z = drawn(1), drawn(2), drawn(3)
    found = step.replay(x, y)
    assert all(a is b for a, b in zip(found, step.outputs, strict=True))
    np.testing.assert_allclose(found[0], x * y + y, rtol=1e-6)
    step.replay(None, z)  # the first input stays what it is
    np.testing.assert_allclose(step.outputs[0], x * z + z, rtol=1e-6)
    np.testing.assert_allclose(step.inputs[0], x)
    step.replay(*step.inputs)
    assert step.replay(y, wait=False).result()[0] is step.outputs[0]
    np.testing.assert_allclose(step.outputs[0], y * z + z, rtol=1e-6)


def test_other_libraries_write_into_the_inputs(module: cd.CompiledModule) -> None:
    torch = pytest.importorskip("torch")
    step = cd.load(module, "cpu").step
    step.replay(drawn(1), drawn(2))
    given = torch.rand(COUNT)
    torch.from_dlpack(step.inputs[0]).copy_(given)
    (found, _) = step.replay()
    np.testing.assert_allclose(found, given.numpy() * drawn(2) + drawn(2), rtol=1e-6)


def test_calls_in_flight_take_effect_in_order(module: cd.CompiledModule) -> None:
    program = cd.load(module, "cpu")
    x, y = drawn(1), drawn(2)
    flights = [program.step.submit(x, y), program.step.replay(wait=False)]
    flights += [program.step.submit(y, y), program.step.replay(x, wait=False)]
    for flight in flights:
        flight.result()
    wanted = 2 * (x * y + y) ** 2 * (y * y + y) * (x * y + y)
    np.testing.assert_allclose(program.kept_now(), wanted, rtol=1e-5)


def test_plain_calls_of_several_threads_do_not_mix(module: cd.CompiledModule) -> None:
    program = cd.load(module, "cpu")
    wrong = []

    def call(seed: int) -> None:
        x, y = drawn(seed), drawn(seed + 50)
        for _ in range(60):
            if not np.allclose(program.step(x, y)[0], x * y + y, rtol=1e-6):
                wrong.append(seed)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_stock_tools_run_it(module: cd.CompiledModule, tmp_path: Path) -> None:
    path = module.save(tmp_path / "m.vmfb")
    tool = Path(sys.executable).parent / "iree-run-module"
    given = [f"--input={COUNT}xf32=3", f"--input={COUNT}xf32=2"]
    command = [tool, "--device=local-sync", f"--module={path}", "--function=step", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{COUNT}xf32=8 8" in done.stdout
    assert f"{COUNT}xf32=16 16" in done.stdout


def test_what_is_no_graph_is_not_replayed() -> None:
    program = cd.load(cd.compile(MODEL, simple_mul, ["cpu"]), "cpu")
    with pytest.raises(CallError, match="`step` is no graph") as caught:
        program.step.replay()
    assert "compile it with graph=True" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3, np.float32),), r"argument 0 of `step` has size 3 in dimension 0"),
        ((np.zeros(COUNT),), r"argument 0 of `step` has dtype float64"),
        ((None, None, None), r"`step` is given 3 arrays.\n  expected: at most 2"),
        (("x",), r"argument 0 of `step` is str"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    module: cd.CompiledModule, arguments: tuple[Any, ...], message: str
) -> None:
    step = cd.load(module, "cpu").step
    with pytest.raises(CallError, match=f"(?i){message}"):
        step.replay(*arguments)


OPEN = """
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @simple_mul(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
NUMBER = f"""
{KERNEL}
func.func @main(%x: {T}, %n: f32) -> {T} {{
  %0 = call @simple_mul(%x, %x) : ({T}, {T}) -> {T}
  %e = tensor.empty() : {T}
  %1 = linalg.fill ins(%n : f32) outs(%e : {T}) -> {T}
  %2 = arith.addf %0, %1 : {T}
  return %2 : {T}
}}
"""
SAME = f"""
{KERNEL}
func.func @main(%x: {T}) -> ({T}, {T}, {T}, {T}) {{
  %0 = call @simple_mul(%x, %x) : ({T}, {T}) -> {T}
  %1 = arith.constant dense<3.0> : {T}
  return %0, %x, %0, %1 : {T}, {T}, {T}, {T}
}}
"""


def test_many_results_that_do_not_wait_for_each_other() -> None:
    """More commands than a CUDA graph of IREE's holds between two barriers."""
    count = 40
    lines = [f"  %{i} = call @simple_mul(%x, %y{i}) : ({T}, {T}) -> {T}" for i in range(count)]
    arguments = ", ".join(f"%y{i}: {T}" for i in range(count))
    results, types = ", ".join(f"%{i}" for i in range(count)), ", ".join([T] * count)
    model = (
        f"{KERNEL}func.func @main(%x: {T}, {arguments}) -> ({types}) {{\n"
        + "\n".join(lines)
        + f"\n  return {results} : {types}\n}}"
    )
    main = cd.load(cd.compile(model, simple_mul, ["cpu"], graph=True), "cpu").main
    given = [drawn(seed) for seed in range(count + 1)]
    for found in (main(*given), main.replay(*given)):
        for each, other in zip(found, given[1:], strict=True):
            np.testing.assert_allclose(each, given[0] * other)


def test_results_may_be_alike_or_arguments_or_numbers_of_the_model() -> None:
    main = cd.load(cd.compile(SAME, simple_mul, ["cpu"], graph=True), "cpu").main
    x = drawn()
    for found in (main(x), main.replay(x)):
        for each, wanted in zip(found, (x * x, x, x * x, np.full(COUNT, 3)), strict=True):
            np.testing.assert_allclose(each, wanted, rtol=1e-6)


def test_a_model_of_pytorch_may_return_its_arguments_alone() -> None:
    torch = pytest.importorskip("torch")
    module = cd.torch.compile(torch.nn.Identity(), (torch.zeros(COUNT),), ["cpu"], graph=True)
    x = drawn()
    np.testing.assert_array_equal(cd.load(module, "cpu").main.replay(x)[0], x)


# How many there are is known when the module is loaded.
HIDDEN_SIZE = f"""
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
util.global private @n : index
util.initializer {{
  %0 = arith.constant {COUNT} : index
  %1 = util.optimization_barrier %0 : index
  util.global.store %1, @n : index
  util.return
}}
func.func @main(%x: {T}) -> {T} {{
  %n = util.global.load @n : index
  %0 = tensor.extract_slice %x[0] [%n] [1] : {T} to tensor<?xf32>
  %1 = call @simple_mul(%0, %0) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %2 = call @simple_mul(%1, %0) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %3 = tensor.insert_slice %2 into %x[0] [%n] [1] : tensor<?xf32> into {T}
  return %3 : {T}
}}
"""
# IREE's compiler takes no calls where it is given the memory for what lies between.
NOT_INLINED = (
    HIDDEN_SIZE[: HIDDEN_SIZE.index("util.global")]
    + f"""
func.func private @size() -> index attributes {{noinline}} {{
  %0 = arith.constant {COUNT} : index
  %1 = util.optimization_barrier %0 : index
  return %1 : index
}}
"""
    + HIDDEN_SIZE[HIDDEN_SIZE.index("func.func @main") :]
).replace("util.global.load @n : index", "call @size() : () -> index")
# A number is no buffer: what is recorded would be its first value.
NUMBER_AS_STATE = f"""
util.global private mutable @count = 2.0 : f32
func.func @main(%x: {T}) -> {T} {{
  %n = util.global.load @count : f32
  %next = arith.addf %n, %n : f32
  util.global.store %next, @count : f32
  %e = tensor.empty() : {T}
  %0 = linalg.fill ins(%n : f32) outs(%e : {T}) -> {T}
  return %0 : {T}
}}
"""
OPEN_STATE = f"""
util.global private mutable @count : tensor<?xf32>
util.initializer {{
  %0 = arith.constant dense<2.0> : {T}
  %1 = tensor.cast %0 : {T} to tensor<?xf32>
  util.global.store %1, @count : tensor<?xf32>
  util.return
}}
func.func @main(%x: {T}) -> {T} {{
  %0 = util.global.load @count : tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to {T}
  return %1 : {T}
}}
"""
# IREE makes a global of its own of it.
OTHER_STATE = f"""
ml_program.global private mutable @kept(dense<2.0> : {T}) : {T}
func.func @main(%x: {T}) -> {T} {{
  %0 = ml_program.global_load @kept : {T}
  return %0 : {T}
}}
func.func @change() {{
  %0 = arith.constant dense<5.0> : {T}
  ml_program.global_store @kept = %0 : {T}
  return
}}
"""
LINKED = f"""
func.func @main(%x: {T} {{iree.abi.output = 0 : index}}) -> {T} {{
  return %x : {T}
}}
"""
NAMES = f"""
func.func @main(%x: {T}) -> {T} {{
  return %x : {T}
}}
func.func @"main$graph"(%x: {T}) -> {T} {{
  return %x : {T}
}}
"""
STATE_BELOW = f"""
util.global private mutable @kept = dense<2.0> : {T}
{KERNEL}
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


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (STATE_BELOW, r"State `kept` is used in a branch, a loop or a function that another calls"),
        (HIDDEN_SIZE, "`main` cannot be a graph: the size of its memory depends on values of the"),
        (
            LINKED,
            "`main` cannot be a graph: it has an interface already, or takes what is no tensor",
        ),
        (
            NAMES,
            "`main` cannot be a graph: it has an interface already, or takes what is no tensor",
        ),
        (NOT_INLINED, "The model cannot be a graph: IREE's compiler refused the model."),
        (NUMBER_AS_STATE, "State `count` is f32, for which a graph has no buffer"),
        (OPEN_STATE, r"State `count` is tensor<\?xf32>, for which a graph has no buffer"),
        (OTHER_STATE, "`main` cannot be a graph: `util.global.load` depends on values of the call"),
        (OPEN, r"`main` cannot be a graph: argument 0 has an open size: tensor<\?xf32>"),
        (NUMBER, r"`main` cannot be a graph: argument 1 is a number: f32"),
        (BRANCH, r"`main` cannot be a graph: `tensor.extract` lets the host wait for values"),
    ],
)
def test_what_cannot_be_a_graph_is_refused(model: str, message: str) -> None:
    kernels = [simple_mul] if "@simple_mul" in model else []
    with pytest.raises(GraphError, match=message) as caught:
        cd.compile(model, kernels, ["cpu"], graph=True)
    steps = ('write graph="where possible"', "compile it without graph; if that fails too, correct")
    assert any(step in caught.value.next_step for step in steps)
    compiled = cd.compile(model, kernels, ["cpu"], graph="where possible")
    assert re.search(message, compiled.no_graph)
    plain = cd.compile(model, kernels, ["cpu"])
    assert compiled.bytes == plain.bytes
    assert not plain.no_graph


@pytest.mark.parametrize(
    ("model", "graph", "message"),
    [
        (None, True, "graph is given without a model"),
        (SAME, "yes", "graph is given as 'yes'.\n  expected: True, False or \"where possible\""),
        (SAME, 1, 'graph is given as 1.\n  expected: True, False or "where possible"'),
        (SAME, drawn(), 'graph is given as .*.\n  expected: True, False or "where possible"'),
    ],
)
def test_other_words_for_graph_are_refused(model: Any, graph: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        cd.compile(model, simple_mul, ["cpu"], graph=graph)


def test_flags_that_end_the_compiler_before_are_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.compile(SAME, simple_mul, ["cpu"], graph=True, flags=["--compile-to=flow"])
    assert str(caught.value) == (
        "A graph is given with the flag --compile-to=flow, and is compiled in phases itself.\n"
        "  expected: flags that change how a module is made\n"
        "  next step: leave the flag out, or graph."
    )


def test_functions_of_jax_become_graphs() -> None:
    jax = pytest.importorskip("jax")
    x, y = drawn(1).reshape(4, 16), drawn(2).reshape(16, 4)

    def function(x: Any, y: Any) -> Any:
        return jax.nn.softmax(jax.numpy.tanh(x @ y))

    main = cd.load(cd.jax.compile(function, (x, y), ["cpu"], graph=True), "cpu").main
    np.testing.assert_allclose(main.replay(x, y)[0], function(x, y), rtol=1e-5)


def test_arguments_that_a_graph_of_jax_updates_stay_inputs_of_it() -> None:
    jax = pytest.importorskip("jax")
    cache, row = drawn(1).reshape(4, 16), drawn(2)[:16]
    at, number = np.int32(2), np.array([7, 2**31], np.uint32)

    def function(cache: Any, row: Any, at: Any, number: Any) -> Any:
        twice = jax.numpy.where(row.sum() > 0, 2 * row, row)  # one bool for all
        return cache.at[at].set(row), jax.numpy.sort(cache), number >> 1, cache.at[0].set(twice)

    given = (cache, row, at, number)
    main = cd.load(cd.jax.compile(function, given, ["cpu"], graph=True), "cpu").main
    wanted = function(*map(jax.numpy.asarray, given))
    for found in (main(*given), main.replay(*given), main.replay()):
        for each, one in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(each, one)
            assert np.asarray(each).dtype == one.dtype


def test_onnx_models_become_graphs() -> None:
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    values = [("x", [4, 16]), ("y", [16, 4]), ("z", [4, 4])]
    x, y, z = (make.make_tensor_value_info(name, kind, shape) for name, shape in values)
    nodes = [make.make_node("MatMul", ["x", "y"], ["p"]), make.make_node("Neg", ["p"], ["z"])]
    model = make.make_model(
        make.make_graph(nodes, "graph", [x, y], [z]), opset_imports=[make.make_opsetid("", 18)]
    )
    main = cd.load(cd.onnx.compile(model, ["cpu"], graph=True), "cpu").main
    given = drawn(1).reshape(4, 16), drawn(2).reshape(16, 4)
    np.testing.assert_allclose(main.replay(*given)[0], -(given[0] @ given[1]), rtol=1e-5)


def test_the_memory_that_graphs_keep_is_reported(module: cd.CompiledModule, tmp_path: Path) -> None:
    report = cd.load(module, "cpu").report()
    kept = dict(report.memory)
    assert kept.pop("transients") < 4096
    # Of both functions; and the state's new value is computed beside the old one.
    assert kept == {"inputs": 512, "results": 768, "state": 512}
    line = "kept by graphs: inputs 512 B, results 768 B, state 512 B, transients "
    assert line in str(report)
    path = module.save(tmp_path / "m.vmfb")
    command = [sys.executable, "-m", "custom_dispatch", "inspect", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert line in done.stdout
    plain = cd.load(cd.compile(MODEL, simple_mul, ["cpu"]), "cpu").report()
    assert not plain.memory
    assert "kept by graphs" not in str(plain)


# A prompt of any length, and a step, on one state; and a function that runs other kernels at times.
PROMPT = f"""
util.global private mutable @kept = dense<2.0> : {T}
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @prompt(%x: tensor<?xf32>) -> (tensor<?xf32>, {T}) {{
  %old = util.global.load @kept : {T}
  %0 = call @simple_mul(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %new = tensor.insert_slice %0 into %old[0] [%n] [1] : tensor<?xf32> into {T}
  util.global.store %new, @kept : {T}
  return %0, %new : tensor<?xf32>, {T}
}}
func.func @step(%x: {T}) -> {T} {{
  %old = util.global.load @kept : {T}
  %1 = tensor.cast %old : {T} to tensor<?xf32>
  %2 = tensor.cast %x : {T} to tensor<?xf32>
  %3 = call @simple_mul(%1, %2) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %new = tensor.cast %3 : tensor<?xf32> to {T}
  util.global.store %new, @kept : {T}
  return %new : {T}
}}
func.func @add(%x: {T}, %n: f32) -> {T} {{
  %old = util.global.load @kept : {T}
  %e = tensor.empty() : {T}
  %1 = linalg.fill ins(%n : f32) outs(%e : {T}) -> {T}
  %new = arith.addf %old, %1 : {T}
  util.global.store %new, @kept : {T}
  return %old : {T}
}}
"""


def test_what_can_be_a_graph_is_one_and_shares_the_state_of_what_cannot() -> None:
    with pytest.raises(GraphError, match=r"`prompt` cannot be a graph: argument 0 has an open"):
        cd.compile(PROMPT, simple_mul, ["cpu"], graph=True)
    module = cd.compile(PROMPT, simple_mul, ["cpu"], graph="where possible")
    assert re.findall(r"`(\w+)` cannot be a graph", module.no_graph) == ["prompt", "add"]
    program = cd.load(module, "cpu")
    with pytest.raises(CallError, match="`prompt` is no graph"):
        program.prompt.replay()
    kept, given, results = np.full(COUNT, 2, np.float32), drawn(4)[: COUNT // 4], []
    for seed in range(3):
        kept[: COUNT // 4] = given**2
        found = program.prompt(given)
        np.testing.assert_allclose(found[0], given**2, rtol=1e-6)
        results.append((found[1], kept.copy()))
        kept *= drawn(seed)
        np.testing.assert_allclose(program.step.replay(drawn(seed))[0], kept, rtol=1e-6)
        results.append((program.add.submit(drawn(), 3.0).result(), kept.copy()))
        kept += 3
        kept *= kept
        results.append((program.step(np.asarray(program.add(drawn(), 0.0))), kept.copy()))
    for found, wanted in results:  # none was written over
        np.testing.assert_allclose(found, wanted, rtol=1e-5)

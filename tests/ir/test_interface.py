"""The functions through which modules are called from outside."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from iree import runtime as rt

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace

KERNELS = [simple_mul, simple_mul_inplace]
KERNEL = "func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"


class Module:
    """A module in IREE's own hands."""

    def __init__(self, content: bytes) -> None:
        instance = rt.VmInstance()
        self.device = rt.get_device("local-task")
        self.vm = rt.VmModule.copy_buffer(instance, content)
        hal = rt.create_hal_module(instance, self.device)
        self.context = rt.VmContext(instance, [hal, self.vm])

    def view(self, array: np.ndarray[Any, Any]) -> Any:
        return rt.asdevicearray(self.device, array)._buffer_view

    def array(self, view: Any) -> np.ndarray[Any, Any]:
        return np.array(rt.DeviceArray(self.device, view).to_host())

    def call(self, name: str, *views: Any) -> Any:
        inputs, outputs = rt.VmVariantList(len(views)), rt.VmVariantList(1)
        for view in views:
            inputs.push_ref(view)
        self.context.invoke(self.vm.lookup_function(name), inputs, outputs)
        return outputs

    def call_with_fences(self, name: str, *views: Any, wait: Any = None) -> tuple[Any, Any]:
        semaphore = self.device.create_semaphore(0)
        wait = wait or rt.HalFence.create_at(semaphore, 0)
        signal = rt.HalFence.create_at(semaphore, 1)
        return self.call(name, *views, wait, signal), signal


@pytest.fixture(scope="module")
def of_kernels() -> Module:
    return Module(cd.compile(None, KERNELS, ["cpu"]).bytes)


@pytest.fixture
def operands() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    generator = np.random.default_rng(3)
    return tuple(generator.standard_normal(1000).astype(np.float32) for _ in range(2))  # type: ignore[return-value]


def test_a_function_can_be_called_without_waiting(of_kernels: Module, operands: Any) -> None:
    a, b = operands
    outputs, done = of_kernels.call_with_fences(
        "simple_mul$async", of_kernels.view(a), of_kernels.view(b)
    )
    done.wait()
    result = of_kernels.array(outputs.get_as_object(0, rt.HalBufferView))
    np.testing.assert_array_equal(result, a * b)


def test_work_begins_when_the_fence_is_reached(of_kernels: Module, operands: Any) -> None:
    a, b = operands
    gate = of_kernels.device.create_semaphore(0)
    _, done = of_kernels.call_with_fences(
        "simple_mul$async",
        of_kernels.view(a),
        of_kernels.view(b),
        wait=rt.HalFence.create_at(gate, 1),
    )
    assert not done.wait(timeout=20_000_000)
    gate.signal(1)
    assert done.wait()


def test_results_are_written_into_buffers_that_are_given(of_kernels: Module, operands: Any) -> None:
    a, b = operands
    storage = of_kernels.view(np.full(1000, np.nan, np.float32))
    _, done = of_kernels.call_with_fences(
        "simple_mul$into", of_kernels.view(a), of_kernels.view(b), storage
    )
    done.wait()
    np.testing.assert_array_equal(of_kernels.array(storage), a * b)


def test_an_update_in_place_is_made_in_the_buffer_itself(of_kernels: Module, operands: Any) -> None:
    a, b = operands
    first, second = of_kernels.view(a), of_kernels.view(b)
    _, done = of_kernels.call_with_fences("simple_mul_inplace$into", first, second)
    done.wait()
    np.testing.assert_array_equal(of_kernels.array(second), a * b)
    np.testing.assert_array_equal(of_kernels.array(first), a)


def test_nothing_runs_for_empty_results(of_kernels: Module) -> None:
    empty = of_kernels.view(np.empty(0, np.float32))
    _, done = of_kernels.call_with_fences("simple_mul$into", empty, empty, empty)
    assert done.wait()


def test_storage_of_another_size_is_refused(of_kernels: Module, operands: Any) -> None:
    views = [of_kernels.view(array) for array in operands]
    for wrong in (np.empty(999, np.float32), np.empty(1000, np.float64)):
        with pytest.raises(ValueError, match=r"storage .* mismatch"):
            of_kernels.call_with_fences("simple_mul$into", *views, of_kernels.view(wrong))


def test_a_failure_is_passed_on(of_kernels: Module, operands: Any) -> None:
    views = [of_kernels.view(array) for array in operands]
    broken = of_kernels.device.create_semaphore(0)
    broken.fail("the call before")

    def call_and_wait() -> None:
        wait = rt.HalFence.create_at(broken, 1)
        of_kernels.call_with_fences("simple_mul$async", *views, wait=wait)[1].wait()

    with pytest.raises(RuntimeError, match="the call before"):
        call_and_wait()


def test_sizes_are_checked_whichever_is_called(of_kernels: Module) -> None:
    short, long = (of_kernels.view(np.ones(n, np.float32)) for n in (3, 4))
    for name in ("simple_mul$async", "simple_mul$into"):
        views = (short, long, long)[: 3 if name.endswith("into") else 2]
        with pytest.raises(ValueError, match="disagree on dim n"):
            of_kernels.call_with_fences(name, *views)
    with pytest.raises(ValueError, match="disagree on dim n"):
        of_kernels.call("simple_mul", short, long)


MODEL = f"""
{KERNEL}
func.func @several(%a: tensor<?xf32>, %n: i32) -> (tensor<?xf32>, i32, tensor<2xf32>) {{
  %0 = call @simple_mul(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = arith.addi %n, %n : i32
  %2 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0, %1, %2 : tensor<?xf32>, i32, tensor<2xf32>
}}
func.func @by_another(%a: tensor<?xf32>) -> tensor<?xf32> {{
  %n = arith.constant 1 : i32
  %0:3 = call @several(%a, %n) : (tensor<?xf32>, i32) -> (tensor<?xf32>, i32, tensor<2xf32>)
  return %0#0 : tensor<?xf32>
}}
func.func @left_alone(
  %a: tensor<4xf32>, %s: tensor<4xf32> {{iree.abi.output = 0 : index}}
) -> tensor<4xf32> {{
  %0 = arith.addf %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""


def test_a_models_functions_have_both_too(tmp_path: Path, operands: Any) -> None:
    a, _ = operands
    content = cd.compile(MODEL, [simple_mul], ["cpu"]).bytes
    module = Module(content)
    names = set(module.vm.function_names) - {"__init"}
    assert names == {
        "several",
        "several$async",
        "by_another",
        "by_another$async",
        "left_alone",  # somebody has said how it is called
    }
    program = cd.load(content, "cpu")
    assert set(program.functions) == {"several", "by_another", "left_alone"}
    squares, twice, constant = program.several(a, 21)
    np.testing.assert_array_equal(squares, a * a)
    assert twice == 42
    np.testing.assert_array_equal(constant, [1, 2])
    np.testing.assert_array_equal(program.by_another(a), a * a)


@pytest.mark.parametrize("name", ["main", "main$async"])
def test_stock_tools_call_both(name: str, tmp_path: Path) -> None:
    model = f"""
      {KERNEL}
      func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {{
        %0 = call @simple_mul(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        return %0 : tensor<?xf32>
      }}"""
    path = cd.compile(model, [simple_mul], ["cpu"]).save(tmp_path / "main.vmfb")
    tool = Path(rt.__file__).parents[1] / "_runtime_libs" / "iree-run-module"
    done = subprocess.run(
        [tool, f"--module={path}", "--device=local-sync", f"--function={name}", "--input=4xf32=3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "4xf32=9 9 9 9" in done.stdout


def test_a_module_of_kernels_may_do_without(operands: Any) -> None:
    a, b = operands
    module = cd.compile(None, KERNELS, ["cpu"], asynchronous=False)
    assert set(Module(module.bytes).vm.function_names) == {
        "simple_mul",
        "simple_mul_inplace",
        "__init",
    }
    np.testing.assert_array_equal(cd.load(module, "cpu").simple_mul(a, b), a * b)

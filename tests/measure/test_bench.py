"""What a benchmark compares and rates; its command line is tested in `tests/cli`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.ir.compiler_tool import compile_mlir
from custom_dispatch.measure.bench import Bench
from custom_dispatch.measure.inputs import bytes_moved, inputs_for_kernel
from custom_dispatch.runtime.driver import Device

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels import implementations, optional, signatures, templates

GENERATOR = numpy.random.default_rng(0)
H200 = Device("cuda", "H200", 90)


def _find_image(bench: Bench) -> tuple[bytes, str, cd.Kernel] | None:
    """The object and the kernel that would be launched natively, were this an H200."""
    bench.device = H200
    assert bench._find_image() == ""
    return bench._image


def test_bytes_moved_count_what_is_updated_twice() -> None:
    assert bytes_moved(simple_mul, {"n": 100}) == 3 * 400
    assert bytes_moved(simple_mul_inplace, {"n": 100}) == 3 * 400


def test_the_object_is_the_one_that_was_built_for_the_gpu() -> None:
    library = cd.build(simple_mul, ["cuda:sm_80", "cuda:sm_90", "cpu"])
    module = cd.compile(None, library)
    found = _find_image(Bench(module.bytes, "m", None, "cpu"))
    best = next(item for item in library.objects if str(item.target) == "cuda:sm_90")
    assert found is not None
    assert found[:2] == (best.data, "simple_mul")


def test_an_implementations_launch_is_what_the_object_is_launched_with() -> None:
    module = cd.compile(None, implementations.ALL, ["cuda:sm_80", "cuda:sm_90a", "cpu"])
    found = _find_image(Bench(module.bytes, "m", "geometry", "cpu"))
    assert found is not None
    image, symbol, launched = found
    assert symbol == "geometry_persistent"
    assert b".target sm_90a" in image
    assert (launched.block, launched.dynamic_shared_memory) == ((128, 1, 1), 96 * 1024)


def test_the_object_is_found_behind_its_remarks_in_emitted_files(tmp_path: Path) -> None:
    targets = ["cuda:sm_90", "cpu"]
    kernel = templates.ALL[0]
    emitted = cd.emit(kernel, targets, output=tmp_path / "t.mlir")
    flags = [word for word in emitted.command if word.startswith("--")]
    content = compile_mlir(emitted.path.read_bytes(), flags)
    found = _find_image(Bench(content, "m", None, "cpu"))
    (item,) = cd.build(kernel, targets).objects
    assert found is not None
    assert found[1] == item.symbol(kernel.entry)
    assert found[0].startswith(item.data)
    assert found[0] != item.data


@pytest.mark.parametrize(
    "kernel",
    [
        *signatures.ALL[:2],
        *(pytest.param(each, marks=pytest.mark.thorough) for each in signatures.ALL[2:6]),
        *optional.ALL,
    ],
    ids=lambda kernel: kernel.name,
)
def test_kernels_of_any_signature_are_measured(kernel: cd.Kernel) -> None:
    module = cd.compile(None, kernel, ["cpu"])
    bench = Bench(module.bytes, "m", kernel.name, "cpu", kernel)
    inputs = inputs_for_kernel(kernel, {dim.name: 64 for dim in kernel.dims}, GENERATOR)
    found = bench.measure(inputs, repetitions=2, budget_s=0.1, reference=True)
    assert found.invoke.calls == 2
    assert [item.problem for item in found.agreements if item.problem] == []
    assert found.bytes_moved == bytes_moved(kernel, inputs.dims)


def test_a_models_function_says_why_there_is_no_native_launch(mixed: CompiledModule) -> None:
    bench = Bench(mixed.bytes, "m", None, "cpu")
    bench.device = H200
    note = bench._find_image()
    assert "`mixed_invocation` is more than one kernel (simple_mul, simple_mul_inplace)" in note
    assert bench.subject.variant == "cuda:sm_90"


def test_a_foreign_modules_function_is_measured_without_rates() -> None:
    text = b"func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
    text += b"%y = arith.addf %x, %x : tensor<8xf32>\nreturn %y : tensor<8xf32>\n}"
    flags = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]
    bench = Bench(compile_mlir(text, flags), "m", None, "cpu")
    from custom_dispatch.measure.inputs import inputs_for_type

    inputs = inputs_for_type("twice", bench.function.type, GENERATOR)
    found = bench.measure(inputs, repetitions=2, budget_s=0.1, reference=True)
    assert (found.bytes_per_second, found.flops_per_second, found.agreements) == (None, None, ())
    assert found.shapes == ("8xf32",)
    assert bench.subject.dispatches is None

"""`program.report()`: what a module says of itself, and no more than it knows."""

from __future__ import annotations

import io
import zipfile

import pytest
from sample_kernels import templates
from sample_kernels.rows import row_norm

import custom_dispatch as cd
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.format.manifest import KernelUse
from custom_dispatch.ir.compiler_tool import compile_mlir
from custom_dispatch.runtime.driver import Device
from custom_dispatch.runtime.module_file import ModuleFile
from custom_dispatch.runtime.program_report import report_functions, report_kernels

H200 = Device("cuda", "H200", 90)


def test_functions_say_what_they_dispatch(mixed: CompiledModule) -> None:
    report = cd.load(mixed, "cpu").report()
    assert report.device == cd.devices()[-1]
    assert report.reason == "asked for"
    (function,) = report.functions
    assert function.name == "mixed_invocation"
    assert str(function.type) == "(tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)"
    assert function.kernels == (KernelUse("simple_mul", 1), KernelUse("simple_mul_inplace", 1))
    assert len(function.generated) == 1
    assert "mixed_invocation" in function.generated[0]
    assert function.dispatches == 3


def test_kernels_on_the_cpu_are_a_translation(mixed: CompiledModule) -> None:
    first, _ = cd.load(mixed, "cpu").report().kernels
    assert first.name == "simple_mul"
    assert (first.variant, first.object, first.resources) == ("cpu", None, None)
    assert first.operands[0] == "In(lhs: f32[n])"
    assert (first.block, first.grid) == ((64, 1, 1), ("ceildiv(n, 64)", "1", "1"))


@pytest.mark.parametrize(
    ("capability", "variant"), [(80, "cuda:sm_80"), (90, "cuda:sm_90"), (75, "")]
)
def test_on_a_gpu_the_variant_is_the_one_that_iree_chooses(
    mixed: CompiledModule, capability: int, variant: str
) -> None:
    manifest = ModuleFile(mixed.bytes).manifest
    first, _ = report_kernels(manifest, Device("cuda", "a GPU", capability))
    assert first.variant == variant
    if not variant:
        assert first.object is None
        return
    assert first.object is not None
    assert first.object.file == f"simple_mul_sm_{capability}.ptx"
    assert first.object.size_bytes is not None
    assert first.resources is not None
    assert first.resources.registers > 0
    assert first.occupancy is not None
    assert first.occupancy.blocks == 32


def test_what_kernels_take_is_what_building_them_told() -> None:
    library = cd.build(templates.ALL[0], ["cuda:sm_90"])  # it has shared memory
    module = cd.compile(None, library)
    (built,) = library.report()
    (found,) = report_kernels(ModuleFile(module.bytes).manifest, H200)
    assert found.resources == built.resources
    assert built.resources.static_shared_bytes
    assert found.occupancy == built.occupancy
    assert found.object is not None
    assert found.object.size_bytes == len(next(library.objects).data)


def test_parts_and_sizes_are_those_of_the_file(mixed: CompiledModule) -> None:
    report = cd.load(mixed, "cpu").report()
    assert report.size_bytes == len(mixed.bytes)
    with zipfile.ZipFile(io.BytesIO(mixed.bytes)) as archive:
        sizes = {item.filename: item.file_size for item in archive.infolist()}
    assert {part.name: part.size_bytes for part in report.parts} == sizes


def test_a_fatbin_is_the_object_of_every_target() -> None:
    module = cd.compile(None, row_norm, ["cuda:sm_80", "cuda:sm_90"], image="fatbin")
    for capability in (80, 90):
        device = Device("cuda", "a GPU", capability)
        (found,) = report_kernels(ModuleFile(module.bytes).manifest, device)
        assert found.object is not None
        assert found.object.file.endswith(".fatbin")


def test_its_text_is_a_table(mixed: CompiledModule) -> None:
    text = str(cd.load(mixed, "cpu").report())
    lines = text.splitlines()
    assert lines[0].startswith("the module on cpu (")
    assert lines[1] == "because: asked for"
    assert lines[2].startswith("size: ")
    assert "host code " in lines[2]
    row = next(line for line in lines if line.startswith("mixed_invocation "))
    assert "simple_mul, simple_mul_inplace" in row
    assert "the PTX, translated" in text
    assert "custom_dispatch_simple_mul_sm_90.fb" in text


FOREIGN = """
func.func @add(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""


def test_a_module_of_another_tool_says_what_can_be_known() -> None:
    flags = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]
    content = compile_mlir(FOREIGN.encode(), flags)
    report = cd.load(content, "cpu").report()
    (function,) = report.functions
    assert (function.name, function.kernels, function.dispatches) == ("add", None, None)
    assert report.kernels == ()
    assert [part.kind for part in report.parts] == ["host code", "CPU"]
    assert "not known" in str(report)


def test_a_module_that_is_no_archive_has_no_parts() -> None:
    flags = [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-vm-emit-polyglot-zip=false",
    ]
    report = cd.load(compile_mlir(FOREIGN.encode(), flags), "cpu").report()
    assert report.parts == ()
    assert report.functions[0].generated == ()
    assert str(report).splitlines()[2].startswith("size: ")


def test_without_parts_nothing_is_said_of_generated_code(mixed: CompiledModule) -> None:
    file = ModuleFile(mixed.bytes)
    types = {name: points.type for name, points in file.functions().items()}
    (function,) = report_functions(types, file.manifest, (), "cuda")
    assert (function.generated, function.dispatches) == ((), 2)

"""A library as a module of its own, in both forms."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.cpu.lower import lower
from custom_dispatch.errors import DeclarationError, UnsupportedInstructionError
from custom_dispatch.ir import library_ir
from custom_dispatch.ir.executable import by_path, embedded
from custom_dispatch.ir.library_module import write_library_module
from custom_dispatch.link.model import parse_model

KERNELS = [simple_mul, simple_mul_inplace]
GOLDEN = Path(__file__).resolve().parents[2] / "mlir" / "simple_mul.mlir"


def test_the_ir_is_what_the_golden_file_shows() -> None:
    """Written again with: custom-dispatch emit cuda_kernels.simple_mul -t cuda:sm_80,cuda:sm_90
    -o mlir/simple_mul.mlir (and the manifest's digests taken out).
    """
    text = write_library_module(
        cd.build(KERNELS, ["cuda:sm_80", "cuda:sm_90"]), by_path, "executable"
    )
    assert _without_manifest(text) == _without_manifest(GOLDEN.read_text())


def _without_manifest(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    return re.sub(r', custom_dispatch\.manifest = ".*"(?=\}\})', "", "\n".join(lines)).strip()


def test_embedded_objects_survive_the_parser() -> None:
    library = cd.build(KERNELS, ["cuda:sm_90"])
    module = parse_model(write_library_module(library, embedded, "executable"))
    (item,) = library.objects
    for line in item.data.decode().splitlines():
        if line.strip().startswith(".visible"):
            assert line.strip() in str(module)


def test_the_source_form_holds_one_object() -> None:
    text = write_library_module(cd.build(KERNELS, ["cuda:sm_90"]), by_path, "source")
    assert "hal.executable.source private @custom_dispatch_simple_mul" in text
    assert "flow.dispatch @custom_dispatch_simple_mul::@simple_mul[" in text
    parse_model(text)


@pytest.mark.parametrize(
    ("targets", "form", "message"),
    [
        (["cuda:sm_80", "cuda:sm_90"], "source", "IREE drops the conditions of this form"),
        (["cuda:sm_80", "cpu"], "source", "cannot hold the target cpu"),
        (["cuda:sm_80"], "sauce", "'sauce' is not a form of IR.\n  expected: executable or source"),
    ],
)
def test_what_a_form_cannot_hold_is_refused(targets: list[str], form: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        write_library_module(cd.build(KERNELS, targets), by_path, form)
    assert message in str(caught.value)
    assert "next step: " in str(caught.value)


def test_a_kernel_may_be_named_like_its_executable(tmp_path: Path) -> None:
    source = tmp_path / "it.cu"
    source.write_text('extern "C" __global__ void custom_dispatch_it(float* x) { x[0] = 1; }')
    kernel = cd.Kernel(
        "custom_dispatch_it", source=source, operands=[cd.Out("x", "f32", [1])], block=1, grid=1
    )
    assert cd.load(cd.compile(None, kernel, ["cpu"])).custom_dispatch_it() == 1


def test_kernels_of_the_same_code_are_lowered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they are called; checked code says their names."""
    lowered = []

    def counted(*given: Any, **more: Any) -> Any:
        lowered.append(given[1][0].name)
        return lower(*given, **more)

    monkeypatch.setattr(library_ir, "lower", counted)
    source = tmp_path / "same.cu"
    source.write_text('extern "C" __global__ void same(float* x) { x[0] = 5; }')
    for name in ("one", "another"):
        kernel = cd.Kernel(
            name, source=source, entry="same", operands=[cd.Out("x", "f32", [1])], block=1, grid=1
        )
        for target in ("cpu", "cpu:checked"):
            write_library_module(cd.build(kernel, [target]), by_path, "executable")
    assert sorted(lowered) == ["", "another", "one"]


def test_what_the_cpu_cannot_run_is_refused_when_the_module_is_built(tmp_path: Path) -> None:
    source = tmp_path / "turn.cu"
    source.write_text(
        'extern "C" __global__ void turn(const float* x, float* y) {\n'
        '  asm volatile("brkpt;");\n'
        "  y[threadIdx.x] = x[31 - threadIdx.x];\n"
        "}\n"
    )
    kernel = cd.Kernel(
        "turn",
        source=source,
        options=["-lineinfo"],
        operands=[cd.In("x", "f32", [32]), cd.Out("y", "f32", [32])],
        block=32,
        grid=1,
    )
    with pytest.raises(UnsupportedInstructionError) as caught:
        cd.compile(None, kernel, ["cpu"])
    message = str(caught.value)
    assert "Kernel `turn` uses `brkpt` (PTX line" in message
    assert "turn.cu:2)" in message
    assert "next step: " in message
    assert cd.compile(None, kernel, ["cuda:sm_80"]).bytes


def test_more_scalars_than_the_cpu_variant_has_room_for_are_refused(tmp_path: Path) -> None:
    names = [f"s{index}" for index in range(64)]
    source = tmp_path / "many.cu"
    parameters = ", ".join(f"int {name}" for name in names)
    source.write_text(
        f'extern "C" __global__ void many(int* y, {parameters}) {{ y[0] = {" + ".join(names)}; }}'
    )
    kernel = cd.Kernel(
        "many",
        source=source,
        operands=[cd.Out("y", "i32", [1]), *(cd.Scalar(name, "i32") for name in names)],
        block=1,
        grid=1,
    )
    with pytest.raises(DeclarationError) as caught:
        cd.compile(None, kernel, ["cpu"])
    assert "Kernel `many` has 64 scalars and the target cpu." in str(caught.value)
    assert cd.compile(None, kernel, ["cuda:sm_80"]).bytes

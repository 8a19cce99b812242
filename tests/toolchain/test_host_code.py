"""What NVRTC cannot take goes to nvcc by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from cuda_sources import SCALE, Write, skip_without_gcc

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, SourceError
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.nvcc import Nvcc
from custom_dispatch.toolchain.nvrtc import Nvrtc

HOST_CODE = Path(__file__).parent / "host_code"
MAIN = SCALE + "int main() { scale<<<1, 1>>>(nullptr, nullptr, 1.0f, 0); }\n"
Declare = Callable[..., cd.Kernel]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The compilers that were asked, in order, with an empty store."""
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(tmp_path / "store"))
    found: list[str] = []
    for kind in (Nvrtc, Nvcc):

        def asked(self: Any, *rest: Any, real: Any = kind.compile) -> Any:
            found.append(self.name)
            return real(self, *rest)

        monkeypatch.setattr(kind, "compile", asked)
    return found


def declared(declare: Declare) -> list[cd.Kernel]:
    n = cd.dim("n")
    return [
        declare(source=HOST_CODE / "benchmark.cu"),
        declare("doubled", entry="ops::scale<float, 4>", source=HOST_CODE / "launched_template.cu"),
        declare("launched", entry="scale", source=HOST_CODE / "launcher.cu"),
        cd.Kernel(
            "total",
            source=HOST_CODE / "reduction.cu",
            operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", []), cd.Scalar("count", "i32", n)],
            block=64,
            grid=1,
        ),
    ]


def test_files_with_code_for_the_host_build_and_run(declare: Declare, tried: list[str]) -> None:
    skip_without_gcc()
    kernels = declared(declare)
    library = cd.build(kernels, ["cuda:sm_80", "cpu"])
    assert {item.origin for item in library.objects} == {"nvcc 13.0.88"}
    assert sorted(tried) == ["nvcc"] * 4 + ["nvrtc"] * 4
    # What was asked about types and symbols is answered.
    assert all(
        item.entry_point(kernel.entry).signature is not None
        for item, kernel in zip(library.objects, kernels, strict=True)
    )
    # Neither compiler is asked again: not even NVRTC, which would refuse them.
    cd.build(kernels, ["cuda:sm_80", "cpu"])
    assert len(tried) == 8
    module = cd.compile(None, kernels, ["cpu"], asynchronous=False)
    program = cd.load(module, device="cpu")
    x = numpy.arange(100, dtype=numpy.float32)
    for name in ("scale", "doubled", "launched"):
        assert (program.function(name)(x, 2.0) == 2 * x).all()
    assert program.function("total")(x) == x.sum()
    assert len(tried) == 8


def test_calls_take_such_files_too_and_a_compiler(
    declare: Declare, write: Write, tried: list[str]
) -> None:
    skip_without_gcc()
    kernel = declare(source=write("scale.cu", MAIN))
    x = numpy.ones(3, numpy.float32)
    assert kernel.on("cpu")(x, 3.0).tolist() == [3, 3, 3]
    assert kernel.on("cpu:checked")(x, 3.0).tolist() == [3, 3, 3]
    assert tried == ["nvrtc", "nvcc"] * 2  # with line numbers it is another compilation
    assert kernel.on("cpu", compiler="nvcc")(x, 2.0).tolist() == [2, 2, 2]
    assert tried[4:] == ["nvcc"]
    with pytest.raises(SourceError, match=r"does not compile for sm_80 \(NVRTC 13\.0\)"):
        kernel.on("cpu", compiler="nvrtc")(x, 2.0)
    for callee in (kernel, cd.Choice("either", [kernel, declare("other")])):
        for wrong in ("gcc", ["nvcc"], None):
            with pytest.raises(DeclarationError, match="is not a compiler"):
                callee.on("cpu", compiler=wrong)(x, 2.0)  # type: ignore[arg-type]


def test_a_change_in_what_either_compiler_read_compiles_again(
    declare: Declare, write: Write, tried: list[str]
) -> None:
    skip_without_gcc()
    header = write("times.h", "#define TIMES 1\n")
    kernel = declare(source=write("scale.cu", '#include <cstdlib>\n#include "times.h"\n' + MAIN))

    def build() -> list[str]:
        tried.clear()
        cd.build(kernel, "cuda:sm_80")
        return list(tried)

    assert build() == ["nvrtc", "nvcc"]
    assert build() == []
    header.write_text("#define TIMES 2\n")
    assert build() == ["nvrtc", "nvcc"]
    kernel = declare(source=kernel.source, include_dirs=[header.parent])
    assert build() == ["nvrtc", "nvcc"]
    write("stdlib.h", "#include_next <stdlib.h>\n")  # before the host's, which nvcc read
    assert build() == ["nvrtc", "nvcc"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (SCALE.replace("in[i];", "in[i]"), ["nvrtc"]),  # no header of the host mends syntax
        (SCALE.replace("= factor", "= & factor"), ["nvrtc"]),
        (SCALE.replace("factor *", "facto *"), ["nvrtc", "nvcc"]),
        ("#include <cstdio>\n" + MAIN.replace("factor *", "facto *"), ["nvrtc", "nvcc"]),
        ('#include "none.h"\n' + SCALE, ["nvrtc", "nvcc"]),
    ],
)
def test_a_mistake_is_told_once(
    declare: Declare, write: Write, tried: list[str], text: str, asked: list[str]
) -> None:
    skip_without_gcc()
    with pytest.raises(SourceError) as caught:
        cd.build(declare(source=write("scale.cu", text)), "cuda:sm_80")
    assert tried == asked
    last = {"nvrtc": "NVRTC 13.0", "nvcc": "nvcc 13.0"}[asked[-1]]
    message = str(caught.value)
    assert message.count("next step: ") == 1
    assert "JIT mode" not in message
    assert "custom-dispatch-" not in message  # our temporary directories
    if "none.h" in text:
        assert f"includes `none.h`, which was not found ({last}, scale.cu)." in message
    else:
        assert f"`scale.cu` does not compile for sm_80 ({last})." in message
        assert message.count("error: ") == 1


def test_a_kernel_that_the_source_has_not_is_no_matter_for_nvcc(
    declare: Declare, write: Write, tried: list[str]
) -> None:
    source = write("scale.cu", "template <class T> __global__ void scale(T* x) {}\n")
    with pytest.raises(SourceError, match="has no kernel `scaled<float>`"):
        find_compiler().compile(
            CompileRequest(
                source, cd.Target.parse("cuda:sm_80").cuda_arch, entries=("scaled<float>",)
            )
        )
    assert tried == ["nvrtc"]


def test_without_a_host_compiler_what_is_needed_is_said(
    declare: Declare, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = write("scale.cu", MAIN)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NVCC_CCBIN", raising=False)
    with pytest.raises(SourceError) as caught:
        cd.build(declare(source=source), "cuda:sm_80", store=False)
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "`scale.cu` does not compile for sm_80 (NVRTC 13.0). NVRTC takes no code for the host; "
        "nvcc does, and cannot be used: nvcc needs a host C++ compiler to preprocess sources, and "
        "there is no gcc on PATH."
    )
    assert lines[1].startswith("  next step: install g++ (apt install g++)")
    assert "host functions are not allowed in JIT mode" in caught.value.log


def test_an_option_that_nvrtc_does_not_know_is_nvccs(
    declare: Declare, write: Write, tried: list[str]
) -> None:
    skip_without_gcc()
    kernel = declare(source=write("scale.cu"), options=["--no-host-device-initializer-list"])
    assert cd.build(kernel, "cuda:sm_80").units[0].objects[0].origin == "nvcc 13.0.88"
    with pytest.raises(DeclarationError, match=r"NVRTC refuses the options --no-such-option"):
        cd.build(declare(source=write("scale.cu"), options=["--no-such-option"]), "cuda:sm_80")
    assert tried == ["nvrtc", "nvcc"] * 2


def test_the_command_line_takes_such_files(write: Write, tmp_path: Path) -> None:
    skip_without_gcc()
    write("scale.cu", MAIN)
    write(
        "kernels.py",
        "import custom_dispatch as cd\n"
        "n = cd.dim('n')\n"
        "scale = cd.Kernel('scale', source='scale.cu', block=64, grid=cd.ceildiv(n, 64), operands=["
        "cd.In('x', 'f32', [n]), cd.Out('y', 'f32', [n]), cd.Scalar('factor', 'f32'), "
        "cd.Scalar('count', 'i32', n)], reference=lambda x, factor: x * factor)\n",
    )
    for words in (
        ["build", "kernels.py", "--target", "cuda:sm_80", "--out", "objects"],
        ["check", "kernels.py", "--target", "cpu"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "custom_dispatch", *words],
            cwd=tmp_path,
            env={**os.environ, "CUSTOM_DISPATCH_STORE": str(tmp_path / "store")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "objects" / "scale_sm_80.ptx").is_file()

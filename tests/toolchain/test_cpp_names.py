"""C++ kernels: templates, namespaces and overloads, by the names that C++ has for them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_sources import SCALE, SM_90, Write, skip_without_gcc
from hypothesis import given
from hypothesis import strategies as st

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, PtxError, SourceError
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.toolchain.compiler import Compiler, CompileRequest
from custom_dispatch.toolchain.descriptor import read_answer
from custom_dispatch.toolchain.entry_point import EntryPoint, find_entries

Declare = Callable[..., cd.Kernel]

SOURCE = """\
#include <cuda_fp16.h>
namespace maths {
template <class T, int Tile> __global__ void scale(const T* x, T* y, float factor, int count) {
  __shared__ T tile[Tile];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x % Tile] = T(factor);
  __syncthreads();
  if (i < count) y[i] = tile[0] * x[i];
}
}
__global__ void scale(const float* x, float* y, float factor, int count) { y[0] = factor * x[0]; }
__global__ void scale(const double* x, double* y, float factor, int count) { y[0] = factor * x[0]; }
__global__ void __launch_bounds__(64) simple(const float* x, float* y, float factor, int count) {
  y[0] = x[0];
}
"""
SYMBOLS = {
    "maths::scale<float, 64>": "_ZN5maths5scaleIfLi64EEEvPKT_PS1_fi",
    "maths::scale<half, 2*32>": "_ZN5maths5scaleI6__halfLi64EEEvPKT_PS2_fi",
    "scale(const double*, double*, float, int)": "_Z5scalePKdPdfi",
    "::scale(const float*, float*, float, int)": "_Z5scalePKfPffi",
    "simple": "_Z6simplePKfPffi",
}


@pytest.fixture
def source(write: Write) -> Path:
    return write("scale.cu", SOURCE)


def test_a_name_becomes_the_symbol_of_the_function_that_it_means(
    compiler: Compiler, source: Path
) -> None:
    compiled = compiler.compile(CompileRequest(source, SM_90, entries=tuple(SYMBOLS)))
    assert {entry.name: entry.symbol for entry in compiled.entries} == SYMBOLS
    names = {entry.name for entry in read_module(compiled.ptx.decode()).entries}
    assert names >= set(SYMBOLS.values())
    assert b"descriptor" not in compiled.ptx
    assert compiled.log == ""


def test_a_function_of_an_unnamed_namespace_is_found(compiler: Compiler, write: Write) -> None:
    hidden = SCALE.replace('extern "C"', "").replace("scale", "hidden")
    source = write("hidden.cu", f"namespace maths {{ namespace {{ {hidden} }} }}")
    compiled = compiler.compile(CompileRequest(source, SM_90, entries=("maths::hidden",)))
    (entry,) = compiled.entries
    assert "hidden" in entry.symbol
    assert f".visible .entry {entry.symbol}(" in compiled.ptx.decode()
    assert read_module(compiled.ptx.decode()).entry(entry.symbol) is not None


def test_a_build_carries_the_symbols(
    declare: Declare, source: Path, each_compiler: Compiler
) -> None:
    kernels = [
        declare("small", source=source, entry="maths::scale<float, 32>"),
        declare("large", source=source, entry="maths::scale<float, 64>"),
        declare("simple", source=source),
    ]
    library = cd.build(kernels, ["cuda:sm_90", "cuda:sm_80", "cpu"], compiler=each_compiler.name)
    (unit,) = library.units
    for item in (*unit.objects, unit.cpu_ptx):
        assert item is not None
        assert item.symbol("maths::scale<float, 64>") == SYMBOLS["maths::scale<float, 64>"]
        assert item.symbol("simple") == SYMBOLS["simple"]
        assert item.symbol("unknown") == "unknown"


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_objects_built_elsewhere_are_looked_up_by_the_same_names(
    declare: Declare, write: Write, compiler: Compiler, source: Path, kind: str
) -> None:
    from custom_dispatch.toolchain.ptxas import assemble

    ptx = compiler.compile(CompileRequest(source, SM_90, entries=tuple(SYMBOLS))).ptx
    path = write(f"made/scale.{kind}", ptx if kind == "ptx" else assemble(ptx, SM_90).cubin)
    for entry, symbol in SYMBOLS.items():
        if "half" in entry:
            continue  # the symbol has neither the typedef nor the sum
        dtype = "f64" if "double" in entry else "f32"
        n = cd.dim("n")
        kernel = declare(
            "k",
            source=None,
            objects={"cuda:sm_90": path},
            entry=entry,
            operands=[
                cd.In("x", dtype, [n]),
                cd.Out("y", dtype, [n]),
                cd.Scalar("factor", "f32"),
                cd.Scalar("count", "i32", n),
            ],
        )
        (item,) = cd.build(kernel, ["cuda:sm_90"]).objects
        assert item.symbol(entry) == symbol
    missing = declare("k", source=None, objects={"cuda:sm_90": path}, entry="maths::scale<half,64>")
    with pytest.raises(PtxError) as caught:
        cd.build(missing, ["cuda:sm_90"])
    assert "has no entry `maths::scale<half, 64>`" in caught.value.found
    assert 'entry="_ZN5maths5scaleI' in caught.value.next_step


@pytest.mark.parametrize(
    ("compiler", "entry", "said"),
    [
        ("nvrtc", "maths::scale<float, -1>", ""),
        ("nvrtc", "maths::scale<nonsense, 64>", "nonsense"),
        ("nvrtc", "maths::scale<float>", ""),
        ("nvrtc", "nowhere::scale", "nowhere"),
        ("nvrtc", "scale(const int*)", ""),
        ("nvrtc", "maths::scale", ""),
        ("nvcc", "maths::scale<nonsense, 64>", "nonsense"),
        pytest.param("nvcc", "maths::scale", "", marks=pytest.mark.thorough),
    ],
    indirect=["compiler"],
)
def test_a_name_that_means_nothing_shows_the_compilers_message(
    declare: Declare, source: Path, compiler: Compiler, entry: str, said: str
) -> None:
    kernel = declare(source=source, entry=entry)
    with pytest.raises(SourceError) as caught:
        cd.build(kernel, ["cuda:sm_90"], compiler=compiler.name)
    error = caught.value
    assert error.found.startswith(f"`scale.cu` has no kernel `{kernel.entry}` that compiles for sm")
    assert "overload" in error.expected
    assert "entry=" in error.next_step
    assert "error" in error.log
    assert said in error.log


def test_among_several_names_the_wrong_one_is_named(
    declare: Declare, source: Path, compiler: Compiler
) -> None:
    kernels = [
        declare("good", source=source, entry="maths::scale<float, 64>"),
        declare("bad", source=source, entry="maths::scale<float, 64, 3>"),
    ]
    with pytest.raises(SourceError, match="has no kernel `maths::scale<float, 64, 3>`"):
        cd.build(kernels, ["cuda:sm_90"], compiler=compiler.name)


def test_two_spellings_of_one_function_are_refused(declare: Declare, source: Path) -> None:
    kernels = [
        declare("one", source=source, entry="maths::scale<float, 64>"),
        declare("two", source=source, entry="maths::scale<float, 2*32>"),
    ]
    with pytest.raises(DeclarationError) as caught:
        cd.build(kernels, ["cuda:sm_90"])
    assert caught.value.found == (
        "Kernels `one` and `two` name one function: `maths::scale<float, 64>` is "
        "`maths::scale<float, 2* 32>`."
    )
    assert caught.value.next_step == "write the same entry= for both."


@pytest.mark.parametrize(
    "source_text",
    [
        f"namespace maths {{\n{SCALE}\n}}",  # a C function that C++ cannot name as `scale`
        "#define N 5\n#define T float\n#define A\n" + SCALE,
        "// no line end" + SCALE.replace("extern", '\nextern').rstrip() + " // no line end",
    ],
)  # fmt: skip
def test_other_sources_compile_as_they_did(
    declare: Declare, write: Write, compiler: Compiler, source_text: str
) -> None:
    path = write("scale.cu", source_text)
    plain = compiler.compile(CompileRequest(path, SM_90)).ptx
    (item,) = cd.build(declare(source=path), ["cuda:sm_90"], compiler=compiler.name).objects
    assert item.data == plain


@pytest.mark.parametrize("name", ["a,b", "a b", "\xe4"])
def test_a_template_in_a_file_of_any_name(declare: Declare, write: Write, name: str) -> None:
    skip_without_gcc()
    path = write(f"{name}/scale.cu", SOURCE)
    kernel = declare(source=path, entry="maths::scale<float, 64>")
    assert cd.build(kernel, ["cuda:sm_90"], compiler="nvcc").units


def test_symbols_are_exported_and_dispatched(declare: Declare, source: Path) -> None:
    kernel = declare("k", source=source, entry="maths::scale<float, 64>")
    library: Any = cd.build(kernel, ["cuda:sm_90", "cpu"])
    from custom_dispatch.ir.executable import by_path
    from custom_dispatch.ir.library_module import write_library_module

    text = write_library_module(library, by_path, "executable")
    symbol = SYMBOLS["maths::scale<float, 64>"]
    assert text.count(f"hal.executable.export public @{symbol} ") == 2
    assert text.count(f"::@{symbol}") == 4  # also by the functions that return before it is done
    assert 'func public @"k"(' in text


def test_a_source_that_does_not_compile_is_compiled_once(
    declare: Declare, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    from custom_dispatch.toolchain.nvrtc_process import Compilation, NvrtcProcess

    asked = []
    really = NvrtcProcess.compile

    def compile_there(self: NvrtcProcess, what: Compilation) -> object:
        asked.append(what)
        return really(self, what)

    monkeypatch.setattr(NvrtcProcess, "compile", compile_there)
    kernel = declare(source=write("broken.cu", SCALE.replace("int i", "nonsense i")))
    with pytest.raises(SourceError) as caught:
        cd.build(kernel, ["cuda:sm_90"], compiler="nvrtc", store=False)
    assert "nonsense" in caught.value.log
    assert len(asked) == 1


def test_threads_build_templates_at_once(declare: Declare, source: Path) -> None:
    def build(tile: int) -> str:
        kernel = declare(f"k{tile}", source=source, entry=f"maths::scale<float, {tile}>")
        (item,) = cd.build(kernel, ["cuda:sm_90"], store=False).objects
        return item.symbol(kernel.entry)

    tiles = [8 * number for number in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(build, tiles))
    assert found == [f"_ZN5maths5scaleIfLi{tile}EEEvPKT_PS1_fi" for tile in tiles]


@given(st.lists(st.text(max_size=40) | st.from_regex(r"_Z[A-Za-z0-9_]{0,30}"), max_size=5))
def test_no_symbol_is_a_surprise(symbols: list[str]) -> None:
    others = [symbol for symbol in symbols if "scale" not in symbol]
    known = find_entries(["scale", "ns::k<1>", "k(int)"], [*others, "_Z5scalePKfPf"])
    assert EntryPoint("scale", "_Z5scalePKfPf") in known


@given(st.text(), st.integers(0, 3))
def test_no_ptx_is_a_surprise(text: str, described: int) -> None:
    content = text.encode("utf-8", "replace")
    answer = read_answer(content, ("k",) * described)
    assert answer.signatures == (None,) * described
    assert answer.ptx == content


def test_what_is_written_says_which_symbol_a_name_is(
    declare: Declare, source: Path, tmp_path: Path
) -> None:
    n = cd.dim("n")
    operands = [
        cd.In("x", "f16", [n]), cd.Out("y", "f16", [n]), cd.Scalar("factor", "f32"),
        cd.Scalar("count", "i32", n),
    ]  # fmt: skip
    entry = "maths::scale<half, 2*32>"  # an alias and a sum, which no symbol has
    kernel = declare(source=source, entry=entry, operands=operands)
    library = cd.build(kernel, ["cuda:sm_90"])
    (path,) = library.write(tmp_path / "out")
    remark = f"// custom-dispatch: {kernel.entry} is {SYMBOLS[entry]}\n".encode()
    assert path.read_bytes() == next(iter(library.objects)).data + remark
    (again,) = cd.build(kernel, ["cuda:sm_90"], objects=path.parent).objects
    assert again.symbol(kernel.entry) == SYMBOLS[entry]
    path.write_bytes(path.read_bytes().replace(b" is _Z", b" is _Znothing"))
    with pytest.raises(PtxError, match="has no entry"):
        cd.build(kernel, ["cuda:sm_90"], objects=path.parent)


@pytest.mark.parametrize("option", ["-G", "-lineinfo", "-rdc=true"])
def test_nothing_that_asks_is_left_behind(compiler: Compiler, source: Path, option: str) -> None:
    from custom_dispatch.toolchain.ptxas import assemble

    entries = ("maths::scale<float, 64>", "simple")
    compiled = compiler.compile(CompileRequest(source, SM_90, (option,), entries=entries))
    assert [entry.symbol for entry in compiled.entries] == [SYMBOLS[name] for name in entries]
    # Debug information may name the variables that asked; there are none any more.
    asking = [line for line in compiled.ptx.splitlines() if b"descriptor" in line]
    assert asking == []
    assert assemble(compiled.ptx, SM_90).cubin


def test_a_host_function_may_overload_a_kernel_s_name(compiler: Compiler, write: Write) -> None:
    if compiler.name.lower() == "nvrtc":
        text = SCALE.replace('extern "C"', "") + "__device__ void scale(int count) {}\n"
    else:
        text = SCALE.replace('extern "C"', "") + "void scale(int count) { (void)count; }\n"
    source = write("overloaded.cu", text)
    compiled = compiler.compile(CompileRequest(source, SM_90, entries=("scale",)))
    (entry,) = compiled.entries
    assert entry.symbol.startswith("_Z5scaleP")
    assert read_module(compiled.ptx.decode()).entry(entry.symbol) is not None


def test_an_entry_may_have_thousands_of_characters(write: Write, tmp_path: Path) -> None:
    """CUB's names have up to 400 and CUTLASS's 4000; no file is named after one."""
    long = "a_policy_with_a_name_of_some_length"
    source = write(
        "long.cu",
        f"struct {long} {{}};\ntemplate <class... T> struct many_of {{}};\n"
        "template <class T> __global__ void add_one(const float* x, float* y, int count) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < count) y[i] = x[i] + 1;\n}\n"
        + "".join(f"struct {long}{i} {{}};\n" for i in range(100))
        + f"using many = many_of<{', '.join(f'{long}{i}' for i in range(100))}>;\n"
        "template __global__ void add_one<many>(const float*, float*, int);\n",
    )
    declared = f"add_one<many_of<{', '.join(f'{long}{i}' for i in range(100))}>>"
    n = cd.dim("n")
    operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("count", "i32", n)]

    def kernel(name: str, entry: str) -> cd.Kernel:
        return cd.Kernel(
            name, source=source, entry=entry, operands=operands, block=32, grid=cd.ceildiv(n, 32)
        )

    library = cd.build([kernel("declared", declared)], ["cuda:sm_80", "cpu"])
    symbol = library.units[0].objects[0].entries[0].symbol
    assert len(symbol) > 3000
    module = cd.compile(None, [kernel("mangled", symbol)], ["cuda:sm_80", "cpu"])
    program = cd.load(module.save(tmp_path / "long.vmfb"), "cpu")
    assert program.mangled(np.ones(3, np.float32)).tolist() == [2, 2, 2]
    cd.emit(library, output=tmp_path / "long.mlir")
    with pytest.raises(DeclarationError, match="is not the name of a function"):
        kernel("longer", "x" * 10_001)

"""What both compilers promise, and where they differ on purpose."""

from __future__ import annotations

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cuda_sources import SCALE, SM_90, Write, skip_without_gcc

from custom_dispatch.errors import DeclarationError, SourceError, ToolNotFoundError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.choose_compiler import NvrtcElseNvcc, find_compiler
from custom_dispatch.toolchain.compiler import Compiler, CompileRequest
from custom_dispatch.toolchain.locations import Search
from custom_dispatch.toolchain.nvcc import Nvcc
from custom_dispatch.toolchain.nvrtc import Nvrtc
from custom_dispatch.toolchain.ptxas import assemble


def kernel(body: str, before: str = "") -> str:
    return before + f'extern "C" __global__ void k(float *out) {{ {body} }}\n'


@pytest.fixture
def compiler(each_compiler: Compiler) -> Compiler:
    return each_compiler


def test_a_source_becomes_ptx_of_the_architecture_asked_for(
    compiler: Compiler, write: Write
) -> None:
    result = compiler.compile(CompileRequest(write("scale.cu"), Arch.parse("sm_90a")))
    assert b".visible .entry scale(" in result.ptx
    assert b".target sm_90a\n" in result.ptx
    assert not result.ptx.endswith(b"\0")
    assert result.log == ""
    assert re.fullmatch(r"(nvcc|NVRTC) 13\.0\.\d+", result.compiler)
    assert result.compiler.endswith(compiler.version)


def test_both_compilers_make_the_same_parameters(write: Write) -> None:
    skip_without_gcc()
    source = write("scale.cu")
    parameters = [
        re.findall(
            rb"\.param [^,)]*", find_compiler(name).compile(CompileRequest(source, SM_90)).ptx
        )
        for name in ("nvrtc", "nvcc")
    ]
    assert parameters[0] == parameters[1]
    assert len(parameters[0]) == 4


def test_auto_prefers_nvrtc_and_falls_back_to_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(find_compiler(), NvrtcElseNvcc)
    none = (None, "has no libnvrtc.so.13")
    monkeypatch.setattr("custom_dispatch.toolchain.locations._nvrtc_in", lambda _: none)
    assert isinstance(find_compiler(), Nvcc)


def test_an_unknown_compiler_is_named_with_the_known_ones() -> None:
    with pytest.raises(DeclarationError) as caught:
        find_compiler("clang")
    assert str(caught.value) == (
        "'clang' is not a compiler.\n"
        "  expected: auto, nvrtc or nvcc\n"
        "  next step: choose one of these, or leave it out."
    )


def test_a_compile_error_holds_file_and_line_and_nothing_else(
    compiler: Compiler, write: Write
) -> None:
    source = write("scale.cu", SCALE.replace("factor *", "facto *"))
    with pytest.raises(SourceError) as caught:
        compiler.compile(CompileRequest(source, SM_90))
    label = {"nvcc": "nvcc 13.0", "nvrtc": "NVRTC 13.0"}[compiler.name]
    assert caught.value.found == f"`scale.cu` does not compile for sm_90 ({label})."
    assert caught.value.log.startswith(f'{source}(3): error: identifier "facto" is undefined\n')
    assert caught.value.log.endswith(f'1 error detected in the compilation of "{source}".')
    assert "custom-dispatch-" not in str(caught.value)  # our temporary directories


def test_errors_come_before_warnings(compiler: Compiler, write: Write) -> None:
    source = write("k.cu", kernel("int unused; missing;"))
    with pytest.raises(SourceError) as caught:
        compiler.compile(CompileRequest(source, SM_90))
    first, _, rest = caught.value.log.partition("\n\n")
    assert first.startswith(f'{source}(1): error: identifier "missing" is undefined\n')
    assert "warning" in rest


def test_warnings_are_kept(compiler: Compiler, write: Write) -> None:
    result = compiler.compile(CompileRequest(write("k.cu", kernel("int unused;")), SM_90))
    assert "warning" in result.log
    assert "k.cu(1)" in result.log


def test_headers_are_found_beside_their_includer_and_in_include_dirs(
    compiler: Compiler, write: Write
) -> None:
    write("src/own/a.h", '#include "b.h"\n')
    write("src/own/b.h", "#define B 1.0f\n")
    write("with space/c.h", "#define C 2.0f\n")
    source = write("src/k.cu", kernel("out[0] = B + C;", '#include "own/a.h"\n#include <c.h>\n'))
    request = CompileRequest(source, SM_90, include_dirs=(source.parents[1] / "with space",))
    assert b".entry k(" in compiler.compile(request).ptx


def test_an_include_directory_that_is_none_is_refused(
    compiler: Compiler, write: Write, tmp_path: Path
) -> None:
    source = write("k.cu")
    for path, problem in ((tmp_path / "no", "does not exist"), (source, "is a file")):
        with pytest.raises(SourceError) as caught:
            compiler.compile(CompileRequest(source, SM_90, include_dirs=(path,)))
        assert caught.value.found == f"The include directory `{path}` of `k.cu` {problem}."


def test_cuda_and_cccl_headers_are_there(compiler: Compiler, write: Write) -> None:
    source = write(
        "k.cu",
        kernel(
            "out[0] = __half2float(__float2half(cuda::std::numeric_limits<float>::max()));",
            "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda/std/limits>\n",
        ),
    )
    assert b".entry k(" in compiler.compile(CompileRequest(source, SM_90)).ptx


# Line by line, because NVRTC's headers are ours (toolchain/nvrtc_include) and each line may break.
HOST_NAMES = {
    "no include": "out[0] = INFINITY + M_PI + INT_MAX; std::size_t n = 1; out[n] = -NAN;",
    "stdint.h": "uint32_t a = UINT32_MAX; int64_t b = a; out[a] = b; uintptr_t c = b; out[c] = 1;",
    "cstdint": "std::uint8_t a = 255; std::int64_t b = a; out[b] = a;",
    "float.h": "out[0] = FLT_MAX + DBL_EPSILON;",
    "cfloat": "out[0] = FLT_EPSILON;",
    "limits.h": "out[0] = LLONG_MAX / CHAR_BIT;",
    "climits": "out[0] = SHRT_MIN;",
    "stddef.h": "size_t n = 1; ptrdiff_t m = n; out[m] = 1;",
    "cstddef": "std::ptrdiff_t m = 1; out[m] = 1;",
    "math.h": "out[0] = sqrtf(out[1]) + fmaxf(out[2], M_E) + isnan(out[3]);",
    "cmath": "out[0] = std::sqrt(out[1]) + std::exp(out[2]) + std::abs(out[3]);",
    "assert.h": "assert(out != nullptr);",
    "cassert": "assert(out != nullptr);",
    "stdio.h": 'printf("%f", out[0]);',
    "cstdio": 'printf("%f", out[0]);',
    "stdlib.h": "out[0] = abs(-1);",
    "cstdlib": "out[0] = abs(-1);",
    "string.h": "memcpy(out, out + 4, 4);",
    "cstring": "memset(out, 0, 4);",
    "cuda_runtime.h": "out[0] = make_float4(1, 2, 3, 4).y;",
    "type_traits": "out[0] = std::is_same_v<std::remove_const_t<const int>, int>;",
    "limits": "out[0] = std::numeric_limits<float>::max_digits10;",
    "utility": "int a = 1; int b = std::move(a); out[0] = b;",
}


@pytest.mark.parametrize("header", HOST_NAMES)
def test_nvrtc_takes_the_c_headers_that_nvcc_takes(header: str, write: Write) -> None:
    include = "" if header == "no include" else f"#include <{header}>\n"
    source = write("k.cu", kernel(HOST_NAMES[header], include))
    result = find_compiler("nvrtc").compile(CompileRequest(source, SM_90))
    assert result.log == ""
    assert b"INFINITY" not in result.ptx  # as it would be were it a constant and not a macro


def test_every_header_nvrtc_is_given_is_tested(write: Write) -> None:
    from custom_dispatch.toolchain.nvrtc import C_HEADERS

    shipped = {path.name for path in C_HEADERS.iterdir()} - {"custom_dispatch_c_names.h"}
    assert shipped == set(HOST_NAMES) - {"no include", "cuda_runtime.h"}


def test_what_nvrtc_is_tested_with_compiles_with_nvcc_too(write: Write) -> None:
    skip_without_gcc()
    includes = "".join(f"#include <{name}>\n" for name in HOST_NAMES if " " not in name)
    bodies = "".join(
        f'extern "C" __global__ void k{i}(float *out) {{ {body} }}\n'
        for i, body in enumerate(HOST_NAMES.values())
    )
    result = find_compiler("nvcc").compile(CompileRequest(write("k.cu", includes + bodies), SM_90))
    assert result.ptx.count(b".entry") == len(HOST_NAMES)


def test_nvrtc_headers_agree_with_cccl(write: Write) -> None:
    names = ("cstdint", "climits", "cfloat", "cmath", "cstddef", "cstring", "limits", "utility")
    includes = "".join(f"#include <{name}>\n#include <cuda/std/{name}>\n" for name in names)
    source = write("k.cu", kernel("out[0] = INFINITY + cuda::std::sqrt(NAN);", includes))
    assert find_compiler("nvrtc").compile(CompileRequest(source, SM_90)).log == ""


@pytest.mark.parametrize(
    "header",
    ["cooperative_groups.h", pytest.param("cuda/std/array", marks=pytest.mark.thorough)],
)
def test_headers_leave_nothing_unused_in_the_ptx(
    header: str, compiler: Compiler, write: Write
) -> None:
    source = write("k.cu", kernel("out[0] = 1;", f"#include <{header}>\n"))
    assert len(compiler.compile(CompileRequest(source, SM_90)).ptx) < 10_000


def test_constants_that_a_kernel_uses_stay(write: Write) -> None:
    tables = (
        "__device__ const float used[3] = {1, 2, 3};\n"
        "static __device__ float unused[3] = {4, 5, 6};\n"
        "static __device__ const float *pointer = used;\n"
        "__constant__ float constant;\n"
    )
    source = write("k.cu", kernel("out[0] = used[(int)out[1]] + *pointer + constant;", tables))
    ptx = find_compiler("nvrtc").compile(CompileRequest(source, SM_90)).ptx
    assemble(ptx, SM_90)
    for name in (b"used", b"pointer", b"constant"):
        assert name in ptx
    assert b"unused" not in ptx


def test_a_header_that_nvrtc_lacks_is_explained(write: Write) -> None:
    source = write("k.cu", kernel("", "#include <algorithm>\n"))
    with pytest.raises(SourceError) as caught:
        find_compiler("nvrtc").compile(CompileRequest(source, SM_90))
    assert caught.value.next_step == (
        'give its directory: include_dirs=["..."], or --include on the command line; NVRTC has no '
        "host C++ library, so use <cuda/std/...> in its place, or compile with nvcc."
    )


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("cublas_v2.h", "cublas"),
        ("curand_kernel.h", "curand"),
        ("nvtx3/nvToolsExt.h", "nvtx"),
        ("cuda_profiler_api.h", "profiler"),
    ],
)
def test_a_missing_header_of_a_library_of_cuda_names_its_package(
    header: str, part: str, write: Write
) -> None:
    source = write("k.cu", kernel("", f"#include <{header}>\n"))
    with pytest.raises(SourceError) as caught:
        find_compiler().compile(CompileRequest(source, SM_90))
    assert caught.value.found.startswith(f"`k.cu` includes `{header}`, which was not found (")
    assert caught.value.next_step.startswith(
        f"pip install 'cuda-toolkit[{part}]==13.0.*'; or, if it is installed elsewhere, give "
        "its directory: include_dirs="
    )


def test_a_missing_header_names_the_places_that_were_searched(
    compiler: Compiler, write: Write, tmp_path: Path
) -> None:
    write("src/own/a.h", '#include "missing.h"\n')
    source = write("src/k.cu", kernel("", '#include "own/a.h"\n'))
    first = write("one/x.h", "").parent
    second = write("two/x.h", "").parent
    request = CompileRequest(source, SM_90, (f"-I{second}",), (first,), entries=("k",))
    with pytest.raises(SourceError) as caught:
        compiler.compile(request)
    error = caught.value
    assert error.found.startswith("`a.h` includes `missing.h`, which was not found (")
    assert error.found.endswith(", k.cu).")
    places = error.expected.splitlines()[1:]
    beside = f"    {tmp_path}/src/own (beside a.h)"
    assert places[:3] == [beside, f"    {second}", f"    {first}"]
    assert len(places) > 3  # CUDA's own
    assert "include_dirs=" in error.next_step
    assert "missing.h" in error.log
    write("src/k.cu", kernel("", "#include <missing.h>\n"))
    with pytest.raises(SourceError) as caught:
        compiler.compile(request)
    assert "beside" not in caught.value.expected


def test_cuda_headers_that_are_not_installed_are_told_of(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = Search("The CUDA headers", None, "", (("PyPI wheels", "not installed"),))
    for module in ("compiler", "locations"):
        monkeypatch.setattr(f"custom_dispatch.toolchain.{module}.find_headers", lambda: nowhere)
    source = write("k.cu", kernel("", "#include <cuda_fp16.h>\n"))
    with pytest.raises(SourceError) as caught:
        find_compiler("nvrtc").compile(CompileRequest(source, SM_90))
    assert "    PyPI wheels: not installed" in caught.value.expected
    assert "pip install" in caught.value.next_step


def test_a_header_beside_the_source_is_not_taken_for_the_librarys(
    compiler: Compiler, write: Write
) -> None:
    write("math.h", "#error mine\n")
    source = write("k.cu", kernel("out[0] = M_PI;", "#include <math.h>\n"))
    assert b".entry k(" in compiler.compile(CompileRequest(source, SM_90)).ptx


def test_the_users_own_header_wins_over_ours(write: Write) -> None:
    write("float.h", "#define MINE 7.0f\n")
    source = write("k.cu", kernel("out[0] = MINE;", '#include "float.h"\n'))
    assert b"1088421888" in find_compiler("nvrtc").compile(CompileRequest(source, SM_90)).ptx


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"// caf\xe9\n", "is not UTF-8 text: line 1 holds the byte 0xe9."),
        (b"\n\n\0", "holds a NUL character in line 3."),
    ],
)
def test_a_source_that_is_not_text_is_a_sentence(
    compiler: Compiler, write: Write, content: bytes, found: str
) -> None:
    source = write("k.cu", content)
    with pytest.raises(SourceError) as caught:
        compiler.compile(CompileRequest(source, SM_90))
    assert caught.value.found == f"The CUDA source `{source}` {found}"
    assert caught.value.next_step


def test_a_missing_source_and_a_directory_are_sentences(compiler: Compiler, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        compiler.compile(CompileRequest(tmp_path / "no.cu", SM_90))
    assert caught.value.found == f"The CUDA source `{tmp_path / 'no.cu'}` does not exist."
    with pytest.raises(SourceError) as caught:
        compiler.compile(CompileRequest(tmp_path, SM_90))
    assert caught.value.found == f"The CUDA source `{tmp_path}` is a directory."


def test_a_byte_order_mark_and_a_name_with_spaces_compile(compiler: Compiler, write: Write) -> None:
    source = write("-sp ace é.cu", "\ufeff" + SCALE)
    assert b".entry scale(" in compiler.compile(CompileRequest(source, SM_90)).ptx


@pytest.mark.parametrize("name", ["$(touch pwned).cu", "`touch pwned`.cu", 'a".cu', "a\\b.cu"])
def test_a_file_name_never_reaches_nvccs_shell(
    name: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as caught:
        find_compiler("nvcc").compile(CompileRequest(write(name), SM_90))
    assert "it would misread a character in it" in caught.value.found
    assert caught.value.next_step == "rename it, or use --compiler nvrtc."
    assert not Path("pwned").exists()
    assert (
        b".entry scale(" in find_compiler("nvrtc").compile(CompileRequest(write(name), SM_90)).ptx
    )
    assert not Path("pwned").exists()


def test_neither_options_nor_include_dirs_reach_nvccs_shell(write: Write, tmp_path: Path) -> None:
    source = write("k.cu")
    with pytest.raises(DeclarationError, match="cannot take the option '-DA="):
        find_compiler("nvcc").compile(CompileRequest(source, SM_90, ("-DA=$(touch pwned)",)))
    for name in ("$HOME", "a,b"):
        request = CompileRequest(source, SM_90, include_dirs=(tmp_path / name,))
        with pytest.raises(SourceError, match="it would misread a character"):
            find_compiler("nvcc").compile(request)


def test_a_relative_source_is_named_as_given(
    compiler: Compiler, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write("-k.cu", "oops\n").parent)
    with pytest.raises(SourceError) as caught:
        compiler.compile(CompileRequest(Path("-k.cu"), SM_90))
    assert caught.value.log.startswith("./-k.cu(1): error")


def test_an_architecture_the_compiler_does_not_know_lists_those_it_does(
    compiler: Compiler, write: Write
) -> None:
    with pytest.raises(DeclarationError) as caught:
        compiler.compile(CompileRequest(write("k.cu"), Arch.parse("sm_70")))
    assert caught.value.found.endswith(" 13.0 does not compile for sm_70.")
    assert caught.value.expected.startswith("one of sm_75, sm_80, ")


def test_nothing_on_path_is_needed_but_gcc(
    compiler: Compiler, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only_gcc = tmp_path / "bin"
    only_gcc.mkdir()
    if compiler.name == "nvcc":
        for name in ("gcc", "as", "ld"):
            (only_gcc / name).symlink_to(Path("/usr/bin", name))
    monkeypatch.setenv("PATH", str(only_gcc))
    for variable in ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(variable, raising=False)
    result = find_compiler(compiler.name).compile(CompileRequest(write("k.cu"), SM_90))
    assert b".entry scale(" in result.ptx


def test_nvcc_without_a_host_compiler_offers_nvrtc(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nvcc = find_compiler("nvcc")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NVCC_CCBIN", raising=False)
    with pytest.raises(ToolNotFoundError) as caught:
        nvcc.compile(CompileRequest(write("k.cu"), SM_90))
    assert str(caught.value) == (
        "nvcc needs a host C++ compiler to preprocess sources, and there is no gcc on PATH.\n"
        "  next step: install g++ (apt install g++); sources without code for the host compile "
        "with --compiler nvrtc, which needs none."
    )


def test_a_host_compiler_that_does_not_work_is_told_apart_from_a_bad_source(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gcc = write("bin/gcc", "#!/bin/sh\nexit 1\n")
    gcc.chmod(0o755)
    nvcc = find_compiler("nvcc")
    monkeypatch.setenv("PATH", f"{gcc.parent}:{os.environ['PATH']}")
    with pytest.raises(ToolNotFoundError, match="the one found does not work for nvcc"):
        nvcc.compile(CompileRequest(write("k.cu"), SM_90))


def test_flags_in_the_environment_do_not_reach_nvcc(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_gcc()
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", "-DFROM_OUTSIDE")
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DFROM_OUTSIDE")
    source = write("k.cu", kernel("", "#ifdef FROM_OUTSIDE\n#error seen\n#endif\n"))
    assert b".entry k(" in find_compiler("nvcc").compile(CompileRequest(source, SM_90)).ptx


def test_nvcc_paired_with_another_releases_cicc_is_refused(write: Write) -> None:
    skip_without_gcc()
    nvcc = Nvcc(Nvcc.find().path, version="13.5.37")
    with pytest.raises(ToolNotFoundError) as caught:
        nvcc.compile(CompileRequest(write("k.cu"), SM_90))
    assert (
        "does not compile with the compiler proper (nvidia-nvvm) of 13.0.88" in caught.value.found
    )
    assert caught.value.expected == "all of its parts of one CUDA release"
    assert caught.value.next_step == "pip install -e '.[nvcc]' (in the clone)."


def test_compiling_in_threads_gives_each_its_own_result(compiler: Compiler, write: Write) -> None:
    count = 8 if compiler.name == "nvrtc" else 3
    barrier = threading.Barrier(count)

    def build(number: int) -> bytes:
        text = SCALE.replace("scale", f"kernel_{number}")
        if number == 1:
            text += "oops\n"
        source = write(f"k{number}.cu", text)
        barrier.wait(timeout=60)
        try:
            return compiler.compile(CompileRequest(source, SM_90)).ptx
        except SourceError as error:
            return error.log.encode()

    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(build, range(count)))
    for number, result in enumerate(results):
        expected = b"k1.cu(5): error" if number == 1 else f".entry kernel_{number}(".encode()
        assert expected in result


def test_nvrtc_takes_directories_whose_names_are_not_utf_8(tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    directory.mkdir()
    (directory / "half.h").write_text("#define HALF 0.5f\n")
    (directory / "k.cu").write_text('#include "half.h"\n' + kernel("out[0] = HALF;"))
    request = CompileRequest(directory / "k.cu", Arch(90), include_dirs=(directory,))
    assert b".entry k(" in Nvrtc.find().compile(request).ptx

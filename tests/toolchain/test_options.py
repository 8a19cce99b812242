"""Compiler options: nvcc's spellings, for both compilers; nothing without effect."""

from __future__ import annotations

import pytest
from cuda_sources import SM_90, Write
from hypothesis import given
from hypothesis import strategies as st

from custom_dispatch.errors import DeclarationError
from custom_dispatch.toolchain.compiler import Compiler, CompileRequest
from custom_dispatch.toolchain.compiler_options import check_options, for_nvcc, for_nvrtc

SOURCE = 'extern "C" __global__ void k(float *out) { out[0] = out[1] / VALUE; }\n'


@pytest.fixture
def compiler(each_compiler: Compiler) -> Compiler:
    return each_compiler


@pytest.mark.parametrize(
    ("options", "in_ptx"),
    [
        (("-DVALUE=3.0f", "-use_fast_math"), b"div.approx.ftz.f32"),
        (("-D", "VALUE=3.0f", "--use_fast_math"), b"div.approx.ftz.f32"),
        (("--define-macro=VALUE=3.0f", "-prec-div=false"), b"div.full.f32"),
        (("--define-macro", "VALUE=3.0f", "--prec-div", "false"), b"div.full.f32"),
        (("-DVALUE=3.0f", "-ftz=true"), b"div.rn.ftz.f32"),
        (("-DVALUE=3.0f", "-lineinfo"), b".loc"),
        (("-DVALUE=3.0f", "--generate-line-info"), b".loc"),
        (("-DVALUE=3.0f", "-O3", "-w", "-m64"), b"div.rn.f32"),
        (("-DVALUE=3.0f", "-Xcompiler", "-Wall"), b"div.rn.f32"),
        (("-UVALUE", "-DVALUE=(sizeof(__int128)/16.0f)"), b".entry k("),
    ],
)
def test_an_option_has_its_effect_with_both_compilers(
    compiler: Compiler, write: Write, options: tuple[str, ...], in_ptx: bytes
) -> None:
    ptx = compiler.compile(CompileRequest(write("k.cu", SOURCE), SM_90, options)).ptx
    assert in_ptx in ptx


def test_the_standard_is_cpp17_unless_an_option_says_otherwise(
    compiler: Compiler, write: Write
) -> None:
    source = write(
        "k.cu", 'static_assert(__cplusplus == WANTED);\nextern "C" __global__ void k() {}'
    )
    compiler.compile(CompileRequest(source, SM_90, ("-DWANTED=201703L",)))
    compiler.compile(CompileRequest(source, SM_90, ("-DWANTED=202002L", "-std=c++20")))
    compiler.compile(CompileRequest(source, SM_90, ("-DWANTED=202002L", "--std", "c++20")))


def test_an_option_nobody_knows_is_a_declaration_error(compiler: Compiler, write: Write) -> None:
    with pytest.raises(DeclarationError) as caught:
        compiler.compile(CompileRequest(write("k.cu"), SM_90, ("--no-such-option",)))
    assert "refuses the options --no-such-option: " in caught.value.found
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("-o", "the build decides where objects go"),
        ("--output-file=x.ptx", "the build decides where objects go"),
        ("-keep", "the build decides where objects go"),
        ("-arch=sm_80", "the kernel's targets decide the architecture"),
        ("-gencode", "the kernel's targets decide the architecture"),
        ("--gpu-architecture=compute_80", "the kernel's targets decide the architecture"),
        ("--compile", "the build always compiles to PTX"),
        ("-cubin", "the build always compiles to PTX"),
        ("-dryrun", "the build always compiles to PTX"),
        ("-Xptxas", "it acts when machine code is made"),
        ("--ptxas-options=-v", "it acts when machine code is made"),
        ("-maxrregcount=32", "declare max_registers= instead"),
        ("--maxrregcount", "declare max_registers= instead"),
        ("--options-file=x", "inputs that the build could not see change"),
    ],
)
def test_an_option_that_cannot_work_is_refused_with_its_reason(option: str, reason: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        check_options([option])
    assert caught.value.found.startswith(f"The compiler option `{option}` is refused: ")
    assert reason in caught.value.found
    assert caught.value.next_step == f"remove `{option}` from the kernel's options."


@pytest.mark.parametrize("option", ["other.cu", "@file", "", "-D\0"])
def test_what_is_no_option_is_refused(option: str) -> None:
    with pytest.raises(DeclarationError, match="is not a compiler option"):
        check_options([option])


def test_an_option_without_its_value_is_refused() -> None:
    with pytest.raises(DeclarationError, match="`-std` has no value"):
        check_options(["-std"])


def test_options_as_one_text_are_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        check_options("-lineinfo -DA=1")
    assert caught.value.next_step == "write options=['-lineinfo', '-DA=1']."


def test_an_option_that_is_not_text_is_refused() -> None:
    with pytest.raises(DeclarationError, match="given as int"):
        check_options([3])  # type: ignore[list-item]


def test_host_options_reach_nvcc_and_not_nvrtc() -> None:
    options = check_options(["-O3", "-Xcompiler", "-Wall", "-DA", "-isystem", "inc"])
    assert for_nvcc(options) == [
        "--optimize=3",
        "--compiler-options=-Wall",
        "--define-macro=A",
        "--system-include=inc",
    ]
    assert for_nvrtc(options) == ["--define-macro=A", "--include-path=inc"]


@given(st.lists(st.text(max_size=12) | st.text(max_size=9).map(lambda text: "-" + text)))
def test_any_options_are_read_or_refused(options: list[str]) -> None:
    try:
        read = check_options(options)
    except DeclarationError:
        return
    assert all(str(option).startswith("-") for option in read)

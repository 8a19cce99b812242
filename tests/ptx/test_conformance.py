"""A PTX module against a declaration: everything that IREE and CUDA would let through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx.conformance import check_module
from custom_dispatch.ptx.reader import read_module

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")
PARAMETERS = ".param .u64 a, .param .u64 b, .param .f32 c, .param .u32 d"
WRITES = ".reg .b64 %to; ld.param.b64 %to, [b]; st.global.b32 [%to], 0;"
AGREE = "make the declaration's operands and the C signature agree"


def ptx(
    *,
    entry: str = "scale",
    parameters: str = PARAMETERS,
    target: str = "sm_80",
    size: str = ".address_size 64",
    directives: str = "",
    body: str = "ret;",
    before: str = "",
) -> str:
    return (
        f".version 9.0\n.target {target}\n{size}\n{before}\n"
        f".visible .entry {entry}({parameters})\n{directives}\n{{\n{WRITES}\n{body}\n}}\n"
    )


@pytest.fixture
def refusal(declare: Declare) -> Callable[..., PtxError]:
    """The error of PTX that is not what the kernel says."""

    def refusal(text: str, arch: str = "sm_80", **changes: Any) -> PtxError:
        with pytest.raises(PtxError) as caught:
            check_module(read_module(text), declare(**changes), Arch.parse(arch), "scale.ptx")
        assert caught.value.found.startswith("Kernel `scale`: ")
        assert "`scale.ptx`" in caught.value.found
        return caught.value

    return refusal


@pytest.fixture
def accepted(declare: Declare) -> Callable[..., None]:
    def accepted(text: str, arch: str = "sm_80", **changes: Any) -> None:
        check_module(read_module(text), declare(**changes), Arch.parse(arch), "scale.ptx")

    return accepted


def test_ptx_that_is_as_declared_is_accepted(accepted: Callable[..., None]) -> None:
    accepted(ptx())
    accepted(ptx(), arch="sm_90a")
    accepted(ptx(target="sm_90a, debug"), arch="sm_90a")
    # Other compilers than nvcc say less: plain bits, and addresses as signed numbers.
    accepted(ptx(parameters=".param .b64 a, .param .s64 b, .param .b32 c, .param .b32 d"))
    accepted(
        ptx(parameters=".param .u64 a, .param .u64 b, .param .align 4 .b8 c[4], .param .s32 d")
    )


def test_a_missing_entry_lists_those_there_are(refusal: Callable[..., PtxError]) -> None:
    error = refusal(ptx(entry="other"))
    assert error.found == "Kernel `scale`: `scale.ptx` has no entry `scale`."
    assert error.expected == "one of the entries it has: other"
    assert error.next_step == "correct the kernel's name, or the __global__ function's."
    assert refusal(".version 9.0\n.target sm_80\n.address_size 64\n").expected.endswith("none")


def test_a_mangled_name_is_suggested(refusal: Callable[..., PtxError]) -> None:
    for mangled in ("_Z5scalePKfPffi", "_ZN2ns5scaleIfLi256EEvPKf"):
        error = refusal(ptx(entry=mangled))
        assert error.next_step == (f'declare the function `extern "C"`, or give entry="{mangled}".')
    # A longer name that ends the same is another function.
    assert "_Z8rescale" not in refusal(ptx(entry="_Z8rescalefPKf")).next_step
    assert "extern" not in refusal(ptx(entry="upscale_all")).next_step


def test_a_similar_name_is_suggested(refusal: Callable[..., PtxError]) -> None:
    assert refusal(ptx(entry="scale_")).next_step.startswith("did you mean `scale_`?")


def test_many_entries_are_not_all_listed(refusal: Callable[..., PtxError]) -> None:
    many = "".join(f".entry e{i}() {{ ret; }}\n" for i in range(100))
    error = refusal(ptx(entry="last", before=many))
    assert error.expected.endswith("e19, ...")


@pytest.mark.parametrize(
    ("target", "arch"),
    [
        ("sm_90", "sm_80"),
        ("sm_90a", "sm_90"),
        ("sm_90a", "sm_100"),
        ("sm_100f", "sm_100"),
        ("x", "sm_80"),
    ],
)
def test_ptx_for_another_architecture_is_refused(
    refusal: Callable[..., PtxError], target: str, arch: str
) -> None:
    error = refusal(ptx(target=target), arch)
    assert error.found.endswith(f"is PTX for {target}, but is given for {arch}.")
    assert error.expected == f"PTX for {arch}, or plain PTX for an earlier architecture"
    assert f"-arch={arch}" in error.next_step


def test_ptx_with_32_bit_addresses_is_refused(refusal: Callable[..., PtxError]) -> None:
    for size in (".address_size 32", ""):
        error = refusal(ptx(size=size))
        assert "has .address_size 32" in error.found
        assert error.expected == ".address_size 64"


@pytest.mark.parametrize("parameters", ["", ".param .u64 a", PARAMETERS + ", .param .u32 e"])
def test_another_number_of_parameters_is_refused(
    refusal: Callable[..., PtxError], parameters: str
) -> None:
    error = refusal(ptx(parameters=parameters))
    names = parameters.replace(",", "").split()[2::3]
    unread = ", ".join(f"`{name}`" for name in names if name != "b")
    assert error.found == (
        f"Kernel `scale`: its entry in `scale.ptx` takes {len(names)} parameters"
        + (f", of which nothing reads {unread}." if len(names) > 4 else ".")
    )
    assert error.expected == "4, as declared: x, y, factor, count"
    assert error.next_step.startswith(AGREE)


@pytest.mark.parametrize(
    ("parameters", "index", "found", "operand", "wanted"),
    [
        (
            ".param .u64 a, .param .u32 d, .param .u64 b, .param .f32 c",
            1, ".u32, 4 bytes", "y", "a pointer of 8 bytes",
        ),
        (
            ".param .u64 a, .param .u64 b, .param .f64 c, .param .u32 d",
            2, ".f64, 8 bytes", "factor", "a scalar f32 of 4 bytes",
        ),
        (
            ".param .u64 a, .param .u64 b, .param .f32 c, .param .u64 d",
            3, ".u64, 8 bytes", "count", "a scalar i32 of 4 bytes",
        ),
        (
            ".param .u64 a, .param .align 8 .b8 b[16], .param .f32 c, .param .u32 d",
            1, ".b8[16], 16 bytes", "y", "a pointer of 8 bytes",
        ),
        (
            ".param .u64 a, .param .align 8 .b8 b[8], .param .f32 c, .param .u32 d",
            1, ".b8[8]", "y", "a pointer",
        ),
        (
            ".param .u64 a, .param .f64 b, .param .f32 c, .param .u32 d",
            1, ".f64", "y", "a pointer",
        ),
        (
            ".param .u64 a, .param .u64 b, .param .u32 d, .param .f32 c",
            2, ".u32", "factor", "a scalar f32",
        ),
        (
            ".param .u64 a, .param .u64 b, .param .f32 c, .param .f32 d",
            3, ".f32", "count", "a scalar i32",
        ),
        (
            ".param .u64 .ptr .align 1 a, .param .u64 b, .param .f32 c, .param .u32 d",
            1, ".u64", "y", "a pointer",
        ),
    ],
)  # fmt: skip
def test_a_parameter_of_another_kind_is_refused(
    refusal: Callable[..., PtxError],
    parameters: str,
    index: int,
    found: str,
    operand: str,
    wanted: str,
) -> None:
    error = refusal(ptx(parameters=parameters))
    assert error.found == (
        f"Kernel `scale`: parameter {index} in `scale.ptx` is {found}, where operand "
        f"`{operand}` is declared."
    )
    assert error.expected == wanted
    assert error.next_step.startswith(AGREE)


def test_a_block_over_the_compiled_limit_is_refused(
    refusal: Callable[..., PtxError], accepted: Callable[..., None]
) -> None:
    # The product counts, not the extent along each axis (PTX ISA, ".maxntid").
    accepted(ptx(directives=".maxntid 32, 2, 1"))
    error = refusal(ptx(directives=".maxntid 32, 1, 1"))
    assert error.found == (
        "Kernel `scale`: block (64, 1, 1) has 64 threads, but `scale.ptx` was compiled for at "
        "most 32 (.maxntid, __launch_bounds__)."
    )
    assert error.expected == "a block of at most 32 threads"


def test_another_block_than_the_required_one_is_refused(
    refusal: Callable[..., PtxError], accepted: Callable[..., None]
) -> None:
    accepted(ptx(directives=".reqntid 64"))
    error = refusal(ptx(directives=".reqntid 32, 2, 1"))
    assert error.found == (
        "Kernel `scale`: block is (64, 1, 1), but `scale.ptx` was compiled for exactly "
        "(32, 2, 1) (.reqntid)."
    )
    assert error.expected == "block=(32, 2, 1)"


DYNAMIC = ".extern .shared .align 16 .b8 tile[];"
HELPER = ".func helper() { .reg .b32 %r<2>; ld.shared.u32 %r1, [tile+4]; ret; }"


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (DYNAMIC, ".reg .b64 %r<2>; mov.u64 %r1, tile; ret;"),
        (DYNAMIC, ".reg .b32 %r<2>; ld.shared.u32 %r1, [tile+4]; ret;"),
        (DYNAMIC, ".reg .b32 %r<3>; ld.shared.v2.u32 {%r1, %r2}, [tile]; ret;"),
        (f"{DYNAMIC}\n{HELPER}", "call.uni helper, ();\nret;"),
    ],
)
def test_dynamic_shared_memory_that_is_not_declared_is_refused(
    refusal: Callable[..., PtxError], accepted: Callable[..., None], before: str, body: str
) -> None:
    text = ptx(before=before, body=body)
    accepted(text, dynamic_shared_memory=1024)
    error = refusal(text)
    assert error.found == (
        "Kernel `scale`: `scale.ptx` uses `tile`, which is extern __shared__ memory, but the "
        "declaration gives it none."
    )
    assert error.expected == "dynamic_shared_memory=, its size in bytes"


def test_dynamic_shared_memory_of_another_kernel_does_not_matter(
    accepted: Callable[..., None],
) -> None:
    other = ".entry other() { .reg .b32 %r<2>; ld.shared.u32 %r1, [tile]; ret; }"
    accepted(ptx(before=f"{DYNAMIC}\n{HELPER}\n{other}"))
    recursive = ".func again() { call.uni again, (); ret; }"
    accepted(ptx(before=f"{DYNAMIC}\n{recursive}", body="call.uni again, ();\nret;"))

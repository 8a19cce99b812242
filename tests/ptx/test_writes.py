"""What PTX writes against a declaration: an input that is written, an output that never is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import PtxError
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.ptx.writes import check_writes

n = cd.dim("n")
KERNEL = cd.Kernel(
    "scale",
    source="scale.cu",
    operands=[
        cd.In("x", "f32", [n]),
        cd.Out("y", "f32", [n]),
        cd.InOut("z", "f32", [n]),
        cd.Scalar("count", "i64", n),
    ],
    block=64,
    grid=1,
)
ENTRY = """\
.version 8.7
.target sm_90a
.address_size 64
.global .align 8 .b8 table[64];
.global .align 8 .u64 place;
.func (.param .b64 found) beside(.param .b64 given);
.visible .entry scale(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{
.reg .pred %p<9>;
.reg .b32 %r<9>;
.reg .b64 %x, %y, %z, %n, %i, %rd<9>;
.shared .align 16 .b8 tile[1024];
ld.param.b64 %x, [a];
ld.param.b64 %y, [b];
ld.param.b64 %z, [c];
ld.param.b64 %n, [d];
mov.b32 %r1, %tid.x;
mul.wide.s32 %i, %r1, 4;
BODY
ret;
}
"""
WRITES = "st.global.b32 [%y], %r1;"


def check(body: str) -> None:
    module = read_module(ENTRY.replace("BODY", body))
    check_writes(module, KERNEL, module.entries[0], "scale.ptx")


@pytest.mark.parametrize(
    ("body", "opcode"),
    [
        ("st.global.b32 [%x+4], %r1;", "st.global.b32"),
        ("add.s64 %rd1, %x, %i; @%p1 st.b32 [%rd1], %r1;", "st.b32"),
        ("mad.lo.s64 %rd1, %n, 4, %x; st.global.b32 [%rd1], %r1;", "st.global.b32"),
        (
            "cvta.to.global.u64 %rd1, %x;\nAGAIN: red.global.add.f32 [%rd1], %r1; "
            "add.s64 %rd1, %rd1, 64; @%p1 bra AGAIN;",
            "red.global.add.f32",
        ),
        ("selp.b64 %rd1, %x, 0, %p1; atom.global.add.u32 %r2, [%rd1], 1;", "atom.global.add.u32"),
        (
            "ld.global.b64 %rd1, [%z]; shl.b64 %rd2, %rd1, 2; add.s64 %rd3, %x, %rd2; "
            "st.global.v2.b32 [%rd3], {%r1, %r2};",
            "st.global.v2.b32",
        ),
        (
            "mov.b32 %r2, tile; cp.async.bulk.global.shared::cta.bulk_group [%x], [%r2], 64;",
            "cp.async.bulk.global.shared::cta.bulk_group",
        ),
        ("wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%x], {%r1, %r2, %r3, %r4, %r5, "
         "%r6, %r7, %r8};", "wmma.store.d.sync.aligned.row.m16n16k16.global.s32"),
    ],
)  # fmt: skip
def test_an_input_that_is_written_is_refused(body: str, opcode: str) -> None:
    body = f"{body}\n{WRITES}"
    with pytest.raises(PtxError) as caught:
        check(body)
    before = ENTRY.replace("BODY", body).partition(f"{opcode} ")[0]
    assert caught.value.found == (
        "Kernel `scale`: operand `x` is declared as cd.In, and `scale` of `scale.ptx` writes to "
        f"it: `{opcode}` in line {1 + before.count(chr(10))} of the PTX."
    )
    assert caught.value.expected == "code that only reads what is cd.In"
    assert caught.value.next_step == (
        "declare it as cd.InOut if its values are read, too, and as cd.Out if not; or check that "
        "the operands are in the order of the C signature."
    )


@pytest.mark.parametrize(
    "body",
    [
        # Read only, or written in shared memory.
        "ld.global.b32 %r2, [%x]; cp.async.ca.shared.global [tile], [%x], 4;",
        "cp.async.bulk.prefetch.L2.global [%x], 64; prefetch.global.L2 [%x];",
        "mov.b64 %rd1, tile; cvta.shared.u64 %rd2, %rd1; st.b32 [%rd2], %r1; ld.b32 %r2, [%x];",
        # The way to an aligned address is as long as one of the input's.
        "neg.s64 %rd1, %x; and.b64 %rd1, %rd1, 15; add.s64 %rd2, %z, %rd1; st.b32 [%rd2], %r1;",
        "sub.s64 %rd1, %x, %z; add.s64 %rd2, %z, %rd1; st.global.b32 [%rd2], %r1;",
        "and.b64 %rd1, %x, 15; ld.global.b64 %rd2, [%z]; add.s64 %rd3, %rd2, %rd1; "
        "st.global.b32 [%rd3], %r1;",
        # It may be the address of something else.
        "selp.b64 %rd1, %x, %z, %p1; st.global.b32 [%rd1], %r1;",
        "ld.global.b64 %rd1, [place]; selp.b64 %rd1, %x, %rd1, %p1; st.b32 [%rd1], %r1;",
        "ld.global.v2.b32 {%r2, %r3}, [place]; mov.b64 %rd1, {%r2, %r3}; @%p1 mov.b64 %rd1, %x; "
        "st.b32 [%rd1], %r1;",
        "ld.global.b64 %rd1, [%z]; add.s64 %rd2, %x, %rd1; st.global.b32 [%rd2], %r1;",
        "add.s64 %rd2, %x, %n; st.global.b32 [%rd2], %r1;",
        "{ .param .b64 to; .param .b64 from; st.param.b64 [to], %x; call (from), beside, (to); "
        "ld.param.b64 %rd1, [from]; st.global.b32 [%rd1], %r1; }",
        # It is no PTX, which ptxas says.
        "mov.b64; ld.global.b64 %rd1; add.s64 %rd1; st.global.b32; atom.add.u32 %r1; shfl.b32 %r1;",
        # The parameter's own address.
        "mov.b64 %rd1, a; ld.param.b64 %rd2, [%rd1]; st.global.b32 [%rd2], %r1;",
    ],
)
def test_of_what_may_be_something_else_nothing_is_said(body: str) -> None:
    check(f"{body}\n{WRITES}")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "ld.global.b32 %r2, [%y]; st.global.b32 [%z], %r2;",
        "setp.eq.s64 %p1, %y, 0; @%p1 st.global.b32 [%z], %r1;",
        "add.s64 %rd1, %y, %i; ld.global.b64 %rd2, [%rd1]; st.global.b32 [%rd2], %r1;",
        "prefetch.global.L2 [%y]; cp.async.bulk.prefetch.L2.global [%y], 64;",
    ],
)
def test_an_output_that_is_never_written_is_refused(body: str) -> None:
    with pytest.raises(PtxError) as caught:
        check(body)
    assert caught.value.found == (
        "Kernel `scale`: operand `y` is declared as cd.Out, and nothing in `scale` of `scale.ptx` "
        "writes to it."
    )
    assert caught.value.expected == (
        "code that writes every cd.Out: what it leaves is what was in memory"
    )
    assert caught.value.next_step == (
        "declare what is only read as cd.In, check that the operands are in the order of the C "
        "signature, or correct the kernel."
    )


@pytest.mark.parametrize(
    "body",
    [
        "selp.b64 %rd1, %y, %z, %p1; st.global.b32 [%rd1], %r1;",
        "atom.global.exch.b32 %r2, [%y], %r1;",
        "mov.b64 {%r2, %r3}, %y; mov.b64 %rd1, {%r2, %r3}; st.global.b32 [%rd1], %r1;",
        "st.shared.b64 [tile], %y;",
        "{ .param .b64 to; st.param.b64 [to], %y; call beside, (to); }",
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [tile], %y;",
        "an.instruction.of.later %y, %r1;",
        "st.global.b32 [%y+(2*2)], %r1;",
        "ld.param.b64 %rd1, [b+(8-8)]; st.global.b32 [%rd1], %r1;",
        "mov.b64 %rd1, b; ld.param.b64 %rd2, [%rd1]; st.global.b32 [%rd2], %r1;",
    ],
)
def test_an_output_that_may_be_written_is_accepted(body: str) -> None:
    check(body)


def test_what_was_adapted_to_iree_is_compared_too(tmp_path: Path) -> None:
    source = tmp_path / "moved.cu"
    source.write_text(
        'extern "C" __global__ void moved(int n, float* y, float* x) {\n'
        "  int i = threadIdx.x;\n"
        "  if (i < n) y[i] = x[i], x[i] = 0;\n}\n"
    )
    first = cd.Scalar("n", "i32", n), cd.Out("y", "f32", [n])

    def declared(x: cd.In | cd.InOut, **code: Any) -> cd.Kernel:
        return cd.Kernel("moved", operands=[*first, x], block=64, grid=1, **code)

    cd.build(declared(cd.InOut("x", "f32", [n]), source=source), "cuda:sm_80").write(tmp_path)
    given = {"cuda:sm_80": tmp_path / "moved_sm_80.ptx"}
    wrong = declared(cd.In("x", "f32", [n]), objects=given)
    with pytest.raises(PtxError, match=r"`x` is declared as cd\.In, and `moved` of `moved_sm_80"):
        cd.build(wrong, "cuda:sm_80")


def test_the_line_of_the_source_is_told(tmp_path: Path) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(
        'extern "C" __global__ void scale(float* x, float* y, float* z, long long n) {\n'
        "  y[threadIdx.x] = x[threadIdx.x];\n"
        "  x[threadIdx.x] = n;\n}\n"
    )
    kernel = cd.Kernel(
        "scale",
        source=source,
        operands=KERNEL.operands,
        block=64,
        grid=1,
        options=["-lineinfo"],
    )
    with pytest.raises(PtxError, match=r"of `scale\.cu` writes to it: `st\..*scale\.cu:3\."):
        cd.build(kernel, "cuda:sm_80")

"""Which loads' values a thread may drop."""

from __future__ import annotations

import pytest

from custom_dispatch.cpu.analysis.control_flow import build_graph
from custom_dispatch.cpu.analysis.dropped_loads import dropped_loads
from custom_dispatch.ptx import read_module

ENTRY = """.version 7.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 p) {{
  .reg .f32 %f<9>;
  .reg .b64 %rd<9>;
  .reg .b32 %r<9>;
  .reg .pred %p<9>;
  ld.param.u64 %rd1, [p];
  ld.volatile.global.f32 %f1, [%rd1];
{body}
  ret;
}}
"""
BODIES: dict[str, tuple[str, str]] = {
    # what is done with what is loaded, and what notes that it is used; "always" if nothing has to
    "never": ("", ""),
    "computed with": ("  add.f32 %f2, %f1, %f1;\n  setp.gt.f32 %p1, %f2, 0f00000000;", ""),
    "in a loop": (
        "L:\n  add.f32 %f2, %f2, %f1;\n  add.s32 %r1, %r1, 1;\n  setp.lt.s32 %p1, %r1, 4;\n"
        "  @%p1 bra L;",
        "",
    ),
    "stored": ("  add.f32 %f2, %f1, %f1;\n  st.global.f32 [%rd1], %f2;", "always"),
    "stored by a guard": ("  @%p1 st.global.f32 [%rd1], %f1;", "st"),
    "stored behind a branch": (
        "  mul.f32 %f2, %f1, %f1;\n  @%p1 bra L;\n  st.global.f32 [%rd1], %f2;\nL:",
        "st",
    ),
    "selected": (
        "  setp.lt.s32 %p1, %r1, 4;\n  selp.f32 %f2, %f1, %f3, %p1;\n  st.global.f32 [%rd1], %f2;",
        "selp",
    ),
    "selects": ("  setp.gt.f32 %p1, %f1, 0f00000000;\n  selp.f32 %f2, %f3, %f4, %p1;", "always"),
    "branched on": ("  setp.gt.f32 %p1, %f1, 0f00000000;\n  @%p1 bra L;\nL:", "always"),
    "decides whether is stored": (
        "  setp.gt.f32 %p1, %f1, 0f00000000;\n  @%p1 st.global.f32 [%rd1], %f3;",
        "always",
    ),
    "decides whether is computed": (
        "  setp.gt.f32 %p1, %f1, 0f00000000;\n  @%p1 mov.f32 %f2, %f3;",
        "always",
    ),
    "an address": (
        "  mov.b32 %r1, %f1;\n  cvt.u64.u32 %rd2, %r1;\n  ld.global.f32 %f2, [%rd2];",
        "always",
    ),
    "where a guard stores": (
        "  mov.b32 %r1, %f1;\n  cvt.u64.u32 %rd2, %r1;\n  @%p1 st.global.f32 [%rd2], %f3;",
        "always",
    ),
    "another lane's": ("  mov.b32 %r1, %f1;\n  shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;", "always"),
    "an atomic": ("  red.global.add.f32 [%rd1], %f1;", "always"),
}


@pytest.mark.parametrize("use", BODIES)
def test_what_a_load_gives_may_be_dropped_unless_it_is_used(use: str) -> None:
    body, noted = BODIES[use]
    (entry,) = read_module(ENTRY.format(body=body)).entries
    instructions = [i for block in build_graph(entry).blocks for i in block.instructions]
    first = next(i for i in instructions if i.parts[0] == "ld" and "volatile" in i.parts)
    found = dropped_loads(instructions)
    bit = 1 << found.numbers.get(id(first), 0)
    assert (id(first) not in found.numbers) is (noted == "always")
    users = {
        item.parts[0]
        for item in instructions
        if noted != "always"
        and (found.stored.get(id(item), 0) | sum(found.selected.get(id(item), (0, 0)))) & bit
    }
    assert users == ({noted} - {"", "always"})

"""Which loads' values end in nothing."""

from __future__ import annotations

import pytest

from custom_dispatch.cpu.graph import build_graph, opcode_base
from custom_dispatch.cpu.liveness import unused_loads
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
BODIES: dict[str, tuple[str, bool]] = {
    "never": ("", True),
    "computed with": ("  add.f32 %f2, %f1, %f1;\n  setp.gt.f32 %p1, %f2, 0f00000000;", True),
    "in a loop": (
        "L:\n  add.f32 %f2, %f2, %f1;\n  add.s32 %r1, %r1, 1;\n  setp.lt.s32 %p1, %r1, 4;\n"
        "  @%p1 bra L;",
        True,
    ),
    "stored": ("  add.f32 %f2, %f1, %f1;\n  st.global.f32 [%rd1], %f2;", False),
    "stored as selected": (
        "  setp.lt.s32 %p1, %r1, 4;\n  selp.f32 %f2, %f1, %f3, %p1;\n  st.global.f32 [%rd1], %f2;",
        False,
    ),
    "branched on": ("  setp.gt.f32 %p1, %f1, 0f00000000;\n  @%p1 bra L;\nL:", False),
    "decides whether is stored": (
        "  setp.gt.f32 %p1, %f1, 0f00000000;\n  @%p1 st.global.f32 [%rd1], %f3;",
        False,
    ),
    "an address": (
        "  mov.b32 %r1, %f1;\n  cvt.u64.u32 %rd2, %r1;\n  ld.global.f32 %f2, [%rd2];",
        False,
    ),
    "another lane's": (
        "  mov.b32 %r1, %f1;\n  shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;",
        False,
    ),
    "an atomic": ("  red.global.add.f32 [%rd1], %f1;", False),
}


@pytest.mark.parametrize("used", BODIES)
def test_what_a_load_gives_ends_in(used: str) -> None:
    body, unused = BODIES[used]
    (entry,) = read_module(ENTRY.format(body=body)).entries
    instructions = [i for block in build_graph(entry).blocks for i in block.instructions]
    first = next(i for i in instructions if opcode_base(i) == "ld" and "volatile" in i.parts)
    assert (id(first) in unused_loads(instructions)) is unused

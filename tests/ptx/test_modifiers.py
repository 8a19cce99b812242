"""The order of modifiers: what ptxas takes, and what the ISA writes."""

from __future__ import annotations

import itertools
import re

import pytest

from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.lower import lower
from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx import read_module
from custom_dispatch.ptx.body_reader import in_order
from custom_dispatch.toolchain.ptxas import assemble

_HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<5>; .reg .f32 %f<9>; .reg .b16 %h<5>;
"""
INSTRUCTIONS = (
    "vote.sync.ballot.b32 %r1, %p1, %r2",
    "vote.sync.uni.pred %p2, %p1, %r2",
    "match.all.sync.b64 %r1|%p1, %rd1, %r3",
    "shfl.sync.bfly.b32 %r1|%p1, %r2, %r3, %r4, %r5",
    "redux.sync.add.s32 %r1, %r2, %r3",
    "barrier.red.popc.aligned.u32 %r1, 0, %p1",
    "ld.relaxed.gpu.global.u32 %r1, [%rd1]",
    "ld.global.nc.v2.f32 {%f1, %f2}, [%rd1]",
    "ld.param.u64 %rd1, [p]",
    "st.volatile.shared.u32 [%rd1], %r1",
    "atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], %r2",
    "cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16",
    "cvta.to.global.u64 %rd1, %rd2",
    "cvt.rni.sat.s32.f32 %r1, %f1",
    "add.rn.ftz.sat.f32 %f1, %f2, %f3",
    "mad.lo.cc.u32 %r1, %r2, %r3, %r4",
    "fma.rn.ftz.relu.f16x2 %r1, %r2, %r3, %r4",
    "setp.lt.and.ftz.f32 %p1, %f1, %f2, %p2",
    "set.lt.ftz.u32.f32 %r1, %f1, %f2",
    "shf.l.wrap.b32 %r1, %r2, %r3, %r4",
    "prmt.b32.f4e %r1, %r2, %r3, %r4",
    "vadd2.s32.s32.s32.sat %r1, %r2, %r3, %r4",
    "testp.finite.f32 %p1, %f1",
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%rd1]",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, "
    "{%f1, %f2, %f3, %f4}",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, "
    "[%rd1], %r9",
)


def orders(opcode: str) -> list[str]:
    """An opcode with its modifiers in all orders that keep those of one kind in theirs."""
    base, *modifiers = opcode.split(".")
    if len(modifiers) > 5:
        swaps = (index for index in range(len(modifiers) - 1))
        found = [
            [*modifiers[:at], modifiers[at + 1], modifiers[at], *modifiers[at + 2 :]]
            for at in swaps
        ]
    else:
        found = [list(order) for order in itertools.permutations(modifiers)]
    return [".".join([base, *order]) for order in found]


def taken_by_ptxas(lines: list[str]) -> list[str]:
    while True:
        text = _HEAD + ";\n".join(lines) + ";\nret;\n}\n"
        try:
            assemble(text.encode(), Arch.parse("sm_80"))
        except CustomDispatchError as error:
            wrong = {int(n) - _HEAD.count("\n") - 1 for n in re.findall(r"line (\d+)", error.log)}
            assert wrong
            lines = [line for index, line in enumerate(lines) if index not in wrong]
        else:
            return lines


def lowered(instruction: str) -> object:
    module = read_module(_HEAD + instruction + ";\nret;\n}\n")
    return lower(module, [CpuKernel("k", "k", (32, 1, 1), 1, 0)])


def test_every_order_that_ptxas_takes_means_the_same() -> None:
    tried = 0
    for instruction in INSTRUCTIONS:
        opcode, _, operands = instruction.partition(" ")
        assert in_order(opcode) == opcode
        expected = str(lowered(instruction))
        for line in taken_by_ptxas([f"{order} {operands}" for order in orders(opcode)]):
            other = line.partition(" ")[0]
            types = [re.findall(r"\b[bsuf]\d+\b", name) for name in (opcode, other)]
            layouts = [re.findall("row|col", name) for name in (opcode, other)]
            if types[0] == types[1] and layouts[0] == layouts[1]:
                assert str(lowered(line)) == expected, other
                tried += 1
    assert tried > 300, tried


@pytest.mark.parametrize(
    "opcode", ["cvt.f32.s32", "mul.wide.s32", "bar.warp.sync", "ret", "membar.gl"]
)
def test_what_has_one_order_keeps_it(opcode: str) -> None:
    assert in_order(opcode) == opcode

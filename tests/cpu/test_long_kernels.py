"""Kernels of thousands of statements, each of which depends on the one before."""

from __future__ import annotations

import pytest

from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.lower import lower
from custom_dispatch.errors import UnsupportedInstructionError
from custom_dispatch.ptx import read_module

_HEAD = """\
.version 8.0
.target sm_80
.address_size 64
"""
_ENTRY = """\
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .b32 %r<9000>; .reg .b64 %rd<9000>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x;
add.s32 %r3, %r2, %r1; cvt.s64.s32 %rd3, %r3; mul.wide.s32 %rd10, %r3, 4;
"""


def lowered(text: str) -> str:
    kernel = CpuKernel("k", "k", (64, 1, 1), 1, 1)
    return str(lower(read_module(text), [kernel]))


@pytest.mark.parametrize(
    "statement",
    [
        "add.s64 %rd{next}, %rd{last}, 4;",
        "add.s64 %rd{next}, %rd{last}, %rd3;",
        "cvt.u32.u64 %r{next}, %rd{last}; cvt.s64.s32 %rd{next}, %r{next};",
        "xor.b64 %rd{next}, %rd{last}, %rd3;",
    ],
)
def test_a_long_chain_of_addresses_is_lowered(statement: str) -> None:
    # Lanes of `n + tid` are neighbours unless the sum wraps around: each value says if it does.
    count = 4000
    body = "\n".join(statement.format(last=10 + i, next=11 + i) for i in range(count))
    use = f"add.s64 %rd2, %rd1, %rd{10 + count};\nld.global.f32 %f1, [%rd2];"
    use += "\nst.global.f32 [%rd1], %f1;"
    assert len(lowered(f"{_HEAD}{_ENTRY}{body}\n{use}\nret;\n}}\n")) < 5_000_000


def test_a_long_chain_of_calls_is_refused() -> None:
    functions = [".func f0() { ret; }"]
    functions += [f".func f{i}() {{ call f{i - 1}; ret; }}" for i in range(1, 1500)]
    text = _HEAD + "\n".join(functions) + "\n" + _ENTRY + "call f1499;\nret;\n}\n"
    with pytest.raises(UnsupportedInstructionError, match="the kernel's calls nest too deep"):
        lowered(text)

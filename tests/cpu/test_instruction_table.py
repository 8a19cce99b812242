"""`cpu/lowering/instructions.toml`: which function lowers which instructions, in which forms."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from custom_dispatch.cpu.lowering import instruction_table

FILE = Path(instruction_table.__file__).with_name("instructions.toml")


def lowering_of(opcode: str) -> str | None:
    lowering = instruction_table._lowering_of(opcode)
    return None if lowering is None else lowering.__name__


def test_the_table_has_every_lowering_once() -> None:
    table = tomllib.loads(FILE.read_text())
    listed = {(family, name) for family in table.keys() - {"names"} for name in table[family]}
    written = {
        (module.__name__.rpartition(".")[2], name)
        for module in instruction_table._MODULES
        for name, _ in inspect.getmembers(module, inspect.isfunction)
        if name.startswith("lower_")
    }
    assert listed == written


def test_every_form_is_a_pattern_of_names_that_are_defined() -> None:
    patterns = [form for forms in instruction_table._forms().values() for _, form in forms]
    assert len(patterns) > 100
    for pattern in patterns:
        re.compile(pattern)


@pytest.mark.parametrize(
    ("opcode", "lowering"),
    [
        ("add.s32", "lower_add_sub"),
        ("add.rn.ftz.f32", "lower_float"),
        ("add.bf16x2", "lower_half"),
        ("add.s16x2", "lower_pairs"),
        ("ld.global.nc.L1::no_allocate.L2::128B.v4.f32", "lower_load"),
        ("ld.relaxed.gpu.global.u32", "lower_load"),
        ("ld.global.shared.u32", None),
        ("st.const.u32", None),
        ("trap", "lower_trap"),
        ("trap.u32", None),
        ("cp.async.wait_group", "lower_nothing"),
        ("cvt.rn.satfinite.e4m3x2.f32", "lower_to_bytes"),
        ("cvt.rn.e4m3x2.f32", None),
        ("cvt.rzi.relu.s32.f32", None),
        ("atom.global.cas.b16", "lower_atomic"),
        ("atom.global.add.b16", None),
        ("wmma.load.a.sync.aligned.row.m16n16k8.tf32", "lower_move"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.tf32", None),
    ],
)
def test_a_form_decides_what_lowers_an_instruction(opcode: str, lowering: str | None) -> None:
    assert lowering_of(opcode) == lowering

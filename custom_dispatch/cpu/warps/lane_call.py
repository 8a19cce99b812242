"""An instruction lowered in a function of its own, which the kernel calls wherever it stands.

The code of a matrix instruction is long, and a kernel has many of one shape. Most of the time to
build a variant goes by the number of operations, so those that differ in nothing but their
registers share a function. It finds the lanes' registers in an array, and runs a loop over lanes
(`warps/lane_loop.py`).
"""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.analysis.liveness import reads, registers_in, symbols_in, written_registers
from custom_dispatch.cpu.text.builder import POINTER
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.cpu.warps.lane_builder import LaneBuilder
from custom_dispatch.cpu.warps.lane_frame import LaneFrame
from custom_dispatch.cpu.warps.lane_loop import FIRST, LaneLoop, Lowering, gather, spread
from custom_dispatch.cpu.warps.lane_memory import MASK, LaneMemory
from custom_dispatch.cpu.warps.lane_values import LANES
from custom_dispatch.ptx import Instruction, SpecialRegister

SHARED: Final = frozenset({"mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"})
"""Opcodes whose instructions become calls."""
_REGISTERS: Final = "%registers"
_BYTES: Final = 8
"""Room for a register of a lane."""


def can_call(frame: LaneFrame, instruction: Instruction) -> bool:
    """Whether an instruction's code can stand in a function, where the thread's variables and its
    place in the grid are not.
    """
    special = any(isinstance(operand, SpecialRegister) for operand in instruction.operands)
    known = symbols_in(instruction).isdisjoint(frame.variables)
    return instruction.parts[0] in SHARED and known and not special


def call_in_turn(frame: LaneFrame, instruction: Instruction, lowering: Lowering) -> None:
    """Write an instruction as a call, and the function where there is none like it yet."""
    b, access = frame.lanes, frame.access
    registers = [r.name for operand in instruction.operands for r in registers_in(operand)]
    names = list(dict.fromkeys(registers))
    array = access.place(f"registers {len(names)}", _BYTES * len(names))
    read, written = reads(instruction), written_registers(instruction)
    places = {name: b.shared(_part(array, index)) for index, name in enumerate(names)}
    for name, place in places.items():
        if name in read or frame.merging or name in frame.blended:
            spread(frame, name, place)
    arguments = [(FIRST, "i32"), (MASK, "i32"), (_REGISTERS, POINTER)]
    if frame.memory.needed:
        arguments.append((MEMORY, POINTER))
    body = _body(frame, instruction, lowering, names)
    name = access.function("_".join(instruction.parts[:2]), arguments, body)
    given = {MASK: access.mask, _REGISTERS: array}
    with b.raw():
        b.call(name, [(given.get(value, value), type_name) for value, type_name in arguments])
    for name in sorted(written):
        gather(frame, name, places[name])


def _part(array: str, index: int) -> str:
    """Where an array holds a register."""
    start = index * _BYTES * LANES
    return f"llvm.getelementptr {array}[{start}] : ({POINTER}) -> {POINTER}, i8"


def _body(
    frame: LaneFrame, instruction: Instruction, lowering: Lowering, names: list[str]
) -> list[str]:
    """The function's lines, in which registers are known by their order only."""
    b = LaneBuilder()
    access = LaneMemory(b, "")
    access.mask = MASK
    arrays = {name: b.at_entry(_part(_REGISTERS, index)) for index, name in enumerate(names)}
    loop = LaneLoop(frame, instruction, access)
    loop.write(lowering, arrays, {}, {})
    return [*b.entry_lines, *b.lines]

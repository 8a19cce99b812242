"""The error for an instruction the CPU target does not run."""

from __future__ import annotations

from custom_dispatch.errors import UnsupportedInstructionError
from custom_dispatch.ptx import Instruction

_NEXT_STEP = (
    "leave `cpu` out of the targets, or write this part of the kernel without the instruction."
)
_NOT_YET = {
    "mbarrier": "transaction barriers",
    "wgmma": "warpgroup matrix operations",
    "tcgen05": "tensor memory",
    "multimem": "multicast memory",
}


def unsupported(kernel: str, instruction: Instruction, reason: str = "") -> Exception:
    """The error naming an instruction, its kernel and its place.

    Parameters
    ----------
    kernel
        The entry's name.
    instruction
        What cannot be lowered.
    reason
        Why, when it is not the instruction as such: ``"with a predicate"``.
    """
    where = f"PTX line {instruction.line}"
    if instruction.location is not None:
        where += f", {instruction.location}"
    found = f"Kernel `{kernel}` uses `{instruction.opcode}` ({where})"
    missing = reason or _NOT_YET.get(instruction.opcode.partition(".")[0], "")
    if missing in _NOT_YET.values():
        found += f", and the CPU target does not run kernels with {missing} yet"
    elif missing:
        found += f": {missing}"
    return UnsupportedInstructionError(
        f"{found}.", expected="an instruction the CPU target lowers", next_step=_NEXT_STEP
    )

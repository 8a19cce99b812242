"""The error for PTX that the CPU target does not run."""

from custom_dispatch.errors import UnsupportedInstructionError
from custom_dispatch.ptx import Address, Instruction, Operand

_NEXT_STEP = (
    "leave `cpu` out of the targets, or write this part of the kernel without the instruction."
)
_NOT_YET = {
    "mbarrier": "transaction barriers",
    "wgmma": "warpgroup matrix operations",
    "tcgen05": "tensor memory",
    "multimem": "multicast memory",
}


def unsupported(
    kernel: str, instruction: Instruction | None, reason: str = "", instead: str = ""
) -> Exception:
    """The error naming an instruction, if it is about one, its kernel and its place.

    - `reason`: why, when it is not the instruction as such: ``"with a predicate"``.
    - `instead`: what to do, where that is known better than to do without the instruction.
    """
    found, missing = f"Kernel `{kernel}`", reason
    if instruction is not None:
        where = f"PTX line {instruction.line}"
        if instruction.location is not None:
            where += f", {instruction.location}"
        found += f" uses `{instruction.opcode}` ({where})"
        missing = reason or _NOT_YET.get(instruction.parts[0], "")
    if missing in _NOT_YET.values():
        found += f", and the CPU target does not run kernels with {missing} yet"
    elif missing:
        found += f": {missing}"
    if instead:
        return UnsupportedInstructionError(
            f"{found}.", next_step=f"leave `cpu` out of the targets, or {instead}."
        )
    return UnsupportedInstructionError(
        f"{found}.", expected="an instruction the CPU target lowers", next_step=_NEXT_STEP
    )


def shown(operand: Operand) -> str:
    """An operand in an error: as it is written, at most 80 characters of it."""
    if isinstance(operand, Address):
        base = "" if operand.base is None else shown(operand.base)
        return f"[{base}{operand.offset:+d}]" if operand.offset else f"[{base}]"
    text = getattr(operand, "text", None) or getattr(operand, "name", None) or repr(operand)
    return str(text)[:80]

"""The errors for PTX that the CPU target does not run, and for what is no PTX."""

from custom_dispatch.errors import PtxError, UnsupportedInstructionError
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
    kernel: str, instruction: Instruction, reason: str = "", instead: str = ""
) -> Exception:
    """The error naming an instruction, its kernel and its place.

    - `reason`: why, when it is not the instruction as such: ``"with a predicate"``.
    - `instead`: what to do, where that is known better than to do without the instruction.
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
    if instead:
        return UnsupportedInstructionError(
            f"{found}.", next_step=f"leave `cpu` out of the targets, or {instead}."
        )
    return UnsupportedInstructionError(
        f"{found}.", expected="an instruction the CPU target lowers", next_step=_NEXT_STEP
    )


def malformed(kernel: str, what: str, at: Instruction | None = None) -> PtxError:
    """The error for PTX that no compiler prints.

    `what`: what is wrong: "register `%r1` has the type `.x`".
    """
    place = "" if at is None else f", PTX line {at.line}"
    return PtxError(
        f"Kernel `{kernel}`{place}: {what}.",
        expected="PTX that ptxas assembles, in 64-bit addresses",
        next_step="give PTX as nvcc or NVRTC print it, or leave `cpu` out of the targets.",
    )


def shown(operand: Operand) -> str:
    """An operand in an error: as it is written, at most 80 characters of it."""
    if isinstance(operand, Address):
        base = "" if operand.base is None else shown(operand.base)
        return f"[{base}{operand.offset:+d}]" if operand.offset else f"[{base}]"
    text = getattr(operand, "text", None) or getattr(operand, "name", None) or repr(operand)
    return str(text)[:80]

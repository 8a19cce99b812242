"""Comparing what a kernel writes with its declaration.

PTX does not say which of its pointers are written. IREE takes the declaration's word: what is
written through an `In` changes a tensor that others read, and an `Out` that nothing writes holds
what was in memory before. Found is what can be nothing else; an address that is loaded, or passed
to a function, may be any.
"""

from collections.abc import Iterable

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, In, Out
from custom_dispatch.ptx.module import ONLY_COMPUTES, Entry, Instruction, Module, named_by
from custom_dispatch.ptx.operands import Address, Expression
from custom_dispatch.ptx.origins import Origins
from custom_dispatch.ptx.rewrite import is_rewritten

_WRITING = frozenset({"st", "red", "atom", "cp", "wmma"})
_SPACES = frozenset({"global", "shared", "local", "param"})


def check_writes(module: Module, kernel: Kernel, entry: Entry, origin: str) -> None:
    """Refuse a kernel that writes what is declared `In`, or that never writes an `Out`.

    `origin`: where the module comes from, for errors: a file's name.
    """
    abi = kernel.abi
    passed = [[(piece.offset, piece.operand) for piece in p.pieces] for p in abi.parameters]
    if is_rewritten(entry):
        passed = [[(0, operand)] for operand in abi.bindings]
    pointers = {
        f"{parameter.name}+{offset}": operand
        for parameter, pieces in zip(entry.parameters, passed, strict=False)
        for offset, operand in pieces
        if isinstance(operand, Buffer)
    }
    variables = {v.name for v in (*module.variables, *entry.variables) if v.space != "param"}
    origins = Origins(entry, pointers, variables)
    used: set[str] = set()
    for instruction in entry.body:
        if isinstance(instruction, Instruction):
            used.update(_used(instruction, origins))
            written = _written(instruction)
            operand = pointers.get("" if written is None else origins.proven(written) or "")
            if isinstance(operand, In):
                raise PtxError(
                    f"Kernel `{kernel.name}`: operand `{operand.name}` is declared as cd.In, and "
                    f"`{entry.name}` of `{origin}` writes to it: `{instruction.opcode}` in line "
                    f"{instruction.line} of the PTX"
                    + (f", {instruction.location}." if instruction.location else "."),
                    expected="code that only reads what is cd.In",
                    next_step="declare it as cd.InOut if its values are read, too, and as cd.Out "
                    "if not; or check that the operands are in the order of the C signature.",
                )
    for name, operand in pointers.items():
        if isinstance(operand, Out) and name not in used:
            raise PtxError(
                f"Kernel `{kernel.name}`: operand `{operand.name}` is declared as cd.Out, and "
                f"nothing in `{entry.name}` of `{origin}` writes to it.",
                expected="code that writes every cd.Out: what it leaves is what was in memory",
                next_step="declare what is only read as cd.In, check that the operands are in the "
                "order of the C signature, or correct the kernel.",
            )


def _used(instruction: Instruction, origins: Origins) -> Iterable[str]:
    """The pointers that an instruction may write through, or hand on to what may."""
    base = instruction.parts[0]
    if "prefetch" in instruction.parts:
        return ()
    if any(isinstance(operand, Expression) for operand in instruction.operands):
        return origins.pointers  # it was not read whole
    if base == "ld":
        return ()
    if base in ONLY_COMPUTES:  # a parameter's own address, from where it may be loaded
        named = set(named_by(instruction))
        return (each for each in origins.pointers if each.partition("+")[0] in named)
    return origins.all(*instruction.operands)


def _written(instruction: Instruction) -> Address | None:
    """The address in global or generic memory that an instruction writes to."""
    base, *rest = instruction.parts
    if "prefetch" in rest:
        return None
    spaces = (part.partition("::")[0] for part in rest)
    if base not in _WRITING or next((s for s in spaces if s in _SPACES), "global") != "global":
        return None
    operands = instruction.operands[1 if base == "atom" else 0 :]
    return operands[0] if operands and isinstance(operands[0], Address) else None

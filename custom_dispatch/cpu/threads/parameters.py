"""A kernel's parameters, as `ld.param` reads them.

On the CPU each is an argument of the thread's function: a pointer for a binding, and an i32 for
each word of the rest (`custom_dispatch.kernel.abi`).
"""

from __future__ import annotations

from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.text.builder import POINTER, Builder, int_type
from custom_dispatch.cpu.text.unsupported import malformed, shown
from custom_dispatch.ptx import Address, Entry, Instruction, Operand, Symbol


class Parameters:
    """What a kernel is given.

    Parameters
    ----------
    builder
        Where operations go.
    entry, kernel
        The kernel.
    """

    def __init__(self, builder: Builder, entry: Entry, kernel: CpuKernel) -> None:
        self._b = builder
        self._entry = entry.name
        self._bindings = kernel.bindings
        self._indices = {parameter.name: index for index, parameter in enumerate(entry.parameters)}

    def read(self, at: Instruction, operand: Operand, bits: int, offset: int = 0) -> str:
        """Bits of a parameter, from an operand of `ld.param`, some bytes further on.

        Raises
        ------
        PtxError
            There is no such parameter, or it has fewer bits.
        """
        b = self._b
        index, start = self._place(at, operand)
        start += 8 * offset
        width = 64 if index < self._bindings else 32
        if start < 0 or start + bits > width:
            raise malformed(
                self._entry,
                f"`{shown(operand)}` reads past parameter {index}, which has {width} bits",
                at,
            )
        value = f"%p{index}"
        if index < self._bindings:
            value = b.cast("ptrtoint", value, POINTER, "i64")
        if start:
            value = b.binary("lshr", value, b.const(start, width), int_type(width))
        return b.resize(value, width, bits)

    def _place(self, at: Instruction, operand: Operand) -> tuple[int, int]:
        """Which parameter an operand names, and the bit that it begins at."""
        if not isinstance(operand, Address) or not isinstance(operand.base, Symbol):
            raise malformed(self._entry, f"`{shown(operand)}` is no parameter", at)
        index = self._indices.get(operand.base.name)
        if index is None:
            raise malformed(self._entry, f"`{operand.base.name}` is no parameter of the kernel", at)
        return index, 8 * (operand.offset + operand.base.offset)

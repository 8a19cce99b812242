"""The registers of a function of numbers while its instructions are lowered: SSA values."""

from typing import Final

from custom_dispatch import ptx
from custom_dispatch.cpu.analysis.control_flow import Graph
from custom_dispatch.cpu.cpu_kernel import CpuKernel, Processor
from custom_dispatch.cpu.lowering.frame import CARRY, Frame
from custom_dispatch.cpu.lowering.instruction_table import lower_instruction
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import BlockMemory, place_shared
from custom_dispatch.cpu.threads.thread_code import ThreadCode
from custom_dispatch.errors import UnsupportedInstructionError
from custom_dispatch.kernel.function import Function
from custom_dispatch.scalar.arith_builder import ArithBuilder

MATH_MARK: Final = ("custom_dispatch", "math")
"""How the opcode begins of what `toolchain/function.cuh` has MLIR compute."""
_DIRECT: Final = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh"}
"""What MLIR calls the approximate functions of f32."""
_PROCESSOR: Final = Processor(fused=True, halves=True)
"""IREE's own code converts halves, and knows whether there is an instruction."""


class ScalarFrame(Frame):
    """What instruction lowerings read and write, for one call of a function.

    - `function`: its name, for errors.
    - `own_math`: whether MLIR computes the approximate functions.
    """

    def __init__(
        self, builder: ArithBuilder, entry: ptx.Entry, graph: Graph, function: Function
    ) -> None:
        kernel = CpuKernel(entry.name, "", (1, 1, 1), 0, 0, processor=_PROCESSOR)
        memory = BlockMemory(kernel, place_shared((), 0), suspends=False, lockstep=False)
        super().__init__(builder, ThreadCode(entry, kernel, graph, {}, memory))
        self.function = function
        self.values: dict[str, str] = {}
        """What registers hold; one that is not there was never written."""
        self._widths = {CARRY: 1}
        self._guard: SsaValue | None = None

    def declare(self, name: str, bits: int) -> None:
        self._widths[name] = bits

    def width(self, name: str) -> int:
        return self._widths[name]

    def read(self, name: str) -> SsaValue:
        if name not in self.values:
            return self.b.const(0, self._widths[name])
        return self.b.named(self.values[name], int_type(self._widths[name]))

    def write(self, name: str, value: str) -> None:
        if self._guard is not None:
            value = self.choose(self._guard, value, self.read(name), self._widths[name])
        self.values[name] = value

    def choose(self, condition: str, yes: str, no: str, bits: int) -> str:
        """One of two values of registers: as floating-point numbers, where both were."""
        assert isinstance(self.b, ArithBuilder)  # noqa: S101 - as it was made with one
        kind = f"f{bits}"
        floats = [self.b.cast_from.get((value, kind)) for value in (yes, no)]
        if yes == no:
            return yes
        if floats[0] is None or floats[1] is None:
            return self.b.select(condition, yes, no, int_type(bits))
        return self.b.select(condition, floats[0], floats[1], kind).as_bits()

    def lower(self, instruction: ptx.Instruction) -> None:
        """Lower an instruction that is no branch."""
        self.current, predicate = instruction, instruction.predicate
        self._guard = None if predicate is None else self.predicate(predicate)
        parts = instruction.parts
        if parts[:2] == MATH_MARK:
            self._call_math(parts[2], parts[3])
        elif self.function.library == "mlir" and parts[0] in _DIRECT and parts[-1] == "f32":
            self._call_math(_DIRECT[parts[0]], "f32")
        else:
            lower_instruction(self)
        self._guard = None

    def _call_math(self, name: str, kind: str) -> None:
        d, *sources = self.instruction.operands
        values = [self.float(source, kind) for source in sources]
        text = self.b.value(f"math.{name} {', '.join(values)} : {kind}")
        self.put(d, self.b.named(text, kind))

    # ---- errors

    def unsupported(self, reason: str = "") -> Exception:
        found = f"Function `{self.function.name}`"
        if self.current is not None:
            where = self._own_line() or f"PTX line {self.current.line}"
            found += f" uses `{self.current.opcode}` ({where})"
        return UnsupportedInstructionError(
            found + (f": {reason}." if reason else "."),
            expected="arithmetic on its operands, branches, and loops that end",
            next_step="write this part without it, or declare a cd.Kernel instead.",
        )

    def _own_line(self) -> str:
        """The line of the function's own file that is next to the instruction, or around it."""
        every = self.thread.instructions
        here = next((i for i, each in enumerate(every) if each is self.current), 0)
        for index in sorted(range(len(every)), key=lambda index: (abs(index - here), -index)):
            place = every[index].location
            # The innermost place: what is called there may lie in a header.
            for each in [] if place is None else [place, *place.callers]:
                if each.file == str(self.function.source):
                    return str(each)
        return ""

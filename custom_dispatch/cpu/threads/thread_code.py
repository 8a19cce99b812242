"""A kernel's code, as the functions that run its threads need to know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from custom_dispatch.cpu.analysis.control_flow import Graph
from custom_dispatch.cpu.analysis.inline_calls import ASSERTION
from custom_dispatch.cpu.analysis.spins import Spins, find_spins
from custom_dispatch.cpu.analysis.suspension import suspends
from custom_dispatch.cpu.checked.checks import Checks
from custom_dispatch.cpu.checked.monitor import CONTEXT
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.numbers.subnormals import wants_flushing
from custom_dispatch.cpu.text.builder import FAILURE, POINTER, Builder
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import MEMORY, BlockMemory
from custom_dispatch.ptx import Entry, Instruction

Signature = tuple[tuple[str, str], ...]

PLACE: Signature = tuple(
    (f"%{name}_{axis}", "i32") for name in ("ctaid", "nctaid") for axis in "xyz"
)
"""The function arguments that say which block of which grid this is."""

LENGTHS = "%lengths"
"""The function argument that points to the bindings' lengths in bytes, each a `size_t`."""

THREAD: Signature = tuple((f"%tid_{axis}", "i32") for axis in "xyz")
"""The function arguments that say which thread this is."""

Place = tuple[str, str, str]
"""Which thread of a block: its x, y and z, each an i32."""


def place_in_block(number: SsaValue, block: tuple[int, int, int]) -> Place:
    """Which thread has a number in a block of a size."""
    width, height, depth = block
    zero = number.b.const(0, 32)
    if height * depth == 1:
        return number, zero, zero
    x, row = number % width, number // width
    if depth == 1:
        return x, row, zero
    return x, row % height, row // height


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that is called, and not put in the call's place."""

    symbol: str
    parameters: tuple[str, ...]
    """Their types."""
    result: str = ""
    """Its type; an empty text where there is none."""
    kind: str = ""
    """What stands behind the arguments of a function that takes a variable number of them."""


@dataclass(frozen=True)
class ThreadCode:
    """A kernel, ready to be lowered."""

    entry: Entry
    kernel: CpuKernel
    """The kernel, its calls put in place."""
    graph: Graph
    """Its basic blocks."""
    globals: Mapping[str, str]
    """Symbols of the module's variables by PTX name."""
    memory: BlockMemory
    """The block's memory."""
    checks: Checks | None = None
    """In checked mode, what is checked."""
    callees: Mapping[str, Callee] = field(default_factory=dict)
    """By its PTX name, what it calls that is not put in the call's place."""
    used_globals: set[str] = field(default_factory=set)
    """The names of the variables that lowered code refers to."""

    @cached_property
    def instructions(self) -> list[Instruction]:
        """All of them, in the order of the blocks."""
        return [i for block in self.graph.blocks for i in block.instructions]

    @cached_property
    def spins(self) -> Spins:
        """The loops in which it may wait. Checked mode counts accesses instead."""
        return find_spins(self.graph)

    @cached_property
    def keeps_subnormals(self) -> bool:
        """Whether the hardware leaves subnormal numbers alone, so that `.ftz` is to be lowered."""
        return not wants_flushing(self.entry)

    @cached_property
    def _sums(self) -> list[tuple[str, ...]]:
        return [i.parts for i in self.instructions if i.parts[0] in ("add", "sub")]

    def is_apart(self, product: Instruction) -> bool:
        """Whether a product must not be fused with what it is added to.

        IREE lets LLVM fuse them; PTX does not where either says how it rounds.
        """
        of_type = [parts for parts in self._sums if parts[-1] == product.parts[-1]]
        return bool(of_type) and any("rn" in parts for parts in (product.parts, *of_type))

    @property
    def parameters(self) -> Signature:
        """The function arguments that stand for the kernel's parameters."""
        count = self.kernel.bindings
        types = [POINTER] * count + ["i32"] * self.kernel.constants
        return tuple((f"%p{index}", type_name) for index, type_name in enumerate(types))

    @property
    def block_arguments(self) -> Signature:
        """What the functions of a block, a warp and a thread take first."""
        arguments = self.parameters + PLACE
        if self.memory.needed:
            arguments += ((MEMORY, POINTER),)
        if self.may_fail:
            arguments += ((FAILURE, POINTER),)
        if self.checks is not None:
            arguments += ((CONTEXT, "i64"),)
        return arguments

    @property
    def checked_arguments(self) -> Signature:
        """What the function takes that runs a block in checked mode."""
        return (*self.parameters, *PLACE, (LENGTHS, POINTER), (FAILURE, POINTER))

    @cached_property
    def may_fail(self) -> bool:
        """Whether the kernel can fail: by an instruction of its own, or by waiting in vain. In
        checked mode that is a finding.
        """
        if self.checks is not None:
            return False
        if self.memory.by_warps:
            waits_in_vain = any(map(suspends, self.instructions))
        else:
            waits_in_vain = self.memory.suspends and not self.memory.lockstep
        return (
            waits_in_vain
            or bool(self.spins.asking)
            or any(i.parts[0] in ("trap", ASSERTION) for i in self.instructions)
        )

    def call(self, b: Builder, what: str, *more: tuple[str, str]) -> None:
        """Call the function ``@symbol.what``, whose block is the caller's."""
        b.call(f"{self.kernel.symbol}.{what}", (*self.block_arguments, *more))

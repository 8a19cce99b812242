"""What the CPU target has to know of a kernel besides its PTX, and what it makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor."""

    architecture: str = ""
    """IREE's name of it: ``"x86_64"``, ``"arm_64"``. Subnormal numbers are flushed to zero on any
    other, as IREE's CPU drivers have it."""
    fused: bool = False
    """Whether it has an instruction for ``a * b + c`` with one rounding."""
    wide_atomics: bool = False
    """Whether it compares and swaps 128 bits."""
    halves: bool = False
    """Whether it converts between f16 and f32."""


UNKNOWN: Final = Processor()
"""One of which nothing is known."""


@dataclass(frozen=True)
class CpuKernel:
    """A kernel to lower for the CPU."""

    entry: str
    """The PTX entry's name."""
    symbol: str
    """Name of the `func.func` to emit: letters, digits and ``_``."""
    block: tuple[int, int, int]
    """Threads of a block in x, y and z."""
    bindings: int
    """Number of buffer bindings; their pointers come first in the PTX parameters."""
    constants: int
    """Number of push constants: scalars of at most 32 bits, one i32 each (low bytes), last. Behind
    them is one more that is no parameter: the grid's x size, as there may be fewer workgroups than
    blocks, of which each runs several of a row."""
    dynamic_shared_memory: int = 0
    """Bytes of dynamic shared memory of a block (``extern __shared__``)."""
    processor: Processor = UNKNOWN
    """What runs it."""
    name: str = ""
    """What findings call the kernel."""
    operands: tuple[tuple[str, bool], ...] = ()
    """What they call the bindings, and whether the kernel may write each."""


@dataclass(frozen=True)
class CpuCode:
    """Kernels as code."""

    text: str
    """The contents of a CPU variant's ``builtin.module { ... }``."""
    local_memory: Mapping[str, int]
    """Bytes of local memory a workgroup needs, by the kernel's symbol: the export's
    ``workgroup_local_memory``."""

"""What the lowering of a kernel has to know of the processor that will run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor.

    Attributes
    ----------
    architecture
        IREE's name of it: ``"x86_64"``, ``"arm_64"``. Subnormal numbers are flushed to zero on any
        other, as IREE's CPU drivers have it.
    fused
        Whether it has an instruction for ``a * b + c`` with one rounding.
    wide_atomics
        Whether it compares and swaps 128 bits.
    halves
        Whether it converts between f16 and f32.
    """

    architecture: str = ""
    fused: bool = False
    wide_atomics: bool = False
    halves: bool = False


UNKNOWN: Final = Processor()
"""One of which nothing is known."""

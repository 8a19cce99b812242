"""The instructions of a module as checks know them, and the texts that findings name them by."""

import struct
from pathlib import PurePath

from custom_dispatch.ptx import Instruction, Integer, Location


class Site:
    """What a site is made of, as `monitor/monitor.cuh` has it."""

    READS, WRITES, STRONG, SWAP, ALIGNED, EXCHANGE = 1, 2, 4, 8, 16, 32
    """Bits of a kind."""
    DROPPED_SHIFT = 8
    """Behind it is the number of a load whose value may be dropped, or 0."""
    IN_REGION, IN_SHARED, IN_LOCAL, ANYWHERE = range(4)
    """Spaces."""


def text_global(symbol: str, text: str | bytes) -> str:
    """A constant text, with a zero at its end."""
    data = text.encode() if isinstance(text, str) else text
    escaped = "".join(f"\\{byte:02X}" for byte in (*data, 0))
    return (
        f'  llvm.mlir.global internal constant @{symbol}("{escaped}") '
        "{addr_space = 0 : i32, alignment = 16 : i64}"
    )


class Sites:
    """The sites of a module's kernels; their texts are kept once each."""

    def __init__(self) -> None:
        self._sites: list[bytes] = []
        self._texts = bytearray(b"\0")
        self._places: dict[str, int] = {"": 0}

    def text(self, text: str) -> int:
        """The place of a text among the module's texts."""
        if text not in self._places:
            self._places[text] = len(self._texts)
            self._texts += text.replace("\0", "").encode() + b"\0"
        return self._places[text]

    def add(
        self,
        instruction: Instruction,
        *,
        kind: int = 0,
        space: int = Site.ANYWHERE,
        low: int = 0,
        high: int = 0,
        object_: str = "",
    ) -> int:
        """The number of a new site (`monitor/monitor.cuh` says what a site is made of)."""
        place = self.text(place_of(instruction))
        fields = (kind, space, low, high, place, self.text(object_))
        self._sites.append(struct.pack("<6i", *fields))
        return len(self._sites) - 1

    def globals(self) -> list[str]:
        """The tables that checks read."""
        return [
            text_global("check.sites", b"".join(self._sites)),
            text_global("check.texts", bytes(self._texts)),
        ]


def _shown(location: Location) -> str:
    return f"{PurePath(location.file).name}:{location.line}"


def place_of(instruction: Instruction) -> str:
    """Where an instruction stands: in the `.cu` file where that is known, else in the PTX."""
    where = f"PTX line {instruction.line}"
    if instruction.location is not None:
        where = _shown(instruction.location)
        callers = instruction.location.callers
        if callers:
            where += f", called at {_shown(callers[-1])}"
    first = instruction.operands[0] if instruction.operands else None
    barrier = f" {first.value}" if isinstance(first, Integer) else ""  # the number of a barrier
    return f"{where} (`{instruction.opcode}{barrier}`)"

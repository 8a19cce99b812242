"""Which operand or variable an address was computed from.

A checked access is held to the bounds of that operand: an index that is far off may well hit
another one, which looking at the address alone would not show. An address has the origins of
everything it was computed from, whichever way the kernel ran; numbers have none, and what was
loaded is of unknown origin, unless it is added to an address of a known one. Where there are
several, or one is unknown, the address alone must tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from custom_dispatch import ptx
from custom_dispatch.cpu.analysis.liveness import registers_in, written_operands


@dataclass(frozen=True, slots=True)
class Origin:
    """An operand (its binding's ordinal), or a variable (its name)."""

    binding: int = -1
    variable: str = ""


_UNKNOWN = Origin()
_CHOICES = frozenset({"selp", "slct", "mov"})
_COMPARISONS = frozenset({"setp", "set", "testp"})
_LOADS = frozenset({"ld", "ldu", "atom"})
_NONE: frozenset[Origin] = frozenset()


class Origins:
    """The origins of an entry's registers.

    - `entry`: the kernel, its calls put in place.
    - `bindings`: how many of its first parameters are pointers.
    - `variables`: names of the variables that have memory.
    """

    def __init__(self, entry: ptx.Entry, bindings: int, variables: Set[str]) -> None:
        self._parameters = {
            parameter.name: Origin(binding=index)
            for index, parameter in enumerate(entry.parameters[:bindings])
        }
        self._variables = variables
        self._of: dict[str, frozenset[Origin]] = {}
        instructions = [s for s in entry.body if isinstance(s, ptx.Instruction)]
        while sum(map(self._follow, instructions)):  # each time all of them
            pass

    def of(self, operand: ptx.Operand) -> Origin | None:
        """The one origin of an address, or None where there is not just one."""
        found = frozenset[Origin]().union(*self._sources(operand))
        return next(iter(found)) if len(found) == 1 and _UNKNOWN not in found else None

    def _follow(self, instruction: ptx.Instruction) -> bool:
        """Add an instruction's results; whether that changed anything."""
        base = instruction.parts[0]
        count = written_operands(instruction)
        if not count or base in _COMPARISONS:
            return False
        found = self._made_by(instruction, base, instruction.operands[count:])
        changed = False
        for register in registers_in(*instruction.operands[:1]):
            before = self._of.get(register.name, _NONE)
            if register.type != "pred" and not found <= before:
                self._of[register.name] = before | found
                changed = True
        return changed

    def _made_by(
        self, instruction: ptx.Instruction, base: str, sources: tuple[ptx.Operand, ...]
    ) -> frozenset[Origin]:
        if base in _LOADS and "param" not in instruction.parts:
            wide = ptx.TYPE_BITS.get(instruction.parts[-1], 0) == 64
            return frozenset({_UNKNOWN}) if wide else _NONE  # no address fits into less
        if base in _LOADS:
            sources = sources[:1]
        each = [o for operand in sources for o in self._sources(operand)]
        addresses = [origins for origins in each if origins - {_UNKNOWN}]
        return _NONE.union(*(each if base in _CHOICES or not addresses else addresses))

    def _sources(self, operand: ptx.Operand) -> Iterator[frozenset[Origin]]:
        if isinstance(operand, ptx.Symbol):
            if operand.name in self._parameters:
                yield frozenset({self._parameters[operand.name]})
            elif operand.name in self._variables:
                yield frozenset({Origin(variable=operand.name)})
        elif isinstance(operand, ptx.Address):
            if operand.base is not None:
                yield from self._sources(operand.base)
        elif isinstance(operand, ptx.Vector):
            for element in operand.elements:
                yield from self._sources(element)
        elif isinstance(operand, ptx.Pair):
            yield from self._sources(operand.first)
        else:
            for register in registers_in(operand):
                yield self._of.get(register.name, _NONE)

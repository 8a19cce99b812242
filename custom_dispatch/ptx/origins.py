"""Which parameters and variables an address was computed from.

A checked access is held to the bounds of one (`cpu/checked/checks.py`): an index that is far off
may well hit another one, which looking at the address alone would not show. And what a kernel
writes is compared with its declaration (`ptx/writes.py`).

An address has the origins of everything it was computed from, whichever way the kernel ran. Numbers
have none, and neither has what was loaded, once it is multiplied or shifted as an index is; what
was loaded else is of unknown origin, unless it is added to an address.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from custom_dispatch.ptx.module import Entry, Instruction, written_operands
from custom_dispatch.ptx.operands import (
    TYPE_BITS,
    Address,
    Operand,
    Register,
    Symbol,
    Vector,
    elements_of,
    leaves,
)

_Found = frozenset[str]
_NONE: Final[_Found] = frozenset()
# No name of PTX is spelled so:
_UNKNOWN: Final[_Found] = frozenset({"?"})
_UNSURE: Final[_Found] = frozenset({"+"})
"""Of an address beside its origins: what was done to it may have made it another one's."""
_CHOICES = frozenset({"selp", "slct", "mov"})
_COMPARISONS = frozenset({"setp", "set", "testp"})
_LOADS = frozenset({"ld", "ldu", "atom"})
_FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})
_SCALED = frozenset({"mul", "mul24", "mad", "mad24", "shl"})
"""Their first two operands are no addresses."""
_MOVING = _CHOICES | {"add", "mad", "mad24", "cvta"}
"""What makes an address of the same thing from an address and a number."""
_ADDRESS_BITS = 64


class Origins:
    """The origins of an entry's registers.

    - `pointers`: where in which parameter they are, "name+offset".
    - `variables`: names of the variables that have memory.
    """

    def __init__(self, entry: Entry, pointers: Iterable[str], variables: Iterable[str]) -> None:
        self.pointers = frozenset(pointers)
        self._named = self.pointers.union(variables)
        self._of = {name: frozenset({name}) for name in self._named}
        steps = [
            (item, [_names(operand) for operand in item.operands])
            for item in entry.body
            if isinstance(item, Instruction) and len(item.operands) > 1 and not _makes_numbers(item)
        ]
        while sum(self._follow(item, names) for item, names in steps):  # each time all of them
            pass

    def all(self, *operands: Operand) -> _Found:
        """Everything that operands may have been computed from, and "?" for the unknown."""
        return self._union(_names(*operands))

    def of(self, operand: Operand) -> str | None:
        """The one origin of an address, or None where there is not just one.

        What is loaded and added to it leads out of what it belongs to in wrong kernels only.
        """
        return self._one(self.all(operand) - _UNSURE)

    def proven(self, operand: Operand) -> str | None:
        """The same, or None where there is a way for it to be the address of something else."""
        return self._one(self.all(operand))

    def _one(self, found: _Found) -> str | None:
        return next(iter(found)) if len(found) == 1 and found <= self._named else None

    def _union(self, names: Iterable[str]) -> _Found:
        return _NONE.union(*(self._of.get(name, _NONE) for name in names))

    def _follow(self, instruction: Instruction, names: Sequence[Sequence[str]]) -> bool:
        """Add an instruction's results; whether that changed anything.

        `names`: those in each of its operands.
        """
        is_call = instruction.parts[0] == "call"
        found = _UNKNOWN if is_call else self._made_by(instruction, names[1:])
        changed = False
        for name in names[0] if found else ():
            before = self._of.get(name, _NONE)
            if name not in self._named and not found <= before:
                self._of[name] = before | found
                changed = True
        return changed

    def _made_by(self, instruction: Instruction, names: Sequence[Sequence[str]]) -> _Found:
        base = instruction.parts[0]
        is_wide = TYPE_BITS.get(instruction.parts[-1], 0) >= _ADDRESS_BITS  # none fits into less
        if base in _LOADS:
            return self._loaded(*instruction.operands[:2]) or (_UNKNOWN if is_wide else _NONE)
        each = [self._union(part) for part in names]
        if base in _SCALED:
            each[:2] = [found - _UNKNOWN for found in each[:2]]
        addresses = [found for found in each if found - _UNKNOWN]
        if not addresses:
            is_packed = is_wide and base == "mov" and isinstance(instruction.operands[1], Vector)
            return _UNKNOWN if is_packed else _NONE.union(*each)
        is_choice = base in _CHOICES
        is_same = is_choice or _UNKNOWN not in each
        is_same &= base in _MOVING and not (base in _SCALED and any(each[:2]))
        return _NONE.union(*(each if is_choice else addresses), _NONE if is_same else _UNSURE)

    def _loaded(self, target: Operand, address: Operand) -> _Found:
        """The pointers that a load may take from parameters."""
        place = address.place if isinstance(address, Address) else None
        if place is None:
            return _NONE
        end = place.offset + 8 * len(elements_of(target))
        near = (f"{place.name}+{offset}" for offset in range(place.offset - 7, end))
        return frozenset(self.pointers.intersection(near))


def _names(*operands: Operand) -> tuple[str, ...]:
    """The registers, parameters and variables that are in operands."""
    return tuple(o.name for o in leaves(*operands) if isinstance(o, Register | Symbol))


def _makes_numbers(instruction: Instruction) -> bool:
    """Whether what it makes, if anything, is no address."""
    base, kind = instruction.parts[0], instruction.parts[-1]
    if base in _LOADS | _CHOICES or base == "call":
        return False
    return base in _COMPARISONS or kind in _FLOATS or not written_operands(instruction)

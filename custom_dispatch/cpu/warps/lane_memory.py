"""Loads and stores of a warp.

Where all lanes are active and their addresses are known to be neighbours, or few groups of
neighbours, whole vectors are moved (`warps/lane_parts.py`); otherwise lanes take turns,
in a function of their own that the kernel's accesses share. Of several lanes that store to one
place one wins; PTX leaves open which (PTX ISA 9.0, section 8, "Memory Consistency Model").
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from custom_dispatch.cpu.text.builder import (
    POINTER,
    FunctionBuilder,
    Given,
    bytes_of,
    function_text,
)
from custom_dispatch.cpu.text.control_structures import loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.warps.lane_builder import LaneBuilder
from custom_dispatch.cpu.warps.lane_names import vector_of
from custom_dispatch.cpu.warps.lane_parts import Part, load_parts, store_parts
from custom_dispatch.cpu.warps.lane_values import LANES, Value

MASK = "%mask"
"""The argument of a function of lanes that holds the active ones, an i32."""
_ADDRESSES, _VALUES = "%addresses", "%values"
_ARGUMENTS = ((MASK, "i32"), (_ADDRESSES, POINTER), (_VALUES, POINTER))


@contextmanager
def each_lane(b: LaneBuilder, mask: SsaValue) -> Iterator[SsaValue]:
    """Write code for every lane of a mask, an i32, by itself; gives the lane's number, an i32."""
    with b.scope(), loop(b.one, LANES) as lane, when(b.one, (mask >> lane).resize(1)):
        yield lane


def either(
    b: LaneBuilder,
    condition: str,
    yes: Callable[[], str],
    no: Callable[[], str],
    type_name: str = "",
) -> str:
    """Write code that goes one of two ways, by an i1; returns what came of it, if of a type."""
    there, elsewhere, after = (b.fresh_label(name) for name in ("one_way", "other_way", "either"))
    one = b.one
    result = b.fresh() if type_name else ""
    one.cond_branch(condition, there, elsewhere)
    for label, write in ((there, yes), (elsewhere, no)):
        one.block(label)
        with b.scope():
            value = write()
        one.branch(after, *([(value, type_name)] if type_name else []))
    one.block(after, *([(result, type_name)] if type_name else []))
    return result


class LaneMemory(LaneBuilder):
    """A builder whose loads and stores are those of the lanes that are active now."""

    def __init__(self, one: FunctionBuilder) -> None:
        super().__init__(one)
        self.mask = one.named("", "i32")
        """The active lanes."""
        self.full = ""
        """Whether they all are, an i1."""
        self.everyone = False
        """Whether they are known to be."""
        self._named: dict[tuple[object, ...], str] = {}
        self._places: dict[str, str] = {}

    def place(self, key: str, size: int) -> str:
        """Memory on the stack for 32 lanes of some bytes; the same for the same key."""
        if key not in self._places:
            count = self.number(1, 32)
            name = self.one.at_entry(
                f"llvm.alloca {count} x !llvm.array<{LANES * size} x i8> "
                f"{{alignment = 64 : i64}} : (i32) -> {POINTER}"
            )
            self._places[key] = name
        return self._places[key]

    def function(self, what: str, arguments: Sequence[tuple[str, str]], body: list[str]) -> str:
        """The name of a function with these arguments, as (name, type), and lines."""
        name = f"{self.one.symbol}.{what}"
        if name in self.one.functions:
            name += f".{len(self.one.functions)}"
        name = self._named.setdefault((*arguments, *body), name)
        lines = [*body, "    llvm.return"]
        self.one.functions[name] = function_text(name, arguments, lines, attribute="no_inline")
        return name

    def _load(self, pointer: str, type_name: str, align: int, how: str) -> str:
        align = align or bytes_of(type_name)
        one = self.one
        value = self.of(pointer)
        if value.is_uniform:
            scalar = self.scalar(pointer, POINTER)
            return one.load(scalar, type_name, align, how)
        parts = load_parts(value, bytes_of(type_name)) if value.base and not how else []

        def together() -> str:
            return self._load_together(value, parts, type_name, align)

        def in_turn() -> str:
            return self._load_in_turn(pointer, type_name, align, how)

        kind = vector_of(type_name)
        return self.lanes(self._one_way(value, parts, together, in_turn, kind))

    def store(
        self, value: Given, pointer: str, type_name: str = "i32", align: int = 0, how: str = ""
    ) -> None:
        value, align = self.typed(value, type_name), align or bytes_of(type_name)
        one = self.one
        place, what = self.of(pointer), self.of(value)
        if place.is_uniform:
            scalar, at = self._last(value, what, type_name), self.scalar(pointer, POINTER)
            one.store(scalar, at, type_name, align, how)
            return
        parts = store_parts(place, bytes_of(type_name)) if place.base and not how else []

        def together() -> str:
            self._store_together(value, place, parts, type_name, align)
            return ""

        def in_turn() -> str:
            self._store_in_turn(value, pointer, type_name, align, how)
            return ""

        self._one_way(place, parts, together, in_turn)

    # ---- inside

    def _one_way(
        self,
        place: Value,
        parts: list[Part],
        together: Callable[[], str],
        in_turn: Callable[[], str],
        type_name: str = "",
    ) -> str:
        """Go to memory together where all lanes are active and where they are expected."""
        if not parts:
            return in_turn()
        if not place.valid and self.everyone:
            return together()
        fast = self.full
        if place.valid:
            fast = self.one.binary("and", fast, place.valid, "i1")
        return either(self, fast, together, in_turn, type_name)

    def _last(self, name: str, value: Value, type_name: str) -> str:
        """What the last active lane holds."""
        one = self.one
        if value.is_uniform:
            return self.scalar(name, type_name)
        vector = self.vector(name, type_name)
        zeros = one.call_intrinsic("llvm.ctlz", [self.mask, 1], "i32", ["i32", "i1"])
        last = LANES - 1 - zeros
        return one.value(f"llvm.extractelement {vector}[{last} : i32] : {vector_of(type_name)}")

    def _load_together(self, place: Value, parts: list[Part], type_name: str, align: int) -> str:
        """A vector of 32 lanes, from the parts that hold them."""
        one = self.one
        result = ""
        for part in parts:
            pointer = self.lane_pointer(place, part.first)
            kind = f"vector<{part.width}x{type_name}>"
            vector: str = one.load(pointer, kind, align)
            if part.width != LANES or part.elements != tuple(range(LANES)):
                picked = ", ".join(str(max(element, 0)) for element in part.elements)
                vector = one.value(f"llvm.shufflevector {vector}, {vector} [{picked}] : {kind}")
            if result:
                chosen = ", ".join(
                    str(lane + LANES * (element >= 0)) for lane, element in enumerate(part.elements)
                )
                vector = one.value(
                    f"llvm.shufflevector {result}, {vector} [{chosen}] : {vector_of(type_name)}"
                )
            result = vector
        return result

    def _store_together(
        self, name: str, place: Value, parts: list[Part], type_name: str, align: int
    ) -> None:
        one = self.one
        vector = self.vector(name, type_name)
        for part in parts:
            pointer = self.lane_pointer(place, part.first)
            lanes = part.lanes()
            piece = vector
            if lanes != tuple(range(LANES)):
                picked = ", ".join(map(str, lanes))
                piece = one.value(
                    f"llvm.shufflevector {vector}, {vector} [{picked}] : {vector_of(type_name)}"
                )
            one.store(piece, pointer, f"vector<{part.width}x{type_name}>", align)

    def _addresses(self, pointer: str) -> str:
        """An array of the lanes' addresses."""
        one = self.one
        addresses = self.place("addresses", 8)
        vector = self.vector(pointer, POINTER)
        one.store(vector, addresses, vector_of("i64"), 64)
        return addresses

    def _load_in_turn(self, pointer: str, type_name: str, align: int, how: str) -> str:
        one = self.one
        size = bytes_of(type_name)
        with self.scope():
            addresses, loaded = self._addresses(pointer), self.place(f"loaded{size}", size)
            self._call("load", (addresses, loaded), type_name, align, how)
            return one.load(loaded, vector_of(type_name), 64)

    def _store_in_turn(
        self, value: str, pointer: str, type_name: str, align: int, how: str
    ) -> None:
        one = self.one
        size = bytes_of(type_name)
        with self.scope():
            addresses, stored = self._addresses(pointer), self.place(f"loaded{size}", size)
            vector = self.vector(value, type_name)
            one.store(vector, stored, vector_of(type_name), 64)
            self._call("store", (addresses, stored), type_name, align, how)

    def _call(
        self, what: str, arrays: tuple[str, str], type_name: str, align: int, how: str
    ) -> None:
        name = "_".join(part for part in (what, type_name, str(align), how) if part)
        name = self.function(name, _ARGUMENTS, _in_turn(what, type_name, align, how))
        self.one.call(name, [(self.mask, "i32"), *((array, POINTER) for array in arrays)])


@functools.cache
def _in_turn(what: str, type_name: str, align: int, how: str) -> list[str]:
    """The lines of a function in which each lane of a mask loads or stores by itself."""
    b = FunctionBuilder()
    size = bytes_of(type_name)
    with each_lane(LaneMemory(b), b.named(MASK, "i32")) as lane:
        place = b.load(b.element(_ADDRESSES, lane, 8), POINTER)
        part = b.element(_VALUES, lane, size)
        if what == "load":
            b.store(b.load(place, type_name, align, how), part, type_name, size)
        else:
            b.store(b.load(part, type_name, size), place, type_name, align, how)
    return [*b.entry_lines, *b.lines]

"""Names for what the lanes of a warp hold.

A `LaneNames` hands out names as a `Builder` does, but each stands for a `Value`: a scalar for all
lanes, a scalar with distances, or a vector. Vectors of values that are none are made where they are
needed, once in a basic block.
"""

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

from custom_dispatch.cpu.text.builder import POINTER, Builder, FunctionBuilder
from custom_dispatch.cpu.warps.lane_values import LANES, Distances, Lanes, Value, wrapped

_NAME: Final = re.compile(r"%[\w~]+")
_MOST_LATER: Final = 32
_Made = dict[tuple[str, str], str]


class NeedsLoopError(Exception):
    """What is written cannot be written for all lanes at once."""


@functools.cache
def vector_of(type_name: str) -> str:
    """The type of 32 lanes; of pointers, numbers are kept."""
    return f"vector<{LANES}x{'i64' if type_name == POINTER else type_name}>"


class LaneNames(Builder):
    """Collects the lines of a function that runs a warp.

    `one`: what writes for one thread into the same function: there, names are SSA names, and blocks
    may be written.
    """

    def __init__(self, one: FunctionBuilder) -> None:
        super().__init__()
        self.one = one
        self.processor = one.processor
        self._known: dict[str, Value] = {}
        self._ready: _Made = {}
        """What was made and can still be used."""
        self._distant = 0

    # ---- names and what they stand for

    def of(self, name: str) -> Value:
        """What a name stands for."""
        return self._known.get(name) or Value(name)

    def name(self, value: Value) -> str:
        """A name for a value."""
        if value.varying or (value.is_uniform and value.base):
            if value.varying or value.bounds is not None or value.multiple > 1:
                self._known[value.base] = value
            return value.base
        self._distant += 1
        name = f"%~{self._distant}"
        self._known[name] = value
        return name

    def scalar(self, name: str, type_name: str) -> str:
        """The SSA name of a uniform value."""
        value = self.of(name)
        if not value.is_uniform:
            raise NeedsLoopError
        return self.base(value, type_name)

    def base(self, value: Value, type_name: str) -> str:
        """The SSA name of a value's scalar."""
        if value.base:
            return value.base
        if type_name == POINTER:
            return self.one.shared(f"llvm.mlir.zero : {POINTER}")
        return self.number(value.known or 0, int(type_name[1:]))

    def number(self, value: int, bits: int) -> str:
        """The SSA name of a constant."""
        return self.one.const(value, bits)

    def vector(self, name: str, type_name: str) -> str:
        """The SSA name of a value's lanes as a vector; of pointers, as numbers."""
        value = self.of(name)
        if value.varying:
            return value.base
        key = (name, type_name)
        if key not in self._ready:
            self._ready[key] = self._as_vector(value, type_name)
        return self._ready[key]

    def _as_vector(self, value: Value, type_name: str) -> str:
        if type_name == POINTER:
            number = self.emit(f"llvm.ptrtoint {self.base(value, POINTER)} : {POINTER} to i64")
            return self._lanes(value, number, "i64")
        if value.is_known and type_name[0] == "i":
            return self.constants(value.constants(), type_name)
        return self._lanes(value, self.base(value, type_name), type_name)

    def _lanes(self, value: Value, scalar: str, type_name: str) -> str:
        vector = vector_of(type_name)
        lanes = self.splat(scalar, type_name)
        if value.distances:
            distances = self.constants(value.distances, type_name)
            lanes = self.emit(f"llvm.add {lanes}, {distances} : {vector}")
        if value.stride:
            stride = self.splat(value.stride, type_name)
            factors = self.constants(value.factors, type_name)
            product = self.emit(f"llvm.mul {stride}, {factors} : {vector}")
            lanes = self.emit(f"llvm.add {lanes}, {product} : {vector}")
        if value.valid and value.lanes is not None:
            true = value.lanes.write()
            lanes = self.emit(f"llvm.select {value.valid}, {lanes}, {true} : i1, {vector}")
        return lanes

    def later(self, names: tuple[str, ...], write: Callable[[], str]) -> Lanes:
        """A vector that is computed from those of names, written where it is needed.

        After many such operations it is written at once: in a kernel of thousands of statements
        each may be computed from the one before.
        """
        held = (self.of(name) for name in names)
        depth = 1 + max(v.lanes.depth if v.valid and v.lanes else 0 for v in held)
        if depth < _MOST_LATER:
            return Lanes(write, depth)
        vector = write()
        return Lanes(lambda: vector)

    def splat(self, scalar: str, type_name: str) -> str:
        """A vector of equal lanes."""
        vector = vector_of(type_name)
        poison = self.one.shared(f"llvm.mlir.poison : {vector}")
        zero = self.number(0, 32)
        one = self.emit(f"llvm.insertelement {scalar}, {poison}[{zero} : i32] : {vector}")
        lanes = ", ".join(["0"] * LANES)
        return self.emit(f"llvm.shufflevector {one}, {poison} [{lanes}] : {vector}")

    def constants(self, lanes: Distances, type_name: str) -> str:
        """A vector of integer constants."""
        return self.one.shared(_constants_text(lanes, type_name))

    def emit(self, text: str) -> str:
        """Write an operation with one result, all of whose names are SSA names."""
        return self.one.value(text)

    def varying(self, text: str) -> str:
        """Write an operation whose result is a vector."""
        return self.lanes(self.emit(text))

    def lanes(self, vector: str) -> str:
        """A name for lanes, from the SSA name of a vector of them."""
        return self.name(Value(vector, varying=True))

    def once(self, key: tuple[str, str], text: str) -> str:
        """An SSA value that is made once as long as it can be used."""
        if key not in self._ready:
            self._ready[key] = self.emit(text)
        return self._ready[key]

    def kept(self, key: tuple[str, str], name: str) -> None:
        """Let `once` give an SSA value that there is."""
        self._ready[key] = name

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Code that does not always run: what it makes cannot be used after it."""
        ready = self._ready
        self._ready = dict(ready)
        try:
            yield
        finally:
            self._ready = ready

    def checkpoint(self) -> tuple[_Made, int]:
        """What is known to be usable now, and how much it is, for `roll_back`."""
        return self._ready, len(self._ready)

    def roll_back(self, known: tuple[_Made, int]) -> None:
        """Forget what was made since a checkpoint, whose lines are taken away."""
        self._ready, count = known
        while len(self._ready) > count:
            self._ready.popitem()

    def forget(self) -> None:
        """Begin a block that others may lead to."""
        self._ready = {}

    def fresh(self) -> str:
        return self.one.fresh()

    def fresh_label(self, prefix: str) -> str:
        return self.one.fresh_label(prefix)

    # ---- what has no form for all lanes

    def _check(self, text: str) -> None:
        for name in _NAME.findall(text):
            value = self._known.get(name)
            if value is not None and (not value.is_uniform or value.base != name):
                raise NeedsLoopError

    def line(self, text: str) -> None:
        self._check(text)
        self.one.line(text)

    def value(self, text: str) -> str:
        self._check(text)
        return self.one.value(text)

    def _has_none(self, *_: object, **__: object) -> NoReturn:
        raise NeedsLoopError

    block = branch = cond_branch = _has_none


@functools.lru_cache(maxsize=1024)
def _constants_text(lanes: Distances, type_name: str) -> str:
    vector = vector_of(type_name)
    if type_name == "i1":
        listed = ", ".join("true" if lane & 1 else "false" for lane in lanes)
    else:
        listed = ", ".join(map(str, wrapped(lanes, int(type_name[1:]))))
    return f"llvm.mlir.constant(dense<[{listed}]> : {vector}) : {vector}"

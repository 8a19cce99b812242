"""Writing operations for all lanes of a warp at once.

A `LaneBuilder` takes the calls that a `Builder` takes for one thread, so that instruction lowerings
need not know. Where one writes what has no form for all lanes (a block of its own, an atomic
operation), `NeedsLoopError` says so, and the instruction is lowered once more in a loop over lanes
(`warps/lane_loop.py`).
"""

from collections.abc import Sequence
from typing import Final

from custom_dispatch.cpu.analysis.bounds import compared
from custom_dispatch.cpu.text.builder import POINTER, FunctionBuilder, LongFunction
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.warps.lane_distances import DistantBuilder
from custom_dispatch.cpu.warps.lane_names import vector_of
from custom_dispatch.cpu.warps.lane_values import Value, compare, from_constants, resized, signed

_IMMEDIATE: Final = frozenset({"llvm.ctlz", "llvm.cttz", "llvm.abs"})
"""Intrinsics whose last operand is a constant and stays a scalar."""
_NEUTRAL: Final = {"add": 0, "sub": 0, "or": 0, "xor": 0, "shl": 0, "lshr": 0, "ashr": 0, "mul": 1}
"""The right operands with which an operation gives the left one."""
_SYMMETRIC: Final = frozenset({"add", "or", "xor", "mul"})
_GREATER: Final = {"llvm.smax": "sge", "llvm.smin": "sle", "llvm.umax": "uge", "llvm.umin": "ule"}
"""How the first operand compares where it is the result."""


class LaneBuilder(DistantBuilder):
    """Collects the lines of a function that runs a warp, but for loads and stores."""

    def _const(self, value: int, bits: int) -> str:
        return self.name(Value("", known=signed(value, bits)))

    def _float_const(self, value: float, type_name: str) -> str:
        return self.one.float_const(value, type_name)

    def _binary(self, operation: str, a: str, b: str, type_name: str) -> str:
        x, y = self.of(a), self.of(b)
        if operation in _NEUTRAL and y.is_uniform and y.known == _NEUTRAL[operation]:
            return a
        if operation in _SYMMETRIC and x.is_uniform and x.known == _NEUTRAL[operation]:
            return b
        if not x.varying and not y.varying and type_name[0] == "i":
            found = self.combine(operation, (a, x), (b, y), int(type_name[1:]))
            if found is not None:
                return self.name(found)
        (left, right), kind = self._operands((a, b), type_name)
        return self._made(self.one.binary(operation, left, right, kind), kind)

    def _operands(
        self, names: Sequence[str], type_name: str, *, wide: bool = False
    ) -> tuple[list[str], str]:
        """Operands as scalars, where all of them are uniform, or as vectors; and their type.

        `wide`: whether they are to be vectors in any case.
        """
        values = [self.of(name) for name in names]
        if not wide and all(value.is_uniform for value in values):
            return [self.base(value, type_name) for value in values], type_name
        return [self.vector(name, type_name) for name in names], vector_of(type_name)

    def _made(self, result: str, kind: str) -> str:
        """The name of a result that was written for operands of a type."""
        return self.lanes(result) if kind.startswith("vector") else result

    def _negate(self, a: str, type_name: str) -> str:
        (number,), kind = self._operands((a,), type_name)
        return self._made(self.one.negate(number, kind), kind)

    def _compare(self, operation: str, condition: str, a: str, b: str, type_name: str) -> str:
        x, y = self.of(a), self.of(b)
        if operation == "icmp" and type_name not in ("i1", POINTER):
            bits = int(type_name[1:])
            if x.is_known and y.is_known:
                lanes = compare(condition, x.constants(), y.constants(), bits)
                return self.name(from_constants(lanes, 1))
            holds = compared(condition, x.lane_bounds(bits), y.lane_bounds(bits))
            if holds is not None:
                return self._const(holds, 1)
        (left, right), kind = self._operands((a, b), type_name)
        return self._made(self.one._compare(operation, condition, left, right, kind), kind)

    def _select(self, condition: str, a: str, b: str, type_name: str) -> str:
        c, x, y = self.of(condition), self.of(a), self.of(b)
        if c.is_uniform and c.known is not None:
            return a if c.known & 1 else b
        if c.is_known and x.is_known and y.is_known and type_name[0] == "i":
            chosen = zip(c.constants(), x.constants(), y.constants(), strict=True)
            lanes = tuple(p if which & 1 else q for which, p, q in chosen)
            return self.name(from_constants(lanes, int(type_name[1:])))
        (yes, no), kind = self._operands((a, b), type_name, wide=not c.is_uniform)
        (by,), how = self._operands((condition,), "i1")
        return self._made(self.emit(f"llvm.select {by}, {yes}, {no} : {how}, {kind}"), kind)

    def _cast(self, operation: str, a: str, source: str, target: str) -> str:
        x = self.of(a)
        if operation == "bitcast":
            return self._bitcast(a, x, source, target)
        if x.varying and POINTER in (source, target):
            return a  # lanes of pointers are kept as numbers
        if not x.varying:
            if operation in ("zext", "sext", "trunc") and x.is_known:
                return self.name(resized(operation, x, int(source[1:]), int(target[1:])))
            if x.is_uniform and operation in ("zext", "sext", "trunc"):
                return self.name(self.of_scalar(operation, x, source, target))
            if x.is_uniform:
                return self.emit(f"llvm.{operation} {self.base(x, source)} : {source} to {target}")
            if operation in ("zext", "sext"):
                return self.name(self.extended(operation, a, x, source, target))
            if operation in ("ptrtoint", "inttoptr") or (operation == "trunc" and target != "i1"):
                return self.name(self.converted(operation, a, x, source, target))
        vector = self.vector(a, source)
        kinds = f"{vector_of(source)} to {vector_of(target)}"
        return self.varying(f"llvm.{operation} {vector} : {kinds}")

    def _bitcast(self, a: str, x: Value, source: str, target: str) -> str:
        """The same bits as another type: written once, and not to come back to what they were."""
        held = self.base(x, source) if x.is_uniform else self.vector(a, source)
        kinds = (source, target) if x.is_uniform else (vector_of(source), vector_of(target))
        made = self.one.cast_from.get((held, target))
        if made is None:
            made = self.once(
                (f"bitcast to {target}", held), f"llvm.bitcast {held} : {kinds[0]} to {kinds[1]}"
            )
            self.one.cast_from[(made, source)] = held
        return made if x.is_uniform else self.lanes(made)

    def _call_intrinsic(
        self, name: str, arguments: Sequence[str], result: str, types: Sequence[str]
    ) -> str:
        values = [self.of(argument) for argument in arguments]
        if name in _GREATER:
            bounds = [value.lane_bounds(int(result[1:])) for value in values]
            first = compared(_GREATER[name], bounds[0], bounds[1])
            if first is not None:
                return arguments[0 if first else 1]
        count = len(values) - (name in _IMMEDIATE)
        names, kind = self._operands(arguments[:count], result)
        kinds = [kind] * count
        if count < len(values):
            names.append(self.base(values[count], types[count]))
            kinds.append(types[count])
        return self._made(self.one.call_intrinsic(name, names, kind, kinds), kind)

    def long_function(self, what: str, arguments: list[SsaValue], write: LongFunction) -> SsaValue:
        if not self.one.symbol:
            return write(arguments)
        one, type_name = self.one, arguments[0].type
        if all(self.of(argument).is_uniform for argument in arguments):
            scalars = [one.named(self.scalar(value, type_name), type_name) for value in arguments]
            return self.named(one.long_function(what, scalars, write), type_name)
        kind = vector_of(type_name)
        vectors = [one.named(self.vector(value, type_name), kind) for value in arguments]

        def lanes(given: list[SsaValue]) -> SsaValue:
            body = given[0].b
            assert isinstance(body, FunctionBuilder)  # noqa: S101 - which `one` makes
            builder = type(self)(body)
            names = [builder.lanes(name) for name in given]
            result = write([builder.named(name, type_name) for name in names])
            return body.named(builder.vector(result, type_name), kind)

        made = one.long_function(f"{what}.lanes", vectors, lanes)
        return self.named(self.lanes(made), type_name)

    def _offset(self, pointer: str, offset: int | str) -> str:
        if isinstance(offset, int):
            offset = self.name(Value("", known=offset))
        return self.name(self.moved(pointer, offset))

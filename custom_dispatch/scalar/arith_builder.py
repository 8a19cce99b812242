"""Writing operations of MLIR's `arith` and `math` dialects, which every backend of IREE takes."""

from collections.abc import Sequence
from typing import Final

from custom_dispatch.cpu.text.builder import FunctionBuilder, float_literal, integer_literal
from custom_dispatch.cpu.text.ssa_value import SsaValue

_BINARY: Final = {
    **{f"f{name}": f"{name}f" for name in ("add", "sub", "mul", "div", "rem")},
    **{name: f"{name}i" for name in ("add", "sub", "mul", "and", "or", "xor")},
    **{f"{sign}{name}": f"{name}{sign}i" for sign in "su" for name in ("div", "rem")},
    "shl": "shli",
    "lshr": "shrui",
    "ashr": "shrsi",
}
"""What `arith` calls LLVM's operations."""
_CASTS: Final = {
    "zext": "extui",
    "sext": "extsi",
    "trunc": "trunci",
    "fpext": "extf",
    "fptrunc": "truncf",
}
"""The same of conversions; the others are called the same."""
_INTRINSICS: Final = {
    "fma": "math.fma",
    "fabs": "math.absf",
    "sqrt": "math.sqrt",
    "copysign": "math.copysign",
    "minimumnum": "arith.minnumf",
    "maximumnum": "arith.maxnumf",
    "minimum": "arith.minimumf",
    "maximum": "arith.maximumf",
    "ctpop": "math.ctpop",
    "ctlz": "math.ctlz",
    **{f"{sign}{name}": f"arith.{name}{sign}i" for sign in "su" for name in ("min", "max")},
}


class ArithBuilder(FunctionBuilder):
    """Collects the lines of a body of numbers: no memory, no branches."""

    def _const(self, value: int, bits: int) -> str:
        return self.shared(f"arith.constant {integer_literal(value, bits)}")

    def _float_const(self, value: float, type_name: str) -> str:
        return self.shared(f"arith.constant {float_literal(value, type_name)}")

    def _binary(self, operation: str, a: str, b: str, type_name: str) -> str:
        return self.value(f"arith.{_BINARY[operation]} {a}, {b} : {type_name}")

    def _compare(self, operation: str, condition: str, a: str, b: str, type_name: str) -> str:
        return self.value(f"arith.cmp{operation[0]} {condition}, {a}, {b} : {type_name}")

    def _negate(self, a: str, type_name: str) -> str:
        return self.value(f"arith.negf {a} : {type_name}")

    def _select(self, condition: str, a: str, b: str, type_name: str) -> str:
        return self.value(f"arith.select {condition}, {a}, {b} : {type_name}")

    def _cast_text(self, operation: str, a: str, source: str, target: str) -> str:
        return f"arith.{_CASTS.get(operation, operation)} {a} : {source} to {target}"

    def _call_intrinsic(
        self, name: str, arguments: Sequence[str], result: str, types: Sequence[str]
    ) -> str:
        name = name.removeprefix("llvm.")
        given = [self.named(*pair) for pair in zip(arguments, types, strict=True)]
        match name:
            case (
                "arithmetic.fence"
            ):  # has no form here: IREE's backends may fuse what it kept apart
                return arguments[0]
            case "bitreverse":
                return _reversed(given[0])
            case "sadd.sat" | "ssub.sat":
                return _saturated(name[1:4], *given)
            case "ctlz":
                arguments = arguments[:1]
        return self.value(f"{_INTRINSICS[name]} {', '.join(arguments)} : {result}")


def _reversed(value: SsaValue) -> SsaValue:
    """An integer with its bits in the other order: neighbours change places, then pairs, ..."""
    width = 1
    while width < value.bits:
        ones = (1 << width) - 1
        low = sum(ones << place for place in range(0, value.bits, 2 * width))
        value = (value & low) << width | value >> width & low
        width *= 2
    return value


def _saturated(operation: str, x: SsaValue, y: SsaValue) -> SsaValue:
    """A sum or difference of signed integers, or the nearest that their type holds."""
    bits = x.bits
    wide = [value.resize(2 * bits, signed=True) for value in (x, y)]
    value = x.b.binary(operation, wide[0], wide[1], f"i{2 * bits}")
    value = value.call("smax", -(1 << (bits - 1))).call("smin", (1 << (bits - 1)) - 1)
    return value.resize(bits)

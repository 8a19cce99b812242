"""Dim expressions as index arithmetic, with the checks that make it mean the same.

IR's index arithmetic wraps and its division is undefined for zero, where
`kernel.evaluation.evaluate` refuses. So each subtraction and division brings a check of its
operands, which a wrapper emits before it uses the result. In a workgroup count region nothing can
fail: there the wrapper has already checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from custom_dispatch.ir.emitter import Emitter
from custom_dispatch.kernel.evaluation import dims_of, evaluate, holds, uses_device
from custom_dispatch.kernel.expr import Binary, ComputeCapability, Condition, Dim, Expr, Where

_OPERATIONS = {
    "+": "arith.addi",
    "-": "arith.subi",
    "*": "arith.muli",
    "//": "arith.divui",
    "%": "arith.remui",
    "ceildiv": "arith.ceildivui",
    "minimum": "arith.minui",
    "maximum": "arith.maxui",
}
_PREDICATES = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "eq", "!=": "ne"}


@dataclass(frozen=True, slots=True)
class Check:
    """A condition (an i1 value) that must hold, and what to say when it does not."""

    holds: str
    message: str


@dataclass(slots=True, eq=False)
class Arithmetic:
    """Translates expressions into one block."""

    block: Emitter
    """Where operations go."""
    dims: Mapping[str, str | int]
    """The value of every dim, by name: an integer where it is known, else an index value."""
    device: str | None = None
    """The `!hal.device` value that answers questions about the device; without it the function's
    own device is asked."""
    checks: list[Check] = field(default_factory=list)
    """What has to hold for the values to mean the same."""

    def known(self, expr: Expr) -> int | None:
        """The value of an expression, where every dim in it is known."""
        if uses_device(expr):
            return None
        dims = {dim.name: self.dims[dim.name] for dim in dims_of(expr)}
        numbers = {name: value for name, value in dims.items() if isinstance(value, int)}
        return evaluate(expr, numbers) if len(numbers) == len(dims) else None

    def value(self, expr: Expr) -> str:
        """The index value of an expression."""
        known = self.known(expr)
        if known is not None:
            return self.block.index(known)
        match expr:
            case Dim(name):
                return str(self.dims[name])
            case ComputeCapability():
                return self._capability()
            case Where(condition, if_true, if_false):
                return self._where(condition, if_true, if_false)
            case Binary(operator, left_expr, right_expr):
                left, right = self.value(left_expr), self.value(right_expr)
                right = self._checked(operator, expr, left, right, self.known(right_expr))
                value = self.block.pure(f"{_OPERATIONS[operator]} {left}, {right} : index")
                self._check_overflow(operator, expr, left, right, value)
                return value
            case _:  # pragma: no cover - every kind of expression is above
                raise TypeError(f"not an expression: {expr!r}")

    def _checked(
        self, operator: str, expr: Expr, left: str, right: str, known_right: int | None
    ) -> str:
        """Add an operator's check; return the right operand to use."""
        if operator == "-":
            holds = self.block.pure(f"arith.cmpi uge, {left}, {right} : index")
            self.checks.append(Check(holds, f"{expr} is negative"))
        elif operator in ("//", "%", "ceildiv") and known_right is None:
            zero = self.block.index(0)
            holds = self.block.pure(f"arith.cmpi ne, {right}, {zero} : index")
            self.checks.append(Check(holds, f"{expr} divides by zero"))
            # The division stands before the check that stops it, and must not trap itself.
            return self.block.pure(f"arith.maxui {right}, {self.block.index(1)} : index")
        return right

    def _check_overflow(self, operator: str, expr: Expr, left: str, right: str, value: str) -> None:
        """Sums and products stay what they are in Python: sizes below 2**63."""
        if operator == "+":
            holds = self.block.pure(f"arith.cmpi uge, {value}, {left} : index")
        elif operator == "*":
            # value / left == right, for a left that is not zero
            one = self.block.index(1)
            divisor = self.block.pure(f"arith.maxui {left}, {one} : index")
            back = self.block.pure(f"arith.divui {value}, {divisor} : index")
            same = self.block.pure(f"arith.cmpi eq, {back}, {right} : index")
            empty = self.block.pure(f"arith.cmpi eq, {left}, {self.block.index(0)} : index")
            holds = self.block.pure(f"arith.ori {same}, {empty} : i1")
        else:
            return
        most = self.block.index(2**63 - 1)
        within = self.block.pure(f"arith.cmpi ule, {value}, {most} : index")
        both = self.block.pure(f"arith.andi {holds}, {within} : i1")
        self.checks.append(Check(both, f"{expr} is over 2**63 - 1"))

    def _where(self, condition: Condition, if_true: Expr, if_false: Expr) -> str:
        chosen = self.holds(condition)
        true_bit = self.block.pure("arith.constant true", "true")
        other = self.block.pure(f"arith.xori {chosen}, {true_bit} : i1")
        values = []
        for side, not_taken in ((if_true, other), (if_false, chosen)):
            start = len(self.checks)
            values.append(self.value(side))
            # What a side needs matters only when that side is taken.
            self.checks[start:] = [
                Check(self.block.pure(f"arith.ori {check.holds}, {not_taken} : i1"), check.message)
                for check in self.checks[start:]
            ]
        return self.block.pure(f"arith.select {chosen}, {values[0]}, {values[1]} : index")

    def known_to_hold(self, condition: Condition) -> bool | None:
        """Whether a condition holds, where every dim in it is known."""
        if uses_device(condition.left) or uses_device(condition.right):
            return None
        if self.known(condition.left) is None or self.known(condition.right) is None:
            return None
        numbers = {name: value for name, value in self.dims.items() if isinstance(value, int)}
        return holds(condition, numbers)

    def holds(self, condition: Condition) -> str:
        """Whether a condition holds, as an i1."""
        left, right = self.value(condition.left), self.value(condition.right)
        predicate = _PREDICATES[condition.operator]
        return self.block.pure(f"arith.cmpi {predicate}, {left}, {right} : index")

    def _capability(self) -> str:
        if self.device is None:
            self.device = self.block.pure("hal.device.resolve : !hal.device", "device")
        number = capability(self.block, self.device)
        return self.block.pure(f"arith.index_castui {number} : i32 to index", "capability")


def capability(block: Emitter, device: str) -> str:
    """An i32: the device's compute capability as major * 10 + minor; 0 where there is none."""
    parts = []
    for part in ("major", "minor"):
        value = block.fresh(part)
        found = block.fresh(f"has_{part}")
        block.line(
            f"{found}, {value} = hal.device.query<{device} : !hal.device> "
            f'key("cuda.device" :: "compute_capability_{part}") : i1, i32 = 0 : i32'
        )
        parts.append(value)
    tens = block.pure(f"arith.muli {parts[0]}, {block.i32(10)} : i32")
    return block.pure(f"arith.addi {tens}, {parts[1]} : i32", "cc")


def any_filled(body: Emitter, tensors: Sequence[Sequence[str]]) -> str:
    """Whether a tensor has elements, an i1: one whose sizes, index values, are all above 0.

    `tensors`: the sizes of each. Those that are known to be above 0 may be left out.
    """
    zero = body.index(0)

    def is_filled(sizes: Sequence[str]) -> str:
        positive = (body.pure(f"arith.cmpi ne, {size}, {zero} : index") for size in sizes)
        return body.joined("arith.andi", positive, "i1") or body.pure("arith.constant true", "true")

    return body.joined("arith.ori", map(is_filled, tensors), "i1")

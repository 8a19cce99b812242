"""Whether a kernel takes the sizes of a place that computes what it does."""

import inspect
from collections.abc import Callable, Sequence

from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.ir.tensor_types import Signature
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.expr import Binary, Condition, Dim, Where
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.kernel.shapes import Shapes
from custom_dispatch.kernel.size_arithmetic import compared
from custom_dispatch.link.call_site import CallSite
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.match.polynomial import Polynomial
from custom_dispatch.match.sizes import OF_SIZES, extents_of
from custom_dispatch.match.state import Match
from custom_dispatch.match.types import as_the_kernels


def signature_of(match: Match) -> Signature:
    """The type of the function that a place calls.

    What a kernel requires of sizes has to be known to hold: the model computes something for the
    others, too.
    """
    pattern = match.example.pattern
    kernel = pattern.kernel
    operands = [
        None
        if (value := match.operands.get(item.name)) is None
        else builtin_type(as_the_kernels(value.type, pattern.axes.get(item.name)))
        for item in kernel.arguments
    ]
    results = [
        builtin_type(as_the_kernels(value.type, pattern.axes.get(item.name)))
        for item, value in zip(kernel.outputs, match.results, strict=True)
    ]
    site = CallSite("the place", kernel)
    site.types(operands, results)  # or its error, which says more than sizes do
    known = KnownSizes(kernel, is_strict=str(match.results[0].type).startswith("!torch."))
    try:
        known.bind_place(match)
        signature = site.fit(operands, results, as_called=isinstance(pattern.item, Choice))
        unknown = [condition for condition in kernel.requires if not known.holds(condition)]
    except (CallError, DeclarationError) as error:
        raise LinkError(error.found.removeprefix(f"Kernel `{kernel.name}`: ")) from None
    if unknown:
        listed = " and ".join(map(str, unknown))
        raise LinkError(f"the kernel requires {listed}, which is not known to hold")
    return signature


def is_profitable(match: Match) -> bool:
    """Whether a kernel that fits a place is faster there than IREE, as far as sizes are known."""
    pattern = match.example.pattern
    if not pattern.only:
        return True
    known = KnownSizes(pattern.kernel, is_strict=False)
    known.bind_place(match)
    try:
        return all(known.holds(condition) is not False for condition in pattern.only)
    except (CallError, KeyError):  # one of the sizes is not known
        return True


def number_for(match: Match, name: str, function: Callable[..., float]) -> float:
    """What a pattern has for a scalar that follows from sizes or numbers of a place."""
    known = KnownSizes(match.example.pattern.kernel, is_strict=False)
    try:
        known.bind_place(match)
    except CallError as error:
        raise LinkError(error.found) from None
    dims = {}
    for parameter in inspect.signature(function).parameters:
        if parameter in match.scalars:
            dims[parameter] = match.scalars[parameter]
            continue
        size = Polynomial.of(known.value(Dim(parameter))).number
        if size is None:
            raise LinkError(f"`{name}` follows from `{parameter}`, which is not known")
        dims[parameter] = size
    return function(**dims)


class KnownSizes(Shapes[Polynomial]):
    """What is known of a kernel's dims in a place of a model.

    `is_strict`: whether sizes that the kernel takes for one have to be known to be the same. In the
    torch dialect they may differ, and what is computed is broadcast then; in linalg and StableHLO
    no valid program has others.
    """

    def __init__(self, kernel: Kernel, *, is_strict: bool) -> None:
        super().__init__(kernel)
        self._is_strict = is_strict

    def bind_place(self, match: Match) -> None:
        """Take the sizes of the operands."""
        axes = {name: match.example.pattern.axes.get(name) for name in match.operands}
        shapes = {
            item.name: _in_order(extents_of(value), axes[item.name])
            for item in self.kernel.inputs
            if isinstance(item, Buffer) and (value := match.operands.get(item.name)) is not None
        }
        self.bind(shapes)
        if not self._is_strict:
            return
        for (name, shape), value in zip(self.results().items(), match.results, strict=True):
            found = _in_order(extents_of(value), match.example.pattern.axes.get(name))
            for axis, (wanted, size) in enumerate(zip(shape, found, strict=True)):
                self.same(wanted, size, f"`{name}`.shape[{axis}] is not that of the kernel")

    def holds(self, condition: Condition) -> bool | None:
        """Whether a condition is known to hold; None where nobody knows."""
        left, right = self.sides(condition)
        difference = Polynomial.of(left) - right
        if difference.number is not None:
            return compared(condition.operator, difference.number, 0)
        for sign in (1, -1):
            least = (difference * sign).least
            if least is None or least < 0:
                continue
            possible = {compared(condition.operator, sign, 0)}
            if not least:
                possible.add(compared(condition.operator, 0, 0))
            if len(possible) == 1:
                return possible.pop()
        return None

    def same(self, known: Polynomial, found: Polynomial, problem: str) -> Polynomial:
        """Two sizes that have to be the same, as one; raises CallError where they may differ."""
        if self._is_strict and known != found:
            numbers = (Polynomial.of(size).number for size in (known, found))
            said = f"{problem}: {known} and {found}"
            raise CallError(said if None not in numbers else f"{said}, as far as is known")
        return found if Polynomial.of(found).number is not None else known

    def computed(
        self, expr: Binary, left: Polynomial, right: Polynomial, *, checked: bool
    ) -> Polynomial:
        """An operator's result."""
        del checked  # the call checks what comes out
        return OF_SIZES[expr.operator](Polynomial.of(left), Polynomial.of(right))

    def chosen(self, expr: Where) -> Polynomial:
        """One of two sizes; raises CallError where nobody knows which."""
        holds = self.holds(expr.condition)
        if holds is None:
            raise CallError(f"{expr} is not known.")
        return Polynomial.of(self.value(expr.if_true if holds else expr.if_false))


def _in_order(sizes: Sequence[Polynomial], axes: Sequence[int] | None) -> tuple[Polynomial, ...]:
    """Sizes in the kernel's order of axes."""
    if axes is None:
        return tuple(sizes)
    return tuple(sizes[list(axes).index(axis)] for axis in range(len(axes)))

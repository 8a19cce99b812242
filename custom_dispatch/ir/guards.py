"""Guards: what has to hold for a call of a kernel, which otherwise fails with a message.

What is known when a model is compiled is decided then. The rest becomes `util.status.check_ok`
inside a branch, since `cf.assert` is stripped by an option
(docs/decisions/0004-wrappers-and-guards.md).

A call has to fit them all, whichever variant runs: so what is refused is the same everywhere, and a
module that is compiled for one more target takes no calls less.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from custom_dispatch.errors import CallError, LinkError
from custom_dispatch.ir.dispatch import Tensor
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.index_arithmetic import Arithmetic, Check
from custom_dispatch.ir.tensor_types import batch_of
from custom_dispatch.kernel.evaluation import dims_of, for_values
from custom_dispatch.kernel.expr import Dim, Expr
from custom_dispatch.kernel.geometry import MAX_GRID, Grid
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, InOut
from custom_dispatch.kernel.shapes import Shapes, declared_shapes

INVALID_ARGUMENT = 3
"""IREE_STATUSINVALID_ARGUMENT (iree/base/status.h)."""


class Guards(Shapes[Any]):
    """What is known of a kernel's dims where its function is called, and guards of the rest.

    Sizes are numbers, or index values.

    - `body`: where to write.
    - `absent`: says of an operand whether it is absent: known, or an i1 value.
    - `written`: whether guards are written; where not, only what is known now is refused.
    """

    def __init__(
        self,
        kernel: Kernel,
        body: Emitter,
        absent: Callable[[Buffer], str | bool],
        *,
        written: bool,
    ) -> None:
        super().__init__(kernel)
        self.body = body
        self.arithmetic = Arithmetic(body, self.dims)
        self.only_if = ""
        """An i1 value, where they matter only if it is true."""
        self._absent = absent
        self._written = written
        self._gathered: list[Check] | None = None

    @contextmanager
    def gathered(self) -> Iterator[list[Check]]:
        """Gather the conditions, and write no guard."""
        self._gathered = []
        try:
            yield self._gathered
        finally:
            self._gathered = None

    def add(self, check: Check) -> None:
        """Let a call fail where a condition does not hold."""
        if self._gathered is not None:
            self._gathered.append(check)
        else:
            self.write(check, f"kernel `{self.kernel.name}`")

    def write(self, check: Check, who: str, *, always: bool = False) -> None:
        """Write a guard, whether others are gathered or not.

        - `who`: what the message begins with.
        - `always`: whether it has to hold also where the kernel does not run.
        """
        if not self._written:
            return
        true = self.body.pure("arith.constant true", "true")
        fails = self.body.pure(f"arith.xori {check.holds}, {true} : i1")
        if self.only_if and not always:
            fails = self.body.pure(f"arith.andi {fails}, {self.only_if} : i1")
        message = quote(f"{who}: {check.message}")
        inner = self.body.nested()
        status = inner.i32(INVALID_ARGUMENT)
        inner.line(f"util.status.check_ok {status}, {message}")
        self.body.put(f"scf.if {fails}", inner)

    def value(self, expr: Expr, *, checked: bool = True) -> str:
        """An expression's value, with guards of what its arithmetic takes for granted."""
        del checked  # all is
        value = self.arithmetic.value(expr)
        self._settle()
        return value

    def _settle(self) -> None:
        for check in self.arithmetic.checks:
            self.add(check)
        self.arithmetic.checks.clear()

    def same(self, known: str | int, found: str | int | None, problem: str) -> str | int:
        """Two sizes as one: the number, if one is. None is that of a result that follows."""
        unless = self._absent(self.reading)
        if found is None:
            return known
        self._compare(known, found, problem, unless)
        return found if isinstance(found, int) and not unless else known

    def same_leading(self, operand: Buffer, found: tuple[Any, ...]) -> tuple[Any, ...]:
        """The leading dims, which have to be the same in an operand."""
        try:
            return super().same_leading(operand, found)
        except CallError as error:
            step = "correct the types in the model, or broadcast there."
            raise error.saying(error.found, step, kind=LinkError) from None

    def product(self, sizes: Sequence[str | int]) -> str | int:
        """Leading dims as one."""
        return batch_of(self.body, sizes)

    def fit(self, operand: Buffer, axis: int, expr: Expr, size: str | int) -> None:
        """Require a size to be what it is declared as."""
        what = f"`{operand.name}`.shape[{axis}]"
        wanted = self.arithmetic.known(expr)
        problem = f"{expr} and {what} differ"
        if isinstance(expr, Dim):
            problem = f"{self.sources[expr.name]} and {what} disagree on dim {expr}"
        value = self.arithmetic.value(expr) if wanted is None else wanted
        self._compare(value, size, problem, self._absent(operand))

    def _compare(
        self, known: str | int, found: str | int, problem: str, unless: str | bool
    ) -> None:
        """Require two sizes to be the same.

        `unless`: what makes it hold all the same: known, or an i1 value.
        """
        if unless is True or known == found:
            return
        if isinstance(known, int) and isinstance(found, int) and not unless:
            raise LinkError(
                f"Kernel `{self.kernel.name}`: {problem}: {known} and {found}.",
                expected=f"sizes that agree: {declared_shapes(self.kernel)}",
                next_step="correct the sizes in the model's types, or broadcast there.",
            )
        left, right = (
            self.body.index(size) if isinstance(size, int) else size for size in (found, known)
        )
        if left == right:
            return
        holds = self.body.pure(f"arith.cmpi eq, {left}, {right} : index")
        if unless:
            holds = self.body.pure(f"arith.ori {holds}, {unless} : i1")
        self.add(Check(holds, f"{problem}: declared are {declared_shapes(self.kernel)}"))

    def require_within(self, expr: Expr, most: int, message: str, next_step: str) -> str:
        """Require an expression to be no more than a number; return its value.

        `message`: what is wrong where it is more.
        """
        known = self.arithmetic.known(expr)
        if known is not None and known > most:
            raise LinkError(
                f"Kernel `{self.kernel.name}`: {message}: it is {known} for the model's sizes.",
                expected=f"at most {most}",
                next_step=next_step,
            )
        value = self.value(expr)
        if known is None:
            holds = self.body.pure(f"arith.cmpi ule, {value}, {self.body.index(most)} : index")
            self.add(Check(holds, message))
        return value

    def require(self) -> None:
        """Require what the kernel requires."""
        for condition in self.kernel.requires:
            names = dims_of(condition.left, condition.right)
            known = self.arithmetic.known_to_hold(condition)
            if known is False:
                values = {dim.name: cast(int, self.dims[dim.name]) for dim in names}
                raise LinkError(
                    f"Kernel `{self.kernel.name}` requires {condition}, which does not hold"
                    f"{for_values(condition, values)}, as the model's sizes are.",
                    expected=comma(map(str, self.kernel.requires)),
                    next_step="use other sizes, or put a kernel that takes these beside it, in a "
                    "cd.Choice.",
                )
            if known is None:
                holds = self.arithmetic.holds(condition)
                self._settle()
                where = comma(f"{dim} is {self.sources[dim.name]}" for dim in names)
                self.add(Check(holds, f"{condition} is required, and does not hold: {where}"))


Outputs = Sequence[tuple[Buffer, Tensor]]


def check_grids(outputs: Outputs, guards: Guards) -> dict[Kernel, str]:
    """Check every grid that a kernel has on some target; return the x size of each of its forms.

    - `outputs`: the results, which nothing would write where nothing is launched.
    - `guards`: what lets a call fail.
    """
    found: dict[Kernel, str] = {}
    for form in guards.kernel.forms:
        pairs = ((other, zip(form.grid, other.grid, strict=True)) for other in found)
        same = next((other for other, sizes in pairs if all(a.is_same(b) for a, b in sizes)), None)
        found[form] = _check_grid(form.grid, outputs, guards) if same is None else found[same]
        _check_clusters(form, guards)
    return found


def _check_grid(exprs: Grid, outputs: Outputs, guards: Guards) -> str:
    """Check one grid; return its x size."""
    known = [guards.arithmetic.known(size) for size in exprs]
    grid = []
    for axis, limit, expr in zip("xyz", MAX_GRID, exprs, strict=True):
        message = f"grid.{axis} = {expr} is over CUDA's limit of {limit}"
        step = "use a larger block, or smaller tensors."
        grid.append(guards.require_within(expr, limit, message, step))
    zero = guards.body.index(0)
    positive = (
        guards.body.pure(f"arith.cmpi ugt, {value}, {zero} : index")
        for size, value in zip(known, grid, strict=True)
        if not size
    )
    runs = guards.body.joined("arith.andi", positive, "i1")
    if runs:
        _nothing_unwritten(runs, outputs, guards)
    return grid[0]


def _check_clusters(form: Kernel, guards: Guards) -> None:
    """Require a grid of whole clusters, which CUDA refuses to launch otherwise."""
    for axis, expr, blocks in zip("xyz", form.grid, form.cluster or (), strict=False):
        known = guards.arithmetic.known(expr)
        if blocks == 1 or (known is not None and known % blocks == 0):
            continue
        if known is not None:
            raise LinkError(
                f"Kernel `{guards.kernel.name}`: grid.{axis} = {expr} is {known} for the "
                f"model's sizes, and a cluster has {blocks} blocks in {axis}.",
                expected=f"a multiple of {blocks}",
                next_step="use other sizes, or declare a grid of whole clusters.",
            )
        value = guards.arithmetic.value(expr)
        guards.arithmetic.checks.clear()  # they were made with the grid's
        rest = guards.body.pure(f"arith.remui {value}, {guards.body.index(blocks)} : index")
        holds = guards.body.pure(f"arith.cmpi eq, {rest}, {guards.body.index(0)} : index")
        message = f"grid.{axis} = {expr} is no multiple of the cluster's {blocks} blocks"
        guards.add(Check(holds, message))


def _nothing_unwritten(runs: str, outputs: Outputs, guards: Guards) -> None:
    """Without a launch nothing writes an Out, so it must have no elements."""
    for operand, result in outputs:
        if isinstance(operand, InOut):
            continue
        holds = runs
        zero = guards.body.index(0)
        for size in result.sizes:
            value = guards.body.index(size) if isinstance(size, int) else size
            empty = guards.body.pure(f"arith.cmpi eq, {value}, {zero} : index")
            holds = guards.body.pure(f"arith.ori {holds}, {empty} : i1")
        message = f"the grid is empty, so nothing would write `{operand.name}`"
        guards.add(Check(holds, f"{message}, which has elements"))

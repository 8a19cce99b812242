"""Guards: what has to hold for a call of a kernel, which otherwise fails with a message.

What is known when a model is compiled is decided then. The rest becomes `util.status.check_ok`
inside a branch, since `cf.assert` is stripped by an option
(docs/decisions/0004-wrappers-and-guards.md).

A call has to fit them all, whichever variant runs: so what is refused is the same everywhere, and a
module that is compiled for one more target takes no calls less.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from custom_dispatch.errors import LinkError
from custom_dispatch.ir.dispatch import Tensor
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.index_arithmetic import Arithmetic, Check
from custom_dispatch.ir.tensor_types import SameSizes
from custom_dispatch.kernel.binding import declared_shapes
from custom_dispatch.kernel.evaluation import dims_of, for_values
from custom_dispatch.kernel.expr import Constant, Dim, Expr
from custom_dispatch.kernel.geometry import MAX_GRID, Grid
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, InOut

INVALID_ARGUMENT = 3
"""IREE_STATUSINVALID_ARGUMENT (iree/base/status.h)."""


@dataclass(slots=True, eq=False)
class Guards:
    """The guards of one kernel's wrapper."""

    kernel: Kernel
    body: Emitter
    """Where to write."""
    arithmetic: Arithmetic
    """What expressions are there."""
    sources: Mapping[str, str]
    """Which size of the model each dim is: "`x`.shape[2]"."""
    written: bool
    """Whether they are written; where not, only what is known now is refused."""
    only_if: str = ""
    """An i1 value, where they matter only if it is true."""
    _gathered: list[Check] | None = None

    @contextmanager
    def gathered(self) -> Iterator[list[Check]]:
        """Gather the conditions, and write no guard."""
        self._gathered = []
        try:
            yield self._gathered
        finally:
            self._gathered = None

    def require(self, check: Check) -> None:
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
        if not self.written:
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

    def value(self, expr: Expr) -> str:
        """An expression's value, with guards of what its arithmetic takes for granted."""
        value = self.arithmetic.value(expr)
        self._settle()
        return value

    def _settle(self) -> None:
        for check in self.arithmetic.checks:
            self.require(check)
        self.arithmetic.checks.clear()

    def require_equal(
        self, actual: str | int, size: Expr, what: str, *, unless: str | bool = False
    ) -> None:
        """Require a size to be as declared.

        - `actual`: the model's: known, or an index value.
        - `what`: which size it is, for the message.
        - `unless`: what makes it hold all the same: known, or an i1 value.
        """
        if unless is True:
            return
        wanted = self.arithmetic.known(size)
        if isinstance(actual, int) and wanted is not None and not unless:
            if actual != wanted:
                said = str(wanted) if isinstance(size, Constant) else f"{size} = {wanted}"
                raise LinkError(
                    f"Kernel `{self.kernel.name}`: the model gives {what} = {actual}.",
                    expected=f"{said}, as the other operands and the declaration have it: "
                    f"{declared_shapes(self.kernel)}",
                    next_step="correct the sizes in the model's declaration of the kernel.",
                )
            return
        left = self.body.index(actual) if isinstance(actual, int) else actual
        right = self.arithmetic.value(size)
        if isinstance(size, Dim):
            message = f"{self.sources[size.name]} and {what} disagree on dim {size}"
        else:
            message = f"{what} is not {size}"
        self._compare(left, right, message, unless)

    def require_same(self, pair: SameSizes, *, unless: str | bool = False) -> None:
        """Require two leading dims to be the same.

        `unless`: as of `require_equal`.
        """
        if unless is True or pair.actual == pair.wanted:
            return
        known = isinstance(pair.actual, int) and isinstance(pair.wanted, int)
        if known and not unless:
            raise LinkError(
                f"Kernel `{self.kernel.name}`: the model gives {pair.what} = {pair.actual}, and "
                f"{pair.source} = {pair.wanted}.",
                expected=f"the same leading dims everywhere: {declared_shapes(self.kernel)}",
                next_step="correct the sizes in the model's types, or broadcast there.",
            )
        message = f"{pair.source} and {pair.what} disagree, which are leading dims"
        self._compare(pair.actual, pair.wanted, message, unless)

    def _compare(
        self, actual: str | int, wanted: str | int, message: str, unless: str | bool
    ) -> None:
        left, right = (
            self.body.index(size) if isinstance(size, int) else size for size in (actual, wanted)
        )
        if left == right:
            return
        holds = self.body.pure(f"arith.cmpi eq, {left}, {right} : index")
        if unless:
            holds = self.body.pure(f"arith.ori {holds}, {unless} : i1")
        self.require(Check(holds, f"{message}: declared are {declared_shapes(self.kernel)}"))

    def require_conditions(self, dims: Mapping[str, str | int]) -> None:
        """Require what the kernel requires.

        `dims`: the sizes that dims have in the model: known, or index values.
        """
        for condition in self.kernel.requires:
            names = dims_of(condition.left, condition.right)
            known = self.arithmetic.known_to_hold(condition)
            if known is False:
                values = {dim.name: cast(int, dims[dim.name]) for dim in names}
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
                self.require(Check(holds, f"{condition} is required, and does not hold: {where}"))


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
    grid = [guards.value(size) for size in exprs]
    sizes = zip("xyz", known, grid, MAX_GRID, exprs, strict=True)
    for axis, size, value, limit, expr in sizes:
        if size is not None:
            if size > limit:
                raise LinkError(
                    f"Kernel `{guards.kernel.name}`: grid.{axis} = {expr} is {size} for the "
                    "model's sizes.",
                    expected=f"at most {limit}, CUDA's limit for {axis}",
                    next_step="use a larger block.",
                )
            continue
        most = guards.body.index(limit)
        holds = guards.body.pure(f"arith.cmpi ule, {value}, {most} : index")
        message = f"grid.{axis} = {expr} is over CUDA's limit of {limit}"
        guards.require(Check(holds, message))
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
        guards.require(Check(holds, message))


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
        guards.require(Check(holds, f"{message}, which has elements"))

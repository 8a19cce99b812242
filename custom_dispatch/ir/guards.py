"""Guards: what has to hold for a call of a kernel, which otherwise fails with a message.

What is known when a model is compiled is decided then. The rest becomes `util.status.check_ok`
inside a branch, since `cf.assert` is stripped by an option
(docs/decisions/0004-wrappers-and-guards.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from custom_dispatch.errors import LinkError
from custom_dispatch.ir.arithmetic import Arithmetic, Check
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.leading import SameSizes
from custom_dispatch.kernel.evaluation import for_values
from custom_dispatch.kernel.expr import Constant, Dim, Expr, dims_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.leading import declared_shapes

INVALID_ARGUMENT = 3
"""IREE_STATUSINVALID_ARGUMENT (iree/base/status.h)."""


class Guards:
    """The guards of one kernel's wrapper.

    Parameters
    ----------
    body, arithmetic
        Where to write, and the arithmetic there.
    sources
        Which size of the model each dim is: "`x`.shape[2]".
    written
        Whether they are written; where not, only what is known now is refused.
    """

    def __init__(
        self,
        kernel: Kernel,
        body: Emitter,
        arithmetic: Arithmetic,
        sources: Mapping[str, str],
        *,
        written: bool,
    ) -> None:
        self._kernel = kernel
        self._body = body
        self._arithmetic = arithmetic
        self._sources = sources
        self._written = written
        self._gathered: list[Check] | None = None
        self.only_if = ""
        """An i1 value, where they matter only if it is true."""

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
            self.write(check, f"kernel `{self._kernel.name}`")

    def write(self, check: Check, who: str, *, always: bool = False) -> None:
        """Write a guard, whether others are gathered or not.

        Parameters
        ----------
        who
            What the message begins with.
        always
            Whether it has to hold also where the kernel does not run.
        """
        if not self._written:
            return
        true = self._body.pure("arith.constant true", "true")
        fails = self._body.pure(f"arith.xori {check.holds}, {true} : i1")
        if self.only_if and not always:
            fails = self._body.pure(f"arith.andi {fails}, {self.only_if} : i1")
        message = quote(f"{who}: {check.message}")
        inner = self._body.nested()
        self._body.line(f"scf.if {fails} {{")
        status = inner.i32(INVALID_ARGUMENT)
        inner.line(f"util.status.check_ok {status}, {message}")
        self._body.absorb(inner)
        self._body.line("}")

    def value(self, expr: Expr) -> str:
        """An expression's value, with guards of what its arithmetic takes for granted."""
        value = self._arithmetic.value(expr)
        self._settle()
        return value

    def _settle(self) -> None:
        for check in self._arithmetic.checks:
            self.require(check)
        self._arithmetic.checks.clear()

    def require_equal(
        self, actual: str | int, size: Expr, what: str, *, unless: str | bool = False
    ) -> None:
        """Require a size to be as declared.

        Parameters
        ----------
        actual
            The model's: known, or an index value.
        what
            Which size it is, for the message.
        unless
            What makes it hold all the same: known, or an i1 value.

        Raises
        ------
        LinkError
            Both are known, and they differ.
        """
        if unless is True:
            return
        wanted = self._arithmetic.known(size)
        if isinstance(actual, int) and wanted is not None and not unless:
            if actual != wanted:
                said = str(wanted) if isinstance(size, Constant) else f"{size} = {wanted}"
                raise LinkError(
                    f"Kernel `{self._kernel.name}`: the model gives {what} = {actual}.",
                    expected=f"{said}, as the other operands and the declaration have it: "
                    f"{declared_shapes(self._kernel)}",
                    next_step="correct the sizes in the model's declaration of the kernel.",
                )
            return
        left = self._body.index(actual) if isinstance(actual, int) else actual
        right = self._arithmetic.value(size)
        if isinstance(size, Dim):
            message = f"{self._sources[size.name]} and {what} disagree on dim {size}"
        else:
            message = f"{what} is not {size}"
        self._compare(left, right, message, unless)

    def require_same(self, pair: SameSizes, *, unless: str | bool = False) -> None:
        """Require two leading dims to be the same.

        Parameters
        ----------
        unless
            As of `require_equal`.

        Raises
        ------
        LinkError
            Both are known, and they differ.
        """
        if unless is True or pair.actual == pair.wanted:
            return
        if not unless:
            pair.check_known(self._kernel)
        message = f"{pair.source} and {pair.what} disagree, which are leading dims"
        self._compare(pair.actual, pair.wanted, message, unless)

    def _compare(
        self, actual: str | int, wanted: str | int, message: str, unless: str | bool
    ) -> None:
        left, right = (
            self._body.index(size) if isinstance(size, int) else size for size in (actual, wanted)
        )
        if left == right:
            return
        holds = self._body.pure(f"arith.cmpi eq, {left}, {right} : index")
        if unless:
            holds = self._body.pure(f"arith.ori {holds}, {unless} : i1")
        self.require(Check(holds, f"{message}: declared are {declared_shapes(self._kernel)}"))

    def require_conditions(self, dims: Mapping[str, str | int]) -> None:
        """Require what the kernel requires.

        Parameters
        ----------
        dims
            The sizes that dims have in the model: known, or index values.

        Raises
        ------
        LinkError
            A condition certainly does not hold.
        """
        for condition in self._kernel.requires:
            names = dims_of(condition.left, condition.right)
            known = self._arithmetic.known_to_hold(condition)
            if known is False:
                values = {dim.name: cast(int, dims[dim.name]) for dim in names}
                raise LinkError(
                    f"Kernel `{self._kernel.name}` requires {condition}, which does not hold"
                    f"{for_values(condition, values)}, as the model's sizes are.",
                    expected=comma(map(str, self._kernel.requires)),
                    next_step="use other sizes, or put a kernel that takes these beside it, in a "
                    "cd.Choice.",
                )
            if known is None:
                holds = self._arithmetic.holds(condition)
                self._settle()
                where = comma(f"{dim} is {self._sources[dim.name]}" for dim in names)
                self.require(Check(holds, f"{condition} is required, and does not hold: {where}"))

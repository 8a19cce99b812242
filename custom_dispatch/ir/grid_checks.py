"""Grids that can be launched: what a wrapper checks of them, for every form of a kernel.

A call has to fit them all, whichever variant runs: so what is refused is the same everywhere, and a
module that is compiled for one more target takes no calls less.
"""

from __future__ import annotations

from collections.abc import Sequence

from custom_dispatch.errors import LinkError
from custom_dispatch.ir.arithmetic import Arithmetic, Check
from custom_dispatch.ir.dispatch import Tensor
from custom_dispatch.ir.emitter import Emitter
from custom_dispatch.ir.guards import Guards
from custom_dispatch.kernel.buffer import Buffer, InOut
from custom_dispatch.kernel.geometry import MAX_GRID, Grid
from custom_dispatch.kernel.kernel import Kernel

Outputs = Sequence[tuple[Buffer, Tensor]]


def check_grids(
    kernel: Kernel, body: Emitter, arithmetic: Arithmetic, outputs: Outputs, guards: Guards
) -> dict[Kernel, str]:
    """Check every grid that a kernel has on some target; return the x size of each of its forms.

    Parameters
    ----------
    outputs
        The results, which nothing would write where nothing is launched.
    guards
        What lets a call fail.

    Raises
    ------
    LinkError
        The sizes are known, and a grid of them cannot be launched.
    """
    checks = _GridChecks(kernel, body, arithmetic, outputs, guards)
    found: dict[Kernel, str] = {}
    for form in kernel.forms:
        same = next((other for other in found if _is_same(form.grid, other.grid)), None)
        found[form] = checks.grid(form.grid) if same is None else found[same]
        checks.clusters(form)
    return found


def _is_same(one: Grid, other: Grid) -> bool:
    return all(size.is_same(same) for size, same in zip(one, other, strict=True))


class _GridChecks:
    def __init__(
        self,
        kernel: Kernel,
        body: Emitter,
        arithmetic: Arithmetic,
        outputs: Outputs,
        guards: Guards,
    ) -> None:
        self._kernel = kernel
        self._body = body
        self._arithmetic = arithmetic
        self._outputs = outputs
        self._guards = guards

    def grid(self, exprs: Grid) -> str:
        """Check one grid; return its x size."""
        known = [self._arithmetic.known(size) for size in exprs]
        grid = [self._guards.value(size) for size in exprs]
        sizes = zip("xyz", known, grid, MAX_GRID, exprs, strict=True)
        for axis, size, value, limit, expr in sizes:
            if size is not None:
                if size > limit:
                    raise LinkError(
                        f"Kernel `{self._kernel.name}`: grid.{axis} = {expr} is {size} for the "
                        "model's sizes.",
                        expected=f"at most {limit}, CUDA's limit for {axis}",
                        next_step="use a larger block.",
                    )
                continue
            most = self._body.index(limit)
            holds = self._body.pure(f"arith.cmpi ule, {value}, {most} : index")
            message = f"grid.{axis} = {expr} is over CUDA's limit of {limit}"
            self._guards.require(Check(holds, message))
        zero = self._body.index(0)
        runs = ""
        for size, value in zip(known, grid, strict=True):
            if size is None or size == 0:
                positive = self._body.pure(f"arith.cmpi ugt, {value}, {zero} : index")
                runs = self._body.pure(f"arith.andi {runs}, {positive} : i1") if runs else positive
        if runs:
            self._nothing_unwritten(runs)
        return grid[0]

    def clusters(self, form: Kernel) -> None:
        """Require a grid of whole clusters, which CUDA refuses to launch otherwise."""
        for axis, expr, blocks in zip("xyz", form.grid, form.cluster or (), strict=False):
            known = self._arithmetic.known(expr)
            if blocks == 1 or (known is not None and known % blocks == 0):
                continue
            if known is not None:
                raise LinkError(
                    f"Kernel `{self._kernel.name}`: grid.{axis} = {expr} is {known} for the "
                    f"model's sizes, and a cluster has {blocks} blocks in {axis}.",
                    expected=f"a multiple of {blocks}",
                    next_step="use other sizes, or declare a grid of whole clusters.",
                )
            value = self._arithmetic.value(expr)
            self._arithmetic.checks.clear()  # they were made with the grid's
            rest = self._body.pure(f"arith.remui {value}, {self._body.index(blocks)} : index")
            holds = self._body.pure(f"arith.cmpi eq, {rest}, {self._body.index(0)} : index")
            message = f"grid.{axis} = {expr} is no multiple of the cluster's {blocks} blocks"
            self._guards.require(Check(holds, message))

    def _nothing_unwritten(self, runs: str) -> None:
        """Without a launch nothing writes an Out, so it must have no elements."""
        for operand, result in self._outputs:
            if isinstance(operand, InOut):
                continue
            holds = runs
            zero = self._body.index(0)
            for size in result.sizes:
                value = self._body.index(size) if isinstance(size, int) else size
                empty = self._body.pure(f"arith.cmpi eq, {value}, {zero} : index")
                holds = self._body.pure(f"arith.ori {holds}, {empty} : i1")
            message = f"the grid is empty, so nothing would write `{operand.name}`"
            self._guards.require(Check(holds, f"{message}, which has elements"))

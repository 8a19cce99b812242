"""The typed function through which a model calls a kernel, with every run-time check.

A wrapper reads the dims from its operands, checks whatever CUDA or IREE would let through, and
dispatches. For these reasons it is written as it is:

- Sizes are stated as they are, never as they should be: IREE takes the sizes given at a dispatch
  for the truth, and would fold the comparison that checks them.
- `cf.assert` is stripped when optimising; `util.status.check_ok` inside a branch stays.
- A check between two dispatches makes IREE submit them one by one. So a wrapper can also be written
  in two parts: its checks alone, which a model makes before anything runs, and the dispatch alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from custom_dispatch.ir.choice_dispatch import Order, write_choice
from custom_dispatch.ir.emitter import Emitter, comma
from custom_dispatch.ir.executable import EntryPoints, Workloads, workload_of
from custom_dispatch.ir.tensor_types import Signature, input_types
from custom_dispatch.ir.wrapper_body import WrapperBody
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target


class Part(Enum):
    """What a function does of all that a call of the kernel needs."""

    WHOLE = "checks, then dispatches"
    CHECKS = "checks, and returns tensors of the results' sizes"
    DISPATCH = "dispatches; the checks were made elsewhere"


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The function of one kernel, or of a choice of several, to be written in whole or in part."""

    name: str
    """The kernel's, or the choice's."""
    orders: tuple[Order, ...]
    """The kernels that it dispatches: the first that a call fits, as the device prefers them."""
    signature: Signature
    """The function's tensor types."""
    entry_points: Mapping[str, EntryPoints]
    """How a dispatch names each kernel, by its name."""
    cpu: Target | None
    """The CPU target, for which the grid's x size is one more constant; see `layout_of`."""
    of_choices: Workloads = field(default_factory=dict)
    """The kernels whose grids are computed from one number more: `Executable.of_choices`."""
    alone: bool = False
    """Whether the function is called from outside, and not by a model."""

    @property
    def kernel(self) -> Kernel:
        """The first kernel; the others take and return as much."""
        return self.orders[0].kernels[0]

    def write(
        self,
        *,
        symbol: str,
        part: Part = Part.WHOLE,
        dialect: str = "func",
        visibility: str = "private",
        attributes: str = "",
        keep: bool = False,
    ) -> str:
        """The function as text.

        - `part`: what it does.
        - `dialect`: "func" or "util": the dialect that the model's calls are of.
        - `keep`: keep the operands of in-place updates alive to the end, so that the update works
          on a copy. A function that is called from outside needs it; within a model the calling
          function sees to it.
        """
        body = Emitter(1)
        arguments = {operand.name: body.fresh(operand.name) for operand in self.kernel.arguments}
        bodies = self._bodies(body, arguments, checked=part is not Part.DISPATCH)
        dispatches = part is not Part.CHECKS
        first = bodies[_asked(self.kernel)]
        if len(bodies) == 1:
            results, returned = first.write(dispatches=dispatches)
        else:
            orders = [[bodies[_asked(item)] for item in order.kernels] for order in self.orders]
            targets = [order.targets for order in self.orders]
            results, returned = write_choice(self.name, orders, targets, dispatches=dispatches)
        if keep:
            first.keep_updated_operands()
        types = comma(result.type for result in results)
        body.line(f"{dialect}.return {comma(returned)} : {types}")
        parameters = comma(
            f"{arguments[operand.name]}: {kind}"
            for operand, kind in zip(
                self.kernel.arguments, input_types(self.kernel, self.signature), strict=True
            )
        )
        arrow = types if len(results) == 1 else f"({types})"
        attribute = f" attributes {{{attributes}}}" if attributes else ""
        head = f"{dialect}.func {visibility} @{symbol}({parameters}) -> {arrow}{attribute} {{"
        return "\n".join([head, *body.lines, "}"]) + "\n"

    def _bodies(
        self, body: Emitter, arguments: dict[str, str], *, checked: bool
    ) -> dict[tuple[str, ...], WrapperBody]:
        """What each kernel adds to the function, by what tells it apart from the others."""
        everywhere = sum(1 << target for order in self.orders for target in order.targets)
        bodies: dict[tuple[str, ...], WrapperBody] = {}
        for kernel in (kernel for order in self.orders for kernel in order.kernels):
            bodies.setdefault(
                _asked(kernel),
                WrapperBody(
                    kernel,
                    self.signature,
                    self.entry_points[kernel.name],
                    cpu=self.cpu,
                    checked=checked,
                    workload=workload_of(kernel, self.of_choices),
                    everywhere=everywhere if kernel.name in self.of_choices else 0,
                    alone=self.alone,
                    body=body,
                    arguments=arguments,
                ),
            )
        return bodies


def _asked(kernel: Kernel) -> tuple[str, ...]:
    """What tells the kernels of a function apart: one may require more on one target."""
    return (kernel.name, *map(str, kernel.requires))

"""The dispatch of a kernel, as a `flow.dispatch`.

- A dispatch of constants alone is evaluated at compile time, where no GPU is, and crashes the
  compiler. Where a kernel reads no tensor, a scalar passes through a barrier that hides its value;
  where it reads one, whoever calls it knows whether that is a constant. A barrier on a tensor costs
  too much to be there always: IREE then submits every dispatch by itself.
- Without `--iree-input-demote-f64-to-f32=false` the compiler turns every f64 of a model into f32,
  and the kernel would read garbage. So f64 buffers are handed over as i64: a cast between them
  fits only where the model still has f64, and compiling fails where it has not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custom_dispatch.ir.emitter import Emitter, comma
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar

GRID_X = ""
"""The key, among a dispatch's scalars, of the grid's x size: no operand has an empty name."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor value in the wrapper: its name, its type, and its sizes, known or index values."""

    value: str
    type: str
    sizes: tuple[str | int, ...]

    @property
    def dynamic(self) -> str:
        """The sizes that the type leaves open, as ops take them: {%n, %m}; empty if none."""
        values = [size for size in self.sizes if isinstance(size, str)]
        return f"{{{comma(values)}}}" if values else ""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A kernel with the values it is dispatched on."""

    kernel: Kernel
    entry_points: str
    """`Executable.entry_points`, or one symbol."""
    tensors: Mapping[str, Tensor]
    """The operands that are tensors, by name."""
    scalars: Mapping[str, str]
    """The i32 value of every scalar, by operand name; and `GRID_X` where that is passed."""

    def write(
        self, block: Emitter, workload: Sequence[str], results: Sequence[Tensor]
    ) -> list[str]:
        """Write the dispatch; return its results' values.

        Parameters
        ----------
        workload
            The index values that the grid is computed from.
        results
            One an `Out` or `InOut`; that of an `InOut` is the operand itself.
        """
        hidden = None if self.tensors else self._first_scalar()
        values: dict[str, str] = {}
        types = []
        for operand in self.kernel.operands:
            if isinstance(operand, Scalar):
                value, kind, dynamic = self.scalars[operand.name], "i32", ""
            elif operand.name in self.tensors:
                tensor = self.tensors[operand.name]
                value, kind, dynamic = tensor.value, tensor.type, tensor.dynamic
            else:
                continue  # an Out: a result of the dispatch
            carried = _carried(kind)
            if carried != kind:
                value = block.pure(f"tensor.bitcast {value} : {kind} to {carried}")
            if operand is hidden:
                value = block.result(f"util.optimization_barrier {value} : {carried}", "opaque")
            values[operand.name] = value
            types.append(carried + dynamic)
        if GRID_X in self.scalars:
            values[GRID_X] = self.scalars[GRID_X]
            types.append("i32")
        outputs = self.kernel.outputs
        returned = comma(
            (values[operand.name] if result.value else _carried(result.type)) + result.dynamic
            for operand, result in zip(outputs, results, strict=True)
        )
        names = [block.fresh(operand.name + "_new") for operand in outputs]
        block.line(
            f"{comma(names)} = flow.dispatch {self.entry_points}"
            f"{f'[{comma(workload)}]' if workload else ''}({comma(values.values())}) : "
            f"({comma(types)}) -> ({returned})"
        )
        return [
            name
            if _carried(result.type) == result.type
            else block.pure(f"tensor.bitcast {name} : {_carried(result.type)} to {result.type}")
            for name, result in zip(names, results, strict=True)
        ]

    def _first_scalar(self) -> Scalar | None:
        scalars = (item for item in self.kernel.operands if isinstance(item, Scalar))
        return next(scalars, None)


def _carried(kind: str) -> str:
    """The type in which a tensor is handed to a kernel."""
    return kind.replace("f64>", "i64>")

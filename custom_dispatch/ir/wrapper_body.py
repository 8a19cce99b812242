"""What the function around a kernel does: dims read, sizes checked, scalars packed, dispatched."""

from __future__ import annotations

from dataclasses import dataclass, replace

from custom_dispatch.errors import LinkError
from custom_dispatch.ir import tensor_types
from custom_dispatch.ir.call_words import Words, read_words
from custom_dispatch.ir.dispatch import GRID_X, Tensor, new_scratch, write_dispatch
from custom_dispatch.ir.emitter import Emitter
from custom_dispatch.ir.executable import EntryPoints
from custom_dispatch.ir.guards import Guards, check_grids
from custom_dispatch.ir.index_arithmetic import Check
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, InOut, Scratch
from custom_dispatch.kernel.shapes import folded, leading_of
from custom_dispatch.kernel.target import Target


@dataclass(frozen=True, slots=True)
class Where:
    """On which targets a dispatch runs, and which kernel on each."""

    entry_points: str
    """As a `flow.dispatch` has them."""
    targets: str
    """An index value: bit i says whether it runs on target i."""
    grid_x: str
    """The grid's x size as the CPU needs it; empty without that target."""


@dataclass(eq=False)
class WrapperBody:
    """Writes a wrapper's body, once."""

    kernel: Kernel
    signature: tensor_types.Signature
    entry_points: EntryPoints
    cpu: Target | None
    """These as of a `Wrapper`."""
    checked: bool
    """Whether the checks are in it."""
    body: Emitter
    """Where to write."""
    arguments: dict[str, str]
    """The names of the function's arguments there."""
    workload: tuple[str, ...] = ()
    """The dims that the kernel's grid is computed from."""
    everywhere: int = 0
    """Where the kernel's grid is computed from one number more, which says on which targets it is
    to run: that of all of them. 0 where it is not."""
    alone: bool = False
    """Whether it is all that a function does: see `new_scratch`."""

    def __post_init__(self) -> None:
        self.given: dict[str, Tensor] = {}
        self.tensors: dict[str, Tensor] = {}  # as the kernel sees them: leading dims as one
        self.words: dict[str, Words] = {}
        self.grid_x = ""
        self.guards = Guards(self.kernel, self.body, self._absent, written=self.checked)
        self._written: list[Tensor] = []
        self._scratches: dict[str, str | int] = {}

    def write(self, *, dispatches: bool) -> tuple[list[Tensor], list[str]]:
        """Everything but the return: the results as tensors, and their values."""
        self._check_fit()
        wanted = self.prepare()
        return wanted, self.dispatch() if dispatches else self.sizes_alone()

    def conditions(self) -> list[Check]:
        """What says whether a call fits the kernel; nothing where it certainly does."""
        with self.guards.gathered() as found:
            self._check_fit()
        return found

    def run_if(self, chosen: str) -> None:
        """Make everything that follows matter only where an i1 value says so."""
        self.guards.only_if = chosen

    def prepare(self) -> list[Tensor]:
        """All that comes before the dispatch; the results as the model has them, without values."""
        absent = {item.name: self._absent(item) for item in self.kernel.buffers if item.optional}
        self.words = read_words(self.guards, self.arguments, absent)
        self._written = self._results()
        outputs = self._outputs(self._written)
        blocks = check_grids(outputs, self.guards)
        if self.cpu is not None:
            of_cpu = blocks[self.kernel.for_target(self.cpu)]
            narrow = f"arith.index_castui {of_cpu} : index to i32"
            self.grid_x = self.body.pure(narrow, "grid_x")
        self._scratches = {item.name: self._scratch_size(item) for item in self.kernel.scratches}
        return self._wanted()

    def _wanted(self) -> list[Tensor]:
        return [self._unfolded(operand, result) for operand, result in self._outputs(self._written)]

    def dispatch(self, before: list[str] | None = None, where: Where | None = None) -> list[str]:
        """Dispatch the kernel; return its results' values.

        - `before`: the results of another kernel of the choice, which this one's take the places of
          where it runs: it writes into the same buffers.
        - `where`: on which targets it is to run, and what else on others: everywhere if left out.
        """
        wanted, results = self._wanted(), self._written
        for index, (operand, result) in enumerate(self._outputs(results)):
            if before is not None:
                tensor = replace(wanted[index], value=before[index])
                if wanted[index] is not result:
                    sizes = self.signature.outputs[index]
                    tensor = tensor_types.fold(self.body, operand, tensor, sizes)
                self.tensors[operand.name] = results[index] = tensor
        values = self._dispatch(results, where)
        for index, (operand, result) in enumerate(self._outputs(results)):
            if tensor_types.is_folded(operand, self.signature.outputs[index]):
                folded = replace(result, value=values[index])
                values[index] = tensor_types.unfold(self.body, operand, folded, wanted[index])
        return values

    def _check_fit(self) -> None:
        self._read_operands()
        self.guards.bind({name: tensor.sizes for name, tensor in self.given.items()})
        self.guards.require()

    def keep_updated_operands(self) -> None:
        """Use the operands of in-place updates once more."""
        for operand in self.kernel.inputs:
            if isinstance(operand, InOut):
                tensor = self.given[operand.name]
                barrier = f"util.optimization_barrier {tensor.value} : {tensor.type}"
                self.body.result(barrier, "keep")

    # -- operands and dims

    def _read_operands(self) -> None:
        for operand, sizes in zip(self.kernel.arguments, self.signature.inputs, strict=True):
            if not isinstance(operand, Buffer):
                continue
            value = self.arguments[operand.name]
            kind = tensor_types.tensor_type(operand.dtype, sizes)
            actual: list[str | int] = []
            for axis, size in enumerate(sizes):
                if size is None:
                    position = self.body.index(axis)
                    hint = f"{operand.name}_{axis}"
                    read = f"tensor.dim {value}, {position} : {kind}"
                    actual.append(self.body.pure(read, hint))
                else:
                    actual.append(size)
            tensor = self.given[operand.name] = Tensor(value, kind, tuple(actual))
            if tensor_types.is_folded(operand, sizes):
                tensor = tensor_types.fold(self.body, operand, tensor, sizes)
            self.tensors[operand.name] = tensor

    def _absent(self, operand: Buffer) -> str | bool:
        """Whether an optional operand has no elements: known, or an i1 value."""
        if not operand.optional:
            return False
        sizes = self.tensors[operand.name].sizes
        if 0 in sizes:
            return True
        zero = self.body.index(0)
        compared = (
            f"arith.cmpi eq, {size}, {zero} : index" for size in sizes if isinstance(size, str)
        )
        return self.body.joined("arith.ori", map(self.body.pure, compared), "i1") or False

    # -- results

    def _results(self) -> list[Tensor]:
        results = []
        for operand, sizes in zip(self.kernel.outputs, self.signature.outputs, strict=True):
            if isinstance(operand, InOut):
                self._check_tied(operand, self.given[operand.name], sizes)
                results.append(self.tensors[operand.name])
                continue
            actual: list[str | int] = []
            if operand.batched:
                self.guards.same_leading(operand, leading_of(operand, sizes))
            sizes = folded(operand, sizes)
            for axis, (expr, size) in enumerate(zip(operand.shape, sizes, strict=True)):
                if size is not None and not (operand.batched and axis == 0):
                    self.guards.fit(operand, axis, expr, size)
                actual.append(self.guards.value(expr) if size is None else size)
            kind = tensor_types.tensor_type(operand.dtype, sizes)
            results.append(Tensor("", kind, tuple(actual)))
        return results

    def _scratch_size(self, operand: Scratch) -> str | int:
        """A scratch's bytes; where the kernel does not run, only one."""
        known = self.guards.arithmetic.known(operand.size_bytes)
        if known is not None and not self.guards.only_if:
            return known
        size = self.guards.value(operand.size_bytes)
        if self.guards.only_if:
            one = self.body.index(1)
            size = self.body.pure(f"arith.select {self.guards.only_if}, {size}, {one} : index")
        return size

    def _outputs(self, results: list[Tensor]) -> list[tuple[Buffer, Tensor]]:
        return list(zip(self.kernel.outputs, results, strict=True))

    def _unfolded(self, operand: Buffer, result: Tensor) -> Tensor:
        """A result as the model has it, without a value."""
        if isinstance(operand, InOut):
            tensor = self.given[operand.name]
            return result if tensor is self.tensors[operand.name] else tensor
        sizes = self.signature.outputs[self.kernel.outputs.index(operand)]
        if not tensor_types.is_folded(operand, sizes):
            return result
        actual = (*(self.guards.leading or ()), *result.sizes[1:])
        known = [
            size
            if size is not None
            else self.body.index(found)
            if isinstance(found, int)
            else found
            for size, found in zip(sizes, actual, strict=True)
        ]
        return Tensor("", tensor_types.tensor_type(operand.dtype, sizes), tuple(known))

    def _check_tied(self, operand: Buffer, tensor: Tensor, sizes: tuple[int | None, ...]) -> None:
        kind = tensor_types.tensor_type(operand.dtype, sizes)
        if kind != tensor.type:
            raise LinkError(
                f"Kernel `{self.kernel.name}`: the model gives `{operand.name}` the type "
                f"{tensor.type} going in and {kind} coming out.",
                expected="one type for a buffer that is updated in place",
                next_step="correct the model's declaration of the kernel.",
            )

    # -- the dispatch

    def sizes_alone(self) -> list[str]:
        """Results that hold nothing but their sizes, for whoever wants the checks alone."""
        return [
            self.body.pure(f"tensor.empty({result.dynamic.strip('{}')}) : {result.type}")
            for result in self._wanted()
        ]

    def stands_for(self, other: WrapperBody) -> bool:
        """Whether a dispatch of this kernel can be one of another kernel on another target.

        It can if both take the same, in the same order, and are in executables of equal variants.
        """
        return (
            list(map(str, self.kernel.operands)) == list(map(str, other.kernel.operands))
            and self.workload == other.workload
            and self.entry_points.variants == other.entry_points.variants
        )

    def _dispatch(self, results: list[Tensor], where: Where | None) -> list[str]:
        words = dict(self.words)
        if self.grid_x:
            words[GRID_X] = (where.grid_x if where else self.grid_x,)
        workload = [
            self.body.index(size) if isinstance(size, int) else size
            for size in (self.guards.dims[name] for name in self.workload)
        ]
        if self.everywhere:
            workload.append(where.targets if where else self.body.index(self.everywhere))
        for name, scratch in self._scratches.items():
            self.tensors[name] = new_scratch(self.body, name, scratch, alone=self.alone)
        entry_points = where.entry_points if where else self.entry_points.text
        return write_dispatch(
            self.body, self.kernel, entry_points, self.tensors, words, workload, results
        )

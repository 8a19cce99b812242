"""The dispatch of a kernel, as a `flow.dispatch`.

- A dispatch of constants alone is evaluated at compile time, where no GPU is, and crashes the
  compiler. Where a kernel reads no tensor, a scalar passes through a barrier that hides its value;
  where it reads one, whoever calls it knows whether that is a constant. A barrier on a tensor costs
  too much to be there always: IREE then submits every dispatch by itself.
- A scratch is an operand that is only read, as far as IREE knows: nobody else has it. Were it
  updated, IREE would copy results instead of letting the dispatch write them where they are to be
  (EmplaceAllocations passes over dispatches with tied operands).
- Without `--iree-input-demote-f64-to-f32=false` the compiler turns every f64 of a model into f32,
  and the kernel would read garbage. So f64 buffers are handed over as i64: a cast between them
  fits only where the model still has f64, and compiling fails where it has not. IREE computes what
  has one element on the host or in a dispatch (FormScalarDispatches), which this cast cannot be
  part of; so such a tensor is cast with a size that the compiler does not know.

In a model it is an intermediate value like others, `flow.tensor.alloca`: IREE packs it with them,
and gives them back when all is done. No two of these are made one, as of `tensor.empty`. Where a
function has no others, that would be its only reason to give something back, and costs more than
the kernel may take: IREE's CUDA device waits for the work first, so that no call returns before
(iree/hal/drivers/cuda/cuda_device.c, `queue_dealloca`). There the memory comes from the device's
allocator, as results do, and is held by what uses it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custom_dispatch.ir.emitter import Emitter, comma
from custom_dispatch.kernel.kernel import Kernel

GRID_X = ""
"""The key, among a dispatch's words, of the grid's x size: no operand has an empty name."""


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


def write_dispatch(
    block: Emitter,
    kernel: Kernel,
    entry_points: str,
    tensors: Mapping[str, Tensor],
    words: Mapping[str, tuple[str, ...]],
    workload: Sequence[str],
    results: Sequence[Tensor],
) -> list[str]:
    """Write the dispatch of a kernel; return its results' values.

    - `entry_points`: `Executable.entry_points`, or one symbol.
    - `tensors`: the operands that are tensors, by name.
    - `words`: the i32 values of every scalar and struct, by name; and `GRID_X` where passed.
    - `workload`: the index values that the grid is computed from.
    - `results`: one an `Out` or `InOut`; that of an `InOut` is the operand itself, and one with
      a value, of an `Out`, is among the tensors and written over.
    """
    # As IREE numbers them: bindings in the tensors' order, constants in the words'.
    values: dict[str, str] = {}
    types = []
    for operand in kernel.abi.bindings:
        if operand.name not in tensors:
            continue  # an Out, which is a result of the dispatch
        tensor = tensors[operand.name]
        carried = _carried(tensor.type)
        values[operand.name] = _cast(block, tensor, tensor.value, (tensor.type, carried))
        types.append(carried + tensor.dynamic)
    given = [words[constant.operand.name][constant.index] for constant in kernel.abi.constants]
    if given and len(tensors) == len(kernel.scratches):
        given[0] = block.result(f"util.optimization_barrier {given[0]} : i32", "opaque")
    given += words.get(GRID_X, ())
    types += ["i32"] * len(given)
    outputs = kernel.outputs
    returned = comma(
        (values[operand.name] if result.value else _carried(result.type)) + result.dynamic
        for operand, result in zip(outputs, results, strict=True)
    )
    names = [block.fresh(operand.name + "_new") for operand in outputs]
    block.line(
        f"{comma(names)} = flow.dispatch {entry_points}"
        f"{f'[{comma(workload)}]' if workload else ''}({comma([*values.values(), *given])}) : "
        f"({comma(types)}) -> ({returned})"
    )
    return [
        _cast(block, result, name, (_carried(result.type), result.type))
        for name, result in zip(names, results, strict=True)
    ]


def _cast(block: Emitter, tensor: Tensor, value: str, types: tuple[str, str]) -> str:
    """A value of a tensor's sizes with other elements of the same bits."""
    before, after = types
    if before == after:
        return value
    if any(size != 1 for size in tensor.sizes):
        return block.pure(f"tensor.bitcast {value} : {before} to {after}")
    size = block.pure(f"util.optimization_barrier {block.index(1)} : index", "one")
    flat, flat_after = (
        f"tensor<?x{kind.rpartition('x')[2].removeprefix('tensor<')}" for kind in types
    )
    value = block.pure(f"flow.tensor.reshape {value} : {before} -> {flat}{{{size}}}")
    value = block.pure(f"tensor.bitcast {value} : {flat} to {flat_after}")
    return block.pure(f"flow.tensor.reshape {value} : {flat_after}{{{size}}} -> {after}")


def _carried(kind: str) -> str:
    """The type in which a tensor is handed to a kernel."""
    return kind.replace("f64>", "i64>")


_SCRATCH = ("DeviceVisible|DeviceLocal", "Transfer|DispatchStorage")


def allocate(body: Emitter, device: str, size: int | str, where: tuple[str, str]) -> str:
    """Write the allocation of a buffer of some bytes: known, or an index value.

    `where`: the types of memory that it may be in, and its usage.
    """
    anywhere = body.pure("arith.constant -1 : i64", "anywhere")
    memory = body.pure(f'hal.memory_type<"{where[0]}"> : i32', "memory")
    usage = body.pure(f'hal.buffer_usage<"{where[1]}"> : i32', "usage")
    allocator = body.pure(
        f"hal.device.allocator<{device} : !hal.device> : !hal.allocator", "allocator"
    )
    # A buffer without bytes cannot be allocated on every device.
    size = body.index(max(size, 1)) if isinstance(size, int) else size
    return body.result(
        f"hal.allocator.allocate<{allocator} : !hal.allocator> affinity({anywhere}) "
        f"type({memory}) usage({usage}) : !hal.buffer{{{size}}}",
        "buffer",
    )


def new_scratch(body: Emitter, name: str, size_bytes: str | int, *, alone: bool) -> Tensor:
    """Uninitialised memory.

    - `name`: what its value is named after.
    - `size_bytes`: its size: known, or an index value.
    - `alone`: whether the function does nothing else, so that it has no other intermediate value.
    """
    is_known = isinstance(size_bytes, int)
    kind = f"tensor<{size_bytes}xi8>" if is_known else "tensor<?xi8>"
    dynamic = "" if is_known else f"{{{size_bytes}}}"
    made = f"flow.tensor.alloca : {kind}{dynamic}"
    if alone:
        device = body.pure("hal.device.resolve : !hal.device", "device")
        buffer = allocate(body, device, size_bytes, _SCRATCH)
        made = f"hal.tensor.import {buffer} : !hal.buffer -> {kind}{dynamic}"
    return Tensor(body.result(made, name), kind, (size_bytes,))

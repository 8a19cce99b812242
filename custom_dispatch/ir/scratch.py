"""Memory for a kernel alone, as a tensor of bytes that nobody else has.

In a model it is an intermediate value like others, `flow.tensor.alloca`: IREE packs it with them,
and gives them back when all is done. No two of these are made one, as of `tensor.empty`. Where a
function has no others, that would be its only reason to give something back, and costs more than
the kernel may take: IREE's CUDA device waits for the work first, so that no call returns before
(iree/hal/drivers/cuda/cuda_device.c, `queue_dealloca`). There the memory comes from the device's
allocator, as results do, and is held by what uses it.
"""

from __future__ import annotations

from custom_dispatch.ir.dispatch import Tensor
from custom_dispatch.ir.emitter import Emitter

_ANY_QUEUE = -1


def new_scratch(body: Emitter, name: str, size_bytes: str | int, *, alone: bool) -> Tensor:
    """Uninitialised memory.

    Parameters
    ----------
    name
        What its value is named after.
    size_bytes
        Its size: known, or an index value.
    alone
        Whether the function does nothing else, so that it has no other intermediate value.
    """
    is_known = isinstance(size_bytes, int)
    kind = f"tensor<{size_bytes}xi8>" if is_known else "tensor<?xi8>"
    if not alone:
        dynamic = "" if is_known else f"{{{size_bytes}}}"
        value = body.result(f"flow.tensor.alloca : {kind}{dynamic}", name)
        return Tensor(value, kind, (size_bytes,))
    size = body.index(size_bytes) if isinstance(size_bytes, int) else size_bytes
    device = body.pure("hal.device.resolve : !hal.device", "device")
    allocator = body.pure(f"hal.device.allocator<{device} : !hal.device> : !hal.allocator", "heap")
    queue = body.pure(f"arith.constant {_ANY_QUEUE} : i64", "queue")
    memory = body.pure('hal.memory_type<"DeviceVisible|DeviceLocal"> : i32', "memory")
    usage = body.pure('hal.buffer_usage<"Transfer|DispatchStorage"> : i32', "usage")
    buffer = body.result(
        f"hal.allocator.allocate<{allocator} : !hal.allocator> affinity({queue}) type({memory}) "
        f"usage({usage}) : !hal.buffer{{{size}}}",
        name,
    )
    dynamic = "" if is_known else f"{{{size}}}"
    value = body.result(f"hal.tensor.import {buffer} : !hal.buffer -> {kind}{dynamic}", name)
    return Tensor(value, kind, (size_bytes,))

"""The time below which a kernel cannot be: for the bytes it must move, and for what it computes."""

import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.format.manifest import KnownSizes
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import Constant
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.measure.bench import host_copy, native_copy
from custom_dispatch.measure.inputs import bytes_moved, size_bytes
from custom_dispatch.measure.native_launch import NativeContext
from custom_dispatch.runtime.driver import Device, device_attribute

_CLOCK_KHZ, _MULTIPROCESSORS = 13, 16
"""CU_DEVICE_ATTRIBUTE_CLOCK_RATE and _MULTIPROCESSOR_COUNT."""
_MOVED_BYTES = 512 << 20
"""By a copy: 256 MiB, beyond every cache."""
_COPIES = 7


@dataclass(frozen=True, slots=True)
class Peaks:
    """How fast a device moves bytes and computes at best, and who says so."""

    bytes_per_second: float | None = None
    bytes_source: str = "a copy of 256 MiB, measured here"
    flops_per_second: Mapping[str, float] = field(default_factory=dict)
    """By type: "f16"."""
    flops_source: str = ""


def peaks_of(device: Device) -> Peaks:
    """Measure a copy of memory, and look up what a GPU's arithmetic can do."""
    capability = device.compute_capability
    if capability is None:
        return Peaks(_bandwidth(host_copy(_MOVED_BYTES)))
    with NativeContext(device.index) as context:
        bandwidth = _bandwidth(native_copy(context, _MOVED_BYTES))
    table = tomllib.loads(Path(__file__).with_name("peaks.toml").read_text())
    family = [int(key) for key in table if int(key) // 10 == capability // 10]
    known = max((key for key in family if key <= capability), default=0)
    clock_khz = device_attribute(device.index, _CLOCK_KHZ)
    processors = device_attribute(device.index, _MULTIPROCESSORS)
    return Peaks(
        bandwidth,
        flops_per_second={
            kind: rate * processors * clock_khz * 1e3
            for kind, rate in table.get(str(known), {}).items()
        },
        flops_source=f"{processors} multiprocessors at {clock_khz / 1e6:.2f} GHz, by NVIDIA's "
        f"figures for sm_{known}",
    )


def _bandwidth(copies: Mapping[str, Callable[[], float]]) -> float | None:
    """What `measure.bench` can copy, in bytes a second; None where the memory is too small."""
    if not copies:
        return None
    return _MOVED_BYTES / statistics.median(copies["copy"]() for _ in range(_COPIES))


@dataclass(frozen=True, slots=True)
class Floor:
    """What a launch of a kernel takes at least: a mean, where launches differ in size."""

    seconds: float
    """The larger of the two that follow."""
    memory_s: float
    arithmetic_s: float
    """0 where the declaration does not say what is computed."""
    bytes: float
    """As declared, or each operand once, one that is updated twice."""
    flops: float
    arithmetic: str
    """The type whose rate counts: "f16"."""


def floor_of(
    kernel: Kernel | None, sizes: Sequence[KnownSizes], launches: float, peaks: Peaks
) -> Floor | str:
    """The floor of a kernel's launches, or why there is none.

    - `sizes`: those of the calls that the function makes of it.
    - `launches`: how many there were in a call.
    """
    if kernel is None:
        return "the module does not say how it is declared"
    if peaks.bytes_per_second is None:
        return "there is too little memory to measure its bandwidth"
    calls = sum(item.calls for item in sizes)
    if not sizes or (calls != launches and any(item.dims != sizes[0].dims for item in sizes)):
        return "only a call says its sizes"
    counted = Constant(0) if kernel.flops is None else kernel.flops
    try:
        moved = (
            sum(item.calls * bytes_moved(kernel, item.dims, item.absent) for item in sizes) / calls
        )
        flops = sum(item.calls * evaluate(counted, item.dims) for item in sizes) / calls
        kind = _arithmetic_of(kernel, sizes[0].dims)
    except (CustomDispatchError, KeyError):
        return "its sizes have no value"
    memory_s = moved / peaks.bytes_per_second
    arithmetic_s = flops / peaks.flops_per_second.get(kind, float("inf"))
    return Floor(max(memory_s, arithmetic_s), memory_s, arithmetic_s, moved, flops, kind)


def _arithmetic_of(kernel: Kernel, dims: Mapping[str, int]) -> str:
    """The floating-point type of the largest operand: what a kernel multiplies."""
    buffers = [item for item in kernel.operands if isinstance(item, Buffer)]
    sizes = [(size_bytes(item, dims), item.dtype) for item in buffers if item.dtype.is_float]
    kinds = sorted(sizes, key=lambda pair: pair[0] // pair[1].bytes)
    return kinds[-1][1].name.partition("E")[0] if kinds else ""  # f8E4M3FN

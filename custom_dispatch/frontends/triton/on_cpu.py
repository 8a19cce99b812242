"""A driver for Triton that runs launches on tensors in the CPU's memory.

Triton believes in a GPU of the Ampere generation and compiles for it as ever; a launch runs the PTX
that comes out through the CPU target. Pointers are passed as numbers, so that views, strides and
aliases are what they are. In checked mode memory has ends: what tensors of a launch span is a
buffer, or several tensors together where they overlap.
"""

import ctypes
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy
import triton
import triton.testing
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime.autotuner import Autotuner

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import CallError
from custom_dispatch.frontends.triton.compiling import Code, kept_code
from custom_dispatch.kernel.expr import dim
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import MAX_NAME_LENGTH, shown
from custom_dispatch.kernel.operand import In, InOut, Operand
from custom_dispatch.toolchain.produced import file_of

CAPABILITY = 80
_SHARED_BYTES = 163 * 1024
"""What a block has on an A100."""
_PROCESSORS = 8
_SCRATCH_ALIGNMENT = 128
_FLOATS = {"fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}
_GRID, _NUMBERS = "grid", "numbers"


@contextmanager
def launches_on_cpu(*, checked: bool = False, capability: int = CAPABILITY) -> Iterator[None]:
    """Let launches of Triton run on the CPU within the block; see `testing.triton_on_cpu`."""
    driver = triton.runtime.driver
    before = driver._active
    ours = Driver(checked=checked, capability=capability)
    driver.set_active(ours)
    try:
        # Autotuners that are given `warmup` or `rep` ask no driver.
        told = patch.object(triton.testing, "do_bench", ours.compiled)
        unkept = patch.object(Autotuner, "check_disk_cache", _tuned)
        with ours.asked_through_torch(), told, unkept:
            yield
    finally:
        driver._active = before


def _tuned(_: Any, __: Any, ___: Any, tune: Callable[[], Any]) -> bool:
    """Tune, and keep nothing on the disk, where a GPU would take it for measured."""
    tune()
    return False


class Driver(DriverBase):  # type: ignore[misc]
    """What Triton asks of a driver, for a GPU that is the CPU."""

    def __init__(self, *, checked: bool, capability: int) -> None:
        self.utils = _Utilities()
        self.capability = capability
        where = "cpu:checked" if checked else "cpu"
        # What Triton keeps of functions it keeps by device: this is none of CUDA's.
        self.device = f"{where} as sm_{capability}"
        self.launcher_cls = lambda source, metadata: Launcher(source, metadata, where, self)
        self.launches = 0
        self.only_compiles = False
        self._tuned_at = -1

    @classmethod
    def is_active(cls) -> bool:
        return False  # Triton does not choose it by itself

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> str:
        return self.device

    def set_current_device(self, device: Any) -> None:
        pass

    def get_current_stream(self, _: Any = None) -> int:
        return 0  # launches are done when they return

    def get_device_capability(self, _: Any = None) -> tuple[int, int]:
        return divmod(self.capability, 10)

    def get_active_torch_device(self) -> Any:
        return sys.modules["torch"].device("cpu")

    def get_device_interface(self) -> Any:
        return sys.modules["torch"].cpu

    def asked_through_torch(self) -> AbstractContextManager[Any]:
        """Lets PyTorch, where it is loaded, answer what tests and libraries ask it of a GPU."""
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        major, minor = self.get_device_capability()
        told: dict[str, Any] = {"major": major, "minor": minor, "name": self.device}
        told["multi_processor_count"] = _PROCESSORS
        answers: dict[str, Any] = {
            "get_device_capability": self.get_device_capability,
            "get_device_name": lambda _=None: self.device,
            "get_device_properties": lambda _=None: SimpleNamespace(**told),
            "device": lambda _: nullcontext(),
            "synchronize": lambda _=None: None,
        }
        return patch.multiple(cuda, **answers) if cuda else nullcontext()

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_benchmarker(self) -> Callable[..., Any]:
        return self.compiled

    def compiled(
        self,
        launch: Callable[[], Any],
        *_: Any,
        quantiles: Sequence[float] | None = None,
        **__: Any,
    ) -> Any:
        """A time for a launch that is not made: the best for the first that compiles and fits.

        So autotuning takes the first configuration that a GPU could, for times say nothing here. A
        kernel that was tuned is launched, and configurations after that are of another tuning.
        """
        is_first = self._tuned_at != self.launches
        if is_first:
            self.only_compiles = True
            try:
                launch()
            finally:
                self.only_compiles = False
            self._tuned_at = self.launches
        time = 1.0 if is_first else 2.0
        return [time] * len(quantiles) if quantiles else time


class _Utilities:
    def get_device_properties(self, _: Any) -> dict[str, int]:
        sizes = {"max_shared_mem": _SHARED_BYTES, "max_num_regs": 65536, "warpSize": 32}
        rates = ("sm_clock_rate", "mem_clock_rate", "mem_bus_width")
        return {**sizes, "multiprocessor_count": _PROCESSORS, **dict.fromkeys(rates, 1)}

    def load_binary(self, *_: Any) -> tuple[object, object, int, int, int]:
        return object(), object(), 32, 0, 1024  # module, function, registers, spills, threads

    def unload_module(self, module: Any) -> None:
        pass


class Launcher:
    """Runs what Triton compiled of a function."""

    def __init__(self, source: Any, metadata: Any, where: str, driver: Driver) -> None:
        self._driver = driver
        self._types = tuple(source.signature.values())
        self._code = kept_code(metadata)
        self._where = where
        self._kernels: dict[tuple[Place | None, ...], Kernel] = {}

    def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
        """Launch: the grid; stream, function, metadata and hooks; the arguments."""
        if self._driver.only_compiles:
            return
        self._driver.launches += 1
        arguments = rest[6:]
        if x * y * z <= 0:
            return
        if self._code.launch:
            raise CallError(
                f"Triton compiled `{self._code.entry}` to need {self._code.launch}.",
                expected="a kernel that needs its arguments and shared memory alone",
                next_step="leave out what needs it, or run it on a GPU.",
            )
        pairs = list(_flattened(self._types, arguments))
        size = self._code.scratch * x * y * z
        scratch = numpy.zeros(size + _SCRATCH_ALIGNMENT, numpy.uint8)
        start = -(-scratch.ctypes.data // _SCRATCH_ALIGNMENT) * _SCRATCH_ALIGNMENT
        pairs += [("*i8", range(start, start + size) if size else None), ("*i8", None)]
        self._run(pairs, (x, y, z))

    def _run(self, pairs: Sequence[tuple[str, Any]], grid: tuple[int, int, int]) -> None:
        spans = [_span(self._code.entry, v) if kind[0] == "*" else None for kind, v in pairs]
        regions = _regions([each for each in spans if each]) if "checked" in self._where else []
        found = (_places(span, regions) if span else () for span in spans)
        places = tuple(next(iter(each), None) for each in found)
        if places not in self._kernels:
            self._kernels[places] = _kernel(self._code, places)
        memory = [
            numpy.ctypeslib.as_array((ctypes.c_uint8 * (end - start)).from_address(start))
            for start, end in regions
        ]
        numbers = [
            _bytes(kind, (span[0] if span else 0) if kind[0] == "*" else value)
            for (kind, value), span, place in zip(pairs, spans, places, strict=True)
            if place is None
        ]
        taken = list(dict.fromkeys(place.region for place in places if place))
        results = self._kernels[places].on(self._where)(
            *(memory[region] for region in taken),
            numpy.empty((*grid, 0), numpy.uint8),
            numpy.frombuffer(b"".join(numbers), numpy.uint64),
        )
        for region, result in zip(taken, results, strict=False):  # the numbers are the last
            memory[region][...] = result


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pointer points to: so many bytes behind the start of a region of memory."""

    region: int
    offset: int


def _flattened(types: Sequence[Any], values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Types and values of a kernel's parameters; constants are none."""
    for kind, value in zip(types, values, strict=True):
        if isinstance(kind, tuple):
            yield from _flattened(kind, value)
        elif kind.startswith("tensordesc"):
            yield from _described(kind, value)
        elif kind != "constexpr":
            yield kind, value


def _described(kind: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A tensor descriptor, as code for Ampere takes it."""
    yield "*" + kind.partition("<")[2].partition("[")[0], value.base
    yield from (("i64", size) for size in (*value.shape, *value.strides))
    yield "i1", value.padding == "nan"
    if hasattr(value, "round_f32_to_tf32"):  # since 3.7
        yield "i1", value.round_f32_to_tf32
    yield from (("i32", size) for size in value.shape)
    yield from (("i64", size) for size in value.strides)


def _span(kernel: str, value: Any) -> tuple[int, int] | None:
    """The first address of a pointer's tensor, and the one behind its last; of an address alone, no
    more than that.
    """
    if isinstance(value, range):
        return value.start, value.stop
    if value is None or isinstance(value, int):
        return None if value is None else (value, value)
    device = getattr(getattr(value, "device", None), "type", "cpu")
    if not hasattr(value, "data_ptr") or device != "cpu":
        what = f"a tensor on {device}" if device != "cpu" else shown(value)
        raise CallError(
            f"Kernel `{kernel}` is given {what} for a pointer.",
            expected="a tensor in the CPU's memory, an address, or None: launches run on the CPU",
            next_step='make the tensors with device="cpu".',
        )
    start, sizes = value.data_ptr(), getattr(value, "shape", (0,))
    if 0 in sizes:
        return start, start
    last = sum((size - 1) * step for size, step in zip(sizes, value.stride(), strict=True))
    return start, start + (last + 1) * value.element_size()


def _regions(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """What tensors span, and several as one where they overlap."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(each for each in spans if each[1] > each[0]):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _places(span: tuple[int, int], regions: Sequence[tuple[int, int]]) -> Iterator[Place]:
    """Where what tensors span lies; an address without an end lies nowhere."""
    for index, (start, end) in enumerate(regions):
        if start <= span[0] < span[1] <= end:
            yield Place(index, span[0] - start)


def _bytes(kind: str, value: Any) -> bytes:
    """A number or address in the 8 bytes that each has."""
    if kind == "bf16":
        return struct.pack("<f", value)[2:].ljust(8, b"\0")
    if kind in _FLOATS:
        return struct.pack("<" + _FLOATS[kind], value).ljust(8, b"\0")
    return (int(value) % (1 << 64)).to_bytes(8, "little")


def _kernel(code: Code, places: Sequence[Place | None]) -> Kernel:
    """The code as a kernel, of which the grid is the shape of an operand that has no elements; and
    with a result, without which nobody would wait for it: the numbers, of which there may be more
    than parameters have room for.

    The first pointer into a region is a buffer, and the others are so many bytes behind it.
    """
    head = re.search(r"\.entry\s+[\w$]+\s*\((.*?)\)", code.ptx, re.DOTALL)
    assert head is not None  # noqa: S101 - Triton wrote it
    body = code.ptx[head.end(1) :]
    operands: list[Operand] = []
    firsts: dict[int, str] = {}
    kept = []
    numbers = 0
    for index, (_, place) in enumerate(zip(head[1].split(","), places, strict=True)):
        name = f"{code.entry}_param_{index}"
        if place is None:
            body = _from_memory(body, name, f"{code.entry}_{_NUMBERS}", 8 * numbers)
            numbers += 1
            continue
        if place.region not in firsts:
            firsts[place.region] = name
            operands.append(InOut(f"a{index}", "u8", [dim(f"bytes{place.region}")]))
            kept.append(f".param .u64 {name}")
        body = _behind(body, name, firsts[place.region], place.offset)
    kept += [f".param .u64 {code.entry}_{name}" for name in (_GRID, _NUMBERS)]
    ptx = code.ptx[: head.start(1)] + ",\n".join(kept) + body
    grid = [dim(f"grid_{axis}") for axis in "xyz"]
    plain = re.sub(r"\W", "_", code.entry, flags=re.ASCII)[: MAX_NAME_LENGTH - len("triton_")]
    return Kernel(
        f"triton_{plain}",
        entry=code.entry,
        objects={f"cuda:sm_{code.arch}": file_of(ptx)},
        operands=[*operands, In(_GRID, "u8", [*grid, 0]), InOut(_NUMBERS, "u64", [numbers])],
        block=code.warps * 32,
        grid=grid,
        dynamic_shared_memory=code.shared,
    )


def _from_memory(body: str, name: str, numbers: str, at: int) -> str:
    """A kernel's code that reads what was a parameter from memory."""
    pattern = rf"ld\.param(\.[\w.]+)\s+([^;]+), \[{re.escape(name)}\];"
    read = f"ld.param.b64 %at, [{numbers}];\n\tld.global\\1 \\2, [%at+{at}];"
    body = re.sub(pattern, f"{{ .reg .b64 %at; {read} }}", body)
    place = rf"mov\.b64\s+(%\w+), {re.escape(name)};"
    if re.search(place, body):  # LLVM chooses between parameters by their addresses
        body = re.sub(place, rf"ld.param.b64 \1, [{numbers}];\n\tadd.s64 \1, \1, {at};", body)
        body = re.sub(r"ld\.param(\.[\w.]+\s+[^;]+, \[%)", r"ld.global\1", body)
    return body


def _behind(body: str, name: str, first: str, offset: int) -> str:
    """A kernel's code that takes one pointer from another one, some bytes before it."""

    def read(found: re.Match[str]) -> str:
        added = f"\n\tadd.s64 {found[2]}, {found[2]}, {offset};" if offset else ""
        return f"{found[1]}{found[2]}, [{first}];{added}"

    pattern = rf"(ld\.param\.[ubs]64\s+)(%rd\d+), \[{re.escape(name)}\];"
    return re.sub(pattern, read, body)

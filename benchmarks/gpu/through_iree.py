"""Shipped kernels in a module beside their own launches: what IREE adds to a kernel in a model.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU, iree-base-runtime and
PyTorch

    python -m benchmarks gpu.through_iree check DIRECTORY
    python -m benchmarks gpu.through_iree run DIRECTORY [--save FILE]

A function calls the kernel several times, each time on the last result; the same launches are made
through the CUDA driver, of the same machine code. What a call costs beside its kernels is the same
for few and for many of them, and is not what is asked here: so the time of a kernel is the
difference of two such functions by the difference of their lengths. Results must be finite and
equal bit for bit, which is all that `check` looks at.

A loop of Python launches every 5.7 us, which is no measure for a kernel of 5 us. Launches of such a
one wait on the GPU until all of them are there, and are timed on its clock. Others do not: after
the pause that they would wait, a card at its limit of power runs faster.

IREE's launches are made by a thread of its own, once the calling thread has recorded all of them.
What recording one takes is part of its time, and told beside it.

Bar, of the issue: 1.02 times the native launch.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.lib import gpu_command, gpu_objects
from cuda_kernels import attention, gemm, quantised
from cuda_kernels.attention import rotary
from cuda_kernels.elementwise import gelu, swiglu
from cuda_kernels.norms import layer_norm, rms_norm, softmax
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.operand import Buffer, Operand, Scalar
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    import torch

BAR = 1.02
TARGET = "cuda:sm_90a"
CHECKED = 5
"""Launches, of which results are compared."""
ROUNDS, LEAST_ROUNDS, SECONDS = 60, 11, 1.0
WAITING = 250
"""The most launches that wait: they have to fit into the driver's queue."""
CYCLES, CYCLES_PER_LAUNCH = 4_000_000, 40_000
"""For which the GPU waits for them: 2 ms at 2 GHz, and 20 us for each."""
Times = dict[int, list[float]]
"""Seconds, by length."""
MLIR_TYPES = {"bool": "i1", "u8": "i8", "i32": "i32"}


@dataclass(frozen=True)
class Case:
    """One kernel at one size, called `few` and `many` times."""

    item: cd.Kernel | cd.Choice
    dims: dict[str, int]
    few: int = 8
    many: int = 72
    is_short: bool = False
    """Whether Python takes longer to launch it than it takes."""
    causal: bool = False
    grows: float = 1.0
    """What a product's weights are divided by, so that results keep their size."""

    @property
    def name(self) -> str:
        """The kernel and the sizes, as a file may be called."""
        sizes = "x".join(map(str, self.dims.values()))
        return f"{self.item.name}_{sizes}{'_causal' if self.causal else ''}"

    @property
    def kernel(self) -> cd.Kernel:
        """The one that the size gets."""
        return gpu_objects.kernel_for(self.item, self.dims, Target.parse(TARGET))


ROWS = {"batch": 16384, "columns": 8192}
SQUARE = {"batch": 4096, "n": 4096, "k": 4096}
PREFILL = {"batch": 1, "heads": 32, "kv_heads": 32, "queries": 4096, "keys": 4096}
DECODE = {"batch": 16, "heads": 32, "kv_heads": 8, "queries": 1, "keys": 8192}
CASES = (
    *(
        Case(kernel, ROWS)
        for kernel in (
            softmax.softmax_bf16,
            layer_norm.layer_norm_bf16,
            rms_norm.rms_norm_bf16,
            rms_norm.add_rms_norm_bf16,
            gelu.gelu_erf_bf16,
        )
    ),
    Case(swiglu.swiglu_bf16, ROWS),
    Case(rotary.rotary_bf16, {"batch": 8, "heads": 32, "length": 4096, "dim": 128, "tables": 1}),
    Case(attention.attention_f16_128, PREFILL),
    Case(attention.attention_f16_128, PREFILL, causal=True),
    Case(attention.attention_bf16_128, DECODE),
    Case(attention.cached_attention_bf16_128, DECODE),
    Case(gemm.linear_bf16, SQUARE, grows=64.0),
    Case(gemm.linear_f32, SQUARE, few=2, many=8, grows=64.0),
    Case(
        quantised.q4_0_f16,
        {"batch": 1, "blocks": 128, "n": 4096},
        few=1000,
        many=3000,
        is_short=True,
    ),
)


def _shape(item: Buffer, dims: dict[str, int]) -> tuple[int, ...]:
    """Its sizes; none, where it may be absent."""
    sizes = tuple(evaluate(size, dims) for size in item.shape)
    return (*sizes[:-1], 0) if item.optional else sizes


def _type(item: Operand, dims: dict[str, int]) -> str:
    assert isinstance(item, Buffer | Scalar)
    name = MLIR_TYPES.get(str(item.dtype), str(item.dtype))
    if isinstance(item, Scalar):
        return name
    return f"tensor<{'x'.join(map(str, _shape(item, dims)))}x{name}>"


def model(case: Case, length: int) -> str:
    """A function that calls the kernel on its own first result, so many times."""
    types = [_type(item, case.dims) for item in case.kernel.inputs]
    results = [_type(item, case.dims) for item in case.kernel.outputs]
    name, several = case.item.name, len(results) > 1
    of_results = f"({', '.join(results)})" if several else results[0]
    signature = f"({', '.join(types)}) -> {of_results}"
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(types))
    lines = [
        f"func.func private @{name}{signature}",
        f"func.func @main({arguments}) -> {results[0]} {{",
    ]
    last = "%a0"
    for turn in range(length):
        rest = ", ".join([last, *(f"%a{i}" for i in range(1, len(types)))])
        count = f":{len(results)}" if several else ""
        lines.append(f"  %r{turn}{count} = call @{name}({rest}) : {signature}")
        last = f"%r{turn}#0" if several else f"%r{turn}"
    return "\n".join([*lines, f"  return {last} : {results[0]}", "}"])


def build(directory: Path) -> None:
    """Compile the kernels, and both functions of each case from the same objects."""
    libraries = []
    for case in CASES:
        library = cd.build(case.item, [TARGET], image="cubin")
        libraries.append(library)
        directory.mkdir(parents=True, exist_ok=True)
        for length in (CHECKED, case.few, case.many):
            module = cd.compile(model(case, length), library)
            module.save(directory / f"{case.name}_{length}.vmfb")
    gpu_objects.write(directory, libraries)


def arguments(case: Case) -> list[Any]:
    """Fresh random ones: tensors on the GPU, without elements where they may be absent; numbers."""
    import torch

    kinds = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    found: list[Any] = []
    for item in case.kernel.inputs:
        if isinstance(item, Scalar):
            found.append({"causal": case.causal, "epsilon": 1e-5}.get(item.name, 0.088))
            continue
        assert isinstance(item, Buffer)
        shape = _shape(item, case.dims)
        if item.name == "lengths":
            lengths = torch.full(shape, case.dims["keys"], dtype=torch.int32, device="cuda")
            found.append(lengths)
        elif str(item.dtype) == "u8":  # blocks of GGUF, of which a scale in f16 is the beginning
            blocks = torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
            scales = torch.randn((*shape[:-1], 1), device="cuda") / 256
            blocks[..., :2] = scales.to(torch.float16).view(torch.uint8)
            found.append(blocks)
        else:
            values = torch.randn(shape, device="cuda")
            if item.name == "b":
                values /= case.grows
            elif item.name == "gate":  # for small ones SiLU halves them
                values /= 1000
            elif item.name == "up":
                values = values.sign() * 2
            found.append(values.to(kinds[str(item.dtype)]))
    return found


@dataclass(frozen=True)
class Row:
    """One figure: microseconds of a kernel."""

    kernel: str
    case: str
    lengths: tuple[int, int]
    iree_us: float
    recording_us: float
    """Of that, what the calling thread takes before anything runs; of few launches it is noise."""
    native_us: float
    call_us: float
    """What a call through IREE takes beside its kernels."""

    @property
    def ratio(self) -> float:
        """IREE's time of the native launch's."""
        return self.iree_us / self.native_us


class Both:
    """The ways to run a case."""

    def __init__(self, directory: Path, objects: gpu_objects.Objects, case: Case) -> None:
        import torch

        self.case, self._arguments = case, arguments(case)
        lengths = (CHECKED, case.few, case.many)
        files = {length: directory / f"{case.name}_{length}.vmfb" for length in lengths}
        self._programs = {length: cd.load(file, "cuda") for length, file in files.items()}
        given = [
            None if isinstance(value, torch.Tensor) and not value.numel() else value
            for value in self._arguments
        ]
        like = [given[0], *objects.launch(case.kernel, TARGET, given).results[1:]]
        pair = [torch.empty((2, *each.shape), dtype=each.dtype, device="cuda") for each in like]
        # From the argument, and then from one result to the other and back, as IREE does it.
        self._launches: list[gpu_objects.Launch] = []
        for turn in range(3):
            into = [memory[turn % 2] for memory in pair]
            self._launches.append(objects.launch(case.kernel, TARGET, given, into=into))
            given = [into[0], *given[1:]]

    def _launch(self, turn: int) -> gpu_objects.Launch:
        return self._launches[turn if turn < 2 else 2 - turn % 2]

    def iree(self, length: int) -> torch.Tensor:
        """Through the module."""
        import torch

        found: torch.Tensor = torch.from_dlpack(self._programs[length].main(*self._arguments))
        return found

    def recording(self, length: int) -> float:
        """Seconds until all launches of a call are recorded; then they are waited for."""
        start = time.perf_counter()
        under_way = self._programs[length].main.submit(*self._arguments)
        recorded = time.perf_counter() - start
        under_way.result()
        return recorded

    def native(self, length: int) -> torch.Tensor:
        """Through the driver."""
        import torch

        for turn in range(length):
            self._launch(turn).native.enqueue()
        torch.cuda.synchronize()
        return self._launch(length - 1).results[0]

    def native_on_the_gpu(self, length: int) -> float:
        """Seconds of launches that waited until all of them were there."""
        import torch

        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        stream = torch.cuda.Stream()  # as IREE's, one that waits for no other
        with torch.cuda.stream(stream):
            torch.cuda._sleep(CYCLES + CYCLES_PER_LAUNCH * length)  # type: ignore[no-untyped-call]
            begin.record()
            for turn in range(length):
                self._launch(turn).native.enqueue(stream.cuda_stream)
            if begin.query():
                sys.exit(f"{self.case.name}: the GPU did not wait for {length} launches.")
            end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3

    def problem(self) -> str:
        """What is wrong with IREE's result; empty if it is the native launches'."""
        import torch

        one, other = self.iree(CHECKED), self.native(CHECKED)
        if not torch.equal(one.view(torch.uint8), other.view(torch.uint8)):
            return "IREE's result differs from the native launch's"
        return "" if torch.isfinite(one).all() else "results are not finite"


def measure(both: Both) -> Row:
    """Medians of all ways, in turn."""
    case = both.case
    lengths = (case.few, case.many)
    natives = (WAITING // 5, WAITING) if case.is_short else lengths
    iree: Times = {length: [] for length in lengths}
    native: Times = {length: [] for length in natives}
    recording: Times = {length: [] for length in lengths}
    begin = time.perf_counter()
    for turn in range(ROUNDS):
        for length, other in zip(lengths, natives, strict=True):
            iree[length].append(_seconds(both.iree, length))
            if case.is_short:
                native[other].append(both.native_on_the_gpu(other))
            else:
                native[other].append(_seconds(both.native, other))
        if turn >= LEAST_ROUNDS and time.perf_counter() - begin > SECONDS:
            break
    for length in lengths:
        recording[length] += [both.recording(length) for _ in range(LEAST_ROUNDS)]
    each = _each(iree)
    call = statistics.median(iree[case.few]) * 1e6 - case.few * each
    return Row(case.kernel.name, case.name, lengths, each, _each(recording), _each(native), call)


def _seconds(function: Callable[[int], Any], length: int) -> float:
    start = time.perf_counter()
    function(length)
    return time.perf_counter() - start


def _each(found: Times) -> float:
    """Microseconds of one kernel, of the seconds of few and of many; the first two warm up."""
    (few, some), (many, more) = found.items()
    return (statistics.median(more[2:]) - statistics.median(some[2:])) * 1e6 / (many - few)


def run(directory: Path, *, timed: bool, save: Path | None) -> int:
    """Compare, and time if that is asked for; 1 if a result differs or the bar is not met."""
    import torch

    objects, rows, failures = gpu_objects.Objects(directory), [], 0
    for case in CASES:
        both = Both(directory, objects, case)
        found = both.problem()
        if found:
            failures += 1
            print(f"{case.name}: {found}", flush=True)
        if timed:
            row = measure(both)
            rows.append(row)
            verdict = "ok" if row.ratio <= BAR else f"ABOVE {BAR}"
            print(
                f"{row.case:52} {row.iree_us:8.2f} us, native {row.native_us:8.2f} us, "
                f"{row.ratio:.3f}  {verdict}; recording {row.recording_us:.2f} us, "
                f"a call {row.call_us:4.0f} us",
                flush=True,
            )
        del both
        torch.cuda.empty_cache()
    print(f"{len(CASES)} kernels, {failures} wrong")
    if save:
        figures = [asdict(row) | {"ratio": row.ratio} for row in rows]
        gpu_command.save(save, "gpu.through_iree run", bar=BAR, rows=figures)
    return int(failures > 0 or any(row.ratio > BAR for row in rows))


def main() -> int:
    """Build, check or run."""
    given = gpu_command.parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    return run(given.directory, timed=given.what == "run", save=given.save)

"""Shipped kernels in a module beside their own launches: what IREE adds to a kernel in a model.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU, iree-base-runtime and
PyTorch

    python benchmarks/gpu_through_iree.py check DIRECTORY
    python benchmarks/gpu_through_iree.py run DIRECTORY [--save FILE]

A function calls the kernel several times, each time on the last result; the same launches are made
through the CUDA driver, of the same machine code. What a call costs beside its kernels is the same
for few and for many of them, and is not what is asked here: so the time of a kernel is the
difference of two such functions by the difference of their lengths. Results must be equal bit for
bit, which is all that `check` looks at.

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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from benchmarks import gpu_command, gpu_objects
from cuda_kernels import (
    attention,
    gelu,
    gemm,
    layer_norm,
    quantised,
    rms_norm,
    rotary,
    softmax,
    swiglu,
)
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.operand import Operand, Scalar
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    import torch

BAR = 1.02
TARGET = "cuda:sm_90a"
ROUNDS, LEAST_ROUNDS, SECONDS = 60, 11, 1.0
MLIR_TYPES = {"bool": "i1", "u8": "i8", "i32": "i32"}


@dataclass(frozen=True)
class Case:
    """One kernel at one size, called `few` and `many` times."""

    item: cd.Kernel | cd.Choice
    dims: dict[str, int]
    few: int = 8
    many: int = 72
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
    # Few, before results become so small that dividing them takes longer.
    Case(swiglu.swiglu_bf16, ROWS, few=2, many=14),
    Case(rotary.rotary_bf16, {"batch": 8, "heads": 32, "length": 4096, "dim": 128, "tables": 1}),
    Case(attention.attention_f16_128, PREFILL),
    Case(attention.attention_f16_128, PREFILL, causal=True),
    Case(attention.attention_bf16_128, DECODE),
    Case(attention.cached_attention_bf16_128, DECODE),
    Case(gemm.linear_bf16, SQUARE, grows=64.0),
    Case(gemm.linear_f32, SQUARE, few=2, many=8, grows=64.0),
    Case(quantised.q4_0_f16, {"batch": 1, "blocks": 128, "n": 4096}, few=50, many=250),
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
        for length in (case.few, case.many):
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
        elif str(item.dtype) == "u8":
            found.append(torch.randint(0, 60, shape, dtype=torch.uint8, device="cuda"))
        else:
            values = torch.randn(shape, device="cuda")
            if item.name == "b":
                values /= case.grows
            found.append(values.to(kinds[str(item.dtype)]))
    return found


@dataclass(frozen=True)
class Row:
    """One figure: microseconds of a kernel."""

    kernel: str
    case: str
    lengths: tuple[int, int]
    iree_us: float
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
        lengths = (case.few, case.many)
        files = {length: directory / f"{case.name}_{length}.vmfb" for length in lengths}
        self._programs = {length: cd.load(file, "cuda") for length, file in files.items()}
        given = [
            None if isinstance(value, torch.Tensor) and not value.numel() else value
            for value in self._arguments
        ]
        like = [given[0], *objects.launch(case.kernel, TARGET, given).results[1:]]
        pair = [torch.empty((2, *each.shape), dtype=each.dtype, device="cuda") for each in like]
        self._launches: list[gpu_objects.Launch] = []
        for turn in range(case.many):
            into = [memory[turn % 2] for memory in pair]  # as IREE does it
            self._launches.append(objects.launch(case.kernel, TARGET, given, into=into))
            given = [into[0], *given[1:]]

    def iree(self, length: int) -> torch.Tensor:
        """Through the module."""
        import torch

        found: torch.Tensor = torch.from_dlpack(self._programs[length].main(*self._arguments))
        return found

    def native(self, length: int) -> torch.Tensor:
        """Through the driver."""
        import torch

        for launch in self._launches[:length]:
            launch.native.enqueue()
        torch.cuda.synchronize()
        return self._launches[length - 1].results[0]

    def differ(self) -> bool:
        """Whether their results do."""
        import torch

        length = self.case.few
        one, other = self.iree(length), self.native(length)
        return not torch.equal(one.view(torch.uint8), other.view(torch.uint8))


def measure(both: Both) -> Row:
    """Medians of all ways, in turn."""
    case = both.case
    ways: dict[str, Callable[[int], Any]] = {"iree": both.iree, "native": both.native}
    times: dict[tuple[str, int], list[float]] = {}
    begin = time.perf_counter()
    for turn in range(ROUNDS):
        for length in (case.few, case.many):
            for way, function in ways.items():
                start = time.perf_counter()
                function(length)
                times.setdefault((way, length), []).append(time.perf_counter() - start)
        if turn >= LEAST_ROUNDS and time.perf_counter() - begin > SECONDS:
            break
    us = {key: statistics.median(found[2:]) * 1e6 for key, found in times.items()}
    each = {way: (us[way, case.many] - us[way, case.few]) / (case.many - case.few) for way in ways}
    call = us["iree", case.few] - case.few * each["iree"]
    lengths = (case.few, case.many)
    name = case.kernel.name
    return Row(name, case.name, lengths, each["iree"], each["native"], call)


def run(directory: Path, *, timed: bool, save: Path | None) -> int:
    """Compare, and time if that is asked for; 1 if a result differs or the bar is not met."""
    import torch

    objects, rows, failures = gpu_objects.Objects(directory), [], 0
    for case in CASES:
        both = Both(directory, objects, case)
        if both.differ():
            failures += 1
            print(f"{case.name}: IREE's result differs from the native launch's", flush=True)
        if timed:
            row = measure(both)
            rows.append(row)
            verdict = "ok" if row.ratio <= BAR else f"ABOVE {BAR}"
            print(
                f"{row.case:52} {row.iree_us:8.1f} us, native {row.native_us:8.1f} us, "
                f"{row.ratio:.3f}  {verdict}; a call {row.call_us:6.0f} us",
                flush=True,
            )
        del both
        torch.cuda.empty_cache()
    print(f"{len(CASES)} kernels, {failures} differ")
    if save:
        figures = [asdict(row) | {"ratio": row.ratio} for row in rows]
        gpu_command.save(save, "benchmarks/gpu_through_iree.py run", bar=BAR, rows=figures)
    return int(failures > 0 or any(row.ratio > BAR for row in rows))


def main() -> int:
    """Build, check or run."""
    given = gpu_command.parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    return run(given.directory, timed=given.what == "run", save=given.save)


if __name__ == "__main__":
    sys.exit(main())

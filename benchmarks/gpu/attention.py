"""Attention on tensor cores on a GPU: correct first, then beside PyTorch's and a plain copy.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU, iree-base-runtime and
PyTorch

    python -m benchmarks gpu.attention check DIRECTORY
    python -m benchmarks gpu.attention run DIRECTORY [--save FILE]

`check` runs odd sizes at aligned and misaligned addresses, every kernel for every target that it
has, and the choices through IREE; `check --few` few enough for compute-sanitizer.

The objects are those that modules hold, launched through the CUDA driver and timed with events, as
PyTorch's operators are, without the time of launching, in turns of a few launches each: a GPU at
its limit of power runs at a clock that follows from what ran just before. Code for sm_80 is
compiled for sm_90, which is how an H200 runs it.

Bars, of the issue: as fast as PyTorch's best backend at 32 heads of 4096 x 128, f16; a step of
decoding at 80 % of the bandwidth of a copy, counted in bytes of keys and values.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.cases.attention import (
    DECODES,
    PREFILLS,
    Inputs,
    cases,
    exact,
    inputs,
    shape_text,
    takes,
    wrong,
)
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import copy_bandwidth, launched, with_events
from cuda_kernels import attention
from cuda_kernels.attention.choices import choose
from cuda_kernels.attention.decode import decode, forms_of
from cuda_kernels.attention.decode_cache import decode_cache
from cuda_kernels.attention.names import PREFIXES
from cuda_kernels.attention.prefill import PREFILLS as FORMS
from cuda_kernels.attention.prefill import prefill
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    from custom_dispatch.measure.native_launch import NativeLaunch

TARGETS = ("cuda:sm_90", "cuda:sm_90a")
"""The first has the code for sm_80 where there is none for sm_90."""


def unbound() -> Iterator[cd.Kernel]:
    """All of their kernels, those for tables alone, too."""
    for dtype in ("f16", "bf16"):
        for dim in (64, 128):
            for form in FORMS[dim]:
                for mask in PREFIXES:
                    yield prefill(dtype, dim, mask, form=form)
            for form in forms_of(dim):
                for mask in PREFIXES:
                    yield decode(dtype, dim, mask, form)
                yield decode_cache(dtype, dim, form)


def build(directory: Path) -> None:
    """Compile everything: cubins, which load at once, and a module."""
    kernels = list(unbound())
    gpu_objects.write(directory, [cd.build(kernels, [target], image="cubin") for target in TARGETS])
    wanted = [attention.attention_f16_128, attention.attention_bf16_128]
    cached = [attention.cached_attention_bf16_128]
    cd.compile(None, [*wanted, *cached], ["cuda:sm_80", *TARGETS]).save(
        directory / "attention.vmfb"
    )


class Launcher:
    """The built kernels, by name."""

    def __init__(self, directory: Path) -> None:
        self._objects = gpu_objects.Objects(directory)
        self._kernels = {kernel.name: kernel for kernel in unbound()}

    def names(self, beginning: str, given: Inputs) -> list[str]:
        """Kernels of every form that take the inputs, `prefill_attention_f16_128`."""
        found = (name for name in self._kernels if re.match(rf"{beginning}_[btr]\d", name))
        return [name for name in found if takes(self._kernels[name], given)]

    def launch(
        self, target: str, name: str, given: Inputs, lengths: Any = None
    ) -> tuple[NativeLaunch, Any, Any]:
        """A launch, its result, poisoned, and what lies behind it."""
        values = vars(given) | {"lengths": lengths}
        launch = self._objects.launch(self._kernels[name], target, values, given.q.storage_offset())
        return launch.native, launch.results[0], launch.guards[0]


def check(directory: Path, few: bool) -> int:
    """Run the odd sizes."""
    import torch

    launcher, tally, calls = Launcher(directory), gpu_command.Tally(), gpu_command.Tally()
    for suffix, prefix, given in cases(few):
        want, kind = exact(given), suffix.split("_")[0]
        for name in launcher.names(f"{prefix}_attention_{suffix}", given):
            for target in TARGETS:
                launch, out, guard = launcher.launch(target, name, given)
                launch.run()
                what = f"{name} for {target} {given.sizes}"
                tally.add(what, wrong(kind, out, want, guard))
        if prefix == "decode" and not given.causal and given.q.storage_offset() == 0:
            batch, _, _, queries, keys, _ = given.sizes
            lengths = torch.randint(0, keys + 1, (batch,), dtype=torch.int32, device="cuda")
            last = lengths[:, None] - queries + 1 + torch.arange(queries, device="cuda")
            seen = torch.arange(keys, device="cuda") < last[:, None, :, None]
            want = exact(Inputs(given.q, given.k, given.v, seen, given.scale, False))
            for name in launcher.names(f"decode_cache_{suffix}", given):
                launch, out, guard = launcher.launch(TARGETS[0], name, given, lengths)
                launch.run()
                what = f"{name} {given.sizes} {lengths.tolist()}"
                tally.add(what, wrong(kind, out, want, guard))
    if not few:
        program = cd.load(directory / "attention.vmfb", "cuda")
        for sizes in (
            (1, 4, 2, 130, 200, 128),
            (16, 32, 8, 1, 300, 128),
            (1, 8, 2, 3, 300, 128),
            (4, 32, 8, 2, 77, 128),
        ):
            given = inputs("bf16", sizes)
            none = torch.empty((sizes[0], 1, 1, 0), dtype=given.q.dtype, device="cuda")
            out = program.attention_bf16_128(given.q, given.k, given.v, none, given.scale, False)
            problem = wrong("bf16", torch.from_dlpack(out), exact(given))
            calls.add(f"through IREE {sizes}", problem)
    return tally.finish() | calls.finish("calls through IREE")


@dataclass(frozen=True)
class Row:
    """One figure."""

    what: str
    by: str
    us: float
    """The median, on the GPU's clock."""
    rate: float
    """TFLOP/s, or TB/s of keys and values."""
    beside: float
    """PyTorch's fastest time over this one, or the part of a copy's bandwidth."""


def in_turns(
    functions: dict[str, Callable[[], float]], rounds: int = 5, each: int = 6
) -> dict[str, float]:
    """The median of each in microseconds."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(20):
        next(iter(functions.values()))()
    for _ in range(rounds):
        for name, once in functions.items():
            once()
            times[name] += [once() * 1e6 for _ in range(each)]
    return {name: statistics.median(found) for name, found in times.items()}


def backends(given: Inputs) -> dict[str, Callable[[], float]]:
    """PyTorch's, as far as they take the inputs."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    found = {}
    for name in ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION"):

        def call(name: str = name) -> Any:
            with sdpa_kernel(getattr(SDPBackend, name)):
                return scaled_dot_product_attention(
                    given.q,
                    given.k,
                    given.v,
                    is_causal=given.causal,
                    scale=given.scale,
                    enable_gqa=given.q.shape[1] != given.k.shape[1],
                )

        try:
            call()
        except RuntimeError:
            continue
        found[f"PyTorch, {name.split('_')[0].lower()}"] = with_events(call)
    return found


def run(directory: Path) -> tuple[list[Row], float]:
    """Check and time the large cases."""
    import torch

    launcher, rows = Launcher(directory), []
    copy = copy_bandwidth("f32")
    print(f"copy: {copy:.2f} TB/s")
    work = [("f16", sizes, causal) for sizes in PREFILLS for causal in (False, True)]
    work += [("bf16", PREFILLS[0], False), ("bf16", PREFILLS[0], True)]
    for kind, sizes, causal in work:
        given = inputs(kind, sizes, causal=causal)
        functions = backends(given)
        choice = choose(kind, sizes[-1])
        dims = dict(zip(("batch", "heads", "kv_heads", "queries", "keys"), sizes, strict=False))
        name = gpu_objects.kernel_for(choice, dims, Target.parse(TARGETS[1])).name
        for target in TARGETS:
            launch, out, guard = launcher.launch(target, name, given)
            launch.run()
            if sizes[0] * sizes[1] <= 32:
                head = Inputs(
                    *(x[:, :1] for x in (given.q, given.k, given.v)), None, given.scale, causal
                )
                problem = wrong(kind, out[:, :1], exact(head), guard)
                if problem:
                    sys.exit(f"{name} for {target} {sizes}: {problem}")
            label = "sm_80" if target == TARGETS[0] else "sm_90a"
            functions[label] = launched(launch)
        batch, heads, _, queries, keys, dim = sizes
        flops = 4 * batch * heads * queries * keys * dim / (2 if causal else 1)
        found = in_turns(functions)
        best = min(us for by, us in found.items() if by.startswith("PyTorch"))
        what = f"{kind} {shape_text(sizes)}{', causal' if causal else ''}"
        for by, us in found.items():
            rows.append(Row(what, by, us, flops / us / 1e6, best / us))
            print(
                f"{what:40} {by:20} {us:8.1f} us {flops / us / 1e6:6.0f} TFLOP/s {best / us:.3f}",
                flush=True,
            )
    for sizes in DECODES:
        given = inputs("bf16", sizes)
        batch, heads, kv_heads, queries, keys, dim = sizes
        functions = backends(given)
        dims = {"batch": batch, "heads": heads, "kv_heads": kv_heads}
        dims |= {"queries": queries, "keys": keys}
        target = Target.parse(TARGETS[1])
        choice = choose("bf16", dim)
        name = gpu_objects.kernel_for(choice, dims, target).name
        launch, out, guard = launcher.launch(TARGETS[1], name, given)
        launch.run()
        problem = wrong("bf16", out, exact(given), guard)
        if problem:
            sys.exit(f"decode {sizes}: {problem}")
        functions["sm_90a"] = launched(launch)
        lengths = torch.full((batch,), keys, dtype=torch.int32, device="cuda")
        name = name.replace("decode_attention", "decode_cache")
        cached, *_ = launcher.launch(TARGETS[1], name, given, lengths)
        functions["sm_90a, lengths"] = launched(cached)
        moved = 2 * given.k.nbytes
        for by, us in in_turns(functions).items():
            rows.append(
                Row(f"bf16 {shape_text(sizes)}", by, us, moved / us / 1e6, moved / us / 1e6 / copy)
            )
            rate = f"{rows[-1].rate:6.2f} TB/s {rows[-1].beside:.2f} of a copy"
            print(
                f"{rows[-1].what:40} {by:20} {us:8.1f} us {rate}",
                flush=True,
            )
    return rows, copy


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument("--few", action="store_true", help="sizes for compute-sanitizer")
    options = parser.parse_args()
    if options.what == "build":
        build(options.directory)
        return 0
    if options.what == "check":
        return check(options.directory, options.few)
    rows, copy = run(options.directory)
    if options.save:
        gpu_command.save(
            options.save,
            "gpu.attention run",
            copy_tb_per_s=copy,
            rows=[asdict(row) for row in rows],
        )
    return 0

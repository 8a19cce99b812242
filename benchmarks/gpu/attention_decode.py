"""Attention of few queries with long caches on a GPU, beside PyTorch's fastest, at any sizes.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU, iree-base-runtime and
PyTorch

    python -m benchmarks gpu.attention_decode check DIRECTORY
    python -m benchmarks gpu.attention_decode run DIRECTORY [--save FILE] [--seconds N]

`run` draws sizes at random, the same for each `--seed`, and stops after `--seconds`: 1 to 64
sequences, any number of heads of keys, 1 to 160 query rows on each, and caches of 1000 to 32768.
A time is that of a CUDA graph of launches over buffers that do not fit into the L2 cache together.
PyTorch's is the fastest of its backends, with the heads that share keys as they are and folded into
the queries.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.cases.attention import Inputs, exact, inputs, wrong
from benchmarks.cases.attention_caches import EIGHT_BITS, Cached
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_graph
from cuda_kernels.attention.choices import choose, choose_any_head
from cuda_kernels.attention.decode import decode, forms_of
from cuda_kernels.attention.decode_cache import decode_cache
from cuda_kernels.attention.head_sizes import UP_TO, Head, UpTo
from cuda_kernels.attention.paged import paged
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    import torch

TARGET = "cuda:sm_90a"
NAMES = ("batch", "heads", "kv_heads", "queries", "keys", "dim")
BATCHES = (1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
HEADS = (
    *((32, 8), (32, 32), (32, 4), (28, 4), (71, 1), (64, 1), (16, 2), (40, 8), (96, 1), (24, 2)),
    *((48, 3), (12, 12), (128, 1), (64, 8)),
)
DIMS = (64, 64, 128, 128, 128, 80, 96, 192, 256)
"""More often the usual ones."""
COLD, MOST, FEWEST = 300 << 20, 24, 3
"""Bytes that launches of a graph read together, and how many launches it has."""
POOL = 1 << 31
"""Elements of keys, and of values, from which launches read; one reads at most half of them."""


@dataclass(frozen=True)
class Row:
    """The times of one size, in us."""

    size: dict[str, int]
    kernel: str
    """That calls get."""
    us: float
    by: str
    """PyTorch's fastest backend."""
    best: float
    """Its time."""
    forms: dict[str, float]
    """The times of all kernels."""

    @property
    def speed(self) -> float:
        """PyTorch's time divided by ours."""
        return self.best / self.us

    @property
    def rows(self) -> int:
        """Queries of all heads that share a head of keys."""
        return self.size["heads"] // self.size["kv_heads"] * self.size["queries"]


def sizes(seed: int) -> Iterator[tuple[int, ...]]:
    """As `NAMES` has them, without an end."""
    drawn = random.Random(seed)  # noqa: S311 - no secret
    while True:
        batch, (heads, kv_heads) = drawn.choice(BATCHES), drawn.choice(HEADS)
        queries = max(1, round(2 ** drawn.uniform(0, 7.3) * kv_heads / heads))
        keys, dim = round(1000 * 2 ** drawn.uniform(0, 5.03)), drawn.choice(DIMS)
        if batch * kv_heads * keys * dim <= POOL // 2:
            yield batch, heads, kv_heads, queries, keys, dim


def head_of(dim: int) -> Head:
    """The kernels' own size of a head, or the smallest of the largest that take it."""
    fits = (head for head in UP_TO if dim <= min(head.columns, head.value_columns))
    return dim if dim in HEAD_SIZES else next(fits)


def backends(q: Any, k: Any, v: Any) -> dict[str, Callable[[], Any]]:
    """PyTorch's calls that take these."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    folded = q.view(q.shape[0], k.shape[1], -1, q.shape[3])
    found: dict[str, Callable[[], Any]] = {}
    for name in ("FLASH_ATTENTION", "CUDNN_ATTENTION"):
        for how, queries in (("", q), (" folded", folded)):
            if how and q.shape[1] == k.shape[1]:
                continue

            def call(name: str = name, queries: Any = queries) -> Any:
                with sdpa_kernel(getattr(SDPBackend, name)):
                    return scaled_dot_product_attention(
                        queries, k, v, enable_gqa=queries.shape[1] != k.shape[1]
                    )

            try:
                call()
            except RuntimeError:
                continue
            found[name.split("_")[0].lower() + how] = call
    return found


def _timed(replays: dict[str, Callable[[], None]], launches: int) -> dict[str, float]:
    """The medians of each, of one launch, in us; in turns."""
    import torch

    times: dict[str, list[float]] = {name: [] for name in replays}
    for _ in range(4):
        for name, replay in replays.items():
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            start.record()
            replay()
            stop.record()
            stop.synchronize()
            times[name].append(start.elapsed_time(stop) * 1e3 / launches)
    return {name: statistics.median(found[1:]) for name, found in times.items()}


class Bench:
    """The kernels, and memory to read."""

    def __init__(self, directory: Path, pool: int = 0) -> None:
        import torch

        self._choices = {dim: _choice(dim) for dim in DIMS}
        self._objects = gpu_objects.Objects(directory)
        self._pool = []
        if pool:
            torch.manual_seed(0)
            some = torch.randn(1 << 26, device="cuda").to(torch.bfloat16)
            self._pool = [some.repeat(pool >> 26) for _ in "kv"]

    def views(self, size: tuple[int, ...], count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The keys and values of one launch: others for each count."""
        batch, _, kv_heads, _, keys, dim = size
        elements = batch * kv_heads * keys * dim
        whole = -(-elements // 1024) * 1024
        at = count * whole % (self._pool[0].numel() - elements) // 64 * 64
        k, v = (x[at : at + elements].view(batch, kv_heads, keys, dim) for x in self._pool)
        return k, v

    def launch(self, kernel: cd.Kernel, given: Inputs, **others: Any) -> gpu_objects.Launch:
        """A launch of a kernel."""
        values = vars(given) | others
        return self._objects.launch(kernel, TARGET, values, given.q.storage_offset())

    def chosen(self, size: tuple[int, ...]) -> cd.Kernel:
        """The kernel that calls get."""
        dims = dict(zip(NAMES, size, strict=True)) | {"value_dim": size[-1]}
        return gpu_objects.kernel_for(self._choices[size[-1]], dims, Target.parse(TARGET))

    def measured(self, size: tuple[int, ...]) -> Row:
        """One size's times."""
        import torch

        batch, heads, kv_heads, queries, keys, dim = size
        moved = 4 * batch * kv_heads * keys * dim
        count = min(MOST, max(FEWEST, COLD // moved))
        calls: dict[str, list[Callable[[], Any]]] = {}
        chosen = self.chosen(size)
        forms = {kernel.name: kernel for kernel in plain_of(head_of(dim))} | {chosen.name: chosen}
        for number in range(count):
            q = torch.randn(batch, heads, queries, dim, device="cuda").to(torch.bfloat16)
            given = Inputs(q, *self.views(size, number), None, dim**-0.5, False)
            for name, kernel in forms.items():
                launch = self.launch(kernel, given)  # whose memory lives as long as it

                def own(launch: gpu_objects.Launch = launch) -> None:
                    launch.native.enqueue(torch.cuda.current_stream().cuda_stream)

                calls.setdefault(name, []).append(own)
            for by, call in backends(given.q, given.k, given.v).items():
                calls.setdefault(by, []).append(call)
        graphs = {
            by: in_graph(lambda each=each: [call() for call in each]) for by, each in calls.items()
        }
        times = _timed(graphs, count)
        ours = {name: times.pop(name) for name in forms}
        by = min(times, key=lambda each: times[each])
        name = chosen.name
        of = dict(zip(NAMES, size, strict=True))
        return Row(of, name, ours[name], by, times[by], ours)


def _choice(dim: int) -> cd.Choice:
    head = head_of(dim)
    return choose("bf16", head) if isinstance(head, int) else choose_any_head("bf16", "keys")


def run(directory: Path, seconds: float, seed: int) -> list[Row]:
    """Time as many sizes as there is time for."""
    bench, rows, start = Bench(directory, POOL), [], time.perf_counter()
    for size in sizes(seed):
        if time.perf_counter() - start > seconds:
            break
        rows.append(bench.measured(size))
        row = rows[-1]
        of = "{}x{}/{} q{} k{} d{}".format(*size)
        told = " ".join(f"{us:.1f}" for us in row.forms.values())
        print(f"{of:32} {row.best:8.1f} {row.speed:.2f} {row.by}; {row.kernel}: {told}", flush=True)
    return rows


def caches(directory: Path) -> list[Row]:
    """What pages and 8 bits change, beside a cache as it is."""
    bench, rows = Bench(directory), []
    for batch, keys in ((1, 8192), (1, 32768), (16, 8192), (64, 3000)):
        size = (batch, 32, 8, 1, keys, 128)
        given = inputs("bf16", size)
        import torch

        lengths = torch.full((batch,), keys, dtype=torch.int32, device="cuda")
        for number, form in enumerate(forms_of(UP_TO[2])):
            times = {}
            for kernel in (caches_of(128)[number], *stored_of(UP_TO[2])[4 * number :][:4]):
                cached = Cached(given, lengths, kernel, 16)
                native = bench.launch(kernel, cached.inputs, **cached.others)
                replay = in_graph(
                    lambda native=native: [
                        native.native.enqueue(torch.cuda.current_stream().cuda_stream)
                        for _ in range(10)
                    ]
                )
                times[kernel.name] = _timed({"": replay}, 10)[""]
            rows.append(Row(dict(zip(NAMES, size, strict=True)), form.name, 0.0, "", 0.0, times))
            print(size, form.name, " ".join(f"{us:.1f}" for us in times.values()), flush=True)
    return rows


def summary(rows: list[Row]) -> None:
    """Geometric means of the speed, by size."""
    for name in NAMES:
        for value in sorted({row.size[name] for row in rows}):
            _print(f"{name} {value}", [row.speed for row in rows if row.size[name] == value])
    for low, high in ((1, 4), (5, 16), (17, 32), (33, 64), (65, 128), (129, 9999)):
        _print(f"rows {low} to {high}", [r.speed for r in rows if low <= r.rows <= high])
    _print("all", [row.speed for row in rows])


def _print(what: str, speeds: list[float]) -> None:
    if speeds:
        mean = exp(sum(map(log, speeds)) / len(speeds))
        slow = sum(speed < 0.85 for speed in speeds)
        print(f"{what:20} {mean:.2f} of {len(speeds)}, least {min(speeds):.2f}, {slow} below 0.85")


HEAD_SIZES = (64, 128)
ALL_HEADS: tuple[Head, ...] = (*HEAD_SIZES, *UP_TO)
STORED, FN = (UP_TO[0], UP_TO[2], UP_TO[5]), "f8E4M3FN"
PAGE_SIZES = (16, 64, 5, 256)


def plain_of(head: Head) -> list[cd.Kernel]:
    """Those without a mask."""
    return [decode("bf16", head, "keys", form) for form in forms_of(head)]


def caches_of(head: Head) -> list[cd.Kernel]:
    """Those with lengths."""
    return [decode_cache("bf16", head, form) for form in forms_of(head)]


def stored_of(head: Head) -> list[cd.Kernel]:
    """Those with pages, or with caches of 8 bits."""
    if head not in STORED:
        return []
    found = []
    for form in forms_of(head):
        found += [decode_cache("bf16", head, form, stored) for stored in EIGHT_BITS]
        found += [paged("bf16", head, form), paged("bf16", head, form, layout="bshd", stored=FN)]
    return found


def kernels() -> list[cd.Kernel]:
    """What is built."""
    found = [c.own(each) for c in (choose("bf16", d) for d in HEAD_SIZES) for each in c.kernels]
    for head in ALL_HEADS:
        found += [*(plain_of(head) if isinstance(head, UpTo) else []), *caches_of(head)]
        found += stored_of(head)
    return found


CHECKED = (
    (1, 1, 1, 1, 1),
    (2, 8, 2, 1, 100),
    (3, 32, 8, 1, 63),
    (1, 16, 1, 1, 65),
    (2, 4, 2, 7, 4095),
    (1, 71, 1, 1, 3000),
    (1, 32, 4, 5, 9001),
    (2, 6, 3, 40, 1500),
    (1, 8, 8, 130, 777),
    (37, 4, 2, 3, 300),
    (5, 24, 8, 64, 700),
)
"""Batch, heads, heads of keys, queries and keys."""


def check(directory: Path) -> int:
    """Compare all of them with double precision, twice."""
    import torch

    bench, tally = Bench(directory), gpu_command.Tally()
    for head, size, causal, offset in itertools.product(ALL_HEADS, CHECKED, (False, True), (0, 1)):
        if offset and size not in CHECKED[4:6]:
            continue
        dims = (head, head) if isinstance(head, int) else (head.columns - 8, head.value_columns - 5)
        if isinstance(head, UpTo) and causal:
            dims = (head.columns, head.value_columns)
        given = inputs("bf16", (*size, dims[0]), causal=causal, offset=offset, value_dim=dims[1])
        want = exact(given)
        first: dict[str, Any] = {}
        for kernel in (*plain_of(head), *plain_of(head)):
            launch = bench.launch(kernel, given)
            launch.native.run()
            out = launch.results[0]
            problem = wrong("bf16", out, want, launch.guards[0])
            if not first.setdefault(kernel.name, out).equal(out):
                problem = "another result the second time"
            tally.add(f"{kernel.name} {size} {dims} {causal} {offset}", problem)
        batch, _, _, queries, keys = size
        lengths = torch.randint(0, keys + 1, (batch,), dtype=torch.int32, device="cuda")
        seen = torch.arange(keys, device="cuda") < (
            lengths[:, None] - queries + 1 + torch.arange(queries, device="cuda")
        ).unsqueeze(-1)
        k, v = given.k.clone(), given.v.clone()
        for number, length in enumerate(lengths.tolist()):
            k[number, :, length:], v[number, :, length:] = torch.nan, torch.inf
        want = exact(Inputs(given.q, given.k, given.v, seen.unsqueeze(1), given.scale, False))
        spoiled = Inputs(given.q, k, v, None, given.scale, False)
        for kernel in caches_of(head):
            launch = bench.launch(kernel, spoiled, lengths=lengths)
            launch.native.run()
            problem = wrong("bf16", launch.results[0], want, launch.guards[0])
            tally.add(f"{kernel.name} {size} {dims} {offset} {lengths.tolist()}", problem)
        if offset or dims[1] % 2:
            continue
        for number, kernel in enumerate(stored_of(head)):
            cached = Cached(given, lengths, kernel, PAGE_SIZES[number % len(PAGE_SIZES)])
            launch = bench.launch(kernel, cached.inputs, **cached.others)
            launch.native.run()
            out = launch.results[0].transpose(1, 2) if cached.is_bshd else launch.results[0]
            of = exact(Inputs(given.q, *cached.wide, seen.unsqueeze(1), given.scale, False))
            problem = wrong("bf16", out, of, launch.guards[0])
            tally.add(f"{kernel.name} {size} {dims} {lengths.tolist()}", problem)
    return tally.finish()


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=21)
    options = parser.parse_args()
    if options.what == "build":
        library = cd.build(kernels(), [TARGET], image="cubin")
        gpu_objects.write(options.directory, [library])
        return 0
    if options.what == "check":
        return check(options.directory)
    kept = caches(options.directory)
    rows = run(options.directory, options.seconds, options.seed)
    summary(rows)
    if options.save:
        gpu_command.save(
            options.save,
            "gpu.attention_decode run",
            rows=[asdict(row) for row in rows],
            caches=[asdict(row) for row in kept],
        )
    return 0

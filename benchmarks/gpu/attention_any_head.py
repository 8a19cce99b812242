"""Attention of heads of every size on a GPU: correct first, then beside PyTorch's.

Two halves, as of `gpu.attention`, which says how it is timed:

    python -m benchmarks gpu.attention_any_head build DIRECTORY
    python -m benchmarks gpu.attention_any_head check DIRECTORY [--few]
    python -m benchmarks gpu.attention_any_head run DIRECTORY [--save FILE]

`check` runs every kernel for every target that it has, with several sizes of heads; `check --few`
one size each, for compute-sanitizer. `run` times what calls get: large problems and small ones.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch

import custom_dispatch as cd
from benchmarks.cases.attention import Inputs, exact, inputs, takes, wrong
from benchmarks.gpu.attention import TARGETS, Row, backends, in_turns
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import launched
from cuda_kernels.attention.choices import choose, choose_any_head
from cuda_kernels.attention.decode import Decode, decode, forms_of
from cuda_kernels.attention.decode_cache import decode_cache
from cuda_kernels.attention.head_sizes import UP_TO, Head, UpTo, name_of
from cuda_kernels.attention.names import HEADS as OF_ONE_SIZE
from cuda_kernels.attention.names import PREFIXES
from cuda_kernels.attention.prefill import PREFILLS, prefill
from cuda_kernels.attention.simt import declare
from custom_dispatch.kernel.evaluation import holds

HEADS: dict[Head, tuple[tuple[int, int], ...]] = {
    32: ((32, 32),),
    64: ((64, 64),),
    128: ((128, 128),),
    UpTo(64, 64): ((40, 40), (8, 64), (33, 50)),
    UpTo(96, 96): ((80, 80), (72, 72), (96, 96), (96, 64), (90, 83)),
    UpTo(128, 128): ((112, 112), (104, 16), (100, 127)),
    UpTo(192, 128): ((192, 128), (160, 96), (129, 100)),
    UpTo(192, 192): ((192, 192), (160, 160), (130, 181)),
    UpTo(256, 256): ((256, 256), (200, 224), (8, 256), (250, 197)),
}
"""Sizes of queries and keys, and of values, by the largest that a kernel takes."""
MANY = ((1, 1, 1, 1, 1), (2, 4, 2, 65, 64), (3, 4, 4, 129, 1000), (20, 8, 4, 300, 65))
FEW = ((1, 1, 1, 1, 1), (2, 8, 2, 1, 100), (2, 4, 2, 7, 2049))
TIMED = (
    *((1, 32, 32, 4096, 4096, *head) for head in ((80, 80), (96, 96), (112, 112), (192, 128))),
    (1, 32, 32, 4096, 4096, 256, 256),
    *((4, 16, 16, 1024, 1024, *head) for head in ((72, 72), (80, 80), (96, 96), (192, 128))),
    (4, 16, 16, 1024, 1024, 256, 256),
    *((1, 32, 8, size, size, of, of) for of in (64, 128) for size in (1000, 4096, 16384)),
    *((8, 12, 12, size, size, of, of) for of in (32, 64) for size in (128, 197, 512, 1500)),
    *((1, 16, 8, size, size, of, of) for of in (96, 128, 256) for size in (333, 512, 700)),
    *((16, 16, 16, size, size, of, of) for of in (48, 64, 128) for size in (256, 1024)),
    (8, 32, 8, 2048, 2048, 128, 128),
    (2, 20, 20, 1500, 1500, 64, 64),
    (1, 16, 16, 4096, 4096, 32, 32),
    (64, 8, 8, 49, 49, 32, 32),
    (8, 16, 16, 257, 257, 80, 80),
    (1, 32, 32, 2048, 77, 128, 128),
    (8, 8, 8, 4096, 77, 40, 40),
)
"""Batch, heads, heads of keys, queries, keys, and a head's two sizes."""
DECODED = (
    (16, 32, 8, 1, 4096, 80, 80),
    (16, 32, 8, 1, 4096, 96, 96),
    (16, 16, 8, 1, 4096, 256, 256),
)


def kernels() -> Iterator[cd.Kernel]:
    """What is built."""
    for head, forms in PREFILLS.items():
        for mask, kind, of in itertools.product(PREFIXES, ("f16", "bf16"), forms):
            yield prefill(kind, head, mask, form=of)
    for head in UP_TO:
        for mask in PREFIXES:
            yield declare("f32", head, mask)
        for form in forms_of(head):
            yield decode("bf16", head, "keys", form)
            yield decode_cache("bf16", head, form)


class Launcher:
    """The built kernels, by name."""

    def __init__(self, directory: Path) -> None:
        self.kernels = {kernel.name: kernel for kernel in kernels()}
        self._objects = gpu_objects.Objects(directory)

    def names(self, beginning: str, given: Inputs) -> list[str]:
        """The kernels whose names begin so, and that take the inputs."""
        found = (name for name in self.kernels if f"{name}_".startswith(f"{beginning}_"))
        return [name for name in found if takes(self.kernels[name], given)]

    def launch(
        self, target: str, name: str, given: Inputs, lengths: torch.Tensor | None = None
    ) -> gpu_objects.Launch:
        """A launch of a kernel."""
        values = vars(given) | {"lengths": lengths}
        return self._objects.launch(self.kernels[name], target, values, given.q.storage_offset())


def checked(few: bool) -> Iterator[tuple[str, Inputs, torch.Tensor | None]]:
    """The kernels' names with inputs, and with lengths of a cache."""
    for head, sizes in HEADS.items():
        for of in sizes[:1] if few else sizes:
            for kind in ("f16", "bf16", "f32") if isinstance(head, UpTo) else ("f16", "bf16"):
                which = "" if kind == "f32" else "prefill_"
                name = f"{which}attention_{kind}_{name_of(head)}"
                for size in MANY[1:2] if few else MANY:
                    for causal in (False, True):
                        given = inputs(kind, (*size, of[0]), causal=causal, value_dim=of[1])
                        yield name, given, None
                if few:
                    continue
                for mask, prefix in PREFIXES.items():
                    given = inputs(kind, (*MANY[2], of[0]), mask=mask, value_dim=of[1])
                    yield prefix + name, given, None
                given = inputs(kind, (*MANY[1], of[0]), offset=1, causal=True, value_dim=of[1])
                yield name, given, None
            if not isinstance(head, UpTo):
                continue
            for size in FEW[1:2] if few else FEW:
                given = inputs("bf16", (*size, of[0]), value_dim=of[1])
                batch, *_, keys = size
                lengths = torch.randint(0, keys + 1, (batch,), dtype=torch.int32, device="cuda")
                for form in forms_of(head):
                    end = f"bf16_{head.name}_{form.name}"
                    yield f"decode_attention_{end}", given, None
                    yield f"decode_cache_{end}", given, lengths


def seen_of(given: Inputs, lengths: torch.Tensor) -> torch.Tensor:
    """The keys that a query sees of a cache."""
    last = lengths[:, None] - given.q.shape[2] + 1 + torch.arange(given.q.shape[2], device="cuda")
    return torch.arange(given.k.shape[2], device="cuda") < last[:, None, :, None]


def check(directory: Path, few: bool) -> int:
    """Compare everything with double precision."""
    launcher, failures, count = Launcher(directory), 0, 0
    for beginning, given, lengths in checked(few):
        mask = given.mask if lengths is None else seen_of(given, lengths)
        want = exact(Inputs(given.q, given.k, given.v, mask, given.scale, given.causal))
        kind = {torch.float16: "f16", torch.bfloat16: "bf16"}.get(given.q.dtype, "f32")
        targets = TARGETS[1:] if few and kind == "f32" else TARGETS
        for name, target in itertools.product(launcher.names(beginning, given), targets):
            launch = launcher.launch(target, name, given, lengths)
            launch.native.run()
            problem = wrong(kind, launch.results[0], want, launch.guards[0])
            count += 1
            if problem:
                failures += 1
                of = (*given.sizes, given.v.shape[-1])
                print(f"{name} for {target} {of} causal={given.causal}: {problem}", flush=True)
    print(f"{count} launches, {failures} wrong", flush=True)
    return int(failures > 0)


def _prefill_of(sizes: tuple[int, ...]) -> str:
    """What a call of these sizes gets on sm_90a; `choose` has heads of one size."""
    *_, dim, value_dim = sizes
    is_one = dim == value_dim and dim in OF_ONE_SIZE
    names = ("batch", "heads", "kv_heads", "queries", "keys", "dim", "value_dim")
    dims = dict(zip(names, sizes, strict=True))
    choice = choose("bf16", dim) if is_one else choose_any_head("bf16", "keys")
    kernels = choice.ordered({k: v for k, v in dims.items() if not is_one or "dim" not in k})
    fits = (k.name for k in kernels if all(holds(each, dims) for each in k.requires))
    return next(name for name in fits if "prefill" in name)


def run(directory: Path) -> list[Row]:
    """Time the large cases."""
    launcher, rows = Launcher(directory), []
    for sizes in (*TIMED, *DECODED):
        for causal in (False, True) if sizes[3] > 1 else (False,):
            *size, dim, value_dim = sizes
            given = inputs("bf16", (*size, dim), causal=causal, value_dim=value_dim)
            functions = backends(given)
            if sizes[3] == 1:
                head = next(each for each in UP_TO if dim <= each.columns)
                name = f"decode_attention_bf16_{head.name}_{Decode(16, 1).name}"
            else:
                name = _prefill_of(sizes)
            for target in TARGETS:
                launch = launcher.launch(target, name, given)
                launch.native.run()
                if size[0] * size[3] * size[4] <= 1 << 24:
                    first = (x[:, :1] for x in (given.q, given.k, given.v))
                    own = Inputs(*first, None, given.scale, causal)
                    problem = wrong("bf16", launch.results[0][:, :1], exact(own), launch.guards[0])
                    if problem:
                        sys.exit(f"{name} for {target} {sizes}: {problem}")
                functions["sm_80" if target == TARGETS[0] else "sm_90a"] = launched(launch.native)
            batch, heads, _, queries, keys = size
            flops = 2 * batch * heads * queries * keys * (dim + value_dim) / (2 if causal else 1)
            found = in_turns(functions)
            best = min((us for by, us in found.items() if by.startswith("PyTorch")), default=0.0)
            what = f"{'x'.join(map(str, size))} {dim}/{value_dim}{' causal' if causal else ''}"
            moved = given.k.nbytes + given.v.nbytes
            for by, us in found.items():
                rows.append(Row(what, by, us, flops / us / 1e6, best / us))
            told = "  ".join(f"{by.removeprefix('PyTorch, ')} {us:.0f}" for by, us in found.items())
            rate = f"{moved / found['sm_90a'] / 1e6:.2f} TB/s" if sizes[3] == 1 else ""
            rate = rate or f"{flops / found['sm_90a'] / 1e6:.0f} TFLOP/s"
            print(f"{what:34} {told} us; {rate}, {best / found['sm_90a']:.2f}", flush=True)
    return rows


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument("--few", action="store_true", help="for compute-sanitizer")
    options = parser.parse_args()
    if options.what == "build":
        built = [cd.build(list(kernels()), [target], image="cubin") for target in TARGETS]
        gpu_objects.write(options.directory, built)
        return 0
    if options.what == "check":
        return check(options.directory, options.few)
    rows = run(options.directory)
    if options.save:
        command = "gpu.attention_any_head run"
        gpu_command.save(options.save, command, rows=[asdict(row) for row in rows])
    return 0

"""Attention of [batch, positions, heads, dim] on a GPU: correct first, then beside that by heads.

Two halves, as of `gpu.attention`, which says how it is timed:

    python -m benchmarks gpu.attention_layout build DIRECTORY
    python -m benchmarks gpu.attention_layout check DIRECTORY [--device cuda]
    python -m benchmarks gpu.attention_layout run DIRECTORY [--save FILE]

`check` compares with double precision at odd sizes, also where another sequence holds NaN. `run`
times each kernel beside the one that reads by heads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

import custom_dispatch as cd
from benchmarks.cases.attention import FEW, ODD, PREFILLS, Inputs, exact, inputs, wrong
from benchmarks.gpu.attention import TARGETS, Row
from benchmarks.gpu.attention_scores import dims_of
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import launched, median_us
from cuda_kernels.attention.decode import decode, forms_of
from cuda_kernels.attention.head_sizes import UP_TO, Head, UpTo
from cuda_kernels.attention.names import PREFIXES
from cuda_kernels.attention.prefill import prefill
from cuda_kernels.attention.simt import declare

LAYOUTS = ("bhsd", "bshd")
HEADS: tuple[Head, ...] = (64, 128, UP_TO[1], UP_TO[3], UP_TO[5])


def kernels(layout: str) -> Iterator[tuple[str, Head, str, cd.Kernel]]:
    """Type, head, mask and kernel."""
    for head in HEADS:
        for mask in PREFIXES:
            yield "bf16", head, mask, prefill("bf16", head, mask, layout=layout)
        yield "bf16", head, "keys", decode("bf16", head, "keys", forms_of(head)[-1], layout=layout)
    yield "f16", 64, "keys", prefill("f16", 64, layout=layout)
    for f32_head in (64, UP_TO[1]):
        for mask in PREFIXES:
            yield "f32", f32_head, mask, declare("f32", f32_head, mask, layout=layout)


def by_position(given: Inputs) -> Inputs:
    """The same, position by position; at an odd address if it was."""

    def moved(x: torch.Tensor) -> torch.Tensor:
        found = x.transpose(1, 2)
        if x.data_ptr() % 16 == 0:
            return found.contiguous()
        room = torch.empty(x.numel() + 1, dtype=x.dtype, device=x.device)[1:]
        return room.view(found.shape).copy_(found)

    return replace(given, q=moved(given.q), k=moved(given.k), v=moved(given.v))


def launch(
    objects: gpu_objects.Objects, target: str, kernel: cd.Kernel, given: Inputs
) -> gpu_objects.Launch | None:
    """A launch; None where it was not built."""
    if not objects.has(target, kernel.name):
        return None
    return objects.launch(kernel, target, {**vars(given), "spans": None})


def masks(given: Inputs, mask: str) -> Iterator[Any]:
    """Masks of a form: of each head, and of all."""
    batch, heads, _, queries, keys, _ = given.sizes
    if mask == "keys":
        yield None
        return
    for shape in ((batch, heads, queries, keys), (1, 1, queries, keys)):
        numbers = torch.randn(shape, device="cuda")
        yield numbers > 0 if mask == "bool" else numbers.to(given.q.dtype)


def check(directory: Path) -> int:
    """Compare with double precision."""
    objects, tally = gpu_objects.Objects(directory), gpu_command.Tally()
    for kind, head, mask, kernel in kernels("bshd"):
        dim, value_dim = dims_of(head)
        is_few = kernel.name.startswith("decode")
        sizes = FEW if is_few else ODD
        for size, offset in (*((size, 0) for size in sizes), (sizes[-1], 1)):
            given = inputs(kind, (*size, dim), value_dim=value_dim, offset=offset)
            for numbers in masks(given, mask):
                for causal in (False, True) if mask == "keys" else (False,):
                    case = replace(given, mask=numbers, causal=causal)
                    want, moved = exact(case), by_position(case)
                    if size[0] > 1:  # sequences do not see each other
                        moved.v[-1] = torch.nan
                    for target in TARGETS:
                        done = launch(objects, target, kernel, moved)
                        if done is None:
                            continue
                        done.native.run()
                        found = done.results[0].transpose(1, 2)
                        whole = slice(None) if size[0] == 1 else slice(0, -1)
                        problem = wrong(kind, found[whole], want[whole], done.guards[0])
                        tally.add(f"{kernel.name} {target} {size} {offset} {causal}", problem)
    return tally.finish()


def _head_of(dim: int) -> Head:
    of_any = (head for head in HEADS if isinstance(head, UpTo) and head.columns >= dim)
    return dim if dim in HEADS else next(of_any)


def run(directory: Path) -> list[Row]:
    """Time both layouts."""
    objects, rows = gpu_objects.Objects(directory), []
    known = {layout: {each[-1].name: each[-1] for each in kernels(layout)} for layout in LAYOUTS}
    for size in (*PREFILLS, (1, 16, 16, 2048, 2048, 96), (1, 16, 8, 2048, 2048, 256)):
        for causal in (False, True):
            given = replace(inputs("bf16", size), causal=causal, mask=None)
            for target in TARGETS:
                times = []
                for layout in LAYOUTS:
                    name = prefill("bf16", _head_of(size[5]), layout=layout).name
                    own = given if layout == "bhsd" else by_position(given)
                    done = launch(objects, target, known[layout][name], own)
                    times.append(median_us(launched(done.native), 0.1) if done else 0.0)
                what = f"{'x'.join(map(str, size))}{' causal' if causal else ''} {target[5:]}"
                rows.append(Row(what, "by heads", times[1], 0.0, times[0] / times[1]))
                print(f"{what:48} {times[0]:8.1f} us, by position {times[1]:8.1f} us", flush=True)
    return rows


def main() -> int:
    """Build, check or run."""
    options = gpu_command.parser(__doc__).parse_args()
    if options.what == "build":
        every = [each[-1] for layout in LAYOUTS for each in kernels(layout)]
        libraries = [cd.build(every, [target], image="cubin") for target in TARGETS[::-1]]
        gpu_objects.write(options.directory, libraries)
        return 0
    if options.what == "check":
        return check(options.directory)
    rows = run(options.directory)
    if options.save:
        said = "gpu.attention_layout run"
        gpu_command.save(options.save, said, rows=[asdict(row) for row in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())

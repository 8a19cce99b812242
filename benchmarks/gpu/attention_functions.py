"""Attention that calls a user's function on each score, beside the soft cap that ships.

Two halves, as of `gpu.attention`, which says how it is timed:

    python -m benchmarks gpu.attention_functions build DIRECTORY
    python -m benchmarks gpu.attention_functions check DIRECTORY
    python -m benchmarks gpu.attention_functions run DIRECTORY [--save FILE]

`check` runs every kernel of the choices, with a function that takes two numbers and hides keys, and
compares with double precision at odd sizes, with results in poisoned memory. `run` times, in turn,
over inputs that are together larger than the L2 cache:

- `function`: the soft cap as a function, in the built-in one's words;
- `written`: the same as it is mostly written, with `tanhf`;
- `bent`: the function of `check`, which divides twice;
- `exact_bent`: the same with exact quotients;
- `built_in`: the soft cap that ships, and `plain` the same kernels without a cap.

The `flex_attention` of PyTorch, compiled, is timed beside `written` and `bent` at the first sizes.
Bar, as of products: `function` takes at most 1.02 times as long as `built_in`.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import custom_dispatch as cd
from benchmarks.cases.attention import Inputs, Scores, exact, inputs, takes, wrong
from benchmarks.cases.called_functions import BENT, BENT_OPERANDS, of_numbers
from benchmarks.gpu.attention import TARGETS
from benchmarks.gpu.attention_scores import FEW, ODD, Launcher, dims_of, flex, masks
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_turn, median_us, with_events
from cuda_kernels import attention
from cuda_kernels.attention.head_sizes import UP_TO, UpTo
from cuda_kernels.attention.mask_spans import declare as declare_spans
from custom_dispatch.kernel.target import Target

BAR = 1.02
CAP, LIMIT, LEAST = 20.0, 3.0, -0.53
CACHE_BYTES = 250_000_000


CHECKED = {
    ("bf16", mask): attention.with_scores(BENT, "bf16", mask)
    for mask in ("keys", "queries", "bool")
} | {
    ("f16", "keys"): attention.with_scores(BENT, "f16", "keys"),
    ("f32", "queries"): attention.with_scores(BENT, "f32", "queries"),
    ("f32", "bool"): attention.with_scores(BENT, "f32", "bool"),
}
EXACT_BENT = of_numbers(
    "exactly_bent", *BENT_OPERANDS, entry="bent_or_hidden", options=["--prec-div=true"]
)
SPANS = tuple(declare_spans(kind) for kind in ("bool", "bf16"))
TIMED = {
    "function": attention.with_scores(of_numbers("quick_soft_cap", "score", "cap")),
    "written": attention.with_scores(of_numbers("written_soft_cap", "score", "cap")),
    "bent": attention.with_scores(BENT),
    "exact_bent": attention.with_scores(EXACT_BENT),
    "built_in": attention.capped_attention_bf16,
    "plain": attention.capped_attention_bf16,
}
SIZES = (
    (1, 16, 8, 4096, 4096, 256),
    (1, 32, 16, 4096, 4096, 128),
    (2, 32, 8, 1500, 1500, 128),
    (1, 64, 8, 4096, 4096, 64),
    (4, 12, 12, 1024, 1024, 96),
    (16, 32, 8, 1, 8192, 128),
    (4, 16, 8, 1, 4096, 256),
)
"""Batch, heads, heads of keys, queries, keys and a head's size; causal where queries are many."""
WITH_FLEX = 2
"""Of them, with PyTorch's `flex_attention`."""


def taken(choice: cd.Choice, size: tuple[int, ...], target: Target) -> cd.Kernel:
    """The kernel that a choice takes by its table."""
    names = ("batch", "heads", "kv_heads", "queries", "keys", "dim")
    dims = dict(zip(names, size, strict=True)) | {"value_dim": size[-1]}
    of_mask = {"mask_batches": size[0], "mask_heads": 1, "mask_rows": 1}
    return gpu_objects.kernel_for(choice, dims | of_mask, target)


def build(directory: Path) -> None:
    """Compile every kernel that is checked, and those that are timed; say which of them spill."""
    portable, hopper = (Target.parse(each) for each in TARGETS)
    checked = [kernel for choice in CHECKED.values() for kernel in choice.kernels]
    timed = {
        kernel.name: kernel
        for choice in TIMED.values()
        for size in SIZES
        for kernel in [taken(choice, size, hopper)]
    }
    known = {kernel.name for kernel in checked}
    others = [kernel for name, kernel in timed.items() if name not in known]
    of_sm80 = [
        kernel
        for key in (("bf16", "keys"), ("bf16", "queries"))
        for kernel in CHECKED[key].kernels
        if "prefill" in kernel.name
    ]
    libraries = [
        cd.build([*checked, *others, *SPANS], [str(hopper)], image="cubin"),
        cd.build(of_sm80, [str(portable)], image="cubin"),
    ]
    for library in libraries:
        for item in library.report():
            if item.resources.spills:
                print(f"{item.kernel} for {item.target} spills")
    gpu_objects.write(directory, libraries)


def bent(scores: torch.Tensor) -> torch.Tensor:
    """What `bent_or_hidden` computes, in double precision."""
    changed = scores / (1 + scores.abs() / LIMIT)
    return torch.where(scores < LEAST, -torch.inf, changed)


def capped(scores: torch.Tensor) -> torch.Tensor:
    """What the soft caps compute."""
    return CAP * (scores / CAP).tanh()


CHANGES: dict[str, Callable[[Any], Any] | None] = {"bent": bent, "exact_bent": bent, "plain": None}
"""What is done to scores, where it is not the cap."""


def cases(kind: str, mask: str) -> Iterator[tuple[UpTo, str, Inputs, Scores]]:
    """What is checked: the largest head of kernels, what the mask is, and what they are given."""
    for (number, head), (index, size) in itertools.product(
        enumerate(UP_TO), enumerate((*ODD, *FEW))
    ):
        dim, value_dim = dims_of(head)
        given = inputs(kind, (*size, dim), value_dim=value_dim, offset=(number + index) % 2)
        if kind == "f32":  # whose scores are exact, so that the same are below the least
            given = replace(given, q=given.q.round_(), k=given.k.round_(), scale=0.125)
        sinks = 3 * torch.randn(size[1], device="cuda").to(given.q.dtype)
        has_sinks = (number + index) % 3 > 0
        scores = Scores(0.0, sinks if has_sinks else None, bent, {"limit": LIMIT, "least": LEAST})
        added = masks(size, given.q.dtype)
        if mask == "keys":
            for causal in (False, True):
                yield head, "causal" if causal else "none", replace(given, causal=causal), scores
            shown = torch.rand(size[0], 1, 1, size[4], device="cuda") < 0.7
            hiding = torch.where(shown, 0.0, -torch.inf).to(given.q.dtype)
            yield head, "keys", replace(given, mask=hiding), scores
        elif mask == "queries":
            for what in ("bias", "causal bias", "the lowest number"):
                yield head, what, replace(given, mask=added[what]), scores
        else:
            seen = added["causal bias"] > -math.inf
            yield head, "bools", replace(given, mask=seen), scores


def check(directory: Path) -> int:
    """Compare everything with double precision."""
    tally = gpu_command.Tally()
    for (kind, mask), choice in CHECKED.items():
        launcher = Launcher(directory, [*choice.kernels, *SPANS])
        for head, what, given, scores in cases(kind, mask):
            want, known = exact(given, scores), [None]
            if mask != "keys" and kind != "f32":
                read, spans = launcher.spans(given.mask)
                read.native.run()
                known.append(spans)
            of_head = [each for each in choice.kernels if re.search(f"{head.name}(_|$)", each.name)]
            for kernel, target, of_mask in itertools.product(of_head, TARGETS, known):
                if not takes(kernel, given):
                    continue
                done = launcher.launch(target, kernel.name, given, of_mask, scores)
                if done is None:
                    continue
                done.native.run()
                has = "with" if of_mask is not None else "no"
                problem = wrong(kind, done.results[0], want, done.guards[0])
                tally.add(f"{kernel.name} for {target}, {what} {given.sizes} {has} spans", problem)
    return tally.finish()


def measure(directory: Path, size: tuple[int, ...]) -> dict[str, Any]:
    """Check the kernels that calls of one size get, and time them."""
    numbers = {"cap": CAP, "limit": LIMIT, "least": LEAST}
    own = inputs("bf16", size, causal=size[3] > 1)
    bytes_of_one = own.q.nbytes * 2 + own.k.nbytes + own.v.nbytes
    sets = min(12, 2 + CACHE_BYTES // bytes_of_one)
    given = [own, *(inputs("bf16", size, causal=own.causal) for _ in range(sets - 1))]
    given = [replace(each, q=each.q * 3) for each in given]
    runs: dict[str, list[Callable[[], Any]]] = {}
    names = {}
    for name, choice in TIMED.items():
        kernel = taken(choice, size, Target.parse(TARGETS[1]))
        launcher, names[name] = Launcher(directory, [kernel]), kernel.name
        change = CHANGES.get(name, capped)
        softcap = CAP if name == "built_in" else 0.0
        scores = Scores(softcap, None, change, numbers)
        built = (launcher.launch(TARGETS[1], kernel.name, each, None, scores) for each in given)
        launches = [each for each in built if each is not None]
        launches[0].native.run()
        first = given[0]
        head = replace(first, q=first.q[:1, :1], k=first.k[:1, :1], v=first.v[:1, :1])
        want, got = exact(head, Scores(change=change)), launches[0].results[0][:1, :1]
        if found := wrong("bf16", got, want, launches[0].guards[0]):
            sys.exit(f"{kernel.name} {size}: {found}")
        runs[name] = [partial(_enqueue, each) for each in launches]
    us = in_turn(runs, 21)
    for name in ("written", "bent") if size in SIZES[:WITH_FLEX] else ():
        scores = Scores(0.0, None, CHANGES.get(name, capped))
        us[f"flex {name}"] = median_us(with_events(flex(given[0], scores, None)), 0.1)
    return {"size": size, "kernels": names, "us": us}


def _enqueue(launch: gpu_objects.Launch) -> None:
    launch.native.enqueue(torch.cuda.current_stream().cuda_stream)


def run(directory: Path, save: Path | None) -> int:
    """Time everything; 1 if the bar is not met."""
    rows, is_met = [], True
    for size in SIZES:
        row = measure(directory, size)
        us = row["us"]
        ratios = {name: us[name] / us["built_in"] for name in us}
        is_met = is_met and ratios["function"] <= BAR
        rows.append(row | {"of built_in": ratios})
        shown = ", ".join(f"{name} {us[name]:.1f} ({ratios[name]:.3f})" for name in us)
        print(f"{'x'.join(map(str, size))}: {shown} us", flush=True)
    print(f"bar {BAR}: {'ok' if is_met else 'NOT MET'}")
    if save:
        gpu_command.save(save, "gpu.attention_functions run", target=TARGETS[1], rows=rows)
    return int(not is_met)


def main() -> int:
    """Build, check or run."""
    return gpu_command.of_three(__doc__, build, check, run)


if __name__ == "__main__":
    sys.exit(main())

"""Attention with biases, soft caps and sinks on a GPU: correct first, then beside PyTorch's.

Two halves, as of `gpu.attention`, which says how it is timed:

    python -m benchmarks gpu.attention_scores build DIRECTORY
    python -m benchmarks gpu.attention_scores check DIRECTORY [--device cuda]
    python -m benchmarks gpu.attention_scores run DIRECTORY [--save FILE]

`check` compares with double precision at odd sizes, with results in poisoned memory. `run` compares
a head of each timed size, too. PyTorch has biases in `scaled_dot_product_attention`, of which its
fastest backend counts, and caps and sinks in `flex_attention`, which it compiles.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import custom_dispatch as cd
from benchmarks.cases.attention import Inputs, Scores, exact, inputs, takes, wrong
from benchmarks.gpu.attention import TARGETS, Row
from benchmarks.gpu.attention_masks import best_of_pytorch
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import launched, median_us, with_events
from cuda_kernels.attention.decode import decode, forms_of
from cuda_kernels.attention.head_sizes import UP_TO, Head, UpTo
from cuda_kernels.attention.mask_spans import declare as declare_spans
from cuda_kernels.attention.names import PREFIXES
from cuda_kernels.attention.prefill import PREFILLS, prefill
from cuda_kernels.attention.scores import capped
from cuda_kernels.attention.simt import declare

NUMBERS: tuple[Head, ...] = (64, 128, *UP_TO)
ODD = (
    (1, 1, 1, 1, 1),
    (2, 4, 2, 65, 64),
    (1, 3, 1, 130, 257),
    (2, 4, 4, 129, 1000),
    (9, 8, 2, 200, 520),
)
FEW = ((2, 8, 2, 1, 100), (1, 4, 2, 7, 2049))
"""Batch, heads, heads of keys, queries and keys."""
OF_SCORES = ((0.0, True), (20.0, False), (3.0, True))
"""A soft cap, and whether there are sinks."""


def kernels(target: str = "") -> Iterator[cd.Kernel]:
    """What is built, of code for sm_80 a part."""
    few = target == TARGETS[0]
    for kind in ("bool", "f16", "bf16"):
        yield declare_spans(kind)
    for head in (64, 128, UP_TO[-1]) if few else NUMBERS:
        for form in PREFILLS[head]:
            yield prefill("bf16", head, "queries", form=form)
    yield prefill("f16", 64, "queries")
    for head in UP_TO[::3] if few else UP_TO:
        for mask in PREFIXES:
            yield prefill("bf16", head, mask, scores=capped("bf16"))
    for head in (UP_TO[0], UP_TO[-1]):
        for form in forms_of(head):
            for mask in PREFIXES:
                yield decode("bf16", head, mask, form, scores=capped("bf16"))
    yield declare("f32", UP_TO[1], "bool", scores=capped("f32"))


class Launcher:
    """The built kernels, by name."""

    def __init__(self, directory: Path, built: Iterable[cd.Kernel]) -> None:
        self.kernels = {kernel.name: kernel for kernel in built}
        self._objects = gpu_objects.Objects(directory)

    def names(self, beginning: str, given: Inputs) -> list[str]:
        """The kernels whose names begin so, and that take the inputs."""
        found = (name for name in self.kernels if f"{name}_".startswith(f"{beginning}_"))
        return [name for name in found if takes(self.kernels[name], given)]

    def launch(
        self, target: str, name: str, given: Inputs, spans: Any, of_scores: Scores
    ) -> gpu_objects.Launch | None:
        """Attention, ready to run; None where it was not built."""
        if not self._objects.has(target, name):
            return None
        values = {**vars(given), "spans": spans, **vars(of_scores), **of_scores.numbers}
        return self._objects.launch(self.kernels[name], target, values)

    def spans(self, mask: torch.Tensor) -> tuple[gpu_objects.Launch, torch.Tensor]:
        """The kernel that reads a mask, and where its result will be."""
        kind = {torch.bool: "bool", torch.float16: "f16"}.get(mask.dtype, "bf16")
        *outer, rows, keys = mask.shape
        size = outer[0] * outer[1] * (8 * -(-rows // 64) + 4 * rows * -(-keys // 128))
        result = torch.empty(size, dtype=torch.int32, device="cuda")
        kernel = self.kernels[f"mask_spans_{kind}"]
        return self._objects.launch(kernel, TARGETS[1], {"mask": mask}, into=[result]), result


def masks(size: tuple[int, ...], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Numbers of each head or all, each query or all; with hidden keys, and at odd addresses."""
    batch, heads, _, queries, keys = size

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device="cuda").to(dtype)

    bias = normal(1, heads, queries, keys)
    seen = torch.arange(keys, device="cuda") <= torch.arange(queries, device="cuda")[:, None]
    odd = torch.empty(bias.numel() + 1, dtype=dtype, device="cuda")[1:].view(bias.shape)
    lowest = torch.finfo(dtype).min
    hidden = torch.where(seen, torch.zeros((), device="cuda"), lowest).to(dtype)[None, None]
    hidden = hidden.clone()
    hidden[..., : queries // 3, :] = lowest  # the mean of all
    return {
        "bias": bias,
        "bias of each sequence": normal(batch, heads, queries, keys),
        "bias of all heads": normal(1, 1, queries, keys),
        "bias of keys": normal(1, heads, 1, keys),
        "causal bias": torch.where(seen, bias, -torch.inf),
        "bias at an odd address": odd.copy_(bias),
        "the lowest number": hidden,
    }


def dims_of(head: Head) -> tuple[int, int]:
    """Sizes of heads that a kernel is checked with."""
    return (head, head) if isinstance(head, int) else (head.columns - 8, head.value_columns - 8)


def cases() -> Iterator[tuple[str, str, Inputs, Scores, str]]:
    """What is checked: the type, the beginning of kernels' names, and what they are given."""
    for kind, head in (("f16", 64), *(("bf16", head) for head in NUMBERS)):
        end = str(head) if isinstance(head, int) else head.name
        dim, value_dim = dims_of(head)
        for size in ODD:
            given = inputs(kind, (*size, dim), value_dim=value_dim)
            for what, mask in masks(size, given.q.dtype).items():
                yield (
                    kind,
                    f"masked_prefill_attention_{kind}_{end}",
                    replace(given, mask=mask),
                    Scores(),
                    what,
                )
        given = inputs(kind, (*ODD[1], dim), value_dim=value_dim, offset=1)
        mask = masks(ODD[1], given.q.dtype)["bias"]
        yield (
            kind,
            f"masked_prefill_attention_{kind}_{end}",
            replace(given, mask=mask),
            Scores(),
            "all odd",
        )
    for number, head in enumerate(UP_TO):
        dim, value_dim = dims_of(head)
        assert isinstance(head, UpTo)
        for of, sizes in (("prefill", ODD), ("decode", FEW)):
            for index, size in enumerate(sizes):
                given = inputs("bf16", (*size, dim), value_dim=value_dim)
                q = given.q * 4
                sinks = 3 * torch.randn(size[1], device="cuda").bfloat16()
                softcap, has_sinks = OF_SCORES[(number + index) % 3]
                scores = Scores(softcap, sinks if has_sinks else None)
                found = masks(size, torch.bfloat16)
                end = f"capped_{of}_attention_bf16_{head.name}"
                for what in ("bias", "causal bias", "the lowest number"):
                    yield (
                        "bf16",
                        f"masked_{end}",
                        replace(given, q=q, mask=found[what]),
                        scores,
                        what,
                    )
                seen = found["causal bias"] > -math.inf
                yield "bf16", f"bool_masked_{end}", replace(given, q=q, mask=seen), scores, "bools"
                for causal in (False, True):
                    yield "bf16", end, replace(given, q=q, causal=causal), scores, "none"
    given = inputs("f32", (*ODD[2], 80))
    sinks = torch.randn(ODD[2][1], device="cuda")
    seen = torch.rand(1, 1, *ODD[2][3:], device="cuda") < 0.5
    given = replace(given, mask=seen)
    yield "f32", "bool_masked_capped_attention_f32_up_to_96", given, Scores(2.0, sinks), "bools"


def check(directory: Path) -> int:
    """Compare everything with double precision."""
    launcher, tally = Launcher(directory, kernels()), gpu_command.Tally()
    for kind, beginning, given, of_scores, what in cases():
        want = exact(given, of_scores)
        known: list[Any] = [None]
        if given.mask is not None:
            read, spans = launcher.spans(given.mask)
            read.native.run()
            known.append(spans)
        for name, target, of_mask in itertools.product(
            launcher.names(beginning, given), TARGETS, known
        ):
            done = launcher.launch(target, name, given, of_mask, of_scores)
            if done is None:
                continue
            done.native.run()
            problem = wrong(kind, done.results[0], want, done.guards[0])
            has = f"{'with' if of_mask is not None else 'no'} spans, cap {of_scores.softcap}"
            said = f"{name} for {target}, {what} {given.sizes} {has}"
            tally.add(said, problem)
    return tally.finish()


def _bias(size: tuple[int, ...], of: str) -> torch.Tensor:
    _, heads, _, queries, keys, _ = size
    bias = torch.randn(1, heads, 1 if of == "keys" else queries, keys, device="cuda").bfloat16()
    seen = torch.ones(queries, keys, dtype=torch.bool, device="cuda").tril(keys - queries)
    if of == "causal bias":
        bias = torch.where(seen, bias, -torch.inf)
    if of == "causal numbers":
        lowest = torch.finfo(torch.bfloat16).min
        bias = torch.where(seen, torch.zeros((), device="cuda"), lowest).bfloat16()[None, None]
    return bias.contiguous()


def flex(given: Inputs, of_scores: Scores, window: int | None) -> Callable[[], Any]:
    """PyTorch's, compiled, with the same cap, sinks and window."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    compiled = torch.compile(flex_attention, dynamic=False)
    softcap = of_scores.softcap

    def seen(_b: Any, _h: Any, q: Any, k: Any) -> Any:
        return (k <= q) if window is None else (k <= q) & (k > q - window)

    def score(s: Any, _b: Any, _h: Any, _q: Any, _k: Any) -> Any:
        s = softcap * torch.tanh(s / softcap) if softcap else s
        return s if of_scores.change is None else of_scores.change(s)

    blocks = create_block_mask(seen, None, None, given.q.shape[2], given.k.shape[2], device="cuda")
    has_sinks = of_scores.sinks is not None

    def call() -> Any:
        found = compiled(
            given.q,
            given.k,
            given.v,
            score_mod=score if softcap or of_scores.change is not None else None,
            block_mask=blocks,
            scale=given.scale,
            enable_gqa=given.q.shape[1] != given.k.shape[1],
            return_lse=has_sinks,
        )
        if not has_sinks:
            return found
        out, lse = found
        return out * torch.sigmoid(lse - of_scores.sinks[:, None]).unsqueeze(-1).to(out.dtype)

    call()
    return call


BIASED = (
    *(
        ((1, 32, 8, 4096, 4096, 128), of)
        for of in ("bias", "causal bias", "causal numbers", "keys")
    ),
    *(((1, 32, 8, 2047, 2047, 128), of) for of in ("bias", "keys")),
    ((1, 32, 32, 4096, 4096, 64), "bias"),
    *(((batch, 12, 12, 512, 512, 64), "bias") for batch in (8, 1)),
    ((8, 12, 12, 197, 197, 64), "bias"),
    *(((4, 16, 16, *of, 64), "bias") for of in ((1000, 1001), (1024, 1026))),
    *(((64, 8, 8, count, count, 32), "bias") for count in (144, 49)),
    ((2, 16, 16, 777, 777, 80), "bias"),
    *(((1, 16, 16, count, count, 256), "bias") for count in (2048, 1023)),
)
CAPPED = (
    ((1, 16, 8, 4096, 4096, 256), 50.0, False, None),
    ((1, 32, 16, 4096, 4096, 128), 50.0, False, None),
    ((1, 64, 8, 4096, 4096, 64), 0.0, True, None),
    ((1, 64, 8, 4096, 4096, 64), 0.0, True, 128),
)


def run(directory: Path) -> list[Row]:
    """Time the large cases."""
    launcher, rows = Launcher(directory, kernels()), []
    with_flex: list[tuple[str, float, Callable[[], Any]]] = []

    def timed(
        what: str, launch: gpu_objects.Launch | None, given: Inputs, scores: Scores, peer: Any
    ) -> None:
        if launch is None:
            return
        launch.native.run()
        mask = None if given.mask is None else given.mask[:1, :1]
        sinks = None if scores.sinks is None else scores.sinks[:1]
        head = Inputs(
            given.q[:1, :1], given.k[:1, :1], given.v[:1, :1], mask, given.scale, given.causal
        )
        of_head = Scores(scores.softcap, sinks)
        problem = wrong("bf16", launch.results[0][:1, :1], exact(head, of_head), launch.guards[0])
        if problem:
            print(f"WRONG {what}: {problem}", flush=True)
        ours = median_us(launched(launch.native), 0.1)
        theirs = median_us(peer, 0.1) if peer is not None else math.nan
        rows.append(Row(what, "", ours, 0.0, theirs / ours))
        print(f"{what:64} {ours:8.1f} us, PyTorch {theirs:8.1f}, {theirs / ours:5.2f}", flush=True)

    for size, of in BIASED:
        given = replace(inputs("bf16", size), mask=_bias(size, of))
        read, spans = launcher.spans(given.mask)
        read.native.run()
        dim = size[5]
        end = str(dim) if dim in PREFILLS else next(h.name for h in UP_TO if h.columns >= dim)
        peer = best_of_pytorch(given)
        for number, name in enumerate(
            launcher.names(f"masked_prefill_attention_bf16_{end}", given)
        ):
            shown = "x".join(map(str, size))
            for target in TARGETS if number == 0 else TARGETS[1:]:
                done = launcher.launch(target, name, given, spans, Scores())
                timed(f"{shown} {of}, form {number} {target[5:]}", done, given, Scores(), peer)
    for size, softcap, has_sinks, window in CAPPED:
        given = inputs("bf16", size)
        given = replace(given, q=given.q * 3, causal=window is None)
        scores = Scores(
            softcap, torch.randn(size[1], device="cuda").bfloat16() if has_sinks else None
        )
        spans, prefix = None, ""
        if window is not None:
            row = torch.arange(size[3], device="cuda")[:, None]
            column = torch.arange(size[4], device="cuda")
            seen = ((column <= row) & (column > row - window))[None, None]
            given, prefix = replace(given, mask=seen), "bool_masked_"
            read, spans = launcher.spans(seen)
            read.native.run()
        head = next(h.name for h in UP_TO if h.columns >= size[5])
        name = launcher.names(f"{prefix}capped_prefill_attention_bf16_{head}", given)[0]
        shown = "x".join(map(str, size))
        what = f"{shown} cap {softcap:g} sinks {has_sinks} window {window}"
        for target in TARGETS:
            done = launcher.launch(target, name, given, spans, scores)
            timed(f"{what} {target[5:]}", done, given, scores, None)
        with_flex.append((what, rows[-1].us, partial(flex, given, scores, window)))
    for what, us, make in with_flex:  # last, since PyTorch compiles each for seconds
        try:
            theirs = median_us(with_events(make()), 0.1)
        except RuntimeError as problem:  # no compiler there
            print(f"no flex: {type(problem).__name__} {str(problem)[:100]}", flush=True)
            break
        rows.append(Row(what, "PyTorch", theirs, 0.0, theirs / us))
        print(f"{what:64} {us:8.1f} us, PyTorch {theirs:8.1f}, {theirs / us:5.2f}", flush=True)
    return rows


def main() -> int:
    """Build, check or run."""
    options = gpu_command.parser(__doc__).parse_args()
    if options.what == "build":
        libraries = [
            cd.build(list(kernels(target)), [target], image="cubin") for target in TARGETS[::-1]
        ]
        gpu_objects.write(options.directory, libraries)
        return 0
    if options.what == "check":
        return check(options.directory)
    rows = run(options.directory)
    if options.save:
        gpu_command.save(
            options.save, "gpu.attention_scores run", rows=[asdict(row) for row in rows]
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

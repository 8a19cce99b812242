"""Attention with masks on a GPU: correct first, then beside PyTorch's with the same masks.

Two halves, as of `gpu.attention`, which says how it is timed:

    python -m benchmarks gpu.attention_masks build DIRECTORY
    python -m benchmarks gpu.attention_masks check DIRECTORY
    python -m benchmarks gpu.attention_masks run DIRECTORY [--save FILE]

Each mask is timed with what `mask_spans` gives of it, and without. `mask_spans` itself, which a
model runs once for all of its layers, has a row of its own, and so has attention that is told to
be causal, or without a mask, which is what the same keys cost at best.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

import custom_dispatch as cd
from benchmarks.cases.attention import Inputs, exact, inputs, takes, wrong
from benchmarks.gpu.attention import TARGETS, Row, in_turns
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import launched, with_events
from cuda_kernels.attention.decode import decode, forms_of
from cuda_kernels.attention.head_sizes import UpTo
from cuda_kernels.attention.mask_spans import declare as declare_spans
from cuda_kernels.attention.mask_spans import spans_of
from cuda_kernels.attention.names import PREFIXES
from cuda_kernels.attention.prefill import PREFILLS, prefill
from cuda_kernels.attention.simt import declare

HEADS = (64, 128, UpTo(96, 96), UpTo(256, 256))
ODD = (
    (1, 1, 1, 1, 1),
    (2, 4, 2, 65, 64),
    (1, 3, 1, 130, 257),
    (2, 4, 4, 129, 1000),
    (3, 8, 2, 200, 4095),
)
FEW = ((2, 8, 2, 1, 100), (1, 4, 2, 7, 2049))
TIMED = (
    (2, 32, 8, 1000, 1000, 64),
    (2, 32, 8, 1000, 1000, 128),
    (8, 32, 8, 1024, 1024, 128),
    (1, 32, 8, 4096, 4096, 128),
)
"""Batch, heads, heads of keys, queries, keys, and the size of a head."""


def kernels() -> Iterator[cd.Kernel]:
    """What is built."""
    for kind in ("bool", "f32", "f16", "bf16"):
        yield declare_spans(kind)
    for head in HEADS:
        for form in PREFILLS[head]:
            for mask in PREFIXES:
                yield prefill("bf16", head, mask, form=form)
        for form in forms_of(head):
            yield decode("bf16", head, "bool", form)
        yield declare("f32", head, "bool")


def masks(queries: int, keys: int) -> dict[str, torch.Tensor]:
    """[1, 1, queries, keys] of bools, by what they mean."""
    row = torch.arange(queries, device="cuda")[:, None] + max(keys - queries, 0)
    column = torch.arange(keys, device="cuda")
    causal = column <= row
    document = torch.arange(keys, device="cuda") // max(keys // 3, 1)
    of_row = document[row.clamp(max=keys - 1)]
    found = {
        "causal": causal,
        "causal, right padding": causal & (column < keys * 3 // 4),
        "causal, left padding": causal & (column >= keys // 4),
        "causal, window of 512": causal & (column > row - 512),
        "prefix": causal | (column < keys // 2),
        "packed": causal & (document == of_row),
        "all": torch.ones_like(causal),
        "random": torch.rand(causal.shape, device="cuda") < 0.5,
        "one in a hundred": torch.rand(causal.shape, device="cuda") < 0.01,
        "nothing": torch.zeros_like(causal),
    }
    return {name: mask[None, None] for name, mask in found.items()}


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
        self, target: str, name: str, given: Inputs, spans: torch.Tensor | None = None
    ) -> gpu_objects.Launch:
        """Attention, with what is known of its mask."""
        values = vars(given) | {"spans": spans}
        return self._objects.launch(self.kernels[name], target, values)

    def spans(self, mask: torch.Tensor) -> tuple[gpu_objects.Launch, torch.Tensor]:
        """The kernel that reads a mask, and where its result will be."""
        kind = {torch.bool: "bool", torch.float32: "f32", torch.float16: "f16"}.get(mask.dtype)
        kernel = self.kernels[f"mask_spans_{kind or 'bf16'}"]
        *outer, rows, keys = mask.shape
        heads = outer[0] * outer[1]
        size = heads * (8 * -(-rows // 64) + 4 * rows * -(-keys // 128))
        result = torch.empty(size, dtype=torch.int32, device="cuda")
        values = {"mask": mask}
        return self._objects.launch(kernel, TARGETS[1], values, into=[result]), result


def check(directory: Path) -> int:
    """Compare everything with double precision, and spans with their reference."""
    launcher, tally = Launcher(directory), gpu_command.Tally()
    for head in HEADS:
        dim, end = (head, str(head)) if isinstance(head, int) else (head.columns - 8, head.name)
        for kind, of, sizes in (
            ("bf16", "prefill_", ODD),
            ("bf16", "decode_", FEW),
            ("f32", "", ODD[1:3]),
        ):
            for size in sizes:
                given = inputs(kind, (*size, dim))
                names = launcher.names(f"bool_masked_{of}attention_{kind}_{end}", given)
                for what, one in masks(*size[3:]).items():
                    each = torch.stack([one[0], one.flip(2)[0]] * size[0])[: size[0]].contiguous()
                    for mask in (one.contiguous(), each):
                        read, spans = launcher.spans(mask)
                        read.native.run()
                        same = spans.cpu().numpy() == spans_of(mask.cpu().numpy())
                        tally.add(f"spans {what} {size}", "" if same.all() else "they are others")
                        masked = replace(given, mask=mask)
                        want = exact(masked)
                        for name in names:
                            for target in TARGETS:
                                for known in (spans, None):
                                    done = launcher.launch(target, name, masked, known)
                                    done.native.run()
                                    problem = wrong(kind, done.results[0], want, done.guards[0])
                                    said = f"{name} for {target}, {what} {size} {known is None}"
                                    tally.add(said, problem)
    return tally.finish()


def best_of_pytorch(given: Inputs) -> Callable[[], float] | None:
    """PyTorch's fastest backend that takes the inputs."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    found = {}
    for name in ("CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION"):
        group = given.q.shape[1] // given.k.shape[1]
        # The efficient backend takes as many heads of keys as of queries alone.
        is_efficient = name.startswith("E")
        k, v = (
            each.repeat_interleave(group, 1) if is_efficient else each
            for each in (given.k, given.v)
        )

        def call(name: str = name, k: Any = k, v: Any = v) -> Any:
            with sdpa_kernel(getattr(SDPBackend, name)):
                return scaled_dot_product_attention(
                    given.q,
                    k,
                    v,
                    given.mask,
                    is_causal=given.causal,
                    scale=given.scale,
                    enable_gqa=given.q.shape[1] != k.shape[1],
                )

        try:
            call()
        except RuntimeError:
            continue
        found[name] = with_events(call)
    if not found:
        return None
    times = in_turns(found, rounds=2)
    return found[min(times, key=lambda name: times[name])]


def run(directory: Path) -> list[Row]:
    """Time the large cases; kernels that the tables choose between are all tried."""
    launcher, rows = Launcher(directory), []
    for size in TIMED:
        batch, heads, _, queries, keys, dim = size
        given = inputs("bf16", size)
        timed: dict[str, tuple[Inputs, str, str]] = {
            "no mask": (given, "", ""),
            "causal, as told": (replace(given, causal=True), "", ""),
        }
        for what, one in masks(queries, keys).items():
            mask = one.expand(batch, 1, queries, keys).contiguous()
            timed[what] = (replace(given, mask=mask), "bool_masked_", "bool")
        bias = torch.randn(1, heads, queries, keys, device="cuda").bfloat16()
        timed["a bias of each head"] = (replace(given, mask=bias), "masked_", "bf16")
        seen = masks(queries, keys)["causal"]
        timed["a causal bias of each head"] = (
            replace(given, mask=torch.where(seen, bias, -torch.inf)),
            "masked_",
            "bf16",
        )
        for what, (masked, prefix, of_mask) in timed.items():
            functions: dict[str, Callable[[], float]] = {}
            peer = best_of_pytorch(masked)
            if peer is not None:
                functions["PyTorch"] = peer
            spans = None
            if of_mask:
                read, spans = launcher.spans(masked.mask)
                read.native.run()
                functions["mask_spans"] = launched(read.native)
            names = launcher.names(f"{prefix}prefill_attention_bf16_{dim}", masked)
            for number, name in enumerate(names):
                for known in (spans, None) if of_mask else (None,):
                    done = launcher.launch(TARGETS[1], name, masked, known)
                    done.native.run()
                    head = [x[:1, :1] for x in (masked.q, masked.k, masked.v)]
                    of_head = None if masked.mask is None else masked.mask[:1, :1]
                    want = exact(Inputs(*head, of_head, masked.scale, masked.causal))
                    problem = wrong("bf16", done.results[0][:1, :1], want, done.guards[0])
                    if problem:
                        sys.exit(f"{name} {size} {what}: {problem}")
                    by = f"form {number}" + (" with spans" if known is not None else "")
                    functions[by] = launched(done.native)
            shown = "x".join(map(str, size))
            found = in_turns(functions)
            for by, us in found.items():
                beside = found.get("PyTorch", 0.0) / us
                rows.append(Row(f"{shown}, {what}", by, us, 0.0, beside))
                print(f"{rows[-1].what:45} {by:20} {us:8.1f} us {beside:6.2f}", flush=True)
    return rows


def main() -> int:
    """Build, check or run."""
    options = gpu_command.parser(__doc__).parse_args()
    if options.what == "build":
        every = list(kernels())
        gpu_objects.write(
            options.directory, [cd.build(every, [target], image="cubin") for target in TARGETS]
        )
        return 0
    if options.what == "check":
        return check(options.directory)
    rows = run(options.directory)
    if options.save:
        gpu_command.save(
            options.save, "gpu.attention_masks run", rows=[asdict(row) for row in rows]
        )
    return 0

"""Where a kernel on a CPU is slower than IREE's own code for the same operation of PyTorch.

`cuda_kernels/patterns/profitable.py` has what follows. Each time is the least of many calls in
turn, so that a busy machine disturbs little. Arguments are on the device, weights in the caches.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial

import torch
from torch import nn

import custom_dispatch as cd
from benchmarks.lib.report import Row, finish
from cuda_kernels.patterns import torch as patterns

SECONDS, CALLS = 2.0, (6, 60)
"""How long each is measured, and how often at least and at most."""
DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16"}
CONVOLUTIONS = (  # images, channels, filters, size, taps, stride, groups, dilation
    (1, 64, 64, 56, 3, 1, 1, 1),
    (1, 128, 128, 28, 3, 1, 1, 1),
    (1, 256, 256, 14, 3, 1, 1, 1),
    (1, 512, 512, 7, 3, 1, 1, 1),
    (1, 16, 16, 32, 3, 1, 1, 1),
    (4, 32, 32, 16, 3, 1, 1, 1),
    (1, 32, 32, 28, 5, 1, 1, 1),
    (1, 64, 64, 28, 3, 1, 1, 2),
    (1, 128, 256, 28, 3, 2, 1, 1),
    (1, 128, 128, 28, 3, 1, 4, 1),
    (1, 96, 96, 28, 3, 1, 96, 1),
    (1, 3, 32, 64, 3, 2, 1, 1),
    (1, 3, 64, 112, 7, 2, 1, 1),
    (1, 64, 256, 56, 1, 1, 1, 1),
    (1, 256, 64, 28, 1, 1, 1, 1),
    (1, 128, 256, 28, 1, 2, 1, 1),
    (1, 3, 256, 112, 16, 16, 1, 1),
)
PRODUCTS = (  # m, n, k
    (1, 256, 256),
    (1, 2048, 2048),
    (4, 256, 256),
    (16, 512, 256),
    (16, 1024, 1024),
    (20, 512, 512),
    (32, 64, 64),
    (64, 256, 256),
    (128, 128, 128),
    (100, 1024, 256),
    (128, 768, 768),
    (512, 768, 768),
)
BATCHES = ((8, 16, 16, 64), (24, 32, 32, 32), (4, 64, 64, 64), (8, 128, 128, 64))
ROWS = ((4, 8), (16, 256), (64, 1024), (512, 1024))
GROUPS = ((1, 32, 16, 8), (2, 64, 8, 64), (1, 320, 32, 32))
"""Images, channels, height and width, groups."""
Case = tuple[str, nn.Module, tuple[torch.Tensor, ...], object]


class _Product(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


def _cases() -> Iterator[Case]:
    draw = torch.randn
    for images, channels, filters, size, taps, stride, groups, dilation in CONVOLUTIONS:
        padding = 0 if taps == stride else taps // 2 * dilation
        made = nn.Conv2d(channels, filters, taps, stride, padding, dilation, groups)
        name = f"convolution {images}x{channels}x{size}x{size} to {filters}, {taps}x{taps} by "
        name += f"{stride}, groups {groups}, dilation {dilation}"
        yield name, made, (draw(images, channels, size, size),), patterns.convolution
    for m, n, k in PRODUCTS:
        yield f"linear {m}x{n}x{k}", nn.Linear(k, n), (draw(m, k),), patterns.linear
    for batch, m, n, k in BATCHES:
        given = draw(batch, m, k), draw(batch, k, n)
        yield f"batch matmul {batch}x{m}x{n}x{k}", _Product(), given, patterns.matmul
    for rows, columns in ROWS:
        x = draw(rows, columns)
        yield f"softmax {rows}x{columns}", nn.Softmax(-1), (x,), patterns.softmax
        yield f"layer norm {rows}x{columns}", nn.LayerNorm(columns), (x,), patterns.layer_norm
        yield f"RMS norm {rows}x{columns}", nn.RMSNorm(columns, 1e-6), (x,), patterns.rms_norm
    for images, channels, size, groups in GROUPS:
        made_norm = nn.GroupNorm(groups, channels)
        name = f"group norm {images}x{channels}x{size}x{size}, {groups} groups"
        yield name, made_norm, (draw(images, channels, size, size),), patterns.group_norm


def _times(
    model: nn.Module, given: tuple[torch.Tensor, ...], replace: object
) -> tuple[list[float], ...]:
    made = [cd.torch.compile(model, given, ["cpu:host"], replace=item) for item in ((), replace)]
    if not made[1].replaced:
        raise RuntimeError(f"no kernel is put into {model}")
    programs = [cd.load(item, "cpu") for item in made]
    on_device = [programs[0].to_device(each) for each in given]
    calls = [partial(program.main, *on_device) for program in programs]
    for call in calls * 2:
        call()
    times: tuple[list[float], ...] = ([], [])
    end = time.monotonic() + SECONDS
    while len(times[0]) < CALLS[0] or (len(times[0]) < CALLS[1] and time.monotonic() < end):
        for call, own in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            own.append((time.perf_counter() - start) * 1e3)
    return times


def main() -> int:
    """Measure and report."""
    rows = []
    for name, model, given, replace in _cases():
        for dtype, said in DTYPES.items():
            typed = model.to(dtype).eval(), tuple(each.to(dtype) for each in given)
            base, ours = map(min, _times(*typed, replace))
            rows.append(Row(f"{said} {name}: IREE's own", base, 0.0, 1.0))
            rows.append(Row(f"{said} {name}: the kernel", ours, 0.0, ours / base))
            print(f"{said} {name}: {ours / base:.2f}", file=sys.stderr, flush=True)
    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime", "torch")
    return finish("cpu_profitable", rows, ["least of many calls; device local-task"], packages)

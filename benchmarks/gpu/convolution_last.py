"""Convolutions of channels-last images on a GPU: correct first, then beside PyTorch, as cuDNN.

    python -m benchmarks gpu.convolution_last build DIRECTORY
    python -m benchmarks gpu.convolution_last check DIRECTORY
    python -m benchmarks gpu.convolution_last run DIRECTORY [--save FILE]

The cases, and how they are timed, are those of `gpu.convolution`. A result's ratio is to cuDNN on
channels-last tensors; every tile is timed, the first one is what a call gets.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

import custom_dispatch as cd
from benchmarks.gpu.attention import TARGETS, in_turns
from benchmarks.gpu.convolution import CHECKED, KINDS, TIMED, Case, Row, wrong
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import launched, with_events
from cuda_kernels.channels_last import convolution as convolutions
from custom_dispatch.kernel.target import Target

TARGET = TARGETS[0]


def kernels() -> list[cd.Kernel]:
    """What is built: every form."""
    found = [each for kind in KINDS for each in convolutions.choice(kind).kernels]
    return [*found, *(convolutions.declare_depthwise(kind) for kind in KINDS)]


def _pair(numbers: tuple[int, ...], first: int) -> tuple[int, int]:
    return (first, *numbers)[-2], numbers[-1]


def _window(case: Case) -> list[int]:
    flat = len(case.size) == 1
    numbers = (case.stride, 1), (case.padding, 0), (case.dilation, 1)
    return [n for each, absent in numbers for n in ((absent if flat else each), each)]


def _is_depthwise(case: Case) -> bool:
    return case.groups == case.channels > 1


def fitting(case: Case, kind: str) -> list[cd.Kernel]:
    """The kernels that take a case, and first the one that a call gets."""
    if _is_depthwise(case):
        return [convolutions.declare_depthwise(kind)]
    choice = convolutions.choice(kind)
    size, taps = _pair(case.size, 1), _pair(case.taps, 1)
    names = ("stride", "padding", "dilation")
    window = dict(zip([f"{n}_{e}" for n in names for e in "hw"], _window(case), strict=True))
    dims = {
        "images": case.images,
        "channels": case.channels,
        "filters": case.filters,
        "of_group": case.channels // case.groups,
        "height": size[0],
        "width": size[1],
        "rows": taps[0],
        "columns": taps[1],
        **window,
    }
    first = gpu_objects.kernel_for(choice, dims, Target.parse(TARGET))
    return [first, *(each for each in choice.kernels if each.name != first.name)]


class Given:
    """The tensors of a case, and PyTorch's result."""

    def __init__(self, case: Case, kind: str, *, adds: bool, activation: int) -> None:
        dtype, self.case, self.activation = KINDS[kind], case, activation
        size, taps = _pair(case.size, 1), _pair(case.taps, 1)

        def random(*shape: int) -> torch.Tensor:
            return torch.randn(shape, device="cuda").to(dtype)

        self.x = random(case.images, *size, case.channels)
        self.weight = random(case.filters, *taps, case.channels // case.groups)
        self.factor, self.summand = (torch.randn(case.filters, device="cuda") for _ in "fs")
        self.residual = random(*self.plain().permute(0, 2, 3, 1).shape) if adds else None

    def plain(self, kind: torch.dtype | None = None) -> torch.Tensor:
        """The convolution alone, of tensors that cuDNN takes as channels last."""
        x, weight = self.x, self.weight
        if kind is not None:
            x, weight = x.to(kind), weight.to(kind)
        window = _window(self.case)
        numbers = (window[:2], window[2:4], window[4:], self.case.groups)
        x, weight = (each.permute(0, 3, 1, 2) for each in (x, weight))
        return functional.conv2d(x, weight, None, *numbers)

    def exact(self) -> torch.Tensor:
        """All of it in double precision."""
        found = self.plain(torch.float64).permute(0, 2, 3, 1)
        found = found * self.factor.double() + self.summand.double()
        if self.residual is not None:
            found = found + self.residual.double()
        every = (lambda x: x, functional.relu, functional.silu, functional.gelu)
        return every[self.activation](found)

    def values(self) -> dict[str, Any]:
        """By operand."""
        weight = self.weight
        if _is_depthwise(self.case):
            weight = weight[..., 0].permute(1, 2, 0).contiguous()
        window = torch.empty((0, *_window(self.case)), dtype=torch.uint8, device="cuda")
        return {
            "x": self.x,
            "weight": weight,
            "window": window,
            "factor": self.factor,
            "summand": self.summand,
            "residual": self.residual,
            "slope": 0.0,
            "activation": self.activation,
        }


def check(directory: Path) -> int:
    """Compare every form with double precision."""
    objects, tally = gpu_objects.Objects(directory), gpu_command.Tally()
    for case, kind in itertools.product((*CHECKED, *TIMED), KINDS):
        for adds, activation in ((False, 0), (True, 1), (False, 3)):
            if activation > 1 and case in TIMED:
                continue
            given = Given(case, kind, adds=adds, activation=activation)
            want = given.exact()
            for kernel in fitting(case, kind):
                launch = objects.launch(kernel, TARGET, given.values())
                launch.native.run()
                tally.add(f"{kernel.name} {case.name} {adds}", wrong(kind, launch, want))
    return tally.finish()


def run(directory: Path) -> list[Row]:
    """Time the cases."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    objects, rows = gpu_objects.Objects(directory), list[Row]()
    for case, kind in itertools.product(TIMED, ("f16", "f32")):
        given = Given(case, kind, adds=False, activation=0)
        functions: dict[str, Any] = {}
        chosen = fitting(case, kind)
        for kernel in chosen:
            native = objects.launch(kernel, TARGET, given.values()).native
            functions[kernel.name] = launched(native)
        functions["cuDNN, channels last"] = with_events(given.plain)
        found = in_turns(functions)
        flops = 2 * given.plain().numel() * given.weight[0].numel()
        best = found["cuDNN, channels last"]
        rows += [
            Row(case.name, kind, by, us, flops / us / 1e6, best / us) for by, us in found.items()
        ]
        own = found[chosen[0].name]
        told = "  ".join(f"{by.rpartition('_')[2]} {us:.0f}" for by, us in found.items())
        print(
            f"{case.name:28} {kind} {told}; {flops / own / 1e6:.0f} TF {best / own:.2f}", flush=True
        )
    return rows


def main() -> int:
    """Build, check or run."""
    options = gpu_command.parser(__doc__).parse_args()
    if options.what == "build":
        gpu_objects.write(options.directory, [cd.build(kernels(), [TARGET], image="cubin")])
        return 0
    if options.what == "check":
        return check(options.directory)
    rows = run(options.directory)
    if options.save:
        gpu_command.save(
            options.save, "gpu.convolution_last run", rows=[asdict(row) for row in rows]
        )
    return 0

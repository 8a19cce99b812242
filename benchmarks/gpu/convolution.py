"""Convolutions on a GPU: correct first, then beside PyTorch, which calls cuDNN.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU, iree-base-runtime and
PyTorch

    python -m benchmarks gpu.convolution check DIRECTORY
    python -m benchmarks gpu.convolution run DIRECTORY [--save FILE]

The objects are those that modules hold, launched through the CUDA driver and timed with events, as
PyTorch's operators are, without the time of launching. PyTorch runs in benchmark mode, in which
cuDNN tries its algorithms and keeps the fastest, on tensors as they are and on channels-last ones,
whose layout the kernels here do not have. IREE is its own code for the same convolution in f16, by
CUPTI, with warm caches. The sizes are those of ResNet-50, ConvNeXt, U-Net, Whisper and ViT.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

import custom_dispatch as cd
from benchmarks.gpu.attention import TARGETS, in_turns
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_profile import generated_share
from benchmarks.lib.gpu_timing import launched, with_events
from cuda_kernels.convolution import convolution as convolutions
from custom_dispatch.kernel.target import Target

KINDS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
ERRORS = {"f16": 2**-9, "bf16": 2**-6, "f32": 4e-6}
"""Of the largest number of a result."""
TARGET = TARGETS[0]
"""There is no code of its own for Hopper."""


@dataclass(frozen=True)
class Case:
    """A convolution; in `size` and `taps` one number for each axis."""

    name: str
    images: int
    channels: int
    filters: int
    size: tuple[int, ...]
    taps: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    @property
    def window(self) -> torch.Tensor:
        """What says strides, paddings and dilations."""
        each = len(self.size)
        numbers = [self.stride] * each + [self.padding] * each + [self.dilation] * each
        return torch.empty((0, *numbers), dtype=torch.uint8, device="cuda")


TIMED = (
    Case("ResNet-50 stem", 32, 3, 64, (224, 224), (7, 7), 2, 3),
    Case("ResNet-50 1x1, 56", 32, 64, 256, (56, 56), (1, 1)),
    Case("ResNet-50 3x3, 56", 32, 64, 64, (56, 56), (3, 3), 1, 1),
    Case("ResNet-50 3x3 by 2, 56", 32, 128, 128, (56, 56), (3, 3), 2, 1),
    Case("ResNet-50 3x3, 28", 32, 128, 128, (28, 28), (3, 3), 1, 1),
    Case("ResNet-50 1x1, 14", 32, 1024, 256, (14, 14), (1, 1)),
    Case("ResNet-50 3x3, 14", 32, 256, 256, (14, 14), (3, 3), 1, 1),
    Case("ResNet-50 1x1, 7", 32, 512, 2048, (7, 7), (1, 1)),
    Case("ResNet-50 3x3, 7", 32, 512, 512, (7, 7), (3, 3), 1, 1),
    Case("ResNet-50 3x3, 7, one image", 1, 512, 512, (7, 7), (3, 3), 1, 1),
    Case("ConvNeXt depthwise, 56", 32, 96, 96, (56, 56), (7, 7), 1, 3, 1, 96),
    Case("ConvNeXt depthwise, 14", 32, 384, 384, (14, 14), (7, 7), 1, 3, 1, 384),
    Case("ConvNeXt stem", 32, 3, 96, (224, 224), (4, 4), 4),
    Case("ConvNeXt 2x2 by 2", 32, 96, 192, (56, 56), (2, 2), 2),
    Case("MobileNet depthwise, 112", 32, 96, 96, (112, 112), (3, 3), 2, 1, 1, 96),
    Case("ResNeXt grouped, 28", 32, 256, 256, (28, 28), (3, 3), 1, 1, 1, 32),
    Case("U-Net 3x3, 64", 2, 320, 320, (64, 64), (3, 3), 1, 1),
    Case("U-Net 3x3, 32", 2, 640, 640, (32, 32), (3, 3), 1, 1),
    Case("U-Net 3x3, 16", 2, 1280, 1280, (16, 16), (3, 3), 1, 1),
    Case("VAE 3x3, 256", 1, 256, 256, (256, 256), (3, 3), 1, 1),
    Case("Whisper first", 8, 80, 512, (3000,), (3,), 1, 1),
    Case("Whisper second", 8, 512, 512, (3000,), (3,), 2, 1),
    Case("Mamba depthwise", 8, 1536, 1536, (2048,), (4,), 1, 3, 1, 1536),
    Case("ViT patches", 32, 3, 768, (224, 224), (16, 16), 16),
    Case("ViT-L/14 patches", 32, 3, 1024, (224, 224), (14, 14), 14),
)
CHECKED = (
    Case("one element", 1, 1, 1, (1, 1), (1, 1)),
    Case("odd", 3, 5, 7, (13, 17), (3, 3), 1, 1),
    Case("strides", 2, 9, 70, (31, 29), (5, 3), 3, 2),
    Case("dilated", 2, 16, 130, (33, 35), (3, 3), 1, 4, 4),
    Case("groups", 2, 24, 36, (15, 15), (3, 3), 2, 1, 1, 4),
    Case("pointwise", 3, 40, 200, (16, 8), (1, 1)),
    Case("pointwise with padding", 2, 8, 16, (7, 7), (1, 1), 2, 1),
    Case("patches", 2, 3, 100, (48, 64), (16, 16), 16),
    Case("many taps", 1, 2, 5, (70, 60), (31, 29), 1, 15),
    Case("depthwise", 2, 33, 33, (19, 23), (7, 7), 1, 3, 1, 33),
    Case("depthwise by 2", 2, 12, 24, (19, 22), (3, 3), 2, 1, 1, 12),
    Case("depthwise dilated", 1, 12, 12, (40, 22), (5, 5), 1, 4, 2, 12),
    Case("one axis", 3, 20, 30, (77,), (3,), 2, 1),
    Case("one axis, depthwise", 3, 20, 20, (77,), (4,), 1, 3, 1, 20),
)


def kernels() -> Iterator[cd.Kernel]:
    """What is built: every form."""
    for axes, kind in itertools.product((1, 2), KINDS):
        yield from convolutions.choice(axes, kind).kernels


def fitting(case: Case, kind: str) -> list[cd.Kernel]:
    """The kernels that take a case, and first the one that a call gets."""
    axes = len(case.size)
    names = ["height", "width"][2 - axes :], ["rows", "columns"][2 - axes :]
    choice = convolutions.choice(axes, kind)
    dims = {
        "images": case.images,
        "channels": case.channels,
        "filters": case.filters,
        "of_group": case.channels // case.groups,
        **dict(zip(names[0], case.size, strict=True)),
        **dict(zip(names[1], case.taps, strict=True)),
    }
    for end in ("h", "w")[2 - axes :]:
        dims |= {f"stride_{end}": case.stride, f"padding_{end}": case.padding}
        dims[f"dilation_{end}"] = case.dilation
    first = gpu_objects.kernel_for(choice, dims, Target.parse(TARGET))
    others = [
        each
        for each in choice.kernels
        if each.name != first.name and ("depthwise" not in each.name or dims["of_group"] == 1)
    ]
    return [next(each for each in kernels() if each.name == first.name), *others]


@dataclass(frozen=True)
class Inputs:
    """The tensors of a case."""

    x: torch.Tensor
    weight: torch.Tensor
    per_filter: dict[str, torch.Tensor]
    residual: torch.Tensor | None

    @property
    def values(self) -> dict[str, Any]:
        """By operand; what is absent is None."""
        names = ("bias", "mean", "variance", "scale", "shift")
        return {
            "x": self.x,
            "weight": self.weight,
            "residual": self.residual,
            **{name: self.per_filter.get(name) for name in names},
        }


def inputs(case: Case, kind: str, names: tuple[str, ...], *, adds: bool = False) -> Inputs:
    """Random ones."""
    dtype = KINDS[kind]

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)

    x = random(case.images, case.channels, *case.size)
    weight = random(case.filters, case.channels // case.groups, *case.taps)
    per_filter = {name: random(case.filters) for name in names}
    if "variance" in per_filter:
        per_filter["variance"] = per_filter["variance"].abs() + 0.1
    given = Inputs(x, weight, per_filter, None)
    return Inputs(x, weight, per_filter, random(*plain(case, given)().shape) if adds else None)


def plain(case: Case, given: Inputs) -> Callable[[], torch.Tensor]:
    """PyTorch's convolution alone, with the bias."""
    function = functional.conv2d if len(case.size) == 2 else functional.conv1d
    numbers = (case.stride, case.padding, case.dilation, case.groups)
    return lambda: function(given.x, given.weight, given.per_filter.get("bias"), *numbers)


def exact(case: Case, given: Inputs, activation: int) -> torch.Tensor:
    """All of it in double precision."""
    wide = Inputs(
        given.x.double(),
        given.weight.double(),
        {name: each.double() for name, each in given.per_filter.items()},
        None,
    )
    found = plain(case, wide)()
    if "mean" in wide.per_filter:
        mean, variance, scale, shift = (
            wide.per_filter[name] for name in ("mean", "variance", "scale", "shift")
        )
        found = functional.batch_norm(found, mean, variance, scale, shift, False, 0.0, 1e-5)
    if given.residual is not None:
        found = found + given.residual.double()
    every = (lambda x: x, functional.relu, functional.silu, functional.gelu)
    return every[activation](found)


class Launcher:
    """The built kernels."""

    def __init__(self, directory: Path) -> None:
        self._objects = gpu_objects.Objects(directory)

    def launch(
        self, kernel: cd.Kernel, case: Case, given: Inputs, activation: int
    ) -> gpu_objects.Launch:
        """A launch of one on a case."""
        numbers = {"epsilon": 1e-5, "slope": 0.0, "activation": activation}
        values = {**given.values, "window": case.window, **numbers}
        return self._objects.launch(kernel, TARGET, values)


def wrong(kind: str, launch: gpu_objects.Launch, want: torch.Tensor) -> str:
    """What is wrong with a result; empty if nothing."""
    got = launch.results[0].double()
    if not torch.isnan(launch.guards[0]).all():
        return "writes behind its result"
    largest = want.abs().max().item() or 1.0  # a relu may leave nothing
    error = (got - want).abs().max().item() / largest
    return "" if error <= ERRORS[kind] else f"an error of {error:.2e}"


_NORM = ("mean", "variance", "scale", "shift")


def check(directory: Path) -> int:
    """Compare every form with double precision."""
    launcher, tally = Launcher(directory), gpu_command.Tally()
    ends = (((), False, 0), (("bias", *_NORM), True, 1), (("bias",), False, 2), (_NORM, False, 3))
    for case, kind in itertools.product(CHECKED, KINDS):
        for names, adds, activation in ends:
            given = inputs(case, kind, names, adds=adds)
            want = exact(case, given, activation)
            for kernel in fitting(case, kind):
                launch = launcher.launch(kernel, case, given, activation)
                launch.native.run()
                what = f"{kernel.name} {case.name} {names} {adds} {activation}"
                tally.add(what, wrong(kind, launch, want))
    return tally.finish()


@dataclass(frozen=True)
class Row:
    """One measurement."""

    case: str
    dtype: str
    by: str
    us: float
    tflops: float
    ratio: float
    """To the fastest of PyTorch's on tensors in the same layout; over 1 is faster."""


def _channels_last(case: Case, given: Inputs) -> Callable[[], torch.Tensor]:
    if len(case.size) == 1:
        return plain(case, given)
    last = torch.channels_last
    turned = (each.contiguous(memory_format=last) for each in (given.x, given.weight))
    return plain(case, Inputs(*turned, given.per_filter, None))


class Alone(torch.nn.Module):  # type: ignore[misc]
    """A convolution as a model, for IREE."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self._case = case

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        case = self._case
        function = functional.conv1d if len(case.size) == 1 else functional.conv2d
        return function(x, weight, None, case.stride, case.padding, case.dilation, case.groups)


def build_alone(directory: Path) -> None:
    """Compile the cases in f16 by IREE without kernels."""
    for number, case in enumerate(TIMED):
        x = torch.zeros(case.images, case.channels, *case.size, dtype=torch.float16)
        weight = torch.zeros(case.filters, case.channels // case.groups, *case.taps).half()
        module = cd.torch.compile(Alone(case), (x, weight), [TARGETS[1]], replace=())
        module.save(directory / f"{number}.vmfb")


def _by_iree(file: Path, given: Inputs) -> float:
    """The GPU time of IREE's own code, in us."""
    program = cd.load(file, "cuda")
    held = [program.to_device(each) for each in (given.x, given.weight)]
    return float(generated_share(partial(program.main, *held))["us on the GPU"])


def run(directory: Path) -> list[Row]:
    """Time the cases."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    launcher, rows = Launcher(directory), list[Row]()
    for case, kind in itertools.product(TIMED, ("f16", "bf16", "f32")):
        if kind == "bf16" and not case.name.startswith(("U-Net", "Whisper")):
            continue
        given = inputs(case, kind, ("bias",))
        functions: dict[str, Any] = {}
        chosen = fitting(case, kind)
        for kernel in chosen:
            launch = launcher.launch(kernel, case, given, 0)
            launch.native.run()
            problem = wrong(kind, launch, exact(case, given, 0))
            if problem:
                sys.exit(f"{kernel.name} {case.name}: {problem}")
            functions[kernel.name.removeprefix("convolution_")] = launched(launch.native)
        functions["PyTorch"] = with_events(plain(case, given))
        functions["PyTorch, channels last"] = with_events(_channels_last(case, given))
        found = in_turns(functions)
        if kind == "f16":
            found["IREE"] = _by_iree(directory / f"{TIMED.index(case)}.vmfb", given)
        out = exact(case, given, 0)
        flops = 2 * out.numel() * given.weight[0].numel()
        best = found["PyTorch"]
        for by, us in found.items():
            rows.append(Row(case.name, kind, by, us, flops / us / 1e6, best / us))
        own = found[chosen[0].name.removeprefix("convolution_")]
        told = "  ".join(f"{by} {us:.0f}" for by, us in found.items())
        last = found["PyTorch, channels last"]
        print(
            f"{case.name:30} {kind:5} {told} us; {flops / own / 1e6:.0f} TFLOP/s, "
            f"{best / own:.2f}, of channels last {last / own:.2f}",
            flush=True,
        )
    return rows


def main() -> int:
    """Build, check or run."""
    options = gpu_command.parser(__doc__).parse_args()
    if options.what == "build":
        built = [cd.build(list(kernels()), [TARGET], image="cubin")]
        gpu_objects.write(options.directory, built)
        build_alone(options.directory)
        return 0
    if options.what == "check":
        return check(options.directory)
    rows = run(options.directory)
    if options.save:
        gpu_command.save(options.save, "gpu.convolution run", rows=[asdict(row) for row in rows])
    return 0

"""Models of images are written channels last, and compute what they did.

The rewritten graphs are run by PyTorch, whose operators stand for the kernels.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from test_convolution_patterns import Block, Bottleneck, perturbed
from torch import nn
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.patterns import torch as torch_patterns
from cuda_kernels.patterns.profitable import where_profitable
from cuda_kernels.patterns.rewriting.channels_last import write_channels_last
from custom_dispatch.frontends.torch.forms import in_one_form
from custom_dispatch.frontends.torch.importer import export_model
from custom_dispatch.match.pattern import for_targets
from tests.places import replaced_in_torch


class ResNet(nn.Module):  # type: ignore[misc]
    """A stem, two blocks and a head."""

    def __init__(self) -> None:
        super().__init__()
        pool = nn.MaxPool2d(3, 2, 1)
        stem = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), pool
        self.body = nn.Sequential(*stem, Bottleneck(8, 4, 1), Bottleneck(8, 6, 2, groups=3))
        self.head = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(functional.adaptive_avg_pool2d(self.body(x), (1, 1)).flatten(1))


class ConvNeXt(nn.Module):  # type: ignore[misc]
    """A stem, a block whose own transpositions are none any more, and one more convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.inner = nn.Conv2d(3, 16, 4, 4), nn.Conv2d(16, 16, 7, padding=3, groups=16)
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 64), nn.Linear(64, 16)
        self.scale, self.end = nn.Parameter(torch.rand(16) + 0.5), nn.Conv2d(16, 24, 2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        y = self.norm(self.inner(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(functional.gelu(self.up(y)))
        return self.end(x + y.permute(0, 3, 1, 2)).mean((-2, -1))


class UNet(nn.Module):  # type: ignore[misc]
    """Group norms, a time step, attention's views, a smaller image and a join."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.same = nn.Conv2d(4, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.norm, self.of_time = nn.GroupNorm(4, 16), nn.Linear(8, 16)
        self.down, self.up = nn.Conv2d(16, 24, 3, 2, 1), nn.Conv2d(24, 16, 3, padding=1)
        self.inner, self.last = nn.Linear(24, 24), nn.Conv2d(32, 4, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        h = functional.silu(self.norm(x)) + self.of_time(t)[:, :, None, None]
        x = x + self.same(h)
        y = self.down(x)
        images, channels, high, wide = y.shape
        z = self.inner(y.permute(0, 2, 3, 1).reshape(images, high * wide, channels))
        z = z.reshape(images, high, wide, channels).permute(0, 3, 1, 2) + y
        z = self.up(functional.interpolate(z, scale_factor=2.0, mode="nearest"))
        return self.last(torch.cat([z, x], 1))


class Whisper(nn.Module):  # type: ignore[misc]
    """Two convolutions along one axis."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Conv1d(10, 16, 3, padding=1), nn.Conv1d(16, 16, 3, 2, 1)
        self.places = nn.Parameter(torch.randn(9, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.gelu(self.other(functional.gelu(self.one(x))))
        return x.permute(0, 2, 1) + self.places


class Mobile(nn.Module):  # type: ignore[misc]
    """Depthwise filters, channels that others weigh, a norm alone, padding, slices and sums."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Hardswish())
        self.each = nn.Sequential(nn.Conv2d(8, 8, 5, 2, 2, groups=8), nn.ReLU6())
        self.less, self.more = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.point = nn.Sequential(nn.Conv2d(8, 12, 1, bias=False), nn.BatchNorm2d(12))
        self.norm, self.last = nn.BatchNorm2d(12), nn.Conv2d(12, 6, 3, padding=2, dilation=2)

    def forward(self, x: torch.Tensor) -> Any:
        x = self.each(self.first(x))
        weighs = self.more(functional.relu(self.less(functional.adaptive_avg_pool2d(x, 1))))
        x = functional.relu(self.norm(self.point(x * functional.hardsigmoid(weighs))))
        x = functional.avg_pool2d(functional.pad(x, (0, 1, 0, 1)), 3, 2, 1)
        return functional.leaky_relu(self.last(x), 0.1)[:, 1:5, :, 1:], x.sum(1), x.mean(2)


MODELS: list[Any] = [
    (ResNet, [(3, 3, 33, 29)], 1),
    (ConvNeXt, [(1, 3, 40, 32)], 1),
    (UNet, [(2, 4, 8, 12), (2, 8)], 2),
    (Whisper, [(3, 10, 18)], 1),
    (Mobile, [(2, 3, 37, 31)], 2),
    (Block, [(1, 3, 21, 27)], 2),
]


def rewritten(model: nn.Module, given: tuple[torch.Tensor, ...], shapes: Any = None) -> Any:
    """The program in one form, channels last."""
    program = in_one_form(export_model(model, given, shapes))
    write_channels_last(program)
    program.graph.lint()
    return program


def run(program: Any, given: tuple[torch.Tensor, ...]) -> Any:
    """The results of a program's graph as it is now."""
    held = {**program.state_dict, **program.constants}
    inputs = iter(given)
    values = [
        held[spec.target] if spec.target in held else next(inputs)
        for spec in program.graph_signature.input_specs
    ]
    with torch.no_grad():
        return torch.fx.Interpreter(program.graph_module).run(*values)


def left(program: Any) -> int:
    """Transpositions of whole images that are left."""
    turned = [node for node in program.graph.nodes if "turning" in str(node.target)]
    moved = [node for node in program.graph.nodes if node.target is torch.ops.aten.permute.default]
    return len(turned) + sum("channels_last" in node.meta for node in moved)


@pytest.mark.parametrize(("kind", "shapes", "count"), MODELS)
def test_models_compute_the_same(kind: Any, shapes: Any, count: int) -> None:
    model = perturbed(kind())
    program = rewritten(model, tuple(map(torch.randn, shapes)))
    given = tuple(map(torch.randn, shapes))
    found, wanted = run(program, given), model(*given)
    for one, other in zip(found, wanted if isinstance(wanted, tuple) else [wanted], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert left(program) == count


def test_open_sizes_are_taken() -> None:
    model = perturbed(nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 3)))
    open_sizes = dict.fromkeys((0, 2, 3), torch.export.Dim.AUTO)
    program = rewritten(model, (torch.zeros(2, 3, 32, 40),), {"input": open_sizes})
    x = torch.randn(3, 3, 21, 19)
    (found,) = run(program, (x,))
    torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-5)


class Padded(nn.Module):  # type: ignore[misc]
    """Padding that takes numbers away, for which PyTorch takes the model and its norms apart."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.of_one = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.other, self.of_other = nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8)
        self.last = nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.pad(functional.relu(self.of_one(self.one(x))), (2, 0, 1, 0))
        x = self.of_other(self.other(functional.pad(x, (-1, 2, 0, 1))))
        return self.last(functional.max_pool2d(x, 2))


def test_norms_and_padding_are_taken_where_pytorch_takes_models_apart() -> None:
    model, x = perturbed(Padded()), torch.randn(3, 3, 11, 9)
    whole = export_model(model, (x,), None)
    table = torch._decomp.get_decompositions(
        [torch.ops.aten.pad.default, torch.ops.aten._native_batch_norm_legit.default]
    )
    for exported in (whole, whole.run_decompositions(table)):
        program = in_one_form(exported)
        write_channels_last(program)
        (found,) = run(program, (x,))
        torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-5)
        names = " ".join(str(node.target) for node in program.graph.nodes)
        assert names.count("convolution_last") == 2
        assert "batch_norm" not in names


def test_weights_that_are_given_are_turned_in_the_model() -> None:
    class Given(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return functional.conv2d(x, w, b, 1, 1)

    given = torch.randn(2, 4, 6, 5), torch.randn(8, 4, 3, 3), torch.randn(8)
    (found,) = run(rewritten(Given(), given), given)
    torch.testing.assert_close(found, Given()(*given), rtol=1e-4, atol=1e-5)


def places(target: str, before: Any = ()) -> Counter[str]:
    patterns = where_profitable((*torch_patterns.channels_last, *torch_patterns.convolution))
    items = for_targets((*before, *patterns), [cd.Target.parse(target)])
    given = (torch.zeros(1, 3, 33, 29, dtype=torch.float16),)
    return Counter(each.kernel for each in replaced_in_torch(ResNet().eval().half(), given, items))


def test_kernels_take_a_resnet_on_gpus() -> None:
    wanted = {"convolution_last_f16": 8, "pooling_last_f16": 2, "turning_f16": 1}
    assert places("cuda:sm_90a") == wanted


def test_images_stay_as_they_are_on_cpus() -> None:
    assert places("cpu") == {"convolution_2d_f16": 8}


class Own(nn.Module):  # type: ignore[misc]
    """A convolution as in `own_pattern`."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(4, 8, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


def own_pattern(folder: Path) -> cd.torch.Pattern:
    n, c, f, h, w = map(cd.dim, "ncfhw")
    (folder / "own.cu").write_text(
        'extern "C" __global__ void own(const float *x, const float *k, float *y, int count) {\n'
        "  if (threadIdx.x < count) y[threadIdx.x] = x[0] * k[0];\n}\n"
    )
    operands = [
        cd.In("x", "f32", [n, c, h, w]),
        cd.In("k", "f32", [f, c, 3, 3]),
        cd.Out("y", "f32", [n, f, h, w]),
        cd.Scalar("count", "i32", n * f * h * w),
    ]
    kernel = cd.Kernel("own", source=folder / "own.cu", operands=operands, block=64, grid=1)
    return cd.torch.Pattern(kernel, lambda x, k: functional.conv2d(x, k, padding=1))


def test_a_pattern_before_the_rule_wins(tmp_path: Path) -> None:
    own, shipped = own_pattern(tmp_path), where_profitable(torch_patterns.channels_last)
    x = torch.zeros(2, 4, 8, 6)
    module = cd.torch.compile(Own(), (x,), ["cuda:sm_90a"], replace=[own, shipped])
    assert [each.kernel for each in module.replaced or ()] == ["own"]


def test_shipped_patterns_before_the_rule_win() -> None:
    wanted = {"convolution_2d_f16": 8}
    assert places("cuda:sm_90a", before=torch_patterns.convolution) == wanted


def test_other_patterns_before_the_rule_leave_it(tmp_path: Path) -> None:
    given = (torch.zeros(2, 4, 8, 6),)
    items = [torch_patterns.linear, torch_patterns.channels_last]
    found = [each.kernel for each in replaced_in_torch(Own(), given, items)]
    assert found == ["convolution_last_f32"]
    assert write_channels_last.gives_way_to(own_pattern(tmp_path))
    assert not any(map(write_channels_last.gives_way_to, torch_patterns.linear))


@pytest.mark.thorough
def test_a_compiled_model_is_right(tmp_path: Any) -> None:
    model = perturbed(nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.MaxPool2d(2)))
    x = torch.randn(3, 3, 65, 63)
    module = cd.torch.compile(model, (x,), ["cpu:host"], replace=torch_patterns.channels_last)
    program = cd.load(module.save(tmp_path / "model.vmfb"), "cpu")
    other = torch.randn(3, 3, 65, 63)
    got = torch.from_dlpack(program.main(other))
    torch.testing.assert_close(got, model(other), rtol=1e-4, atol=1e-5)

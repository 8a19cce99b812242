"""Places stay with IREE where its code is faster than a kernel, and the report says so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.patterns import torch as torch_patterns
from cuda_kernels.patterns.profitable import where_profitable
from custom_dispatch.errors import DeclarationError, ReplacementWarning
from custom_dispatch.match.pattern import for_targets
from custom_dispatch.replaced import Remaining, Replaced
from tests.places import replaced_in_torch
from tests.sample_kernels.rows import row_norm

rows, columns = cd.batch, cd.dim("columns")


def norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, epsilon)


NORM = cd.torch.Pattern(row_norm, norm, required=False)
CONVOLUTIONS = where_profitable(torch_patterns.convolution)
LARGE = NORM.profitable_where(cpu=[rows >= 8, columns >= 16])


class Two(torch.nn.Module):
    """A norm of 32 columns, and one of 8."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = torch.nn.RMSNorm(32, 1e-5), torch.nn.RMSNorm(8, 1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.narrow(self.wide(x)[..., :8])


def found_for(
    targets: list[str], *patterns: Any, count: int = 16, shapes: Any = None, model: Any = None
) -> Replaced:
    items = for_targets(patterns, [*map(cd.Target.parse, targets)])
    given = (torch.randn(count, 32),)
    return replaced_in_torch((model or Two)().eval(), given, items, shapes)


def test_a_place_for_which_a_condition_fails_stays_and_is_no_near_miss() -> None:
    report = found_for(["cpu"], LARGE)
    assert [item.place.module for item in report] == ["wide"]
    assert not report.near_misses
    assert report.remaining == (Remaining("norm", 1, 2, ("tensor<16x8xf32>",), faster=1),)
    assert str(report).splitlines()[-1] == (
        "1 of 2 norms stays with IREE, whose code is faster: tensor<16x8xf32>"
    )


def test_gpus_alone_count_in_a_module_for_both() -> None:
    both = ["cuda:sm_80", "cpu"]
    assert len(found_for(both, LARGE)) == 2
    on_gpus = NORM.profitable_where(cuda=[columns < 16])
    assert [item.place.module for item in found_for(both, on_gpus)] == ["narrow"]
    assert len(found_for(["cpu:host"], on_gpus)) == 2


def test_the_targets_that_a_pattern_is_first_for_are_kept() -> None:
    """A module for GPUs that is compiled once more, to be compared on a CPU, stays the same."""
    items = for_targets([LARGE], [cd.Target.parse("cuda:sm_80")])
    assert len(found_for(["cpu"], *items)) == 2


def test_sizes_that_are_not_known_count_as_worth_it() -> None:
    few = NORM.profitable_where(cpu=[rows <= 8, columns >= 16])
    assert not found_for(["cpu"], few)
    dynamic = ({0: torch.export.Dim("rows")},)
    report = found_for(["cpu"], few, shapes=dynamic)
    assert [item.place.module for item in report] == ["wide"]


def test_a_pattern_that_is_given_before_takes_all_places() -> None:
    assert len(found_for(["cpu"], NORM, LARGE)) == 2
    assert len(found_for(["cpu"], LARGE.profitable_where())) == 2


def test_what_follows_a_place_stays_with_it() -> None:
    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return functional.gelu(self.linear(x))

    patterns = where_profitable((*torch_patterns.linear, *torch_patterns.gelu))
    report = found_for(["cpu"], *patterns, model=Both)
    assert not report
    assert not report.near_misses
    assert [(item.kind, item.faster) for item in report.remaining] == [("product", 1)]
    (place,) = found_for(["cuda:sm_80", "cpu"], *patterns, model=Both)
    assert place.kernel == "linear_gelu_erf_f32"


def test_conditions_are_on_the_kernels_dims() -> None:
    with pytest.raises(DeclarationError, match="dim `height`"):
        NORM.profitable_where(cpu=[cd.dim("height") > 4])
    with pytest.raises(DeclarationError, match="requires is columns > 4"):
        NORM.profitable_where(cpu=columns > 4)  # type: ignore[arg-type]


def test_a_module_whose_places_all_stay_is_compiled_with_a_warning() -> None:
    model, x = torch.nn.Conv2d(16, 16, 3), torch.randn(1, 16, 9, 9)
    with pytest.warns(ReplacementWarning) as warned:
        module = cd.torch.compile(model, (x,), ["cpu"], replace=CONVOLUTIONS)
    (one,) = warned
    assert str(one.message) == (
        "No kernel is put into the model, since IREE's own code is faster.\n"
        "1 of 1 convolution stays with IREE, whose code is faster: tensor<1x16x7x7xf32>"
    )
    result = torch.from_dlpack(cd.load(module).main(x))
    assert torch.allclose(result, model(x), atol=1e-5)


def conv(
    images: int, channels: int, filters: int, size: int, taps: int, by: int = 1, groups: int = 1
) -> tuple[torch.nn.Module, torch.Tensor]:
    padding = 0 if taps == by else taps // 2
    made = torch.nn.Conv2d(channels, filters, taps, by, padding, groups=groups)
    return made, torch.empty(images, channels, size, size)


@pytest.mark.parametrize(
    ("target", "dtype", "sizes", "stays"),
    [
        ("cuda:sm_90a", torch.float16, (32, 512, 512, 7, 3), True),
        ("cuda:sm_90a", torch.float16, (32, 256, 256, 14, 3), False),
        ("cuda:sm_90a", torch.bfloat16, (32, 256, 256, 28, 3, 1, 32), True),
        ("cuda:sm_90a", torch.float16, (32, 96, 96, 28, 7, 1, 96), False),
        ("cuda:sm_90a", torch.float32, (32, 512, 512, 7, 3), False),
        ("cpu", torch.float32, (1, 64, 64, 56, 3), True),
        ("cpu", torch.float32, (1, 128, 256, 28, 3, 2), False),
        ("cpu", torch.float32, (1, 128, 128, 28, 3, 1, 4), False),
        ("cpu", torch.float32, (1, 64, 256, 56, 1), False),
        ("cpu", torch.bfloat16, (1, 64, 64, 56, 3), False),
    ],
)
def test_convolutions_stay_where_they_were_measured_to_be_faster(
    target: str, dtype: torch.dtype, sizes: tuple[int, ...], stays: bool
) -> None:
    model, x = conv(*sizes)
    items = for_targets(CONVOLUTIONS, [cd.Target.parse(target)])
    report = replaced_in_torch(model.to(dtype), (x.to(dtype),), items)
    assert (not report) == stays == bool(report.remaining)

"""Every shipped pattern of PyTorch, looked for in a model of nothing but what it says."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import custom_dispatch as cd
from cuda_kernels.patterns.torch import everything, quantised, scaled_linear
from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.pattern import variants
from tests.places import replaced_in_torch
from tests.shipped_kernels.every_pattern import LEADING, Case, cases, parts, shape_of

aten = torch.ops.aten
_SWAPPED = (aten.add.Tensor, aten.mul.Tensor)


class Otherwise(torch.fx.Interpreter):  # type: ignore[misc]
    """Computes a graph in other words."""

    def call_function(self, target: Any, given: Any, named: Any) -> Any:
        if target in _SWAPPED and not named and isinstance(given[1], torch.Tensor):
            given = given[::-1]
        elif target == aten.view.default:
            return given[0].reshape(given[1])
        elif target == aten.transpose.int:
            axes = list(range(given[0].dim()))
            axes[given[1]], axes[given[2]] = axes[given[2]], axes[given[1]]
            return given[0].permute(axes)
        elif target == aten.unsqueeze.default:
            at = range(given[0].dim() + 1)[given[1]]
            return given[0][(*[slice(None)] * at, None)]
        return super().call_function(target, given, named)


class Model(torch.nn.Module):  # type: ignore[misc]
    """What functions compute of tensors, each of its own."""

    def __init__(self, functions: list[Any], counts: list[int]) -> None:
        super().__init__()
        self.functions, self.counts = functions, counts

    def forward(self, *tensors: torch.Tensor) -> Any:
        rest = iter(tensors)
        return [
            function(*itertools.islice(rest, count))
            for function, count in zip(self.functions, self.counts, strict=True)
        ]


def tensors_of(case: Case) -> tuple[torch.Tensor, ...]:
    arguments = case.pattern.arguments
    # `torch.mm` takes no more dims, and the kernel of two products no more rows.
    few = "mm" in case.function.__name__ or case.pattern.item.name.startswith("linear_swiglu")
    return tuple(
        torch.zeros(
            shape_of(case.pattern, arguments[name], LEADING[: 1 if few else 2]),
            dtype=torch_dtype(arguments[name].dtype),
        )
        for name in case.names
    )


_OF_RULES = {id(item) for item in (*quantised, *scaled_linear)}
OF_FUNCTIONS = [
    item for item in everything if isinstance(item, cd.torch.Pattern) and id(item) not in _OF_RULES
]
"""Those of text are in test_convolution_patterns.py. Operators that only rules write, of sizes that
belong together, are in test_quantised_models.py and test_scaled_models.py."""


@pytest.mark.parametrize("patterns", parts(OF_FUNCTIONS))
def test_every_pattern_is_found(patterns: list[Any]) -> None:
    functions, given = [], []
    for case in (case for pattern in patterns for case in cases(pattern, variants(pattern))):
        tensors = tensors_of(case)
        traced = make_fx(case, pre_dispatch=True)(*tensors)
        functions += [
            lambda *each, case=case: case(*each),
            lambda *each, traced=traced: Otherwise(traced).run(*each),
        ]
        given += [tensors, tensors]
    model = Model(functions, [*map(len, given)])
    report = replaced_in_torch(model, tuple(itertools.chain(*given)), patterns)
    assert len(report) == len(functions), report

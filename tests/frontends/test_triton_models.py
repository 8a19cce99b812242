"""Models of PyTorch that launch kernels of Triton: they compile with nothing declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from custom_dispatch.errors import ModelError

triton = pytest.importorskip("triton")
from frontends import triton_functions as functions  # noqa: E402


class Model(torch.nn.Module):
    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.function = forward

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self.function(*arguments)


def added(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out, n = torch.empty_like(x), x.numel()
    functions.add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=1024)
    return out


@torch.library.triton_op("triton_models::added", mutates_args={})
def added_operator(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out, n = torch.empty_like(x), x.numel()
    grid = (triton.cdiv(n, 1024),)
    torch.library.wrap_triton(functions.add)[grid](x, y, out, n, BLOCK=1024)
    return out


def many(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A launch as it is, an operator, one in place, and one with configurations and heuristics."""
    n = x.numel()
    z = added_operator(added(x.relu(), y), y).clone()
    functions.add[(triton.cdiv(n, 1024),)](z, y, z, n, BLOCK=1024)
    last = torch.empty_like(z)
    functions.negate[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](z, last, n)
    return z, last + 1


def test_launches_compile_with_nothing_declared() -> None:
    x, y = torch.randn(2, 5000)
    module = cd.torch.compile(Model(many), (x, y), ["cpu"])
    z, last = map(torch.from_dlpack, cd.load(module, "cpu").main(x, y))
    torch.testing.assert_close(z, x.relu() + 3 * y)
    torch.testing.assert_close(last, 1 - z)


def test_what_a_launch_leaves_out_has_its_default(caplog: pytest.LogCaptureFixture) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        functions.shifted[(2,)](x, y, x.numel())
        return y

    x = torch.randn(2000)
    with caplog.at_level("WARNING", "torch"):
        module = cd.torch.compile(Model(model), (x,), ["cpu"])
    assert not [each for each in caplog.messages if "every input is mutated" in each]
    assert torch.equal(torch.from_dlpack(cd.load(module, "cpu").main(x)), x + 2)


def test_sizes_may_be_open() -> None:
    x, y = torch.randn(2, 5000)
    size = torch.export.Dim("n", min=2)
    open_sizes = (({0: size}, {0: size}),)
    module = cd.torch.compile(Model(added), (x, y), ["cpu"], dynamic_shapes=open_sizes)
    program = cd.load(module, "cpu")
    for n in (4096, 77):
        found = torch.from_dlpack(program.main(x[:n], y[:n]))
        torch.testing.assert_close(found, x[:n] + y[:n])


def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    rows, width = y.shape
    functions.scale_rows[(rows,)](x, None, y, y.stride(0), width, 0.5, BLOCK=64)
    return y


def test_strides_are_those_of_the_launch() -> None:
    x = torch.randn(48, 32)

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x.t())  # that lies as x does
        assert y.stride() == (1, 32)
        return scaled(x, y.t()).t() + x.t()

    program = cd.load(cd.torch.compile(Model(forward), (x,), ["cpu"], verify=True), "cpu")
    torch.testing.assert_close(torch.from_dlpack(program.main(x)), x.t() * 1.5)


def test_a_view_with_gaps_is_refused() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return scaled(x[:, :16], torch.empty_like(x[:, :16]))

    with pytest.raises(ModelError) as caught:
        cd.torch.compile(Model(forward), (torch.randn(4, 32),), ["cpu"])
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("The launch of Triton's `scale_rows` (")
    assert first.endswith(
        "gives `x_ptr` a view of shape [4, 16] with strides [32, 1], which has gaps."
    )
    assert rest == [
        "  expected: a tensor that is dense, in any order of its dims: values of a module are",
        "  next step: copy it before the launch: x.contiguous().",
    ]


def test_a_grid_that_depends_on_data_is_refused() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        count = x.nonzero().shape[0]
        y = torch.empty_like(x)
        functions.add[(count,)](x, x, y, x.numel(), BLOCK=64)
        return y

    with pytest.raises(
        ModelError, match=r"has a grid of u\d, which its tensors' sizes do not give"
    ):
        cd.torch.compile(Model(forward), (torch.randn(64),), ["cpu"])

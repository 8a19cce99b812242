"""Recurrences as models write them are found, and what is written in their place is the same.

Graphs are computed by PyTorch before and after the rules: nothing is compiled here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch.nn import functional
from transformers.models.mamba.modeling_mamba import mamba_selective_state_update
from transformers.models.mamba2.modeling_mamba2 import (
    mamba2_chunk_scan,
    mamba2_selective_state_update,
)
from transformers.models.qwen3_next.modeling_qwen3_next import (
    torch_chunk_gated_delta_rule,
    torch_recurrent_gated_delta_rule,
)

import custom_dispatch as cd
from cuda_kernels.patterns.rewriting.einsum import write_einsum
from cuda_kernels.patterns.rewriting.scan_operator import DELTA_SCAN, SELECTIVE_SCAN
from cuda_kernels.patterns.rewriting.scans import write_scans
from cuda_kernels.patterns.torch import scan
from custom_dispatch.frontends.torch.forms import in_one_form
from custom_dispatch.frontends.torch.importer import export_model

T, D, N = 7, 10, 4
Tensor = torch.Tensor


class Calls(torch.nn.Module):  # type: ignore[misc]
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Tensor) -> Any:
        return self.function(*given)


def rates(*shape: int) -> Tensor:
    return -functional.softplus(torch.randn(shape))


def gates(*shape: int) -> Tensor:
    return torch.sigmoid(torch.randn(shape))


def linear(a: Tensor, b: Tensor) -> Any:
    h, found = torch.zeros_like(b[:, 0]), []
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        found.append(h)
    return torch.stack(found, 1)


def linear_from_the_first(a: Tensor, b: Tensor) -> Any:
    h = b[:, 0]
    found = [h]
    for t in range(1, b.shape[1]):
        h = b[:, t] + h * a[:, t]
        found.append(h)
    return torch.stack(found, 1), h


def linear_with_slices(a: Tensor, b: Tensor) -> Any:
    h, found = torch.zeros(b.shape[0], 1, b.shape[2]), []
    for t in range(b.shape[1]):
        h = a[:, t : t + 1] * h + b[:, t : t + 1]
        found.append(h)
    return torch.cat(found, 1)


def linear_written_in_place(a: Tensor, b: Tensor) -> Any:
    h, found = torch.zeros_like(b[:, 0]), torch.zeros_like(b)
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        found[:, t] = h
    return found


def linear_backwards(a: Tensor, b: Tensor) -> Any:
    h, found = torch.zeros_like(b[:, 0]), []
    for t in reversed(range(b.shape[1])):
        h = a[:, t] * h + b[:, t]
        found.append(h)
    return torch.stack(found[::-1], 1)


def average(x: Tensor, rate: Tensor) -> Any:
    h, found = x[0], []
    for t in range(x.shape[0]):
        h = (1 - rate) * h + rate * x[t]
        found.append(h)
    return torch.stack(found)


def of_two_layers(a: Tensor, b: Tensor, w: Tensor) -> Any:
    h = g = torch.zeros_like(b[:, 0])
    found = []
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        g = torch.sigmoid(h) * g + torch.tanh(h @ w)
        found.append(g)
    return torch.stack(found, 1)


def of_sums(x: Tensor, dt: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Any:
    decays = torch.exp(torch.einsum("bld,dn->bldn", dt, a))
    added = torch.einsum("bld,bln,bld->bldn", dt, b, x)
    h, found = x.new_zeros(x.shape[0], *a.shape), []
    for t in range(x.shape[1]):
        h = decays[:, t] * h + added[:, t]
        found.append(torch.einsum("bdn,bn->bd", h, c[:, t, :]))
    return torch.stack(found, dim=1) + x * d


def of_steps(x: Tensor, dt: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Any:
    h, found = x.new_zeros(x.shape[0], *a.shape), []
    for t in range(x.shape[1]):
        added = (dt[:, t] * x[:, t])[:, :, None] * b[:, t, None, :]
        h = torch.exp(dt[:, t, :, None] * a) * h + added
        found.append((h * c[:, t, None, :]).sum(-1) + d * x[:, t])
    return torch.stack(found, 1), h


def without_a_batch(x: Tensor, dt: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Any:
    h, found = torch.zeros(a.shape), []
    for one, time, into, out_of in zip(
        x.unbind(0), dt.unbind(0), b.unbind(0), c.unbind(0), strict=False
    ):
        h = h * torch.exp(time[:, None] * a) + time[:, None] * into[None] * one[:, None]
        found.append(h @ out_of)
    return torch.stack(found)


def retention(q: Tensor, k: Tensor, v: Tensor, rate: Tensor) -> Any:
    h, found = torch.zeros(*q.shape[:2], k.shape[-1], v.shape[-1]), []
    for t in range(q.shape[2]):
        h = rate[None, :, None, None] * h + k[:, :, t, :, None] * v[:, :, t, None, :]
        found.append((q[:, :, t, None, :] @ h).squeeze(2))
    return torch.stack(found, 2)


def gated_by_keys(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> Any:
    h, found = torch.zeros(*q.shape[:2], k.shape[-1], v.shape[-1]), []
    for t in range(q.shape[2]):
        h = torch.exp(g[:, :, t])[..., None] * h + k[:, :, t, :, None] * v[:, :, t, None, :]
        found.append(torch.einsum("bhk,bhkv->bhv", q[:, :, t], h))
    return torch.stack(found, 2)


def step_of_mamba(state: Tensor, x: Tensor, dt: Tensor, a: Tensor, b: Tensor, *rest: Any) -> Any:
    c, d, z, bias = rest
    state = state.clone()
    found = mamba_selective_state_update(
        state, x, dt, a, b, c, d, z=z, dt_bias=bias, dt_softplus=True
    )
    return found, state


def step_of_mamba2(state: Tensor, x: Tensor, dt: Tensor, a: Tensor, b: Tensor, *rest: Any) -> Any:
    c, d, bias = rest
    state, size = state.clone(), x.shape[2]
    found = mamba2_selective_state_update(
        state,
        x,
        dt[:, :, None].expand(-1, -1, size),
        a[:, None, None].expand(-1, size, b.shape[-1]),
        b,
        c,
        d[:, None].expand(-1, size),
        dt_bias=bias[:, None].expand(-1, size),
        dt_softplus=True,
    )
    return found, state


def chunks_of_mamba2(x: Tensor, dt: Tensor, a: Tensor, b: Tensor, c: Tensor, *rest: Any) -> Any:
    d, first = rest
    return mamba2_chunk_scan(
        x, dt, a, b, c, 8, d, initial_states=first, return_final_states=True, dt_softplus=True
    )


def steps_of_delta(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, first: Tensor) -> Any:
    return torch_recurrent_gated_delta_rule(q, k, v, g, beta, first, True, True)


def chunks_of_delta(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, first: Tensor) -> Any:
    return torch_chunk_gated_delta_rule(q, k, v, g, beta, 8, first, True, True)


def other_chunks(x: Tensor, g: Tensor, b: Tensor, c: Tensor) -> Any:
    """Chunks in other words than any model: weights as a mask, and a loop over chunks."""
    size, (batch, length, heads, elements) = 5, x.shape
    x, g, b, c = (each.reshape(batch, -1, size, *each.shape[2:]) for each in (x, g, b, c))
    total = g.cumsum(2)
    apart = (total[:, :, :, None] - total[:, :, None]).permute(0, 1, 4, 2, 3)
    earlier = torch.ones(size, size, dtype=torch.bool).tril()
    weights = torch.exp(apart.masked_fill(~earlier, -torch.inf))
    scores = c.transpose(2, 3) @ b.permute(0, 1, 3, 4, 2) * weights
    within = (scores @ x.transpose(2, 3)).transpose(2, 3)
    state, found = x.new_zeros(batch, heads, elements, b.shape[-1]), []
    for each in range(x.shape[1]):
        read = torch.einsum("blhn,bhpn->blhp", c[:, each], state)
        found.append(within[:, each] + read * torch.exp(total[:, each])[..., None])
        left = torch.exp(total[:, each, -1:] - total[:, each])
        added = torch.einsum("blhp,blhn->bhpn", x[:, each] * left[..., None], b[:, each])
        state = state * torch.exp(total[:, each, -1])[:, :, None, None] + added
    return torch.stack(found, 1).reshape(batch, length, heads, elements), state


def ssm(batch: int, length: int = T) -> tuple[Tensor, ...]:
    of_states = (batch, length, N)
    return (
        torch.randn(batch, length, D),
        -rates(batch, length, D),
        rates(D, N),
        torch.randn(of_states),
        torch.randn(of_states),
    )


def delta(batch: int, length: int, keys: int, values: int) -> tuple[Tensor, ...]:
    return (
        torch.randn(batch, length, 2, keys),
        torch.randn(batch, length, 2, keys),
        torch.randn(batch, length, 4, values),
        rates(batch, length, 4),
        gates(batch, length, 4),
        torch.randn(batch, 4, keys, values),
    )


randn = torch.randn
CASES: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Tensor, ...]], Any]] = {
    "linear": (linear, lambda b: (gates(b, T, D), randn(b, T, D)), SELECTIVE_SCAN),
    "first": (linear_from_the_first, lambda b: (gates(b, T, D), randn(b, T, D)), SELECTIVE_SCAN),
    "slices": (linear_with_slices, lambda b: (gates(b, T, D), randn(b, T, D)), SELECTIVE_SCAN),
    "place": (linear_written_in_place, lambda b: (gates(b, T, D), randn(b, T, D)), SELECTIVE_SCAN),
    "backwards": (linear_backwards, lambda b: (gates(b, T, D), randn(b, T, D)), SELECTIVE_SCAN),
    "average": (average, lambda b: (randn(T, b, D), gates()), SELECTIVE_SCAN),
    "sums": (of_sums, lambda b: (*ssm(b), randn(D)), SELECTIVE_SCAN),
    "steps": (of_steps, lambda b: (*ssm(b, 5), randn(D)), SELECTIVE_SCAN),
    "no batch": (
        without_a_batch,
        lambda b: (randn(T, D), -rates(T, D), rates(D, N), randn(T, N), randn(T, N)),
        SELECTIVE_SCAN,
    ),
    "retention": (
        retention,
        lambda b: (randn(b, 2, T, N), randn(b, 2, T, N), randn(b, 2, T, D), gates(2)),
        SELECTIVE_SCAN,
    ),
    "keys": (
        gated_by_keys,
        lambda b: (randn(b, 2, T, N), randn(b, 2, T, N), randn(b, 2, T, D), rates(b, 2, T, N)),
        SELECTIVE_SCAN,
    ),
    "mamba's step": (
        step_of_mamba,
        lambda b: (
            *(randn(b, D, N), randn(b, D), randn(b, D), rates(D, N), randn(b, N), randn(b, N)),
            *(randn(D), randn(b, D), randn(D)),
        ),
        SELECTIVE_SCAN,
    ),
    "mamba 2's step": (
        step_of_mamba2,
        lambda b: (
            *(randn(b, 4, 5, N), randn(b, 4, 5), randn(b, 4), rates(4)),
            *(randn(b, 2, N), randn(b, 2, N), randn(4), randn(4)),
        ),
        SELECTIVE_SCAN,
    ),
    "mamba 2": (
        chunks_of_mamba2,
        lambda b: (
            *(randn(b, 13, 4, 5), randn(b, 13, 4), rates(4), randn(b, 13, 2, N)),
            *(randn(b, 13, 2, N), randn(4), randn(b, 4, 5, N)),
        ),
        SELECTIVE_SCAN,
    ),
    "other chunks": (
        other_chunks,
        lambda b: (randn(b, 15, 3, 4), rates(b, 15, 3), randn(b, 15, 3, 4), randn(b, 15, 3, 4)),
        SELECTIVE_SCAN,
    ),
    "delta's step": (steps_of_delta, lambda b: delta(b, 1, N, 6), DELTA_SCAN),
    "delta's steps": (steps_of_delta, lambda b: delta(b, 5, N, 6), DELTA_SCAN),
    "delta's chunks": (chunks_of_delta, lambda b: delta(b, 13, N, 6), DELTA_SCAN),
    "delta's whole chunks": (chunks_of_delta, lambda b: delta(b, 16, 6, 6), DELTA_SCAN),
}
"""A function, its operands for a batch, and which scan it is."""
ALONE = ("sums", "delta's step")
"""Those that are tried without `--thorough` with a batch of 1, too, whose axes are broadcast."""


def rewritten(
    function: Callable[..., Any],
    given: tuple[Tensor, ...],
    rule: Callable[[Any], None] = write_scans,
) -> tuple[Counter[Any], list[Any]]:
    """How often operations are in a graph behind the rules, and what the graph gives."""
    with torch.no_grad():
        program = in_one_form(export_model(Calls(function).eval(), given, None))
        rule(program)
        program.graph.lint()
        held, left = {**program.constants, **program.state_dict}, iter(given)
        inputs = [
            held[spec.target] if spec.target is not None else next(left)
            for spec in program.graph_signature.input_specs
        ]
        module = torch.fx.GraphModule(program.graph_module, program.graph)
        found = torch.fx.Interpreter(module).run(*inputs)
    return Counter(node.target for node in program.graph.nodes), list(found)


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        pytest.param(
            name, batch, marks=[] if batch == 3 or name in ALONE else [pytest.mark.thorough]
        )
        for name in CASES
        for batch in (1, 3)
    ],
)
def test_recurrences_are_written_as_one_scan(name: str, batch: int) -> None:
    function, operands, scanned = CASES[name]
    torch.manual_seed(batch)
    given = operands(batch)
    counts, found = rewritten(function, given)
    assert (counts[SELECTIVE_SCAN], counts[DELTA_SCAN]) == (
        int(scanned is SELECTIVE_SCAN),
        int(scanned is DELTA_SCAN),
    )
    wanted = function(*given)
    for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        torch.testing.assert_close(got, want, rtol=2e-5, atol=2e-5)


def test_a_recurrence_of_a_recurrence_is_two_scans() -> None:
    given = gates(3, T, D), randn(3, T, D), randn(D, D)
    counts, (found,) = rewritten(of_two_layers, given)
    assert counts[SELECTIVE_SCAN] == 2
    torch.testing.assert_close(found, of_two_layers(*given))


def test_16_bits_are_rounded_at_the_end() -> None:
    function, operands, _ = CASES["sums"]
    given = tuple(each.bfloat16() for each in operands(3))
    counts, (found,) = rewritten(function, given)
    assert counts[SELECTIVE_SCAN] == 1
    exact = function(*(each.double() for each in given))
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), exact, rtol=2e-2, atol=5e-2)


def test_weights_on_the_left_are_linear() -> None:
    """As Mamba makes the sizes of its steps."""

    def function(weight: Tensor, x: Tensor) -> Any:
        return weight @ x.transpose(1, 2)

    given = randn(5, 3), randn(2, T, 3)
    counts, (found,) = rewritten(function, given, write_einsum)
    assert counts[torch.ops.aten.linear.default] == 1
    torch.testing.assert_close(found, function(*given))


def test_other_loops_stay() -> None:
    """Steps that are not linear in their state, or that are no recurrence."""

    def gru(x: Tensor, w: Tensor, u: Tensor) -> Any:
        h, found = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            z = torch.sigmoid(x[:, t] @ w)
            h = (1 - z) * h + z * torch.tanh(x[:, t] + h @ u)
            found.append(h)
        return torch.stack(found, 1)

    def others(x: Tensor) -> Any:
        return torch.stack([x[:, t] * t for t in range(x.shape[1])], 1)

    def every_other(x: Tensor) -> Any:
        h, found = torch.zeros_like(x[:, 0]), []
        for t in range(0, x.shape[1], 2):
            h = x[:, t] * h + x[:, t]
            found.append(h)
        return torch.stack(found, 1)

    x, w = randn(2, T, D), randn(D, D)
    for function, given in ((gru, (x, w, w)), (others, (x,)), (every_other, (x,))):
        counts, (found,) = rewritten(function, given)
        torch.testing.assert_close(found, function(*given))
        if function is not every_other:
            assert not counts[SELECTIVE_SCAN]


def test_chunks_that_are_no_recurrence_stay() -> None:
    """What sees one step too few is as much alike as can be."""

    def almost(x: Tensor, g: Tensor, b: Tensor, c: Tensor) -> Any:
        size, (batch, length, heads, elements) = 5, x.shape
        x, g, b, c = (each.reshape(batch, -1, size, *each.shape[2:]) for each in (x, g, b, c))
        total = g.cumsum(2)
        apart = (total[:, :, :, None] - total[:, :, None]).permute(0, 1, 4, 2, 3)
        earlier = torch.ones(size, size, dtype=torch.bool).tril(-1)
        weights = torch.exp(apart.masked_fill(~earlier, -torch.inf))
        scores = c.transpose(2, 3) @ b.permute(0, 1, 3, 4, 2) * weights
        within = (scores @ x.transpose(2, 3)).transpose(2, 3)
        return within.reshape(batch, length, heads, elements)

    given = randn(2, 15, 3, 4), rates(2, 15, 3), randn(2, 15, 3, 4), randn(2, 15, 3, 4)
    counts, (found,) = rewritten(almost, given)
    assert not counts[SELECTIVE_SCAN]
    assert counts[torch.ops.aten.cumsum.default]
    torch.testing.assert_close(found, almost(*given))


def test_a_compiled_recurrence_is_the_models() -> None:
    function, operands, _ = CASES["sums"]
    module = cd.torch.compile(
        Calls(function).eval(), operands(3), replace=scan, targets=["cpu:host"]
    )
    assert [item.kernel for item in module.replaced] == ["selective_scan_f32"]
    given = operands(3)
    program = cd.load(module, device="cpu")
    found = numpy.asarray(program.main(*(each.numpy() for each in given)))
    torch.testing.assert_close(torch.from_numpy(found), function(*given), rtol=2e-5, atol=2e-5)

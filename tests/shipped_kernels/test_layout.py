"""Attention reads what projections leave, and takes the parts of one product as products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from cuda_kernels.patterns import torch as shipped
from cuda_kernels.patterns.rewriting.layout import write_layout
from custom_dispatch.frontends.torch.exporting import export
from custom_dispatch.frontends.torch.forms import in_one_form
from custom_dispatch.frontends.torch.importer import export_model
from custom_dispatch.frontends.torch.replacing import import_with_kernels
from tests.places import replaced_in_torch

BATCH, LENGTH, HEADS, DIM = 2, 5, 4, 32
WIDTH = HEADS * DIM
PATTERNS = [
    pattern
    for pattern in (*shipped.attention, *shipped.linear)
    if pattern.item.name in ("attention_f32_32", "attention_bshd_f32_32", "linear_f32")
]
Tensor = torch.Tensor


class Block(torch.nn.Module):  # type: ignore[misc]
    """A projection, and attention of what a function takes of it."""

    def __init__(self, takes: Callable[[Tensor], Any], outputs: int = 3 * WIDTH) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.takes = takes
        self.projection = torch.nn.Linear(WIDTH, outputs)

    def project(self, x: Tensor) -> Tensor:
        return self.projection(x)

    def forward(self, x: Tensor) -> Any:
        q, k, v = self.takes(self.project(x))
        attended = functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return attended.transpose(1, 2).reshape(x.shape[0], -1, WIDTH)


class OfColumns(Block):
    """With the weight as GPT-2's `Conv1D` has it, and a matrix of all rows."""

    def __init__(self, takes: Callable[[Tensor], Any]) -> None:
        super().__init__(takes)
        self.weight = torch.nn.Parameter(torch.randn(WIDTH, 3 * WIDTH) * 0.1)
        self.bias = torch.nn.Parameter(torch.randn(3 * WIDTH))

    def project(self, x: Tensor) -> Tensor:
        found = torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight)
        return found.view(*x.shape[:-1], 3 * WIDTH)


def by_heads(x: Tensor) -> Tensor:
    return x.view(x.shape[0], -1, x.shape[2] // DIM, DIM).transpose(1, 2)


def side_by_side(x: Tensor) -> Any:
    return [by_heads(part) for part in x.split(WIDTH, dim=2)]


def with_few_keys(x: Tensor) -> Any:
    q, k, v = x[..., :WIDTH], x[..., WIDTH : WIDTH + 2 * DIM], x[..., WIDTH + 2 * DIM :]
    return map(by_heads, (q, k, v))


def head_by_head(x: Tensor) -> Any:
    return x.view(x.shape[0], -1, HEADS, 3 * DIM).transpose(1, 2).chunk(3, dim=-1)


def in_an_axis(x: Tensor) -> Any:
    return x.reshape(x.shape[0], -1, 3, HEADS, DIM).permute(2, 0, 3, 1, 4).unbind(0)


def by_one_index(x: Tensor) -> Any:
    heads = x.view(x.shape[0], -1, HEADS + 2, DIM)
    parts = heads[..., :-2, :], heads[..., [-2], :], heads[..., [-1], :]
    return [part.transpose(1, 2) for part in parts]


def turned(x: Tensor) -> Any:
    def turn(x: Tensor) -> Tensor:
        table = torch.arange(x.shape[2])[None, :, None] * torch.linspace(1, 2, DIM)
        half = torch.cat((-x[..., DIM // 2 :], x[..., : DIM // 2]), dim=-1)
        return x * table.cos().unsqueeze(1) + half * table.sin().unsqueeze(1)

    q, k, v = side_by_side(x)
    return turn(q), turn(k), v


BLOCKS = {
    "side by side": Block(side_by_side),
    "with few keys": Block(with_few_keys, WIDTH + 4 * DIM),
    "head by head": Block(head_by_head),
    "in an axis": Block(in_an_axis),
    "by one index": Block(by_one_index, WIDTH + 2 * DIM),
    "turned": Block(turned),
    "a weight of columns": OfColumns(side_by_side),
}


def given(length: int = LENGTH) -> Tensor:
    return torch.randn(BATCH, length, WIDTH)


@pytest.mark.parametrize(
    ("name", "is_open"),
    [*((name, False) for name in BLOCKS), ("turned", True), ("a weight of columns", True)],
)
def test_parts_of_a_product_are_products(name: str, is_open: bool) -> None:
    model, x = BLOCKS[name].eval(), given()
    shapes = ({1: torch.export.Dim("length", min=2, max=64)},) if is_open else None
    found = Counter(item.kernel for item in replaced_in_torch(model, (x,), PATTERNS, shapes))
    attention = "attention_bshd_f32_32"
    assert found == {"linear_f32": 3, attention: 1}
    # What it is rewritten to computes the same.
    program = in_one_form(export(model, (x,), shapes))
    write_layout(program)
    other = given(9) if is_open else x
    held = {**program.state_dict, **program.constants}
    values = [held.get(spec.target, other) for spec in program.graph_signature.input_specs]
    (result,) = torch.fx.Interpreter(program.graph_module).run(*values)
    assert torch.allclose(result, model(other), atol=1e-5)


def test_a_weight_that_was_taken_apart_is_no_parameter_itself() -> None:
    model = BLOCKS["head by head"].eval()
    program = export_model(model, (given(),), None)
    imported, *_ = import_with_kernels({"main": program}, 0, PATTERNS, [])
    assert imported.parameters is not None
    sizes = sorted(entry.size_bytes for entry in imported.parameters.entries)
    assert sizes == [4 * WIDTH] * 3 + [4 * WIDTH * WIDTH] * 3


def test_a_weight_that_a_model_changes_is_read_as_it_is() -> None:
    class Changing(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.randn(16, 16))

        def forward(self, x: Tensor) -> Tensor:
            found = x @ self.weight
            self.weight.add_(1)
            return found

    found = replaced_in_torch(Changing(), (torch.randn(3, 16),), shipped.matmul)
    assert [item.kernel for item in found] == ["matmul_f32"]


def found_in(takes: Callable[[Tensor], Any], forward: Any = Block.forward) -> Counter[str]:
    class Model(Block):
        pass

    Model.forward = forward
    found = replaced_in_torch(Model(takes).eval(), (given(),), PATTERNS)
    return Counter(item.kernel for item in found)


def test_a_product_that_something_else_reads_stays_whole() -> None:
    def forward(self: Block, x: Tensor) -> Any:
        projected = self.project(x)
        q, k, v = self.takes(projected)
        return functional.scaled_dot_product_attention(q, k, v), projected.sum()

    expected = {"linear_f32": 1, "attention_bshd_f32_32": 1}
    assert found_in(side_by_side, forward) == expected


def test_keys_that_a_model_also_gives_by_heads_are_read_by_heads() -> None:
    def forward(self: Block, x: Tensor) -> Any:
        q, k, v = self.takes(self.project(x))
        return functional.scaled_dot_product_attention(q, k, v), k, v

    expected = {"linear_f32": 1, "attention_f32_32": 1}
    assert found_in(side_by_side, forward) == expected


def test_parallel_products_add_what_they_are_given() -> None:
    class Parallel(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = (torch.nn.Linear(16, 16) for _ in range(2))

        def forward(self, x: Tensor) -> Tensor:
            return self.one(x) + self.other(x) + x

    found = replaced_in_torch(Parallel().eval(), (torch.randn(3, 16),), PATTERNS)
    assert [item.kernel for item in found] == ["linear_f32"] * 2
    assert all("torch.aten.add.Tensor" in item.operations for item in found)

"""Rotary embeddings that models write out, in linalg: what is taken, left, and what comes out."""

from __future__ import annotations

from typing import Any

import pytest

import custom_dispatch as cd
from cuda_kernels.patterns import mlir as mlir_patterns
from custom_dispatch.errors import ReplacementWarning
from custom_dispatch.frontends.mlir import place

torch = pytest.importorskip("torch")


class Rotary(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Queries and keys with the same tables, as transformers has it."""

    def __init__(self, half: int = 16, step: int = 1, sign: float = -1.0, first: int = 0) -> None:
        super().__init__()
        self.half, self.step, self.sign, self.first = half, step, sign, first

    def turned(self, x: Any) -> Any:
        if self.step > 1:
            parts = x[..., 1 :: self.step], x[..., :: self.step]
        elif self.first:
            parts = x[..., self.first : self.first + self.half], x[..., : self.half]
        else:
            parts = x[..., self.half :], x[..., : self.half]
        first = -parts[0] if self.sign < 0 else parts[0]
        return torch.cat((first, parts[1]), dim=-1)

    def forward(self, q: Any, k: Any, cos: Any, sin: Any) -> Any:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        return tuple(x * cos + self.turned(x) * sin for x in (q, k))


def arguments(tables: int, dtype: Any) -> tuple[Any, ...]:
    torch.manual_seed(0)
    shapes = ((2, 3, 7, 32), (2, 1, 7, 32), (tables, 7, 32), (tables, 7, 32))
    return tuple(torch.randn(shape, dtype=dtype) for shape in shapes)


def text_of(model: Any, given: Any, shapes: Any = None) -> str:
    from iree.compiler.extras.fx_importer import FxImporter

    importer = FxImporter()
    program = torch.export.export(model, given, dynamic_shapes=shapes)
    importer.import_program(program, func_name="main")
    return str(importer.module)


def test_it_is_taken_and_comes_out() -> None:
    given = arguments(1, torch.float32)
    module = cd.compile(text_of(Rotary(), given), [], ["cpu"], replace=mlir_patterns.rotary)
    assert module.replaced is not None
    assert [item.kernel for item in module.replaced] == ["rotary_f32"] * 2
    for got, want in zip(cd.load(module, "cpu").main(*given), Rotary()(*given), strict=True):
        torch.testing.assert_close(torch.from_dlpack(got), want, rtol=1e-6, atol=1e-6)


def test_each_sequence_may_have_its_table() -> None:
    text = text_of(Rotary(), arguments(2, torch.bfloat16))
    found = place(text, [], mlir_patterns.rotary).replaced
    assert found is not None
    assert [item.kernel for item in found] == ["rotary_bf16"] * 2


@pytest.mark.parametrize(
    "model",
    [Rotary(half=8), Rotary(half=24), Rotary(step=2), Rotary(sign=1.0)],
    ids=["a quarter", "three quarters", "neighbours", "another sign"],
)
def test_what_only_looks_like_it_is_left(model: Any) -> None:
    with pytest.warns(ReplacementWarning, match="No pattern is found in the model"):
        place(text_of(model, arguments(1, torch.float32)), [], mlir_patterns.rotary)


def test_where_slices_begin_is_said() -> None:
    text = text_of(Rotary(first=8), arguments(1, torch.float32))
    with pytest.warns(ReplacementWarning) as caught:
        place(text, [], mlir_patterns.rotary)
    wanted = "is [0, 0, 0, 8], and in the pattern [0, 0, 0, 16]"
    assert f"`static_offsets` of tensor.extract_slice {wanted}" in str(caught[0].message)


def test_how_many_positions_there_are_may_be_open() -> None:
    length = torch.export.Dim("length", min=2)
    shapes = ({2: length}, {2: length}, {1: length}, {1: length})
    found = place(
        text_of(Rotary(), arguments(1, torch.float32), shapes), [], mlir_patterns.rotary
    ).replaced
    assert found is not None
    assert [item.kernel for item in found] == ["rotary_f32"] * 2

"""Sizes of a model by value: what is the same however it is written, and what is not."""

from __future__ import annotations

import pytest
from iree.compiler import ir

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.match.known_sizes import KnownSizes
from custom_dispatch.match.sizes import extent_of, size_of

# Each line gives a size; %n and %m are those of tensors.
TEXT = """
func.func @sizes(%x: tensor<?x3x?x64xf32>, %y: tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x?x64xf32>
  %m = tensor.dim %y, %c0 : tensor<?xf32>
  %flat = tensor.collapse_shape %x [[0, 1], [2], [3]] : tensor<?x3x?x64xf32> into tensor<?x?x64xf32>
  %n3 = tensor.dim %flat, %c0 : tensor<?x?x64xf32>
  %three_n = arith.muli %c3, %n : index
  %by_map = affine.apply affine_map<()[s0] -> (s0 * 3)>()[%n]
  %back = arith.divsi %n3, %c3 : index
  %n6 = arith.muli %n3, %c2 : index
  %two = arith.divui %n6, %n3 : index
  %half = arith.divui %n6, %c4 : index
  %same = arith.maxui %n, %n : index
  %larger = arith.maxui %n, %m : index
  %swapped = arith.maxui %m, %n : index
  %nm = arith.muli %n, %m : index
  %nm6 = arith.muli %m, %n6 : index
  %nm2 = arith.muli %nm, %c2 : index
  %again = tensor.expand_shape %flat [[0, 1], [2], [3]] output_shape [%back, 3, %m, 64]
      : tensor<?x?x64xf32> into tensor<?x3x?x64xf32>
  %n_again = tensor.dim %again, %c0 : tensor<?x3x?x64xf32>
  %m_again = tensor.dim %again, %c2 : tensor<?x3x?x64xf32>
  return
}
"""


@pytest.fixture(scope="module")
def values() -> dict[str, ir.Value]:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        body = module.body.operations[0].regions[0].blocks[0]
        names = [line.split(" = ")[0].strip().removeprefix("%") for line in TEXT.splitlines()]
        names = [name for name in names if name.isidentifier() and name in TEXT]
        operations = [op for op in body.operations if op.operation.results]
        found = dict(zip(names, (op.operation.results[0] for op in operations), strict=False))
        found["module"] = module  # which the values belong to
        return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("n3", "three_n"),
        ("n3", "by_map"),
        ("back", "n"),
        ("two", "c2"),
        ("same", "n"),
        ("larger", "swapped"),
        ("n_again", "n"),
        ("m_again", "m"),
    ],
)
def test_sizes_that_are_the_same(values: dict[str, ir.Value], one: str, other: str) -> None:
    assert size_of(values[one]) == size_of(values[other])


@pytest.mark.parametrize(
    ("one", "other"), [("n", "m"), ("half", "n"), ("larger", "n"), ("nm", "nm2"), ("n3", "n6")]
)
def test_sizes_that_are_not(values: dict[str, ir.Value], one: str, other: str) -> None:
    assert size_of(values[one]) != size_of(values[other])


def test_a_dim_of_a_tensor_that_was_made_one_is_a_product(values: dict[str, ir.Value]) -> None:
    assert extent_of(values["flat"], 0) == size_of(values["three_n"])
    assert extent_of(values["flat"], 2) == 64


@pytest.mark.parametrize(
    ("one", "other", "is_known"),
    [
        ("n3", "n", True),
        ("n6", "c6", True),
        ("n6", "n3", True),
        ("nm2", "nm", True),
        ("n", "n3", False),
        ("n3", "n6", False),
        ("n6", "c4", False),
        ("n", "m", False),
        ("c6", "c4", False),
    ],
)
def test_what_is_known_to_be_a_multiple(
    values: dict[str, ir.Value], one: str, other: str, is_known: bool
) -> None:
    a, b = cd.dim("a"), cd.dim("b")
    sizes = {"a": size_of(values[one]), "b": size_of(values[other])}
    known = KnownSizes(simple_mul, is_strict=True)
    known.dims = sizes
    assert bool(known.holds(a % b == 0)) is is_known
    assert not known.holds(a % b == 1)


def test_what_is_known_to_be_larger(values: dict[str, ir.Value]) -> None:
    a, b = cd.dim("a"), cd.dim("b")
    known = KnownSizes(simple_mul, is_strict=True)
    known.dims = {"a": size_of(values["n"]), "b": size_of(values["n3"])}
    assert known.holds(b >= a) is True
    assert known.holds(a > b) is False
    assert known.holds(a < b) is None  # where both are 0 it does not
    assert known.holds(a + 1 > 0) is True
    assert known.holds(a + 1 == 0) is False
    assert known.holds(a >= 4) is None

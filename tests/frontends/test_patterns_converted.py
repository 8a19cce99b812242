"""Patterns in the torch dialect, in models that are in linalg: IREE converts the patterns."""

from __future__ import annotations

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.frontends.mlir import place

N, M = cd.dim("n"), cd.dim("m")
KERNEL = cd.Kernel(
    "scaled",
    source="not-here.cu",
    operands=[
        cd.In("x", "f32", [N, M]),
        cd.Out("out", "f32", [N, M]),
        cd.Scalar("factor", "f32"),
    ],
    block=64,
    grid=N,
)
MODEL = """#each = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %factor = arith.constant 0.3 : f32
  %empty = tensor.empty() : tensor<3x4xf32>
  %r = linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x4xf32>) outs(%empty : tensor<3x4xf32>) {
    ^bb0(%one: f32, %out: f32):
      %p = arith.mulf %one, %factor : f32
      linalg.yield %p : f32
  } -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}"""
PATTERN = """
func.func @pattern(%x: !torch.vtensor<[SIZES],f32>, %f: !torch.float) -> !torch.vtensor<[SIZES],f32>
SAID {
  BODY
  return %r : !torch.vtensor<[SIZES],f32>
}"""
TIMES = """%r = torch.aten.mul.Scalar %x, %f :
      !torch.vtensor<[SIZES],f32>, !torch.float -> !torch.vtensor<[SIZES],f32>"""
SQUARED = """%s = torch.aten.mul.float %f, %f : !torch.float, !torch.float -> !torch.float
  %r = torch.aten.mul.Scalar %x, %s :
      !torch.vtensor<[SIZES],f32>, !torch.float -> !torch.vtensor<[SIZES],f32>"""
UNKNOWN = """%r = torch.operator "torch.aten.nothing"(%x, %f) :
      (!torch.vtensor<[SIZES],f32>, !torch.float) -> !torch.vtensor<[SIZES],f32>"""


def pattern(body: str, sizes: str = "?,?", said: str = "", *, required: bool = True) -> cd.Pattern:
    text = PATTERN.replace("BODY", body).replace("SAID", said).replace("SIZES", sizes)
    return cd.Pattern(KERNEL, text, required=required)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ("?,?", ""),
        ("?,4", ""),
        ("11,13", "attributes {custom_dispatch.any_sizes = array<i64: 11, 13>}"),
    ],
)
def test_they_are_found_with_the_models_numbers_and_sizes(sizes: str, said: str) -> None:
    report = place(MODEL, [], [pattern(TIMES, sizes, said)]).replaced
    assert report is not None
    assert [(item.kernel, item.scalars) for item in report] == [
        ("scaled", {"factor": pytest.approx(0.3)})
    ]


def test_known_sizes_are_themselves_unless_they_stand_for_any() -> None:
    with pytest.raises(LinkError, match="No place in the model computes what kernel `scaled`"):
        place(MODEL, [], [pattern(TIMES, "11,13")])


def test_one_that_cannot_be_converted_is_refused_if_it_has_to_be_found() -> None:
    with pytest.raises(DeclarationError) as caught:
        place(MODEL, [], [pattern(UNKNOWN)])
    assert (
        "IREE cannot convert the pattern of kernel `scaled` from the torch dialect, to look for it "
        "in a model that is converted." in str(caught.value)
    )
    assert "write the pattern in linalg" in str(caught.value)
    found = place(MODEL, [], [pattern(UNKNOWN, required=False), pattern(TIMES)]).replaced
    assert found is not None
    assert len(found) == 1


def test_a_number_that_it_computes_with_is_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        place(MODEL, [], [pattern(SQUARED)])
    assert "computes with its parameter 1 before it uses the number" in str(caught.value)
    assert "fix the scalar: fixed={...}" in str(caught.value)


FLATTENED = """
%one = torch.constant.int 1
  %zero = torch.constant.int 0
  %flat = torch.aten.flatten.using_ints %x, %zero, %one :
      !torch.vtensor<[11,13],f32>, !torch.int, !torch.int -> !torch.vtensor<[143],f32>
  %s = torch.aten.mul.Scalar %flat, %f :
      !torch.vtensor<[143],f32>, !torch.float -> !torch.vtensor<[143],f32>
  %n = torch.constant.int 11
  %m = torch.constant.int 13
  %sizes = torch.prim.ListConstruct %n, %m : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.view %s, %sizes :
      !torch.vtensor<[143],f32>, !torch.list<int> -> !torch.vtensor<[11,13],f32>"""
FLAT_MODEL = """
func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %every = arith.muli %n, %m : index
  %factor = arith.constant 0.3 : f32
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %empty = tensor.empty(%every) : tensor<?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%flat : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
    ^bb0(%one: f32, %out: f32):
      %p = arith.mulf %one, %factor : f32
      linalg.yield %p : f32
  } -> tensor<?xf32>
  %r = tensor.expand_shape %s [[0, 1]] output_shape [SIZES]
      : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""
ANY = "attributes {custom_dispatch.any_sizes = array<i64: 11, 13>}"


def test_sizes_that_stand_for_any_are_those_of_the_operands_everywhere() -> None:
    """A result with its dims in another order has as many elements, and is another one."""
    wanted = [pattern(FLATTENED, "11,13", ANY)]
    found = place(FLAT_MODEL.replace("SIZES", "%n, %m"), [], wanted).replaced
    assert found is not None
    assert len(found) == 1
    with pytest.raises(LinkError, match="a size is another, and in the pattern another"):
        place(FLAT_MODEL.replace("SIZES", "%m, %n"), [], wanted)


def test_what_is_no_size_cannot_stand_for_any() -> None:
    for said in ("array<i64: 1, 13>", "array<i64>", '"11, 13"'):
        text = f"attributes {{custom_dispatch.any_sizes = {said}}}"
        with pytest.raises(DeclarationError) as caught:
            place(MODEL, [], [pattern(TIMES, "11,13", text)])
        assert "for `custom_dispatch.any_sizes`" in str(caught.value)
        assert "sizes from 2 on: array<i64: 11, 13>" in str(caught.value)


def test_several_functions_are_refused() -> None:
    text = "func.func private @other(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>"
    one = pattern(TIMES)
    with pytest.raises(DeclarationError, match=r"has 2 functions\.\s+expected: one"):
        place(MODEL, [], [cd.Pattern(KERNEL, one.computes[0] + text)])


NUMBERS = """#each = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %numbers = arith.constant dense<0.3> : tensor<3x4xf32>
  %empty = tensor.empty() : tensor<3x4xf32>
  %factors = linalg.generic {indexing_maps = [#each, #each],
      iterator_types = ["parallel", "parallel"]}
      ins(%numbers : tensor<3x4xf32>) outs(%empty : tensor<3x4xf32>) {
    ^bb0(%one: f32, %out: f32):
      BODY
  } -> tensor<3x4xf32>
  %r = linalg.generic {indexing_maps = [#each, #each, #each],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %factors : tensor<3x4xf32>, tensor<3x4xf32>) outs(%empty : tensor<3x4xf32>) {
    ^bb0(%one: f32, %by: f32, %out: f32):
      %p = arith.mulf %one, %by : f32
      linalg.yield %p : f32
  } -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}"""


def test_numbers_that_are_only_spread_are_numbers() -> None:
    """The exponential of a number is not the number."""
    spread, exponential = (
        NUMBERS.replace("BODY", body)
        for body in (
            "linalg.yield %one : f32",
            "%e = math.exp %one : f32\n      linalg.yield %e : f32",
        )
    )
    plain = spread.replace("%x, %factors :", "%x, %numbers :")
    wanted = [cd.Pattern(KERNEL, plain, fixed={"factor": 0.3})]
    assert len(place(spread, [], wanted).replaced or ()) == 1
    with pytest.raises(LinkError, match="No place in the model computes what kernel `scaled`"):
        place(exponential, [], wanted)

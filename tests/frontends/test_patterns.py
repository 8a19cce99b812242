"""Kernels put wherever an MLIR model computes what an example does, and nowhere else."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.model import parse_model
from custom_dispatch.match.replace import replace_places
from custom_dispatch.replaced import Replaced
from tests.sample_kernels.rows import row_norm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels.patterns import add_relu, squared_relu

MAPS = """
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
"""

# An RMS norm of any size: what is divided by follows from a size.
NORM = f"""{MAPS}
func.func @norm(%x: tensor<?x?xf32>, %w: tensor<?xf32>, %eps: f32) -> tensor<?x?xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %i = arith.index_cast %n : index to i64
  %count = arith.sitofp %i : i64 to f32
  %e = tensor.empty(%rows) : tensor<?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<?x?xf32>) outs(%z : tensor<?xf32>) {{
  ^bb0(%a: f32, %sofar: f32):
    %s = arith.mulf %a, %a : f32
    %t = arith.addf %sofar, %s : f32
    linalg.yield %t : f32
  }} -> tensor<?xf32>
  %o = tensor.empty(%rows, %n) : tensor<?x?xf32>
  %y = linalg.generic {{indexing_maps = [#id, #row, #column, #id],
                        iterator_types = ["parallel", "parallel"]}}
      ins(%x, %sum, %w : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>)
      outs(%o : tensor<?x?xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32, %u: f32):
    %m = arith.divf %b, %count : f32
    %p = arith.addf %m, %eps : f32
    %q = math.rsqrt %p : f32
    %g = arith.mulf %a, %q : f32
    %h = arith.mulf %g, %c : f32
    linalg.yield %h : f32
  }} -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}}
"""

# The same with known sizes, other operands swapped, and a result that takes %x for its type.
PLACE = """
func.func @NAME(%x: tensor<4x64xf32>, %v: tensor<4x64xf32>, %w: tensor<64xf32>, %r: tensor<4xf32>)
    -> tensor<4x64xf32> {
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %count = arith.constant 64.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x64xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %sofar: f32):
    %s = arith.mulf %a, %a : f32
    %t = arith.addf %s, %sofar : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#column, #id, #row, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%w, %x, %sum : tensor<64xf32>, tensor<4x64xf32>, tensor<4xf32>)
      outs(%x : tensor<4x64xf32>) {
  ^bb0(%c: f32, %a: f32, %b: f32, %u: f32):
    %m = arith.divf %b, %count : f32
    %p = arith.addf %eps, %m : f32
    %q = math.rsqrt %p : f32
    %g = arith.mulf %a, %q : f32
    %h = arith.mulf %c, %g : f32
    linalg.yield %h : f32
  } -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
"""

DYNAMIC = PLACE.replace("4x64x", "?x?x").replace("64xf", "?xf").replace("4xf", "?xf")
DYNAMIC = DYNAMIC.replace(
    "%count = arith.constant 64.0 : f32\n  %e = tensor.empty() : tensor<?xf32>",
    """%c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %v, %c1 : tensor<?x?xf32>
  %rows = tensor.dim %v, %c0 : tensor<?x?xf32>
  %i = arith.index_cast %n : index to i64
  %count = arith.sitofp %i : i64 to f32
  %e = tensor.empty(%rows) : tensor<?xf32>""",
)

REPLACED = {
    "known": PLACE,
    "other_epsilon": PLACE.replace("1.0e-5", "0.25"),
    "inlined": PLACE.replace("NAME", "private_norm").replace("func.func", "func.func private")
    + """
func.func @NAME(%x: tensor<4x64xf32>, %v: tensor<4x64xf32>, %w: tensor<64xf32>, %r: tensor<4xf32>)
    -> tensor<4x64xf32> {
  %0 = call @private_norm(%v, %x, %w, %r)
    : (tensor<4x64xf32>, tensor<4x64xf32>, tensor<64xf32>, tensor<4xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}""",
    "unknown": DYNAMIC.replace("%v, %c", "%x, %c"),
}

# Why each is not replaced, and what makes it so.
MISSES = {
    "count": (PLACE.replace("64.0", "63.0"), "a size is 63.0, and in the pattern 64.0"),
    "starts_at_one": (
        PLACE.replace("constant 0.0", "constant 1.0"),
        "1.0, where the pattern has 0.0",
    ),
    "accumulates": (
        PLACE.replace("outs(%z", "outs(%r"),
        "the argument `%arg3`, where the pattern has linalg.fill",
    ),
    "square_root": (
        PLACE.replace("math.rsqrt", "math.sqrt"),
        "it has math.sqrt where the pattern has math.rsqrt",
    ),
    "difference": (
        PLACE.replace("arith.addf %eps, %m", "arith.subf %m, %eps"),
        "it has arith.subf where the pattern has arith.addf",
    ),
    "turned_division": (
        PLACE.replace("arith.divf %b, %count", "arith.divf %count, %b"),
        "64.0 is another of its arguments",
    ),
    "other_tensor": (
        PLACE.replace("ins(%w, %x,", "ins(%w, %v,"),
        "`x` would be the argument `%arg1` here and the argument `%arg0` there",
    ),
    "epsilon_of_elements": (
        PLACE.replace("arith.addf %eps, %m", "arith.addf %c, %m"),
        "`epsilon` is computed element by element",
    ),
    "other_axis": (
        PLACE.replace("[#id, #row]", "[affine_map<(i, j) -> (j, i)>, #row]")
        .replace("4x64x", "8x8x").replace("64xf", "8xf").replace("4xf", "8xf"),
        "linalg.generic has the maps [affine_map<(d0, d1) -> (d1, d0)>, "
        "affine_map<(d0, d1) -> (d0)>], and in the pattern [affine_map<(d0, d1) -> (d0, d1)>, "
        "affine_map<(d0, d1) -> (d0)>]",
    ),
    "used_elsewhere": (
        PLACE.replace("return %y", "%k = linalg.broadcast ins(%sum : tensor<4xf32>) outs(%v : "
                      "tensor<4x64xf32>) dimensions = [1]\n"
                      "  %l = arith.addf %k, %y : tensor<4x64xf32>\n  return %l"),
        "the intermediate `%2` (linalg.generic) is used by linalg.broadcast, too",
    ),
    "rounds": (
        PLACE.replace("math.rsqrt %p : f32", "math.rsqrt %p fastmath<fast> : f32"),
        "`fastmath` of math.rsqrt is #arith.fastmath<fast>, and in the pattern "
        "#arith.fastmath<none>",
    ),
    "other_size_of_a_tensor": (DYNAMIC, "a size is another, and in the pattern another"),
}  # fmt: skip


def named(cases: dict[str, str]) -> str:
    bodies = [
        text.replace("@NAME", f"@{name}").replace("private_norm", f"{name}_norm")
        for name, text in cases.items()
    ]
    return MAPS + "".join(bodies)


MODEL = named(REPLACED | {name: text for name, (text, _) in MISSES.items()})


def arrays(sizes: tuple[int, int] = (4, 64)) -> list[Any]:
    random = numpy.random.default_rng(0)
    rows, columns = sizes
    shapes = [(rows, columns), (rows, columns), (columns,), (rows,)]
    return [random.uniform(0.5, 1.5, shape).astype(numpy.float32) for shape in shapes]


def agree(first: Any, second: Any, sizes: tuple[int, int] = (4, 64)) -> None:
    numpy.testing.assert_allclose(first(*arrays(sizes)), second(*arrays(sizes)), rtol=2e-6)


@pytest.fixture(scope="module")
def stock() -> Any:
    """All places, as IREE compiles them."""
    touched = """
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @touched(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @simple_mul(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}"""
    module = cd.compile(MODEL + touched, [simple_mul], ["cpu"])
    assert module.replaced is None
    return cd.load(module, device="cpu")


@pytest.fixture(scope="module")
def replaced() -> cd.CompiledModule:
    """All places, compiled with the kernel in some."""
    return cd.compile(MODEL, [], ["cpu"], replace=cd.Pattern(row_norm, NORM))


def test_every_place_that_computes_the_same_is_replaced(
    stock: Any, replaced: cd.CompiledModule
) -> None:
    assert replaced.kernels == ("row_norm",)
    assert [item.scalars for item in replaced.replaced] == [
        {"epsilon": epsilon} for epsilon in (1e-5, 0.25, 1e-5, 1e-5)
    ]
    first = next(iter(replaced.replaced))
    assert first.operations == ("linalg.generic", "linalg.generic")
    place = re.fullmatch(r"line (\d+)", first.place.source)
    assert place
    assert "%y = linalg.generic" in MODEL.splitlines()[int(place[1]) - 1]
    program = cd.load(replaced, device="cpu")
    for name in REPLACED:
        agree(getattr(program, name), getattr(stock, name))
    agree(program.unknown, stock.unknown, (3, 7))


def test_no_place_that_computes_something_else_is_replaced(
    stock: Any, replaced: cd.CompiledModule
) -> None:
    # Where the difference is, if it is not in the line that the table names.
    reasons = [re.sub(r" \(line \d+\)$", "", miss.reason) for miss in replaced.replaced.near_misses]
    assert reasons == [reason for _, reason in MISSES.values()]
    program = cd.load(replaced, device="cpu")
    for name in MISSES:
        sizes = (8, 8) if name == "other_axis" else (4, 64)
        agree(getattr(program, name), getattr(stock, name), sizes)


def test_what_is_required_and_found_nowhere_is_an_error_that_lists_near_misses() -> None:
    model = named({"count": MISSES["count"][0]})
    with pytest.raises(LinkError) as caught:
        cd.compile(model, [], ["cpu"], replace=[cd.Pattern(row_norm, NORM)])
    text = re.sub(r"line \d+", "line N", str(caught.value))
    assert text == (
        "No place in the model computes what kernel `row_norm` replaces.\n"
        "  expected: at least one, since its pattern is required\n"
        "  next step: correct the pattern where the model differs, or let it be missing: "
        "required=False.\n"
        "not replaced by  in  at       because\n"
        "row_norm         -   line N  a size is 63.0, and in the pattern 64.0 (line N)"
    )


SWISH = """
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = DIALECT.constant dense<1.0> : tensor<8xf32>
  %n = DIALECT.NEG %x : tensor<8xf32>
  %e = MATH %n : tensor<8xf32>
  %p = DIALECT.ADD %e, %one : tensor<8xf32>
  %q = DIALECT.DIV %x, %p : tensor<8xf32>
  return %q : tensor<8xf32>
}"""
ON_ELEMENTS = """
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %u: f32):
    %n = arith.negf %a : f32
    %e = math.exp %n : f32
    %p = arith.addf %e, %one : f32
    %q = arith.divf %a, %p : f32
    linalg.yield %q : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}"""
ARITH = {"DIALECT": "arith", "NEG": "negf", "ADD": "addf", "DIV": "divf", "MATH": "math.exp"}
STABLEHLO = {
    "DIALECT": "stablehlo", "NEG": "negate", "ADD": "add", "DIV": "divide",
    "MATH": "stablehlo.exponential",
}  # fmt: skip


def swish(words: dict[str, str]) -> str:
    return re.sub("|".join(words), lambda found: words[found[0]], SWISH)


FORMS = {"arith": swish(ARITH), "stablehlo": swish(STABLEHLO), "linalg.generic": ON_ELEMENTS}
NEARLY: list[tuple[str, str, str, int, str]] = [
    # the form, what of it is another one, by what, in which line, and what is said
    ("arith", "f32", "f16", 7, "arith.divf gives tensor<8xf16>, and in the pattern tensor<8xf32>"),
    ("arith", "1.0", "2.0", 7, "2.0, where the pattern has 1.0 (line 6)"),
    ("arith", "%x, %p", "%p, %x", 7, "the argument `%arg0`, where the pattern has arith.addf"),
    ("arith", "divf", "mulf", 7, "it has arith.mulf where the pattern has arith.divf"),
    ("arith", "math.exp ", "math.exp2 ", 7,
     "it has math.exp2 where the pattern has math.exp (line 5)"),
    ("arith", "return %q", "%z = arith.subf %q, %e : tensor<8xf32>\n  return %z", 7,
     "the intermediate `%1` (math.exp) is used by arith.subf, too (line 5)"),
    ("arith", "return %q : tensor<8xf32>", "return %q, %p : tensor<8xf32>, tensor<8xf32>", 7,
     "the intermediate `%2` (arith.addf) is a result of the model, too (line 6)"),
    ("stablehlo", "divide", "multiply", 7,
     "it has stablehlo.multiply where the pattern has stablehlo.divide"),
    ("stablehlo", "stablehlo.add", "stablehlo.subtract", 7,
     "it has stablehlo.subtract where the pattern has stablehlo.add (line 6)"),
    ("stablehlo", "8x", "2x4x", 7,
     "stablehlo.divide gives tensor<2x4xf32>, and in the pattern tensor<8xf32>"),
    ("linalg.generic", "f32", "bf16", 5,
     "linalg.generic gives tensor<8xbf16>, and in the pattern tensor<8xf32>"),
    ("linalg.generic", "divf", "mulf", 5,
     "it has arith.mulf where the pattern has arith.divf (line 11)"),
    ("linalg.generic", "linalg.yield %q", "%z = math.sqrt %q : f32\n    linalg.yield %z", 5,
     "it has math.sqrt where the pattern has arith.divf (line 12)"),
]  # fmt: skip


def missed(pattern: str, model: str) -> list[tuple[str, str]]:
    """What is said of a model that has no place of a pattern."""
    n = cd.dim("n")
    kernel = cd.Kernel(
        "swish", source="swish.cu", operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])],
        block=64, grid=cd.ceildiv(n, 64),
    )  # fmt: skip
    with pytest.raises(LinkError) as caught:
        replace_places(parse_model(model), [cd.Pattern(kernel, pattern)], Callees([]))
    rows = [re.split("  +", line, maxsplit=3) for line in str(caught.value).splitlines()[4:]]
    assert all(row[:2] == ["swish", "-"] for row in rows)
    return [(row[2], row[3]) for row in rows]


@pytest.mark.parametrize(("form", "old", "new", "line", "reason"), NEARLY)
def test_what_nearly_matches_says_where_and_what_differs(
    form: str, old: str, new: str, line: int, reason: str
) -> None:
    model = FORMS[form].replace(old, new)
    if "%q, %p" in new:
        model = model.replace("-> tensor<8xf32> {", "-> (tensor<8xf32>, tensor<8xf32>) {")
    assert model != FORMS[form]
    assert missed(FORMS[form], model) == [(f"line {line}", reason)]


UNLIKE = """
func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  %2 = arith.mulf %1, %x : tensor<8xf32>
  return %2 : tensor<8xf32>
}"""


@pytest.mark.parametrize("form", FORMS)
def test_what_is_unlike_is_no_near_miss(form: str) -> None:
    ((place, reason),) = missed(FORMS[form], UNLIKE)
    assert place == "-"
    assert reason.startswith("the model has no ")


def test_operations_that_are_there_apart_are_no_near_miss() -> None:
    apart = """
func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %n = arith.negf %x : tensor<8xf32>
  %e = math.exp %x : tensor<8xf32>
  %p = arith.addf %x, %x : tensor<8xf32>
  %q = arith.divf %x, %x : tensor<8xf32>
  return %n, %e, %p, %q : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}"""
    assert missed(FORMS["arith"], apart) == [
        ("-", "no place that ends as the pattern does has more than half of its operations")
    ]


def test_a_pattern_that_a_model_has_nothing_of_says_what_is_missing() -> None:
    with pytest.raises(LinkError) as caught:
        cd.compile(UNLIKE, [], ["cpu"], replace=[cd.Pattern(row_norm, NORM)])
    assert str(caught.value).endswith(
        "required=False.\n"
        "not replaced by  in  at  because\n"
        "row_norm         -   -   the model has no arith.divf, linalg.generic, math.rsqrt"
    )


def test_part_of_a_near_miss_and_what_follows_it_are_none_by_themselves() -> None:
    tanh = "%N = stablehlo.tanh %M : tensor<8xf32>\n  return %N"
    bent = FORMS["stablehlo"].replace("return %q", tanh.replace("N", "r").replace("M", "q"))
    model = bent.replace("1.0", "2.0")
    model = model.replace("return %r", tanh.replace("N", "s").replace("M", "r"))
    assert missed(bent, model) == [("line 8", "2.0, where the pattern has 1.0 (line 6)")]


ADD_RELU = """
func.func @example(%x: tensor<4x8xf32>, %residual: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %sum = stablehlo.add %x, %residual : tensor<4x8xf32>
  %y = stablehlo.maximum %sum, %z : tensor<4x8xf32>
  return %sum, %y : tensor<4x8xf32>, tensor<4x8xf32>
}
"""
TWICE = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %0 = stablehlo.add %x, %y : tensor<4x8xf32>
  %1 = stablehlo.maximum %z, %0 : tensor<4x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4x8xf32>
  %3 = stablehlo.add %2, %1 : tensor<4x8xf32>
  %4 = stablehlo.maximum %3, %z : tensor<4x8xf32>
  return %3, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}
"""


def test_several_results_are_those_of_one_call_and_a_place_may_take_anothers_result() -> None:
    module = cd.compile(TWICE, [], ["cpu"], replace=[cd.Pattern(add_relu, ADD_RELU)])
    assert [item.operations for item in module.replaced] == [
        ("stablehlo.add", "stablehlo.maximum"),
        ("stablehlo.add", "stablehlo.maximum"),
    ]
    random = numpy.random.default_rng(0)
    x, y = random.normal(size=(2, 4, 8)).astype(numpy.float32)
    total = (x + y) * numpy.maximum(x + y, 0) + numpy.maximum(x + y, 0)
    first, second = cd.load(module, device="cpu").main(x, y)
    numpy.testing.assert_allclose(first, total, rtol=1e-6)
    numpy.testing.assert_allclose(second, numpy.maximum(total, 0), rtol=1e-6)


def test_where_places_overlap_the_larger_and_then_the_first_is_taken() -> None:
    first = "%0 = stablehlo.multiply %x, %y : tensor<?xf32>"
    then = "%1 = stablehlo.negate %0 : tensor<?xf32> return %1 : tensor<?xf32>"
    other = """%0 = stablehlo.negate %x : tensor<?xf32>
        %1 = stablehlo.multiply %0, %y : tensor<?xf32> return %1 : tensor<?xf32>"""
    product = cd.Pattern(simple_mul, EXAMPLE.format(PRODUCT), required=False)
    longer, opposite = (
        cd.Pattern(simple_mul.with_launch(name=name), EXAMPLE.format(text), required=False)
        for name, text in (("longer", first + then), ("opposite", other))
    )

    def report(model: str, *patterns: cd.Pattern) -> Replaced:
        return replace_places(parse_model(EXAMPLE.format(model)), patterns, Callees([]))

    found = report(first + then, product, longer)
    assert [item.kernel for item in found] == ["simple_mul"]
    assert [miss.reason for miss in found.near_misses] == [
        "the place overlaps one that `simple_mul` takes"
    ]
    assert [item.kernel for item in report(first + then, longer, product)] == ["longer"]
    # With one result, the larger one is taken, whoever is first.
    assert [item.kernel for item in report(other, product, opposite)] == ["opposite"]


def test_a_number_that_the_model_computes_reaches_a_scalar() -> None:
    scaled = """
func.func @example(%x: tensor<?x?xf32>, %scale: f32) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %a = tensor.dim %x, %c0 : tensor<?x?xf32>
  %b = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%a, %b) : tensor<?x?xf32>
  %y = linalg.map ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>)
    (%in: f32, %out: f32) {
      %0 = arith.maximumf %in, %zero : f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.mulf %1, %scale : f32
      linalg.yield %2 : f32
    }
  return %y : tensor<?x?xf32>
}"""
    model = scaled.replace("@example", "@main").replace(
        "%e = ", "%doubled = arith.addf %scale, %scale : f32\n  %e = "
    ).replace("%1, %scale", "%doubled, %1")  # fmt: skip
    module = cd.compile(model, [], ["cpu"], replace=[cd.Pattern(squared_relu(2), scaled)])
    assert [item.scalars for item in module.replaced] == [{}]
    x = numpy.linspace(-1, 1, 12, dtype=numpy.float32).reshape(3, 4)
    result = cd.load(module, device="cpu").main(x, numpy.float32(1.5))
    numpy.testing.assert_allclose(result, numpy.maximum(x, 0) ** 2 * 3, rtol=1e-6)


def test_a_number_of_a_struct_is_fixed_by_the_name_of_the_argument() -> None:
    n = cd.dim("n")
    kernel = cd.Kernel(
        "scale_and_shift",
        source="nowhere.cu",
        operands=[
            cd.In("x", "f32", [n]),
            cd.Struct("by", scale="f32", shift="f32"),
            cd.Out("y", "f32", [n]),
        ],
        block=1,
        grid=1,
    )
    text = """
      func.func @f(%x: tensor<?xf32>, %shift: f32) -> tensor<?xf32> {
        %c0 = arith.constant 0 : index
        %two = arith.constant 2.0 : f32
        %n = tensor.dim %x, %c0 : tensor<?xf32>
        %e = tensor.empty(%n) : tensor<?xf32>
        %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                             iterator_types = ["parallel"]}
            ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
        ^bb0(%a: f32, %u: f32):
          %b = arith.mulf %a, %two : f32
          %c = arith.addf %b, %shift : f32
          linalg.yield %c : f32
        } -> tensor<?xf32>
        return %y : tensor<?xf32>
      }"""
    model = text.replace(", %shift: f32", "").replace(
        "%c0 =", "%shift = arith.constant 0.5 : f32\n        %c0 ="
    )
    pattern = cd.Pattern(kernel, text, fixed={"by_scale": 2.0})
    module = parse_model(model)
    (place,) = replace_places(module, [pattern], Callees([]))
    assert place.scalars == {"by.scale": 2.0, "by.shift": 0.5}
    call = next(line for line in str(module).splitlines() if "call @scale_and_shift" in line)
    assert "(tensor<?xf32>, f32, f32) -> tensor<?xf32>" in call
    with pytest.raises(DeclarationError, match="expected: a value-less scalar of the kernel: "
                       "by_scale, by_shift"):  # fmt: skip
        cd.Pattern(kernel, text, fixed={"by.scale": 2.0})


def test_each_place_takes_the_first_kernel_of_a_choice_that_it_fits() -> None:
    count = cd.dim("n")
    wide = cd.Kernel(
        "wide_mul", source=simple_mul.source or "", entry="simple_mul", block=64,
        operands=[cd.In("lhs", "f32", [count]), cd.In("rhs", "f32", [count]),
                  cd.Out("product", "f32", [count]), cd.Scalar("count", "i32", count)],
        grid=cd.ceildiv(count, 64), requires=[count % 4 == 0],
    )  # fmt: skip
    choice = cd.Choice("product", [wide, simple_mul])
    example = EXAMPLE.format(PRODUCT)
    model = "".join(
        example.replace("@f", f"@f{name}").replace("?", size)
        for name, size in (("8", "8"), ("6", "6"), ("any", "?"))
    )
    module = cd.compile(model, [], ["cpu"], replace=[cd.Pattern(choice, example)])
    assert [item.kernel for item in module.replaced] == ["product"] * 3
    assert set(module.kernels) == {"wide_mul", "simple_mul"}
    program = cd.load(module, device="cpu")
    for size, function in ((8, program.f8), (6, program.f6), (3, program.fany)):
        x = numpy.arange(size, dtype=numpy.float32)
        numpy.testing.assert_array_equal(function(x, x), x * x)
    alone = replace_places(parse_model(model), [cd.Pattern(wide, example)], Callees([]))
    assert len(alone) == 1
    assert [item.reason for item in alone.near_misses] == [
        "the place does not fit: Kernel `wide_mul` requires n % 4 == 0, which does not hold for "
        "n = 6",
        "the kernel requires n % 4 == 0, which is not known to hold",
    ]


EXAMPLE = "func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {{ {} }}"
PRODUCT = "%0 = stablehlo.multiply %x, %y : tensor<?xf32> return %0 : tensor<?xf32>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("func", "The pattern of kernel `simple_mul` is not valid MLIR."),
        (
            EXAMPLE.format(PRODUCT).replace("@f", "private @f"),
            "The pattern of kernel `simple_mul` has 0 public functions.\n"
            "  expected: one, which computes its results in one block",
        ),
        (
            "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> "
            "{ %0 = stablehlo.multiply %x, %x : tensor<?xf32> return %0 : tensor<?xf32> }",
            "The pattern of kernel `simple_mul` has a function of 1 parameters.\n"
            "  expected: 2: lhs, rhs",
        ),
        (
            EXAMPLE.format(PRODUCT).replace("?x", "?x?x"),
            "The pattern of kernel `simple_mul` has tensor<?x?xf32> for `lhs`.\n"
            "  expected: a tensor of f32 and of the rank of [n]",
        ),
        (
            EXAMPLE.format("return %x : tensor<?xf32>"),
            "The pattern of kernel `simple_mul` returns a parameter for `product`.",
        ),
        (
            EXAMPLE.format(PRODUCT.replace("%y", "%x")),
            "The pattern of kernel `simple_mul` has a function that does not use `rhs`.",
        ),
        (
            EXAMPLE.format('"stablehlo.custom_call"() {call_target_name = "print", '
                           "has_side_effect = true} : () -> () " + PRODUCT),
            "The pattern of kernel `simple_mul` has an operation stablehlo.custom_call, which no "
            "result is computed with.",
        ),
    ],
)  # fmt: skip
def test_a_text_that_is_no_example_is_refused(text: str, expected: str) -> None:
    model = EXAMPLE.format(PRODUCT)
    with pytest.raises(DeclarationError) as caught:
        cd.compile(model, [], ["cuda:sm_80"], replace=[cd.Pattern(simple_mul, text)])
    assert str(caught.value).startswith(expected)


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.Pattern(simple_mul, lambda x: x)  # type: ignore[arg-type]
    assert "cd.jax.Pattern, cd.torch.Pattern" in str(caught.value)
    with pytest.raises(DeclarationError, match="A pattern is given 3"):
        cd.Pattern(3, "func")  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="fixes `lhs`"):
        cd.Pattern(simple_mul, "func", fixed={"lhs": 1})
    with pytest.raises(DeclarationError, match="replace is given without a model"):
        cd.compile(None, simple_mul, ["cpu"], replace=[cd.Pattern(simple_mul, "func")])
    with pytest.raises(DeclarationError, match="replace has 3 in it"):
        cd.compile(EXAMPLE.format(PRODUCT), simple_mul, ["cuda:sm_80"], replace=[3])
    library = cd.build(simple_mul, ["cuda:sm_80"])
    with pytest.raises(LinkError, match="The library lacks kernel `row_norm`"):
        cd.compile(EXAMPLE.format(PRODUCT), library, replace=[cd.Pattern(row_norm, NORM)])


@pytest.mark.parametrize(
    ("options", "found", "expected"),
    [
        ({"sizes": [8]}, "has the sizes [8]", 'numbers by dim: {"heads": 8}'),
        ({"sizes": {"columns": "8"}}, "has the size columns='8'", "dims: batch, columns"),
        ({"sizes": {"columns": True}}, "has the size columns=True", "dims: batch, columns"),
        ({"sizes": {"columns": 0}}, "has the size columns=0", "dims: batch, columns"),
        ({"fixed": ["epsilon"]}, "fixes ['epsilon']", 'by name: {"causal": True}'),
    ],
)
def test_sizes_and_fixed_scalars_are_given_by_name(
    options: dict[str, Any], found: str, expected: str
) -> None:
    for pattern in (cd.torch.Pattern, cd.jax.Pattern):
        with pytest.raises(DeclarationError) as caught:
            pattern(row_norm, lambda x, weight, epsilon: x, **options)
        assert caught.value.found == f"The pattern of kernel `row_norm` {found}."
        assert expected in caught.value.expected

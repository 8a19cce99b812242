"""Updates in place never reach the caller's buffers, however the model is shaped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from iree import runtime as rt

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul_inplace
from custom_dispatch.errors import CallError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path
from custom_dispatch.runtime.device import hal_device

KIND = "(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
MODEL = f"""
  func.func private @simple_mul_inplace{KIND}
  func.func private @helper(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {{
    %0 = call @simple_mul_inplace(%a, %b) : {KIND}
    return %0 : tensor<?xf32>
  }}
  func.func @through_a_helper(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {{
    %0 = call @helper(%a, %b) : {KIND}
    return %0 : tensor<?xf32>
  }}
  func.func @in_a_branch(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: i1) -> tensor<?xf32> {{
    %0 = scf.if %c -> tensor<?xf32> {{
      %1 = func.call @simple_mul_inplace(%a, %b) : {KIND}
      scf.yield %1 : tensor<?xf32>
    }} else {{
      scf.yield %b : tensor<?xf32>
    }}
    return %0 : tensor<?xf32>
  }}
  func.func @in_blocks(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {{
    cf.br ^next(%b : tensor<?xf32>)
  ^next(%x: tensor<?xf32>):
    %0 = func.call @simple_mul_inplace(%a, %x) : {KIND}
    return %0 : tensor<?xf32>
  }}
  func.func @through_a_view(%a: tensor<?xf32>, %b: tensor<2x?xf32>) -> tensor<?xf32> {{
    %view = tensor.collapse_shape %b [[0, 1]] : tensor<2x?xf32> into tensor<?xf32>
    %0 = func.call @simple_mul_inplace(%a, %view) : {KIND}
    return %0 : tensor<?xf32>
  }}
"""
BLOCKS = f"""
  func.func private @simple_mul_inplace{KIND}
  func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {{
    cf.br ^next(%b : tensor<?xf32>)
  ^next(%x: tensor<?xf32>):
    %0 = func.call @simple_mul_inplace(%a, %x) : {KIND}
    return %0 : tensor<?xf32>
  }}
"""
CASES: dict[str, tuple[Any, ...]] = {
    "through_a_helper": ((8,), ()),
    "in_a_branch": ((8,), (True,)),
    "in_blocks": ((8,), ()),
    "through_a_view": ((2, 4), ()),
}


@pytest.fixture(scope="module", params=["cpu", "cuda:sm_80,cpu"])
def program(request: pytest.FixtureRequest) -> Any:
    return cd.load(cd.compile(MODEL, [simple_mul_inplace], request.param.split(",")), "cpu")


@pytest.mark.parametrize("function", CASES)
def test_the_callers_buffer_stays_as_it_is(program: Any, function: str) -> None:
    shape, more = CASES[function]
    device = hal_device("cpu")
    two = rt.asdevicearray(device, np.full(8, 2, np.float32))
    five = rt.asdevicearray(device, np.full(shape, 5, np.float32))
    result = program.function(function)(two, five, *more)
    np.testing.assert_array_equal(result.to_host(), np.full(8, 10, np.float32))
    np.testing.assert_array_equal(five.to_host(), np.full(shape, 5, np.float32))
    np.testing.assert_array_equal(two.to_host(), np.full(8, 2, np.float32))


def test_what_a_block_is_given_may_be_any_argument() -> None:
    """By itself: where a helper updates, everything is kept."""
    program = cd.load(cd.compile(BLOCKS, [simple_mul_inplace], ["cpu"]), "cpu")
    two, five = (rt.asdevicearray(hal_device("cpu"), np.full(8, x, np.float32)) for x in (2, 5))
    np.testing.assert_array_equal(program.main(two, five).to_host(), np.full(8, 10, np.float32))
    np.testing.assert_array_equal(five.to_host(), np.full(8, 5, np.float32))


@pytest.mark.parametrize("function", ["through_a_helper", "in_blocks"])
def test_sizes_are_checked_there_too(program: Any, function: str) -> None:
    with pytest.raises(CallError, match="disagree on dim n"):
        program.function(function)(np.ones(3, np.float32), np.ones(2, np.float32))
    empty = np.zeros(0, np.float32)
    assert program.function(function)(empty, empty).shape == (0,)


def test_arguments_are_kept_only_where_an_update_might_reach_them() -> None:
    source = f"""
      func.func private @simple_mul_inplace{KIND}
      func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {{
        %sum = arith.addf %a, %b : tensor<?xf32>
        %0 = call @simple_mul_inplace(%a, %sum) : {KIND}
        return %0 : tensor<?xf32>
      }}"""
    text = link(source, cd.build([simple_mul_inplace], ["cuda:sm_80"]), by_path).text
    assert "util.optimization_barrier" not in text


def test_many_updates_of_one_buffer_are_linked() -> None:
    """Python stops after a thousand calls of a function by itself."""
    calls = [
        f"%v{turn + 1} = call @simple_mul_inplace(%a, %v{turn}) : {KIND}" for turn in range(1200)
    ]
    source = "\n".join(
        [
            f"func.func private @simple_mul_inplace{KIND}",
            "func.func @main(%a: tensor<?xf32>, %v0: tensor<?xf32>) -> tensor<?xf32> {",
            *calls,
            "return %v1200 : tensor<?xf32>",
            "}",
        ]
    )
    text = link(source, cd.build([simple_mul_inplace], ["cuda:sm_80"]), by_path).text
    assert text.count("util.optimization_barrier") == 1  # of %v0, where the function returns


STATIC = "tensor<8xf32>"
ELEMENTS = """%x = linalg.generic {{
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]
    }} ins(%b : KIND) outs(%empty : KIND) {{
    ^bb0(%in: f32, %out: f32):
      {0}
      linalg.yield %y : f32
    }} -> KIND"""
MAY_BE_THE_ARGUMENT = {
    "a product with ones": "%x = arith.mulf %b, %ones : KIND",
    "a product of ones": "%x = arith.mulf %ones, %b : KIND",
    "a quotient": "%x = arith.divf %b, %ones : KIND",
    "what was filled": """%full = linalg.fill ins(%one : f32) outs(%empty : KIND) -> KIND
      %x = arith.mulf %b, %full : KIND""",
    "signs": """%n = arith.negf %b : KIND
      %x = arith.negf %n : KIND""",
    "casts": """%wide = arith.extf %b : KIND to tensor<8xf64>
      %x = arith.truncf %wide : tensor<8xf64> to KIND""",
    "the larger of one": "%x = arith.maximumf %b, %b : KIND",
    "a choice": "%x = arith.select %p, %b, %a : KIND",
    "a copy": "%x = linalg.copy ins(%b : KIND) outs(%empty : KIND) -> KIND",
    "elements": ELEMENTS.format("%y = arith.mulf %in, %one : f32"),
    "what is taken away again": ELEMENTS.format(
        "%z = arith.extf %in : f32 to f64\n      %y = arith.truncf %z : f64 to f32"
    ),
}
IS_NEW = {
    "a sum": "%x = arith.addf %a, %b : KIND",
    "a product with another number": "%x = arith.mulf %b, %halves : KIND",
    "a quotient of ones": "%x = arith.divf %ones, %b : KIND",
    "a function": """%e = math.exp %b : KIND
      %x = arith.negf %e : KIND""",
    "elements": ELEMENTS.format("%z = arith.mulf %in, %half : f32\n      %y = arith.negf %z : f32"),
    "what is filled": "%x = linalg.fill ins(%one : f32) outs(%b : KIND) -> KIND",
}


def updating(computed: str) -> str:
    """A model that updates what it computes in place."""
    return f"""
      func.func private @simple_mul_inplace({STATIC}, {STATIC}) -> {STATIC}
      func.func @main(%a: {STATIC}, %b: {STATIC}, %p: i1) -> {STATIC} {{
        %one = arith.constant 1.0 : f32
        %half = arith.constant 0.5 : f32
        %ones = arith.constant dense<1.0> : {STATIC}
        %halves = arith.constant dense<0.5> : {STATIC}
        %empty = tensor.empty() : {STATIC}
        {computed.replace("KIND", STATIC)}
        %0 = call @simple_mul_inplace(%a, %x) : ({STATIC}, {STATIC}) -> {STATIC}
        return %0 : {STATIC}
      }}"""


@pytest.mark.parametrize("computed", [*MAY_BE_THE_ARGUMENT, *(f"new: {name}" for name in IS_NEW)])
def test_an_argument_is_kept_where_it_may_be_what_is_computed(computed: str) -> None:
    """The compiler folds: what is updated then is the argument itself."""
    name = computed.removeprefix("new: ")
    is_new = name != computed
    source = updating((IS_NEW if is_new else MAY_BE_THE_ARGUMENT)[name])
    text = link(source, cd.build([simple_mul_inplace], ["cuda:sm_80"]), by_path).text
    assert ("util.optimization_barrier" in text) != is_new


@pytest.mark.parametrize("computed", ["a product with ones", "a copy", "casts"])
def test_what_turns_out_to_be_an_argument_is_not_updated(computed: str) -> None:
    source = updating(MAY_BE_THE_ARGUMENT[computed])
    program = cd.load(cd.compile(source, [simple_mul_inplace], ["cpu"]), "cpu")
    two, five = (rt.asdevicearray(hal_device("cpu"), np.full(8, x, np.float32)) for x in (2, 5))
    result = program.main(two, five, True).to_host()
    np.testing.assert_array_equal(result, np.full(8, 10, np.float32))
    np.testing.assert_array_equal(five.to_host(), np.full(8, 5, np.float32))

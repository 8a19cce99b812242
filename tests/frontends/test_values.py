"""Updates in place never reach the caller's buffers, however the model is shaped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from iree import runtime as rt

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
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


LOOP = """
  func.func private @simple_mul({kind}, {kind}) -> {kind}
  func.func private @simple_mul_inplace({kind}, {kind}) -> {kind}
  func.func @loop(%y: {kind}, %turns: i32) -> {kind} {{
    %first = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    {start}
    %last = scf.for %turn = %first to %turns step %step iter_args(%v = %x) -> ({kind}) : i32 {{
      %a = func.call @simple_mul(%v, %v) : ({kind}, {kind}) -> {kind}
      %b = func.call @simple_mul_inplace(%a, %a) : ({kind}, {kind}) -> {kind}
      scf.yield %b : {kind}
    }}
    %0 = arith.addf %last, %y : {kind}
    return %0 : {kind}
  }}
"""
START = {
    "an argument": ("tensor<?xf32>", "%x = arith.negf %y : tensor<?xf32>"),
    "a constant": ("tensor<64xf32>", "%x = arith.constant dense<1.5> : tensor<64xf32>"),
}


@pytest.mark.parametrize("start", START)
def test_turns_of_a_loop_wait_for_the_turn_before(start: str) -> None:
    """Of a barrier on what a loop carries, IREE forgets the wait: wrong on several threads."""
    kind, begin = START[start]
    model = LOOP.format(kind=kind, start=begin)
    kernels = [simple_mul, simple_mul_inplace]
    text = link(model, cd.build(kernels, ["cpu"]), by_path).text
    inside = text.partition("scf.for")[2].partition("scf.yield")[0]
    assert "tensor<" in inside
    assert "util.optimization_barrier %arg" not in inside
    program = cd.load(cd.compile(model, kernels, ["cpu"]))
    y = np.linspace(0.9, 1.1, 64, dtype=np.float32)
    x = -y if start == "an argument" else np.full(64, 1.5, np.float32)
    for turns in (0, 1, 2, 3) * 30:
        wanted = x
        for _ in range(turns):
            wanted = wanted * wanted
            wanted = wanted * wanted
        assert np.array_equal(program.loop(y, turns), wanted + y)

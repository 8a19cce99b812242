"""Constants that kernels are called with are hidden from the compiler, however they get there."""

from __future__ import annotations

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path

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


KIND = "tensor<4xf32>"
DECLARED = f"func.func private @simple_mul({KIND}, {KIND}) -> {KIND}"
BLOCKS = {
    "one way": "cf.br ^next(%c : KIND)",
    "two ways": """cf.cond_br %p, ^next(%c : KIND), ^other
      ^other:
        cf.br ^next(%c : KIND)""",
    "one branch to both": "cf.cond_br %p, ^next(%c : KIND), ^next(%c : KIND)",
    "a switch": """%n = arith.extui %p : i1 to i32
        cf.switch %n : i32, [default: ^next(%c : KIND), 1: ^next(%c : KIND)]""",
    "two blocks": """cf.br ^before(%c : KIND)
      ^before(%y: KIND):
        cf.br ^next(%y : KIND)""",
}


@pytest.mark.parametrize("blocks", BLOCKS)
def test_constants_that_blocks_are_given(blocks: str) -> None:
    """IREE makes one value of them where the blocks have one way, and then evaluates the kernel."""
    model = f"""
      {DECLARED}
      func.func @main(%p: i1) -> {KIND} {{
        %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : {KIND}
        {BLOCKS[blocks].replace("KIND", KIND)}
      ^next(%x: {KIND}):
        %0 = call @simple_mul(%x, %x) : ({KIND}, {KIND}) -> {KIND}
        return %0 : {KIND}
      }}"""
    program = cd.load(cd.compile(model, simple_mul, ["cuda:sm_80", "cpu"]), "cpu")
    np.testing.assert_array_equal(program.main(True), np.float32([1, 4, 9, 16]))


def test_a_loop_of_blocks_hides_what_goes_into_it() -> None:
    model = f"""
      {DECLARED}
      func.func @main(%turns: i32) -> {KIND} {{
        %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : {KIND}
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        cf.br ^loop(%c, %zero : {KIND}, i32)
      ^loop(%x: {KIND}, %turn: i32):
        %0 = call @simple_mul(%x, %c) : ({KIND}, {KIND}) -> {KIND}
        %next = arith.addi %turn, %one : i32
        %more = arith.cmpi ult, %next, %turns : i32
        cf.cond_br %more, ^loop(%0, %next : {KIND}, i32), ^done
      ^done:
        return %0 : {KIND}
      }}"""
    text = link(model, cd.build([simple_mul], ["cpu"]), by_path).text
    before, loop = text.split("cf.br", 1)
    assert before.count("util.optimization_barrier") == 1
    assert "util.optimization_barrier" not in loop
    program = cd.load(cd.compile(model, simple_mul, ["cpu"]))
    np.testing.assert_array_equal(program.main(3), np.float32([1, 16, 81, 256]))


def test_what_blocks_are_given_of_an_argument_is_not_hidden() -> None:
    """A barrier makes IREE submit each dispatch by itself."""
    model = f"""
      {DECLARED}
      func.func @main(%a: {KIND}, %p: i1) -> {KIND} {{
        %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : {KIND}
        cf.cond_br %p, ^next(%a, %c : {KIND}, {KIND}), ^other
      ^other:
        cf.br ^next(%a, %c : {KIND}, {KIND})
      ^next(%x: {KIND}, %y: {KIND}):
        %0 = call @simple_mul(%x, %y) : ({KIND}, {KIND}) -> {KIND}
        return %0 : {KIND}
      }}"""
    text = link(model, cd.build([simple_mul], ["cuda:sm_80"]), by_path).text
    assert "util.optimization_barrier" not in text


def test_a_model_of_many_operations_in_a_row_is_linked() -> None:
    """Python stops after a thousand calls of a function by itself."""
    sums = [f"%v{turn + 1} = arith.addf %v{turn}, %v{turn} : {KIND}" for turn in range(1200)]
    source = "\n".join(
        [
            DECLARED,
            f"func.func @main(%v0: {KIND}) -> {KIND} {{",
            *sums,
            f"%0 = call @simple_mul(%v1200, %v1200) : ({KIND}, {KIND}) -> {KIND}",
            f"return %0 : {KIND}",
            "}",
        ]
    )
    text = link(source, cd.build([simple_mul], ["cuda:sm_80"]), by_path).text
    assert "util.optimization_barrier" not in text

"""Keeping empty tensors away from generated code."""

from __future__ import annotations

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CallError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path
from custom_dispatch.toolchain.library import Library

KERNEL = "func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
CALL = "call @simple_mul(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
ELEMENTWISE = f"""
  {KERNEL}
  func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {{
    %0 = {CALL}
    %1 = arith.addf %0, %a : tensor<?xf32>
    return %1 : tensor<?xf32>
  }}"""
BODY = "func.func private @custom_dispatch_body_main"


@pytest.fixture(scope="module")
def library() -> Library:
    return cd.build([simple_mul], ["cuda:sm_80", "cpu"])


def linked(source: str, library: Library) -> str:
    return link(source, library, by_path).text


def test_a_function_with_empty_results_does_not_run_its_body(library: Library) -> None:
    text = linked(ELEMENTWISE, library)
    assert BODY in text
    program = cd.load(cd.compile(ELEMENTWISE, library), "cpu")
    empty = np.zeros(0, np.float32)
    assert program.main(empty, empty).shape == (0,)
    three = np.full(7, 3, np.float32)
    np.testing.assert_array_equal(program.main(three, three), np.full(7, 12, np.float32))


def test_sizes_that_disagree_are_still_refused_where_one_is_empty(library: Library) -> None:
    program = cd.load(cd.compile(ELEMENTWISE, library), "cpu")
    empty, three = np.zeros(0, np.float32), np.full(3, 1, np.float32)
    for arguments in ((empty, three), (three, empty)):
        with pytest.raises(CallError, match="disagree on dim n"):
            program.main(*arguments)


def test_sizes_are_found_through_matrix_products(library: Library) -> None:
    source = f"""
      {KERNEL}
      func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>, %w: tensor<8x?xf32>)
          -> tensor<?x?xf32> {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %0 = {CALL}
        %m = tensor.dim %0, %c0 : tensor<?xf32>
        %n = tensor.dim %w, %c1 : tensor<8x?xf32>
        %e = tensor.empty(%m) : tensor<?x8xf32>
        %l = linalg.broadcast ins(%0 : tensor<?xf32>) outs(%e : tensor<?x8xf32>) dimensions = [1]
        %r = tensor.empty(%m, %n) : tensor<?x?xf32>
        %z = arith.constant 0.0 : f32
        %f = linalg.fill ins(%z : f32) outs(%r : tensor<?x?xf32>) -> tensor<?x?xf32>
        %p = linalg.matmul ins(%l, %w : tensor<?x8xf32>, tensor<8x?xf32>)
            outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
        return %p : tensor<?x?xf32>
      }}"""
    program = cd.load(cd.compile(source, library), "cpu")
    assert BODY in linked(source, library)
    one = np.ones(3, np.float32)
    np.testing.assert_array_equal(
        program.main(one, one, np.ones((8, 2), np.float32)), np.full((3, 2), 8, np.float32)
    )
    for count, columns in ((0, 2), (3, 0), (0, 0)):
        vector, matrix = np.zeros(count, np.float32), np.zeros((8, columns), np.float32)
        assert program.main(vector, vector, matrix).shape == (count, columns)


@pytest.mark.parametrize(
    ("why", "source"),
    [
        (
            "a result is never empty",
            f"""
            {KERNEL}
            func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<1xf32> {{
              %0 = {CALL}
              %z = arith.constant dense<0.0> : tensor<1xf32>
              return %z : tensor<1xf32>
            }}""",
        ),
        (
            "a size depends on data",
            f"""
            {KERNEL}
            func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>, %n: tensor<i32>)
                -> tensor<?xf32> {{
              %0 = {CALL}
              %i = tensor.extract %n[] : tensor<i32>
              %s = arith.index_cast %i : i32 to index
              %r = tensor.extract_slice %0[0] [%s] [1] : tensor<?xf32> to tensor<?xf32>
              return %r : tensor<?xf32>
            }}""",
        ),
        (
            "the function changes state",
            f"""
            {KERNEL}
            util.global private mutable @calls = 0 : i32
            func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {{
              %0 = {CALL}
              %n = util.global.load @calls : i32
              %one = arith.constant 1 : i32
              %m = arith.addi %n, %one : i32
              util.global.store %m, @calls : i32
              return %0 : tensor<?xf32>
            }}""",
        ),
    ],
)
def test_other_functions_stay_as_they_are(library: Library, why: str, source: str) -> None:
    assert BODY not in linked(source, library), why


def test_without_a_gpu_target_nothing_is_guarded() -> None:
    assert BODY not in linked(ELEMENTWISE, cd.build([simple_mul], ["cpu"]))

"""Checking before a model's function runs, and keeping empty tensors away from generated code."""

from __future__ import annotations

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CallError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.compiler_tool import compile_mlir, device_flags
from custom_dispatch.ir.executable import by_path, embedded
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


CHAIN = f"""
  {KERNEL}
  func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {{
    %0 = {CALL}
    %1 = call @simple_mul(%0, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %2 = call @simple_mul(%1, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    return %2 : tensor<?xf32>
  }}"""


def host_code(source: str, library: Library) -> str:
    """What IREE's VM does in @main, before it waits."""
    flags = [*device_flags(library), "--compile-to=vm"]
    text = compile_mlir(link(source, library, embedded).bytecode, flags).decode()
    start = text.index("vm.func private @main$async(")
    return text[start : text.index("vm.return", start)]


@pytest.mark.parametrize("size", ["?", "1024"])
def test_kernels_in_a_row_are_submitted_together(size: str) -> None:
    library = cd.build([simple_mul], ["cuda:sm_80"])
    code = host_code(CHAIN.replace("?", size), library)
    assert code.count("@hal.device.queue.execute") == 1


def test_checks_that_go_in_front_are_made(library: Library) -> None:
    text = linked(CHAIN, library)
    assert "call @custom_dispatch_unchecked_simple_mul(" in text
    assert "call @simple_mul(" not in text
    program = cd.load(cd.compile(CHAIN, library), "cpu")
    with pytest.raises(CallError, match=r"`lhs`.shape\[0\] and `rhs`.shape\[0\] disagree on dim n"):
        program.main(np.ones(3, np.float32), np.ones(4, np.float32))
    two = np.full(3, 2, np.float32)
    np.testing.assert_array_equal(program.main(two, two), np.full(3, 16, np.float32))


def test_what_several_calls_check_is_checked_once(library: Library) -> None:
    def checks(source: str) -> int:
        preflight = linked(source, library).split("@custom_dispatch_preflight_main(")[-1]
        return preflight.split("func.func")[0].count("util.status.check_ok")

    assert checks(CHAIN) == checks(ELEMENTWISE) > 0


def test_kernels_in_a_function_without_a_preflight_check_where_they_are_called(
    library: Library,
) -> None:
    source = f"""
      {KERNEL}
      func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>, %n: tensor<i32>) -> tensor<?xf32> {{
        %i = tensor.extract %n[] : tensor<i32>
        %s = arith.index_cast %i : i32 to index
        %c = tensor.extract_slice %a[0] [%s] [1] : tensor<?xf32> to tensor<?xf32>
        %0 = call @simple_mul(%c, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        return %0 : tensor<?xf32>
      }}"""
    assert "call @simple_mul(" in linked(source, library)
    program = cd.load(cd.compile(source, library), "cpu")
    a, b = np.arange(8, dtype=np.float32), np.full(5, 2, np.float32)
    np.testing.assert_array_equal(program.main(a, b, np.array(5, np.int32)), a[:5] * 2)
    with pytest.raises(CallError, match="disagree on dim n"):
        program.main(a, b, np.array(4, np.int32))


@pytest.mark.parametrize("shape", ["tensor<?xf32>", "tensor<4xf32>"])
def test_kernels_on_constants_run_when_the_model_does(library: Library, shape: str) -> None:
    kind = f"({shape}, {shape}) -> {shape}"
    source = f"""
      func.func private @simple_mul{kind}
      func.func @main() -> {shape} {{
        %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
        %a = tensor.cast %c : tensor<4xf32> to {shape}
        %0 = call @simple_mul(%a, %a) : {kind}
        return %0 : {shape}
      }}""".replace(
        "tensor.cast %c : tensor<4xf32> to tensor<4xf32>", "arith.addf %c, %c : tensor<4xf32>"
    )
    factor = 1 if "?" in shape else 4
    program = cd.load(cd.compile(source, library), "cpu")
    np.testing.assert_array_equal(program.main(), np.array([1, 4, 9, 16]) * factor)

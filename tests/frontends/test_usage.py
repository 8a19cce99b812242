"""A module says which kernels each of its public functions calls, and how often."""

from __future__ import annotations

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.format.manifest import (
    FunctionUse,
    KernelUse,
    KnownSizes,
    Manifest,
    parse_manifest,
)
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import embedded
from custom_dispatch.link.declarations import kernel_functions, kernel_uses
from custom_dispatch.link.model import parse_model

T = "tensor<?xf32>"
MODEL = """
func.func private @simple_mul(T, T) -> T
func.func private @simple_mul_inplace(T, T) -> T
func.func @direct(%a: T, %b: T) -> T {
  %0 = call @simple_mul(%a, %b) : (T, T) -> T
  return %0 : T
}
func.func @swapped(%a: T, %b: T) -> T {
  %0 = call @simple_mul(%b, %a) : (T, T) -> T
  return %0 : T
}
func.func private @twice(%a: T, %b: T) -> T {
  %0 = call @simple_mul(%a, %b) : (T, T) -> T
  %1 = call @simple_mul(%0, %b) : (T, T) -> T
  return %1 : T
}
func.func @through(%a: T, %b: T) -> T {
  %0 = call @twice(%a, %b) : (T, T) -> T
  %1 = call @twice(%0, %b) : (T, T) -> T
  %2 = call @simple_mul_inplace(%1, %b) : (T, T) -> T
  return %2 : T
}
func.func @loop(%a: T, %b: T, %n: index) -> T {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> T {
    %y = func.call @twice(%x, %b) : (T, T) -> T
    scf.yield %y : T
  }
  %1 = call @simple_mul_inplace(%0, %b) : (T, T) -> T
  return %1 : T
}
func.func @itself(%a: T, %b: T) -> T {
  %0 = call @simple_mul(%a, %b) : (T, T) -> T
  %1 = call @itself(%0, %b) : (T, T) -> T
  return %1 : T
}
func.func @nothing(%a: T) -> T {
  return %a : T
}
""".replace("T", T).replace("@tensor<?xf32>", "@T")


CAST = """
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @cast(%a: tensor<8xf32>, %b: tensor<9xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = tensor.cast %a : tensor<8xf32> to tensor<?xf32>
  %1 = tensor.cast %b : tensor<9xf32> to tensor<?xf32>
  %8 = tensor.cast %0 : tensor<?xf32> to tensor<8xf32>
  %9 = tensor.cast %8 : tensor<8xf32> to tensor<?xf32>
  %2 = call @simple_mul(%0, %9) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %3 = call @simple_mul(%1, %1) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %2, %3 : tensor<?xf32>, tensor<?xf32>
}
"""


def _uses() -> dict[str, FunctionUse]:
    return _uses_in(MODEL)


def _uses_in(text: str) -> dict[str, FunctionUse]:
    model = parse_model(text)
    with model.context:
        functions = kernel_functions(
            model, cd.build([simple_mul, simple_mul_inplace], ["cuda:sm_80"]), {}
        )
        return {use.function: use for use in kernel_uses(model, functions)}


def test_calls_are_counted_through_private_functions() -> None:
    uses = _uses()
    assert set(uses) == {"direct", "swapped", "through", "loop", "itself", "nothing"}
    assert uses["direct"].kernels == (KernelUse("simple_mul", 1),)
    assert uses["through"].kernels == (
        KernelUse("simple_mul", 4),
        KernelUse("simple_mul_inplace", 1),
    )
    assert uses["nothing"].kernels == ()


def test_a_call_in_a_loop_or_recursion_is_made_as_often_as_data_says() -> None:
    uses = _uses()
    assert uses["loop"].kernels == (
        KernelUse("simple_mul", 2, varies=True),
        KernelUse("simple_mul_inplace", 1),
    )
    assert uses["itself"].kernels == (KernelUse("simple_mul", 1, varies=True),)
    assert str(uses["loop"].kernels[0]) == "simple_mul as often as data says"


def test_a_function_that_only_hands_its_arguments_on_is_the_kernel() -> None:
    direct = {name: use.direct for name, use in _uses().items() if use.direct}
    assert direct == {"direct": "simple_mul"}


def test_sizes_are_known_where_the_types_say_them() -> None:
    fixed = MODEL[: MODEL.index("func.func @loop")].replace("?xf32", "24xf32")
    through = _uses_in(fixed)["through"]
    assert [use.sizes for use in through.kernels] == [
        (KnownSizes(4, {"n": 24}),),
        (KnownSizes(1, {"n": 24}),),
    ]
    assert _uses()["through"].kernels[0].sizes == ()
    cast = _uses_in(CAST)["cast"]
    assert [use.sizes for use in cast.kernels] == [
        (KnownSizes(1, {"n": 8}), KnownSizes(1, {"n": 9}))
    ]
    read = parse_manifest(Manifest((), (), (), functions=(through,)).as_text())
    assert read is not None
    assert [use.sizes for use in read.functions[0].kernels] == [
        use.sizes for use in through.kernels
    ]


def test_the_linked_module_says_it_in_its_manifest() -> None:
    library = cd.build([simple_mul, simple_mul_inplace], ["cuda:sm_80"])
    model = MODEL[: MODEL.index("func.func @loop")]
    text = link(model, library, embedded).text
    assert "\\22function\\22:\\22direct\\22" in text
    uses = tuple(_uses().values())
    read = parse_manifest(Manifest((), (), (), functions=uses).as_text())
    assert read is not None
    assert read.functions == uses

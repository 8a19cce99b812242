"""A module says which kernels each of its public functions calls, and how often."""

from __future__ import annotations

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.format.manifest import FunctionUse, KernelUse, Manifest, parse_manifest
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import embedded
from custom_dispatch.link.declarations import kernel_uses
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


def _uses() -> dict[str, FunctionUse]:
    names = {name: [name] for name in ("simple_mul", "simple_mul_inplace")}
    found = kernel_uses(parse_model(MODEL), names, names)
    return {use.function: use for use in found}


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


def test_the_linked_module_says_it_in_its_manifest() -> None:
    library = cd.build([simple_mul, simple_mul_inplace], ["cuda:sm_80"])
    model = MODEL[: MODEL.index("func.func @loop")]
    text = link(model, library, embedded).text
    assert "\\22function\\22:\\22direct\\22" in text
    uses = tuple(_uses().values())
    read = parse_manifest(Manifest((), (), (), functions=uses).as_text())
    assert read is not None
    assert read.functions == uses

"""What a declared function may not do: each with its line of the source, and a next step."""

from pathlib import Path

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, SourceError, UnsupportedInstructionError
from custom_dispatch.scalar.translate import translate
from custom_dispatch.toolchain.function_source import function_ptx
from tests.functions.functions import declare

SOURCE = Path(__file__).with_name("functions.cu")
ALONE = "each element is computed by itself: there"


def line_of(text: str) -> str:
    lines = SOURCE.read_text().splitlines()
    return f"{SOURCE}:{1 + next(i for i, line in enumerate(lines) if text in line)}"


@pytest.mark.parametrize(
    ("name", "line", "why"),
    [
        ("reads_a_table", "return table[", "a function of numbers has no memory"),
        ("has_a_table", "float own[4]", "nor arrays of which an index is computed"),
        ("has_an_array", "squares[i] = i", "nor arrays of which an index is computed"),
        ("asks_for_its_thread", "x + threadIdx.x", f"{ALONE} is no thread or block to ask for"),
        ("shares", "kept[x & 3] = x", f"{ALONE} is no shared memory"),
        ("counts", "atomicAdd", "a function of numbers has no atomic operations"),
        ("shuffles", "__shfl_down_sync", f"{ALONE} are no other threads"),
        ("is_volatile", "volatile int*", "a function of numbers has no `volatile` memory"),
        ("asserts", "assert(x > 0)", "it ends what calls it"),
        ("never_ends", "while (true)", "it is in a loop that never ends"),
    ],
)
def test_more_than_arithmetic_is_refused(name: str, line: str, why: str) -> None:
    kind = "f32" if name in ("reads_a_table", "has_an_array") else "i32"
    function = declare(name, kind, x="i32")
    if name == "has_a_table":
        function = declare(name, "f32", x="f32", i="i32")
    with pytest.raises(UnsupportedInstructionError) as refusal:
        translate(function_ptx(function), function)
    said = str(refusal.value)
    assert f"Function `{name}` uses `" in said
    assert why in said
    assert f"({line_of(line)})" in said
    assert "write this part without it, or declare a cd.Kernel instead." in said


@pytest.mark.parametrize(
    ("name", "why", "step"),
    [
        ("fibonacci", "calls itself (recursion)", "write it as a loop"),
        ("prints", "printing (`printf`) needs a C library.", "write this part without it"),
    ],
)
def test_calls_that_cannot_be_put_in_place_are_refused(name: str, why: str, step: str) -> None:
    function = declare(name, "i32", x="i32")
    with pytest.raises(UnsupportedInstructionError) as refusal:
        translate(function_ptx(function), function)
    assert f"Function `{name}` uses `call" in str(refusal.value)
    assert str(SOURCE) in str(refusal.value)
    assert why in str(refusal.value)
    assert refusal.value.next_step == f"{step}, or declare a cd.Kernel instead."


def test_a_source_that_does_not_fit_the_declaration_is_named() -> None:
    function = cd.Function("my_gelu", source=SOURCE, operands=[cd.Scalar("x", "f32")], result="f32")
    with pytest.raises(SourceError) as refusal:
        function_ptx(function)
    said = str(refusal.value)
    assert f"Function `my_gelu` cannot be compiled from `{SOURCE}`." in said
    assert "a source with a __device__ function `my_gelu` that takes Scalar(x: f32)" in said
    assert "too few arguments in function call" in said


@pytest.mark.parametrize(
    ("name", "result", "kinds", "said"),
    [
        ("my_gelu", "f32", ("f64", "f32"), "custom_dispatch_Operand<double>"),
        ("my_gelu", "f32", ("i32", "f32"), "custom_dispatch_Operand<int>"),
        ("my_gelu", "f64", ("f32", "f32"), "the result is of another type than is declared"),
        ("is_even", "f32", ("i32",), "the result is of another type than is declared"),
        ("is_even", "u8", ("i32",), "the result is of another type than is declared"),
        ("is_even", "bool", ("i64",), "custom_dispatch_Operand<long long>"),
    ],
)
def test_types_that_cxx_would_convert_are_refused(
    name: str, result: str, kinds: tuple[str, ...], said: str
) -> None:
    operands = [cd.Scalar(f"x{index}", kind) for index, kind in enumerate(kinds)]
    function = cd.Function(name, source=SOURCE, operands=operands, result=result)
    with pytest.raises(SourceError) as refusal:
        function_ptx(function)
    assert said in str(refusal.value)
    assert "no type is converted" in str(refusal.value)


def test_integers_of_one_size_are_alike() -> None:
    for kind in ("i32", "u32"):
        assert "custom_dispatch.result" in function_ptx(declare("is_even", "bool", x=kind))


def test_more_numbers_than_a_kernel_has_buffers_are_refused() -> None:
    rows = [cd.Struct(f"row_{row}", 16, **dict.fromkeys("xyzw", "f32")) for row in range(4)]
    function = cd.Function("of_a_matrix", source=SOURCE, operands=rows, result="f32")
    with pytest.raises(DeclarationError) as refusal:
        cd.compile("func.func private @of_a_matrix(f32) -> f32", function, ["cpu"])
    assert refusal.value.found == (
        "Function `of_a_matrix` has 17 operands and results, numbers of structs counted."
    )
    assert refusal.value.expected == (
        "at most 16: each may be a tensor, and IREE's CUDA driver takes no more"
    )
    assert refusal.value.next_step == "declare functions for parts of it, which take fewer numbers."

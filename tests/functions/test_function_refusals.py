"""What a declared function may not do: each with its line of the source, and a next step."""

from pathlib import Path

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import SourceError, UnsupportedInstructionError
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
        ("has_an_array", None, "nor arrays of which an index is computed"),
        ("asks_for_its_thread", "x + threadIdx.x", f"{ALONE} is no thread or block to ask for"),
        ("shares", "kept[x & 3] = x", f"{ALONE} is no shared memory"),
        ("counts", "atomicAdd", "a function of numbers has no atomic operations"),
        ("shuffles", "__shfl_down_sync", f"{ALONE} are no other threads"),
        ("is_volatile", "volatile int*", "a function of numbers has no `volatile` memory"),
        ("asserts", "assert(x > 0)", "it ends what calls it"),
        ("never_ends", "while (true)", "it is in a loop that never ends"),
    ],
)
def test_more_than_arithmetic_is_refused(name: str, line: str | None, why: str) -> None:
    function = declare(name, "f32" if name[-2] == "a" else "i32", x="i32")
    with pytest.raises(UnsupportedInstructionError) as refusal:
        translate(function_ptx(function), function)
    said = str(refusal.value)
    assert f"Function `{name}` uses `" in said
    assert why in said
    assert line is None or f"({line_of(line)})" in said
    assert "write this part without it, or declare a cd.Kernel instead." in said


@pytest.mark.parametrize(
    ("name", "why", "step"),
    [
        ("fibonacci", "calls itself (recursion)", "write it as a loop"),
        ("prints", "printing (`printf`) needs a C library", "do not print"),
    ],
)
def test_calls_that_cannot_be_put_in_place_are_refused(name: str, why: str, step: str) -> None:
    function = declare(name, "i32", x="i32")
    with pytest.raises(UnsupportedInstructionError) as refusal:
        translate(function_ptx(function), function)
    assert f"Function `{name}` uses `call" in str(refusal.value)
    assert str(SOURCE) in str(refusal.value)
    assert why in str(refusal.value)
    assert step in refusal.value.next_step
    assert "targets" not in refusal.value.next_step


def test_a_source_that_does_not_fit_the_declaration_is_named() -> None:
    function = cd.Function("my_gelu", source=SOURCE, operands=[cd.Scalar("x", "f32")], result="f32")
    with pytest.raises(SourceError) as refusal:
        function_ptx(function)
    said = str(refusal.value)
    assert f"Function `my_gelu` cannot be compiled from `{SOURCE}`." in said
    assert "a source with a __device__ function `my_gelu` that takes Scalar(x: f32)" in said
    assert "too few arguments in function call" in said

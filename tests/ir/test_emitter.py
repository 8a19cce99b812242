"""Writing IR as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from iree.compiler import ir

from custom_dispatch.ir.emitter import Emitter, quote


@given(st.text())
def test_any_text_becomes_one_string_attribute(text: str) -> None:
    encoded = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    with ir.Context():
        assert ir.StringAttr(ir.Attribute.parse(quote(encoded))).value == encoded


def test_an_operation_without_effects_is_emitted_once() -> None:
    block = Emitter(0)
    first = block.index(64)
    inner = block.nested()
    assert inner.index(64) == first
    assert inner.lines == []


def test_what_a_nested_block_defines_ends_with_it() -> None:
    block = Emitter(0)
    inner = block.nested()
    inside = inner.index(7)
    block.put("scf.if %chosen", inner)
    assert block.index(7) != inside


def test_values_of_the_same_name_are_told_apart() -> None:
    block = Emitter(0)
    assert [block.fresh("n"), block.fresh("n"), block.fresh("n")] == ["%n", "%n_1", "%n_2"]


def test_reserved_names_are_passed_over() -> None:
    block = Emitter(0)
    block.reserve("n", "n_2")
    assert [block.fresh("n"), block.nested().fresh("n"), block.fresh("n_2")] == [
        "%n_1",
        "%n_3",
        "%n_2_1",
    ]

"""Reading the declarations that IREE keeps beside functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_dispatch.runtime.module_file import parse_declaration


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "sync func @f(%input0: tensor<?x8xf32>, %input1: i32) -> (%output0: tensor<f16>)",
            "(tensor<?x8xf32>, i32) -> (tensor<f16>)",
        ),
        ("sync func @f() -> ()", "() -> ()"),
        (
            "sync func @f(%input0: tensor<4xi1> {iree.abi.output = 0 : index}) -> (%output0: f32)",
            "(tensor<4xi1>) -> (f32)",
        ),
    ],
)
def test_types_are_read(text: str, kind: str) -> None:
    assert str(parse_declaration(text)) == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "async func @f(%input0: tensor<?xf32>) -> (%output0: tensor<?xf32>)",
        "sync func @f(%input0: !vm.list<?>) -> ()",
        "sync func @f(%input0: tensor<?xcomplex<f32>>) -> ()",
    ],
)
def test_what_is_no_array_function_is_left_alone(text: str) -> None:
    assert parse_declaration(text) is None


@given(st.text(alphabet="sync func@()->%:,<>tensor?x0123456789fi{} ", max_size=80))
def test_no_text_is_an_error(text: str) -> None:
    parse_declaration(text)
    parse_declaration(f"sync func @f({text}) -> ()")

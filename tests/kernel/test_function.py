"""Declaring functions: what is refused, and the C++ that calls them."""

from pathlib import Path
from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError

X = cd.Scalar("x", "f32")


def declare(**parts: Any) -> cd.Function:
    return cd.Function("f", **{"source": "f.cu", "operands": [X], "result": "f32", **parts})


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"operands": X}, "operands has a value of type cd.Scalar"),
        ({"operands": [3]}, "operands has 3."),
        ({"operands": []}, "has no operands."),
        ({"operands": [cd.Scalar("x", "f8E5M2")]}, "operands has Scalar(x: f8E5M2)."),
        ({"operands": [cd.Scalar("x", "i32", cd.dim("n"))]}, "operands has Scalar(x: i32 = n)."),
        (
            {"operands": [cd.Struct("s", a=cd.In("b", "f32", [4]))]},
            "operands has Struct(s: {a: u64}), with buffers or computed numbers.",
        ),
        ({"result": None}, "has no result."),
        ({"results": [cd.Scalar("y", "f32")]}, "has both result= and results=."),
        ({"result": None, "results": [cd.Scalar("x", "i32")]}, "has `x` twice."),
        ({"library": "glibc"}, "has library='glibc'."),
        ({"entry": "f(float)"}, "has parameter types in its entry `f(float)`."),
        ({"entry": "f;"}, "entry 'f;' is not the name of a function."),
        ({"options": "-O3"}, "options is '-O3'."),
        ({"reference": 3}, "reference is 3."),
    ],
)
def test_wrong_declarations_are_refused(parts: dict[str, Any], found: str) -> None:
    with pytest.raises(DeclarationError) as refusal:
        declare(**parts)
    assert str(refusal.value).startswith("Function `f`")
    assert found in str(refusal.value)
    assert "__global__" not in str(refusal.value)
    assert refusal.value.expected
    assert refusal.value.next_step


def test_it_is_data() -> None:
    assert declare() == declare()
    assert hash(declare()) == hash(declare())
    assert declare().source == Path(__file__).parent / "f.cu"
    assert declare() != declare(library="cuda")


def test_the_statement_that_calls_it() -> None:
    assert declare().call(["a"], ["r"]) == "r = f(a);"
    struct = cd.Struct("s", a="f32", b=("i32", 2))
    result = cd.Struct("r", a="f32", b=("i32", 2))
    function = declare(operands=[struct, X], result=result, entry="ns::f<3>")
    assert [item.name for item in function.arguments] == ["s_a", "s_b_0", "s_b_1", "x"]
    assert function.call(list("abcd"), list("xyz")) == (
        "{ auto custom_dispatch_all = ns::f<3>({a, {b, c}}, d); x = custom_dispatch_all.a; "
        "y = custom_dispatch_all.b[0]; z = custom_dispatch_all.b[1]; }"
    )
    written = declare(result=None, results=[cd.Scalar("p", "i32")])
    assert written.call(["a"], ["p"]) == "f(a, custom_dispatch_place(p));"

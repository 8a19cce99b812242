"""Declarations of the functions in `functions.cu`."""

from typing import Any

import custom_dispatch as cd


def scalar(name: str, kind: str) -> cd.Scalar:
    return cd.Scalar(name, kind)


def declare(
    name: str,
    result: Any = None,
    /,
    library: str = "mlir",
    source: str = "functions.cu",
    **operands: str,
) -> cd.Function:
    """A function of numbers, of these types by name."""
    return cd.Function(
        name,
        source=source,
        operands=[scalar(*pair) for pair in operands.items()],
        result=result,
        library=library,
    )


my_gelu = declare("my_gelu", "f32", x="f32", limit="f32")
my_gelu_grad = cd.Function(
    "my_gelu_grad",
    source="functions.cu",
    operands=[scalar("x", "f32"), scalar("limit", "f32"), scalar("grad_result", "f32")],
    results=[scalar("grad_x", "f32"), scalar("grad_limit", "f32")],
)

EXACT = [
    declare("my_gelu", "f32", library="cuda", x="f32", limit="f32"),
    declare("nested", "i32", n="i32", m="i32"),
    declare("pick", "i8", which="i32", a="i8", b="u8"),
    declare("newton_root", "f32", x="f32"),
    declare("collatz", "i32", n="i64"),
    declare("halves", "f16", x="f16", negative="bool"),
    declare("brains", "bf16", x="bf16", y="bf16"),
    declare("doubles", "f64", x="f64", y="f32"),
    declare("bits", "i32", x="u32", y="u64"),
    declare("high", "u64", x="u64", y="u64"),
    declare("rounds", "i32", x="f32", y="u16"),
    declare("extremes", "f32", x="f32", y="f32"),
    cd.Function(
        "turn",
        source="functions.cu",
        operands=[cd.Struct("v", 8, x="f32", y="f32"), scalar("back", "bool")],
        result=cd.Struct("turned", 8, x="f32", y="f32"),
    ),
    cd.Function(
        "pairs",
        source="functions.cu",
        operands=[cd.Struct("p", sum="i32", parts=("i16", 2)), scalar("x", "i32")],
        result=cd.Struct("r", sum="i32", parts=("i16", 2)),
    ),
    cd.Function(
        "divmod",
        source="functions.cu",
        operands=[scalar("a", "i32"), scalar("b", "i32")],
        results=[scalar("quotient", "i32"), scalar("rest", "i32")],
    ),
    cd.Function(
        "cubed",
        source="functions.cu",
        entry="ns::raised<float, 3>",
        operands=[scalar("x", "f32")],
        result="f32",
    ),
]
"""Functions whose results are the same, bit by bit, in generated code and as a kernel."""
BOUNDS = {"nested": {"n": (-5, 40), "m": (-5, 40)}, "pick": {"which": (-2, 8)}}
"""Where operands lie, so that loops end soon and all cases are met."""

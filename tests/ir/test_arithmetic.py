"""Dim expressions as IR mean what `evaluate` computes: a differential test through IREE's VM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import Expr

n, m = cd.dim("n"), cd.dim("m")
EXPRESSIONS: list[Expr] = [
    n + m,
    n * 3 + 7,
    n - m,
    n - 1,
    (n + 5) // (m + 1),
    n // m,
    n % m,
    n % 4 + 1,
    cd.ceildiv(n, 64) + 1,
    cd.ceildiv(n, m),
    cd.minimum(n, m) + 1,
    cd.maximum(n, m),
    cd.where(n >= 8, n * 2, m + 1),
    cd.where(n > m, n - m, m - n),
    cd.where(m < 2, 1, n // m),
    cd.where(n <= m, n % (m + 1), 0),
]
# Too large for some sizes; never allocated, because the check comes first.
LARGE = (n + 1) * (n + 1) * 2**60
SOURCE = 'extern "C" __global__ void value(const float* x, const float* y, float* z, int v) {}'


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A kernel for each expression: the size of its result is the expression's value."""
    source = tmp_path_factory.mktemp("arithmetic") / "value.cu"
    body = "{ if (threadIdx.x == 0 && blockIdx.x == 0 && v > 0) z[0] = v; }"
    source.write_text(SOURCE.replace("{}", body))
    kernels = [
        cd.Kernel(
            f"value_{index}",
            entry="value",
            source=source,
            operands=[
                cd.In("x", "f32", [n]),
                cd.In("y", "f32", [m]),
                cd.Out("z", "f32", [expression]),
                cd.Scalar("v", "i32", expression),
            ],
            block=1,
            grid=1,
        )
        for index, expression in enumerate(EXPRESSIONS)
    ]
    return cd.load(cd.compile(None, kernels, ["cpu"]), "cpu")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(EXPRESSIONS) - 1), st.integers(0, 40), st.integers(0, 12))
def test_ir_and_python_agree(programs: Any, which: int, n_value: int, m_value: int) -> None:
    function = programs.function(f"value_{which}")
    arguments = [np.zeros(n_value, np.float32), np.zeros(m_value, np.float32)]
    try:
        wanted = evaluate(EXPRESSIONS[which], {"n": n_value, "m": m_value})
    except DeclarationError:
        with pytest.raises(CallError, match=r"is negative|divides by zero"):
            function(*arguments)
        return
    result = function(*arguments)
    assert result.shape == (wanted,)
    if wanted:
        assert result[0] == wanted


def test_a_product_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "value.cu"
    source.write_text('extern "C" __global__ void value(const float* x, float* y) { y[0] = 0; }')
    kernel = cd.Kernel(
        "value",
        source=source,
        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [cd.minimum(LARGE, 7)])],
        block=1,
        grid=1,
    )
    program = cd.load(cd.compile(None, kernel, ["cpu"]), "cpu")
    assert program.value(np.zeros(1, np.float32)).shape == (7,)
    with pytest.raises(CallError, match=r"is over 2\*\*63 - 1"):
        program.value(np.zeros(7, np.float32))

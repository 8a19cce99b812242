"""A declaration as text in a module's manifest is the declaration."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cuda_kernels
import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.description import describe, read_description, read_expression
from custom_dispatch.kernel.expr import Expr, compute_capability

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels import optional, samples, signatures, templates

n, m = cd.dim("n"), cd.dim("m")


def _all_kernels() -> list[cd.Kernel]:
    found = [*samples.ALL, *signatures.ALL, *optional.ALL, *templates.ALL]
    for item in pkgutil.iter_modules(cuda_kernels.__path__):
        if item.name in ("patterns", "shared"):
            continue
        module = importlib.import_module(f"cuda_kernels.{item.name}")
        every = [getattr(module, name) for name in module.__dir__()]
        found += [value for value in every if isinstance(value, cd.Kernel)]
    return found


def test_every_kernel_here_is_read_back_as_it_was_declared() -> None:
    parts = ("name", "entry", "operands", "block", "grid", "abi", "flops", "bytes_moved")
    for kernel in _all_kernels():
        found = read_description(json.loads(json.dumps(describe(kernel))))
        for part in parts:
            assert (getattr(found, part),) == (getattr(kernel, part),), kernel.name
        assert found.dynamic_shared_memory == kernel.dynamic_shared_memory, kernel.name


def test_what_is_at_its_default_is_left_out_and_what_is_not_is_kept() -> None:
    kernel = cd.Kernel(
        "k",
        source="k.cu",
        operands=[
            cd.In("x", "f32", [n, m]),
            cd.In("y", "bf16", [n], optional=True),
            cd.Out("z", "u8", [m + 1]),
            cd.Struct("p", 16, a="f32", b=("i16", 3)),
            cd.Scalar("c", "u64", n * m),
            cd.Scalar("d", "f16"),
        ],
        block=(8, 4),
        grid=(cd.where(n < 7, cd.ceildiv(n, 8), compute_capability), 1),
        dynamic_shared_memory=512,
        requires=[n % 4 == 0, n <= m],
        flops=2 * n * m,
    )
    assert describe(kernel) == {
        "name": "k",
        "entry": "k",
        "operands": [
            "In(x: f32[n, m])",
            "In(y: bf16[n], optional)",
            "Out(z: u8[m + 1])",
            "Struct(p: {a: f32, b: i16[3]}, aligned 16)",
            "Scalar(c: u64 = n * m)",
            "Scalar(d: f16)",
        ],
        "block": [8, 4, 1],
        "grid": ["where(n < 7, ceildiv(n, 8), compute_capability)", "1", "1"],
        "dynamic_shared_memory": 512,
        "requires": ["n % 4 == 0", "n <= m"],
        "flops": "(2 * n) * m",
    }
    found = read_description(describe(kernel))
    assert (found.operands, found.grid, found.flops) == (kernel.operands, kernel.grid, kernel.flops)
    assert found.requires == kernel.requires


def test_leading_dims_are_read_back() -> None:
    kernel = cd.Kernel(
        "k",
        source="k.cu",
        operands=[
            cd.In("x", "f32", [..., n]),
            cd.In("z", "f32", [...], optional=True),
            cd.Out("y", "f32", [..., n * 2]),
        ],
        block=8,
        grid=(cd.batch, cd.ceildiv(n, 8)),
    )
    assert describe(kernel)["operands"] == [
        "In(x: f32[..., n])",
        "In(z: f32[...], optional)",
        "Out(y: f32[..., n * 2])",
    ]
    assert describe(kernel)["grid"] == ["batch", "ceildiv(n, 8)", "1"]
    found = read_description(describe(kernel))
    assert (found.operands, found.grid) == (kernel.operands, kernel.grid)
    assert found.has_leading_dims


def _expressions() -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from([n, m]) | st.integers(1, 9).map(lambda i: cd.maximum(n, i))

    def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pairs = st.tuples(inner, inner)
        operations: list[Any] = [
            lambda p: p[0] + p[1],
            lambda p: p[0] - p[1],
            lambda p: p[0] * p[1],
            lambda p: p[0] // p[1],
            lambda p: p[0] % p[1],
            lambda p: cd.ceildiv(*p),
            lambda p: cd.minimum(*p),
            lambda p: cd.where(p[0] >= p[1], p[1], p[0]),
            lambda p: cd.where(p[0] == p[1], p[1], p[0]),
            lambda p: cd.where(p[0] != p[1], p[1], p[0]),
        ]
        return st.sampled_from(operations).flatmap(lambda make: pairs.map(make))

    return st.recursive(leaves, larger, max_leaves=12)


@given(_expressions())
def test_every_expression_is_read_back_as_it_was_written(expr: Expr) -> None:
    assert read_expression(str(expr)).is_same(expr)


@pytest.mark.parametrize(
    "text",
    [
        "n +",
        "n ** 2",
        "__import__('os')",
        "n.real",
        "f(n, 1)",
        "-n",
        "1.5",
        "(" * 400,
        "n\0",
        "[n]",
    ],
)
def test_a_text_that_is_no_expression_is_refused_and_never_run(text: str) -> None:
    with pytest.raises(cd.CustomDispatchError, match="is not a part of a kernel's declaration"):
        read_expression(text)


@pytest.mark.parametrize(
    "operand",
    ["", "In(x)", "In(x: f32[n)", "Both(x: f32[n])", "Struct(p: {a f32})", "In(x: f31[n])"],
)
def test_a_damaged_operand_is_refused(operand: str) -> None:
    kernel = _all_kernels()[0]
    with pytest.raises(cd.CustomDispatchError):
        read_description({**describe(kernel), "operands": [operand]})


@pytest.mark.parametrize("part", ["flops", "bytes_moved"])
def test_flops_and_bytes_are_checked_as_grids_are(part: str) -> None:
    def declare(amount: Any) -> cd.Kernel:
        operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])]
        amounts = {part: amount}
        return cd.Kernel("k", source="k.cu", operands=operands, block=1, grid=n, **amounts)

    assert str(getattr(declare(3 * n), part)) == "3 * n"
    assert str(getattr(declare(3 * n).with_launch(block=32), part)) == "3 * n"
    with pytest.raises(DeclarationError, match=rf"Kernel `k`: {part} is given as 1\.5\."):
        declare(1.5)
    with pytest.raises(DeclarationError, match=f"dim `m`, used in {part}, has no value"):
        declare(n * m)
    with pytest.raises(DeclarationError, match=f"{part} depends on the device"):
        declare(compute_capability)

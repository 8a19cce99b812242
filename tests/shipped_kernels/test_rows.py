"""Softmax and the normalisations against their references, on the CPU.

They are the declared kernels' source in smaller blocks, which are compiled in less time, and whose
groups of threads and parts of rows are met at smaller sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, ODD, Shipped, assert_close, spoiled, unaligned

import custom_dispatch as cd
from cuda_kernels.norms import layer_norm, rms_norm, softmax
from cuda_kernels.norms.rows import BLOCKS, ELEMENTS, MOST_THREADS, PACKS, RowForm
from custom_dispatch.kernel.evaluation import evaluate

Random = np.random.Generator
SMALL = (64, 2)
"""Threads and packs: a block holds 512 elements of a row in f32, and 1024 in 16 bits."""
SIZES = ((1, 1), (3, 7), (70, 63), (5, 64), (3, 384), (9, 1000), (3, 4095), (2, 8192), (2, 20480))


# Templates of one source are for each type, and types of 16 bits differ in conversions alone.
KINDS = {
    "softmax": ("f32", "bf16"),
    "layer_norm": ("f32", "f16"),
    "rms_norm": ("bf16", "f32"),
    "add_rms_norm": ("f16", "f32"),
}
"""The second of each is for thorough tests."""
FROM_OFFSET = ("rms_norm_from", "add_rms_norm_from")
"""Of 16 bits, the second is met in models: `test_norm_spellings.py`."""
CASES = [
    case
    for name, (kind, other) in KINDS.items()
    for case in ((name, kind), pytest.param(name, other, marks=pytest.mark.thorough))
]


def of_each_kind(
    name: str, declare: Callable[..., cd.Kernel]
) -> tuple[list[cd.Kernel], list[cd.Kernel]]:
    kind, other = KINDS[name]
    return [declare(RowForm(kind, *SMALL))], [declare(RowForm(other, *SMALL))]


def kinds(name: str) -> pytest.MarkDecorator:
    kind, other = KINDS[name]
    return pytest.mark.parametrize("kind", [kind, pytest.param(other, marks=pytest.mark.thorough)])


@pytest.fixture(scope="module")
def softmaxes() -> Shipped:
    return Shipped(*of_each_kind("softmax", softmax.declare))


@pytest.fixture(scope="module")
def layer_norms() -> Shipped:
    return Shipped(*of_each_kind("layer_norm", layer_norm.declare))


@pytest.fixture(scope="module")
def rms_norms() -> Shipped:
    names = ("rms_norm", "add_rms_norm")
    first, thorough = (
        [rms_norm.declare(RowForm(KINDS[name][i], *SMALL), function=name) for name in names]
        for i in (0, 1)
    )
    from_offset = [
        rms_norm.declare(RowForm(kind, *SMALL), function=name)
        for name, kind in (("rms_norm_from", "bf16"), *((name, "f32") for name in FROM_OFFSET))
    ]
    return Shipped([*first, from_offset[0]], [*thorough, *from_offset[1:]])


def values(random: Random, kind: str, *shape: int) -> Any:
    return (random.standard_normal(shape) * 4).astype(DTYPES[kind])


@kinds("softmax")
def test_softmax(softmaxes: Shipped, random: Random, kind: str) -> None:
    for size in (*SIZES, (2, 9001)):
        softmaxes.check(f"softmax_{kind}", values(random, kind, *size))


def test_softmax_in_the_block_that_ships(random: Random) -> None:
    """As models have it: it is unrolled more, and in no other test."""
    program = cd.load(
        cd.compile(None, [softmax.softmax_f32], ["cpu:host"], asynchronous=False).bytes, "cpu"
    )
    x = values(random, "f32", 3, 9001)
    assert_close(np.asarray(program.softmax_f32(x)), softmax.softmax_f32.kernels[0].reference(x))


def test_softmax_of_infinities_and_nan_is_pytorchs(softmaxes: Shipped) -> None:
    torch = pytest.importorskip("torch")
    x = np.zeros((7, 9001), np.float32)
    x[0] = -np.inf
    x[1, 3] = np.nan
    x[2, 4] = np.inf
    x[3, :-1] = -np.inf
    x[4], x[4, 50] = -1000, -np.inf
    x[5] = np.nan
    x[6] = 3e38
    for columns in (100, 9001):
        part = np.ascontiguousarray(x[:, -columns:] if columns == 9001 else x[:, :columns])
        part[3, :-1], part[3, -1] = -np.inf, 0
        got, want = softmaxes.both("softmax_f32", part)
        assert_close(got, want)
        assert_close(got, torch.from_numpy(part).softmax(-1).numpy())


@kinds("layer_norm")
def test_layer_norm(layer_norms: Shipped, random: Random, kind: str) -> None:
    for size in SIZES:
        x, weight = values(random, kind, *size), values(random, kind, size[1])
        bias = values(random, kind, size[1])
        layer_norms.check(f"layer_norm_{kind}", x, weight, bias, 1e-5, scale=16)


def test_layer_norm_without_weight_or_bias(layer_norms: Shipped, random: Random) -> None:
    x, some, none = values(random, "f32", 5, 77), values(random, "f32", 77), np.zeros(0, np.float32)
    for weight in (some, none):
        for bias in (some, none):
            layer_norms.check("layer_norm_f32", x, weight, bias, 1e-5, scale=16)


@pytest.mark.parametrize("columns", [63, 8192, 16384])
def test_layer_norm_far_from_zero_keeps_its_digits(
    layer_norms: Shipped, random: Random, columns: int
) -> None:
    x = (random.standard_normal((3, columns)) + 1e4).astype(np.float32)
    one, none = np.ones(columns, np.float32), np.zeros(0, np.float32)
    layer_norms.check("layer_norm_f32", x, one, none, 1e-5, scale=2)


@pytest.mark.parametrize("columns", [384, 2000])
def test_layer_norm_beside_an_outlier_and_of_constants(
    layer_norms: Shipped, random: Random, columns: int
) -> None:
    x = random.standard_normal((3, columns)).astype(np.float32)
    x[0, 0], x[1, 5] = 1e6, -3e4
    x[2] = 12345.678
    one, none = np.ones(columns, np.float32), np.zeros(0, np.float32)
    layer_norms.check("layer_norm_f32", x, one, none, 1e-5, scale=2)


def normalised(rms_norms: Shipped, name: str, x: Any, residual: Any, weight: Any) -> None:
    given = (x, residual) if name.startswith("add") else (x,)
    rms_norms.check(name, *given, weight, 1e-5, scale=16)


@pytest.mark.parametrize(("name", "kind"), CASES[4:])
def test_rms_norm(rms_norms: Shipped, random: Random, name: str, kind: str) -> None:
    for size in SIZES:
        x, residual = values(random, kind, *size), values(random, kind, *size)
        normalised(rms_norms, f"{name}_{kind}", x, residual, values(random, kind, size[1]))


@kinds("rms_norm")
def test_rms_norm_with_weights_from_an_offset(
    rms_norms: Shipped, random: Random, kind: str
) -> None:
    """Or with none: weights of 1e-3 would be lost beside 1 in bf16."""
    for rows, columns in ((3, 7), (5, 64), (3, 1000)):
        x, none = values(random, kind, rows, columns), np.zeros(0, DTYPES[kind])
        weight = (values(random, kind, columns).astype(np.float32) * 1e-3).astype(DTYPES[kind])
        for given, offset in ((weight, 1.0), (weight, 0.5), (none, 1.0), (none, 0.25)):
            rms_norms.check(f"rms_norm_from_{kind}", x, given, 1e-5, offset, scale=16)
            if kind == "f32":
                rms_norms.check("add_rms_norm_from_f32", x, -2 * x, given, 1e-5, offset, scale=16)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_row_has_threads_for_its_packs_and_elements(dtype: str) -> None:
    """As many as can hold it, and more where there are few rows, up to a cluster's."""
    form = RowForm(dtype, blocks=BLOCKS)
    most, group = form.threads * BLOCKS, form.group()
    for rows in (1, 30, 1000, 100_000):
        for length in (1, 8, 33, 64, 1000, 4097, 20_000, 200_000):
            threads = evaluate(group, {"batch": rows, "columns": length})
            assert threads in {2 << shift for shift in range(11)}
            whole = length // form.pack * form.pack
            assert threads * PACKS * form.pack >= min(whole, most * PACKS * form.pack)
            assert threads >= (2 if length % form.pack == 0 else min(32, length // ELEMENTS))
            if 2 * threads <= min(most, length // form.pack):
                assert 2 * threads * rows > MOST_THREADS


def test_a_nan_spoils_its_own_row_alone(layer_norms: Shipped, rms_norms: Shipped) -> None:
    def given(kind: str) -> tuple[Any, Any]:
        x = np.ones((3, 100), DTYPES[kind])
        x[1, 7] = np.nan
        return x, x[0]

    (x, one), (y, of_y), (z, of_z) = map(given, ("f32", "bf16", "f16"))
    for result in (
        layer_norms.both("layer_norm_f32", x, one, one, 1e-5)[0],
        rms_norms.both("rms_norm_bf16", y, of_y, 1e-5)[0],
        rms_norms.both("add_rms_norm_f16", z, z, of_z, 1e-5)[0][1],
    ):
        is_nan = np.isnan(result.astype(np.float32))
        assert is_nan.all(axis=1).tolist() == [False, True, False]
        assert is_nan.any(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_odd_sizes_in_unaligned_views_with_nan_and_infinity(
    softmaxes: Shipped,
    layer_norms: Shipped,
    rms_norms: Shipped,
    random: Random,
    name: str,
    kind: str,
) -> None:
    for size in ODD:
        x, residual = (unaligned(spoiled(random, values(random, kind, 3, size))) for _ in "xr")
        weight, bias = (unaligned(values(random, kind, size)) for _ in "wb")
        if name == "softmax":
            softmaxes.check(f"softmax_{kind}", x)
        elif name == "layer_norm":
            layer_norms.check(f"layer_norm_{kind}", x, weight, bias, 1e-5, scale=16)
        else:
            normalised(rms_norms, f"{name}_{kind}", x, residual, weight)

"""GELU, SwiGLU and rotary embedding against their references, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, ODD, Shipped, assert_close, spoiled, unaligned

import custom_dispatch as cd
from cuda_kernels.attention import rotary
from cuda_kernels.elementwise import gelu, swiglu
from custom_dispatch.errors import CallError

Random = np.random.Generator
# A pack, a block of f32 and one of 16-bit elements, and beside them.
SIZES = (1, 7, 8, 63, 1000, 2047, 2048, 4096, 4097, 20001)
# Templates of one source are for each type, and types of 16 bits differ in conversions alone.
KINDS = {
    "gelu_erf": ("f32", "f16"),
    "gelu_tanh": ("f32", "bf16"),
    "swiglu": ("f32", "bf16"),
    "rotary": ("f32", "f16"),
}
THOROUGH = (("swiglu", "bf16"), ("rotary", "f16"))
CASES = [
    pytest.param(name, kind, marks=[pytest.mark.thorough] if (name, kind) in THOROUGH else [])
    for name, kinds in KINDS.items()
    for kind in kinds
]


@pytest.fixture(scope="module")
def gelus() -> Shipped:
    # The declared kernels take two packs a thread, which only takes longer to compile.
    return Shipped(
        [
            gelu.declare(form, kind, 256, 1 if kind != "f32" else 2)
            for form in ("erf", "tanh")
            for kind in KINDS[f"gelu_{form}"]
        ]
    )


@pytest.fixture(scope="module")
def swiglus() -> Shipped:
    return Shipped([swiglu.declare("f32", 256, 2)], [swiglu.declare("bf16", 256, 1)])


@pytest.fixture(scope="module")
def rotaries() -> Shipped:
    by_position = rotary.declare("bf16", layout="_by_position")
    return Shipped([rotary.declare("f32"), by_position], [rotary.declare("f16")])


def values(random: Random, kind: str, *shape: int) -> Any:
    return (random.standard_normal(shape) * 3).astype(DTYPES[kind])


@pytest.mark.parametrize(("name", "kind"), CASES[:4])
def test_gelu(gelus: Shipped, random: Random, name: str, kind: str) -> None:
    for size in SIZES:
        gelus.check(f"{name}_{kind}", values(random, kind, size))


@pytest.mark.parametrize(("name", "kind"), CASES[4:6])
def test_swiglu(swiglus: Shipped, random: Random, name: str, kind: str) -> None:
    for size in SIZES:
        swiglus.check(f"{name}_{kind}", values(random, kind, size), values(random, kind, size))


def test_large_numbers_and_nan_are_pytorchs(gelus: Shipped, swiglus: Shipped) -> None:
    torch = pytest.importorskip("torch")
    x = np.array([np.nan, 1e30, -1e30, -100, 100, 0, -0.0, 88, -88, -9, 1e-30], np.float32)
    tensor, one = torch.from_numpy(x), np.ones_like(x)
    functional = torch.nn.functional
    for got, want in (
        (gelus.both("gelu_erf_f32", x)[0], functional.gelu(tensor)),
        (gelus.both("gelu_tanh_f32", x)[0], functional.gelu(tensor, approximate="tanh")),
        (swiglus.both("swiglu_f32", x, one)[0], functional.silu(tensor)),
    ):
        assert_close(got, want.numpy())


@pytest.mark.parametrize(("name", "kind"), [*CASES[6:], ("rotary_by_position", "bf16")])
@pytest.mark.parametrize(
    "size", [(1, 1, 1, 2, 1), (2, 3, 5, 128, 1), (2, 3, 5, 64, 2), (3, 5, 7, 10, 3)]
)
def test_rotary(
    rotaries: Shipped, random: Random, name: str, kind: str, size: tuple[int, ...]
) -> None:
    batch, heads, length, dim, tables = size
    x = values(random, kind, batch, heads, length, dim)
    if name == "rotary_by_position":
        x = np.ascontiguousarray(x.swapaxes(1, 2))
    cos, sin = (values(random, kind, tables, length, dim) for _ in range(2))
    rotaries.check(f"{name}_{kind}", x, cos, sin, scale=16)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ((2, 3, 5, 7, 1), "requires dim % 2 == 0, which does not hold for dim = 7"),
        ((3, 3, 5, 8, 2), "requires batch % tables == 0, which does not hold for batch = 3"),
    ],
)
def test_rotary_refuses_what_it_has_no_halves_or_tables_for(
    random: Random, size: tuple[int, ...], said: str
) -> None:
    *_, length, dim, tables = size
    x, table = values(random, "f32", *size[:4]), values(random, "f32", tables, length, dim)
    with pytest.raises(CallError, match=said):
        rotary.rotary_f32(x, table, table)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_odd_sizes_in_unaligned_views_with_nan_and_infinity(
    gelus: Shipped, swiglus: Shipped, rotaries: Shipped, random: Random, name: str, kind: str
) -> None:
    kernel = f"{name}_{kind}"
    for size in ODD:
        x, y = (unaligned(spoiled(random, values(random, kind, 3, size))) for _ in "xy")
        if name == "gelu_erf":
            # In 16 bits it has its limit at -inf, 0, where the definition has -inf * 0.
            limits = np.where(x == -np.inf, 0, x).astype(x.dtype) if kind != "f32" else x
            got, _ = gelus.both(kernel, x)
            assert_close(got, gelus.both(kernel, limits)[1])
        elif name == "gelu_tanh":
            gelus.check(kernel, x)
        elif name == "swiglu":
            swiglus.check(kernel, x, y)
        else:
            x = unaligned(spoiled(random, values(random, kind, 1, 3, 2, 2 * size)))
            cos, sin = (unaligned(values(random, kind, 1, 2, 2 * size)) for _ in "cs")
            rotaries.check(kernel, x, cos, sin, scale=16)


def test_a_part_of_a_model_s_tensor_may_begin_anywhere(random: Random) -> None:
    """Kernels read 16 bytes at once where they can: not one element behind such an address."""
    model = """
    func.func private @swiglu_f32(tensor<4095xf32>, tensor<4095xf32>) -> tensor<4095xf32>
    func.func @main(%x: tensor<8191xf32>) -> tensor<4095xf32> {
      %gate = tensor.extract_slice %x[1] [4095] [1] : tensor<8191xf32> to tensor<4095xf32>
      %up = tensor.extract_slice %x[4096] [4095] [1] : tensor<8191xf32> to tensor<4095xf32>
      %y = call @swiglu_f32(%gate, %up)
        : (tensor<4095xf32>, tensor<4095xf32>) -> tensor<4095xf32>
      return %y : tensor<4095xf32>
    }"""
    kernel = swiglu.declare("f32", 256, 2)
    program = cd.load(cd.compile(model, [kernel], ["cpu"]).bytes, "cpu")
    x = values(random, "f32", 8191)
    assert kernel.reference is not None
    assert_close(np.asarray(program.main(x)), kernel.reference(x[1:4096], x[4096:]))

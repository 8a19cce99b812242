"""Conversions of 8-bit floats, which IREE 3.13 gets wrong on CPUs and has not for GPUs."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy
import pytest
import torch

import custom_dispatch as cd

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def floats() -> Any:
    """Every sign and exponent, with fractions that are ties, and numbers beside them."""
    fractions = numpy.arange(32, dtype=numpy.uint32) << 18
    every = (numpy.arange(512, dtype=numpy.uint32)[:, None] << 23) + fractions
    steps = numpy.random.default_rng(0).integers(-2, 3, every.shape).astype(numpy.uint32)
    return numpy.concatenate([every, every + steps]).view(numpy.float32).ravel()


class Model(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor, brain: torch.Tensor, *codes: torch.Tensor) -> Any:
        made = [x.to(E4M3), x.to(E5M2), brain.to(E4M3)]
        return [*made, codes[0].float(), codes[1].bfloat16()]


def test_conversions_are_pytorchs_bit_for_bit() -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    x = torch.from_numpy(floats())
    given = (x, x.bfloat16(), codes.view(E4M3), codes.view(E5M2))
    model = Model()
    program = cd.load(cd.torch.compile(model, given, ["cpu:host"]), "cpu")
    for found, want in zip(program.main(*given), model(*given), strict=True):
        bits = numpy.asarray(found).view(f"u{want.itemsize}").copy()
        got = torch.from_numpy(bits).view(want.dtype).float()
        assert torch.equal(got.nan_to_num(-1.5), want.float().nan_to_num(-1.5))
        assert torch.equal(got.signbit() & (got == got), want.float().signbit() & (got == got))


def test_a_gpu_gets_the_same_operations() -> None:
    x = torch.ones(4)
    given = (x, x.bfloat16(), x.to(E4M3), x.to(E5M2))
    assert cd.torch.compile(Model(), given, ["cuda:sm_80"]).bytes


@pytest.mark.thorough  # the same operations, but for a constant
def test_what_is_too_large_is_nan_in_jax() -> None:
    x = floats()
    module = cd.jax.compile(lambda x: x.astype(jnp.float8_e4m3fn), (x,), ["cpu:host"])
    found = numpy.asarray(cd.load(module, "cpu").main(x)).astype("f4")
    want = numpy.asarray(jnp.asarray(x).astype(jnp.float8_e4m3fn)).astype("f4")
    numpy.testing.assert_array_equal(found, want)

"""`cd.jax.compile(verify=...)`: a module and its function, run once with the same arguments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import VerificationError

X = jnp.arange(1.0, 9.0)


def added(lhs: Any, rhs: Any) -> Any:
    return lhs + rhs


def test_a_module_that_computes_the_same_is_compiled() -> None:
    times = cd.jax.call(simple_mul)
    module = cd.jax.compile(lambda x: {"y": times(x, x) - 1.0}, (X,), ["cpu"], verify=1e-6)
    assert module.kernels == ("simple_mul",)


def test_a_kernel_that_computes_something_else_is_found() -> None:
    wrong = cd.jax.Pattern(simple_mul, added)
    with pytest.raises(VerificationError) as caught:
        cd.jax.compile(lambda x: added(x, x), (X,), ["cpu"], replace=[wrong], verify=True)
    assert "JAX computes something else" in str(caught.value)


def test_arguments_without_numbers_are_refused() -> None:
    with pytest.raises(cd.CustomDispatchError) as caught:
        cd.jax.compile(lambda x: x, (jax.ShapeDtypeStruct((3,), jnp.float32),), verify=True)
    assert "which holds no numbers" in str(caught.value)
    assert "next step: pass arrays of such sizes, or leave verify out." in str(caught.value)

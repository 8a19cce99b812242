"""Put kernels into a function of JAX: by name, by what it computes, and shipped.

    python examples/jax_function.py

Needs JAX.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy

import custom_dispatch as cd
from cuda_kernels.elementwise import swiglu_f32
from cuda_kernels.norms import rms_norm_f32

WIDTH = 64
rms_norm = cd.jax.call(rms_norm_f32)


def swiglu(gate: Any, up: Any) -> Any:
    """What the kernel `swiglu_f32` computes, in JAX's words."""
    return jax.nn.silu(gate) * up


def build() -> Callable[[Any], Any]:
    """A normalised feed-forward layer: the normalisation is the kernel, the rest JAX's."""
    keys = jax.random.split(jax.random.key(0), 3)
    up, gate, down = (jax.random.normal(key, (WIDTH, WIDTH)) / 8 for key in keys)
    weight = jnp.linspace(0.5, 1.5, WIDTH)

    def feed_forward(x: Any) -> Any:
        hidden = rms_norm(x, weight, 1e-6)
        return x + (jax.nn.silu(hidden @ gate) * (hidden @ up)) @ down

    return feed_forward


def main() -> None:
    """Go the whole way."""
    feed_forward = build()
    x = jax.random.normal(jax.random.key(1), (2, 5, WIDTH))
    expected = feed_forward(x)
    numpy.testing.assert_allclose(jax.jit(feed_forward)(x), expected, rtol=1e-5, atol=1e-5)
    print("eager and jit: the kernel runs on the CPU")

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.vmfb"
        module = cd.jax.compile(
            feed_forward,
            (x,),
            replace=[cd.jax.Pattern(swiglu_f32, swiglu)],
        )
        for item in module.replaced:
            print(f"{item.kernel} takes the place of {len(item.operations)} operations")
        module.save(path)  # The matrices are beside it: model.irpa.
        program = cd.load(path, device="cpu")
        result = program.main(numpy.asarray(x))
        numpy.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
        print(f"one module for all devices: {program.main.type}")


if __name__ == "__main__":
    main()

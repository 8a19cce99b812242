"""Functions of JAX that call kernels of Pallas, on a GPU, beside JAX's own interpreter.

Two halves: `build` needs JAX, Triton and this package's compilers, and no GPU; then, where there is
a GPU, IREE's runtime is enough for

    python tests/gpu/pallas.py run DIRECTORY [--device cuda]

The kernels are those that come with JAX, and one in a loop whose result has an argument's place.
Inputs are fresh in every build, and what they give was computed by JAX, which interprets the calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from gpu.each import run_each
from gpu.halves import options

TOLERANCES = {"float32": 2e-3, "float16": 4e-3}
"""Of ||error|| / ||result||: products of f32 are of TF32 on a GPU."""
Case = tuple[Callable[..., Any], list[Any]]
"""A function of JAX, and arguments."""


def cases() -> dict[str, Case]:
    """What is compiled, by name."""
    import jax
    from frontends.test_jax_pallas import sum_and_difference
    from jax.experimental.pallas.ops.gpu import (
        attention,
        decode_attention,
        layer_norm,
        rms_norm,
        softmax,
    )

    random = np.random.default_rng()

    def drawn(*shape: int, dtype: str = "f") -> Any:
        return random.standard_normal(shape).astype(dtype)

    def loop(x: Any, y: Any) -> Any:
        def step(carried: Any, _: Any) -> Any:
            total, difference = sum_and_difference(carried, y)
            return total * 0.5, difference

        return jax.lax.scan(step, x, None, length=5)

    def mha(q: Any, k: Any, v: Any) -> Any:
        return attention.mha(q, k, v, segment_ids=None, sm_scale=0.125, causal=True)

    return {
        "softmax_f32": (lambda x: softmax.softmax(x * 3) + 1, [drawn(77, 1000)]),
        "softmax_f16": (softmax.softmax, [drawn(33, 4096, dtype="e")]),
        "layer_norm": (layer_norm.layer_norm, [drawn(3, 50, 1000), drawn(1000), drawn(1000)]),
        "rms_norm": (rms_norm.rms_norm, [drawn(3, 50, 1024), drawn(1024), drawn(1024)]),
        "attention_f16": (mha, [drawn(2, 384, 4, 64, dtype="e") for _ in "qkv"]),
        "attention_f32": (mha, [drawn(1, 256, 2, 32) for _ in "qkv"]),
        "decode": (
            decode_attention.mqa,
            [drawn(2, 16, 64, dtype="e"), *(drawn(2, 4096, 64, dtype="e") for _ in "kv")],
        ),
        "loop": (loop, [drawn(4096), drawn(4096)]),
    }


def build(directory: Path) -> None:
    """Compile every function, and keep a call of it."""
    import jax

    from custom_dispatch.frontends.jax.pallas import interpreted

    directory.mkdir(parents=True, exist_ok=True)
    for name, (function, arguments) in cases().items():
        module = cd.jax.compile(function, tuple(arguments), ["cuda:sm_90a", "cuda:sm_80"])
        path = module.save(directory / f"{name}.vmfb")
        results = jax.tree.leaves(interpreted(function, arguments))
        arrays = {f"argument{i}": each for i, each in enumerate(arguments)}
        arrays |= {f"result{i}": np.asarray(each) for i, each in enumerate(results)}
        np.savez(directory / f"{name}.npz", **arrays)
        print(f"{path.name}: {path.stat().st_size} bytes, {', '.join(module.kernels)}", flush=True)


def named(name: str, case: Callable[..., None]) -> Callable[..., None]:
    """A case with a name of its own."""

    def checked(*arguments: Any) -> None:
        case(name, *arguments)

    checked.__name__ = name
    return checked


def check(name: str, directory: Path, device: str) -> None:
    """Call a module twice, as code that reads what it wrote before shows then."""
    stored = np.load(directory / f"{name}.npz")

    def kept(what: str) -> Iterator[Any]:
        return (stored[each] for each in stored.files if each.startswith(what))

    main = cd.load(directory / f"{name}.vmfb", device).function("main")
    for _ in range(2):
        found = main(*kept("argument"))
        several = found if isinstance(found, tuple | list) else (found,)
        for got, wanted in zip(map(np.asarray, several), kept("result"), strict=True):
            assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
            wide = wanted.astype("d")
            error = np.linalg.norm(got.astype("d") - wide) / np.linalg.norm(wide)
            assert error <= TOLERANCES[str(got.dtype)], f"it is off by {error:.1e} of itself"


def main() -> int:
    given = options(__doc__)
    if given.half == "build":
        build(given.directory)
        return 0
    names = sorted(path.stem for path in given.directory.glob("*.vmfb"))
    return run_each([named(each, check) for each in names], lambda: (given.directory, given.device))


if __name__ == "__main__":
    sys.exit(main())

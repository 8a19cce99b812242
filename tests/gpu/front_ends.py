"""The examples' models from JAX, ONNX and MLIR, on a GPU.

Two halves: `build` needs JAX, ONNX and this package's compilers, and no GPU; then, where there is a
GPU, IREE's runtime is enough for

    python tests/gpu/front_ends.py run DIRECTORY [--device cuda]

Inputs are random and fresh in every build. What the models compute was computed by JAX, by ONNX's
reference evaluator and by numpy in double precision, on the CPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from gpu.halves import options

MODEL = Path(__file__).resolve().parents[2] / "examples/plain_mlir/model.mlir"
TARGETS = cd.DEFAULT_TARGETS
TOLERANCE = 2e-3
"""The largest relative difference: IREE's products of f32 are in another order."""
Array = np.ndarray[Any, Any]
Made = tuple[Any, list[Array], Array]
"""A compiled module, arguments of a call, and its result."""


def jax_function(rng: np.random.Generator) -> Made:
    from cuda_kernels.elementwise import swiglu_f32
    from examples import jax_function as example

    function = example.build()
    x = rng.standard_normal((2, 5, example.WIDTH), np.float32)
    patterns = [cd.jax.Pattern(swiglu_f32, example.swiglu)]
    module = cd.jax.compile(function, (x,), TARGETS, replace=patterns)
    assert len(module.replaced) == 1, module.replaced
    return module, [x], np.asarray(function(x))


def onnx_model(rng: np.random.Generator) -> Made:
    from onnx.reference import ReferenceEvaluator

    from cuda_kernels.norms import layer_norm_f32
    from examples import onnx_model as example

    operator: Any = cd.onnx.register(layer_norm_f32)
    model = example.build(64)
    x = rng.standard_normal((3, 7, 64), np.float32)
    (expected,) = ReferenceEvaluator(model, new_ops=[operator]).run(None, {"x": x})
    return cd.onnx.compile(model, TARGETS), [x], np.asarray(expected)


def plain_mlir(rng: np.random.Generator) -> Made:
    from cuda_kernels.elementwise import swiglu_f32

    module = cd.compile(MODEL, [swiglu_f32], TARGETS)
    x = rng.standard_normal((9, 64), np.float32)
    gate, up = (rng.standard_normal((64, 64), np.float32) / 8 for _ in range(2))
    opened, wide = x.astype(np.float64) @ gate, x.astype(np.float64) @ up
    return module, [x, gate, up], x + opened / (1 + np.exp(-opened)) * wide


MODELS: dict[str, Callable[[np.random.Generator], Made]] = {
    "jax_function": jax_function,
    "onnx_model": onnx_model,
    "plain_mlir": plain_mlir,
}


def build(directory: Path) -> None:
    """Compile every model, and store a call of it."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng()
    for name, make in MODELS.items():
        module, arguments, expected = make(rng)
        path = module.save(directory / f"{name}.vmfb")
        arrays: Any = {f"argument{index}": array for index, array in enumerate(arguments)}
        np.savez(directory / f"{name}.npz", expected=expected, **arrays)
        print(f"{path.name}: {path.stat().st_size} bytes")


def run(directory: Path, device: str) -> int:
    """Call every model with arrays of the host, and of the device; 1 if any result is wrong."""
    failed = 0
    for name in MODELS:
        program = cd.load(directory / f"{name}.vmfb", device)
        stored = np.load(directory / f"{name}.npz")
        arguments = [stored[f"argument{index}"] for index in range(len(stored.files) - 1)]
        entry = "main" if "main" in program.functions else "feed_forward"
        function = program.function(entry)
        held = [program.to_device(each) for each in arguments]
        for how, given in (("host", arguments), ("device", held)):
            found = np.asarray(function(*given))
            difference = np.linalg.norm(found - stored["expected"])
            difference /= np.linalg.norm(stored["expected"])
            right = found.shape == stored["expected"].shape and difference <= TOLERANCE
            failed += not right
            word = "ok  " if right else "FAIL"
            print(f"{word} {name}, arrays of the {how}: relative difference {difference:.2g}")
    return int(failed > 0)


def main() -> int:
    """Build or run."""
    given = options(__doc__)
    if given.half == "build":
        build(given.directory)
        return 0
    return run(given.directory, given.device)


if __name__ == "__main__":
    sys.exit(main())

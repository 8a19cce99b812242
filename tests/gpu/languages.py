"""Kernels of Numba, Warp, CuTe DSL and CUDA Tile on a GPU, from PTX under `tests/producers`.

Two halves: `build` needs this package's compilers and no GPU; then, where there is a GPU, IREE's
runtime is enough for

    python tests/gpu/languages.py run DIRECTORY [--device cuda]

Each language has three kernels: on vectors and a number, on two dimensions, and sums of rows. They
are one module, for sm_80 and sm_90a. Inputs are fresh, and results are compared with numpy.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from gpu.each import run_each
from gpu.halves import options

MODULE = "languages.vmfb"
LANGUAGES = ("numba", "warp", "cute", "tile")
LENGTHS = (1, 255, 256, 1001, 1_000_003)
SIZES = ((1, 1), (7, 33), (64, 128), (3, 1001), (999, 1025))
RANDOM = np.random.default_rng()


def build(directory: Path) -> None:
    """One module with every kernel."""
    from producers import declared

    directory.mkdir(parents=True, exist_ok=True)
    made = (declared.saxpy, declared.scale_rows, declared.row_sum)
    library = cd.build([one(language) for one in made for language in LANGUAGES])
    cd.compile(None, library).save(directory / MODULE)


def check_vectors(program: Any, language: str) -> None:
    for length in LENGTHS:
        x, y = RANDOM.standard_normal((2, length), np.float32)
        a = np.float32(RANDOM.standard_normal())
        found = getattr(program, f"{language}_saxpy")(x, y, a)
        np.testing.assert_allclose(np.asarray(found), a * x + y, rtol=1e-5, atol=1e-6)


def check_two_dimensions(program: Any, language: str) -> None:
    for rows, columns in SIZES:
        x = RANDOM.standard_normal((rows, columns), np.float32)
        y = RANDOM.standard_normal(rows, np.float32)
        found = getattr(program, f"{language}_scale_rows")(x, y)
        np.testing.assert_array_equal(np.asarray(found), x * y[:, None])


def check_sums(program: Any, language: str) -> None:
    for rows, columns in SIZES:
        x = RANDOM.random((rows, columns), np.float32)
        more = [np.zeros(rows, np.float32)] if language == "warp" else []
        found = getattr(program, f"{language}_row_sum")(x, *more)
        np.testing.assert_allclose(np.asarray(found), x.sum(1), rtol=1e-5)


def main() -> int:
    given = options(__doc__)
    if given.half == "build":
        build(given.directory)
        return 0
    program = cd.load(given.directory / MODULE, device=given.device)
    failed = 0
    for language in LANGUAGES:
        if f"{language}_saxpy" in dir(program):
            print(language)
            cases = (check_vectors, check_two_dimensions, check_sums)
            failed += run_each(cases, lambda each=language: (program, each))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

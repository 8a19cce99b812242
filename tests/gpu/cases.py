"""What the GPU suite runs: modules, functions, fresh random inputs, and what must come out.

Both halves of the suite read this file, and the running half has nothing but numpy: no kernel is
declared here, and what a function computes is said once more, in numpy and in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu.optional_cases import OPTIONAL
from gpu.signature_cases import SIGNATURES
from gpu.template_cases import TEMPLATES

Array = np.ndarray[Any, Any]
Values = list[Any]

HOPPER = ("cuda:sm_80", "cuda:sm_90a", "cpu")
BEST = HOPPER  # what leaving targets out means: this file loads no custom_dispatch

# Module file: (model or None for the kernels alone, kernels, targets, how).
MODULES: dict[str, tuple[str | None, str, tuple[str, ...], str]] = {
    "mixed": ("mixed_invocation.mlir", "simple_mul", BEST, "compile"),
    "samples": (None, "samples", BEST, "compile"),
    "samples_sm_80": (None, "samples", ("cuda:sm_80",), "compile"),
    "samples_sm_90a": (None, "samples", ("cuda:sm_80", "cuda:sm_90", "cuda:sm_90a"), "compile"),
    "samples_sm_100": (None, "samples", ("cuda:sm_100",), "compile"),
    "samples_source": (None, "samples", ("cuda:sm_90",), "emit source"),
    "samples_fatbin": (None, "samples", ("cuda:sm_80", "cuda:sm_90"), "emit source"),
    "samples_by_path": (None, "samples", BEST, "emit"),
    "samples_cubin": (None, "samples", ("cuda:sm_90",), "cubin"),
    "image_cubin": (None, "samples", BEST, "compile image=cubin"),
    "image_fatbin": (None, "samples", BEST, "compile image=fatbin"),
    "ptx_version": (None, "samples", BEST, "compile ptx_version=8.0"),
    "signatures": (None, "signatures", BEST, "compile"),
    "signatures_cubin": (None, "signatures", ("cuda:sm_90",), "compile image=cubin"),
    "templates_fatbin": (None, "templates", BEST, "compile image=fatbin"),
    "signatures_sm_80": (None, "signatures", ("cuda:sm_80",), "compile"),
    "templates": (None, "templates", BEST, "compile"),
    "optional": (None, "optional", BEST, "compile"),
    "implementations": (None, "implementations", HOPPER, "compile"),
    "implementations_cubin": (None, "implementations", HOPPER, "compile image=cubin"),
    "implementations_sm_80": (None, "implementations", ("cuda:sm_80", "cpu"), "compile"),
    "scratch": (None, "scratch", BEST, "compile"),
    "clusters": (None, "clusters", BEST, "compile"),
    "clusters_cubin": (None, "clusters", BEST, "compile image=cubin"),
    "choices": ("choices.mlir", "choices", HOPPER, "compile"),
    "rms_norm": (None, "rms_norm", BEST, "compile"),
    "in_place": ("in_place.mlir", "simple_mul", BEST, "compile"),
    "calls": (None, "simple_mul", BEST, "compile"),
}


@dataclass(frozen=True)
class Case:
    """One call and its expected results."""

    module: str
    function: str
    inputs: Callable[[np.random.Generator], Values]
    expected: Callable[..., Array | tuple[Array, ...]]
    tolerance: float = 0.0
    """The largest relative difference; 0 for bit equality."""

    @property
    def name(self) -> str:
        """Module and function."""
        return f"{self.module}.{self.function}"


def f32(*shape: int) -> Callable[[np.random.Generator], Values]:
    """One random f32 array."""
    return lambda rng: [rng.standard_normal(shape, np.float32)]


def two_f32(*shape: int) -> Callable[[np.random.Generator], Values]:
    """Two random f32 arrays."""
    return lambda rng: [rng.standard_normal(shape, np.float32) for _ in range(2)]


def integers(dtype: str, count: int) -> Callable[[np.random.Generator], Values]:
    """One random array that can be doubled without a loss."""
    return lambda rng: [rng.integers(0, 60, count).astype(dtype)]


def _mixed(lhs: Array, rhs: Array) -> Array:
    product = lhs * rhs
    return ((product + rhs) * product).astype(np.float32)


def _filled(value: int) -> Callable[..., Array]:
    return lambda like: np.full(like.shape, value, np.int32)


def _coordinates(like: Array, x: Array) -> Array:
    rows, columns = like.shape
    return (1000.0 * np.arange(rows)[:, None] + np.arange(columns) + float(x)).astype(np.float32)


def _doubled(x: Array) -> Array:
    return (x + x).astype(x.dtype)


def _samples(module: str, arch: int) -> list[Case]:
    """The sample kernels of one module, of which the variant for `arch` must run."""
    blocks = {True: 7, False: 3}[arch >= 90]
    return [
        Case(module, "report_arch", f32(1000), _filled(arch)),
        Case(
            module,
            "scale",
            lambda rng: [rng.standard_normal(777, np.float32), 2.5, -3],
            lambda x, alpha, beta: (alpha * x.astype(np.float64) + beta).astype(np.float32),
            1e-6,
        ),
        Case(
            module,
            "narrow_scalars",
            lambda rng: [rng.standard_normal(100, np.float32), -5, 60000, 1],
            lambda x, byte, word, flag: (x + np.float32(byte)) + np.float32(word),
        ),
        Case(module, "drop_first", f32(1001), lambda x: x[1:]),
        Case(module, "drop_first", f32(1), lambda x: x[1:]),
        Case(
            module,
            "row_sums",
            f32(37, 100),
            lambda x: x.sum(axis=1, dtype=np.float64).astype(np.float32),
            1e-4,
        ),
        # An operand without elements, a grid with blocks: the kernel must run and write zeros.
        Case(module, "row_sums", f32(5, 0), lambda x: np.zeros(5, np.float32)),
        Case(
            module,
            "sum_and_difference",
            f32(1000, 2),
            lambda pairs: (pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]),
        ),
        Case(module, "exchange", two_f32(333), lambda left, right: (right, left)),
        Case(module, "accumulate", two_f32(333), lambda x, total: (total + x, total)),
        Case(module, "increment", lambda rng: [rng.standard_normal(100)], lambda x: x + 1),
        Case(
            module,
            "iota",
            lambda rng: [int(rng.integers(100))],
            lambda first: np.arange(first, first + 16, dtype=np.int32),
        ),
        Case(module, "grid_size", f32(1000), _filled(blocks)),
        Case(
            module,
            "coordinates",
            lambda rng: [np.zeros((9, 33), np.float32), rng.standard_normal((), np.float32)],
            _coordinates,
            1e-6,
        ),
        Case(
            module,
            "double_f16",
            lambda rng: [rng.standard_normal(1000).astype(np.float16)],
            _doubled,
        ),
        Case(module, "double_f32", f32(1000), _doubled),
        Case(module, "double_f64", lambda rng: [rng.standard_normal(1000)], _doubled),
        *(
            Case(module, f"double_{name}", integers(dtype, 1000), _doubled)
            for name, dtype in (
                ("i8", "i1"),
                ("u8", "u1"),
                ("i16", "i2"),
                ("u16", "u2"),
                ("i32", "i4"),
                ("u32", "u4"),
                ("i64", "i8"),
                ("u64", "u8"),
            )
        ),
        Case(module, "negate_bool", lambda rng: [rng.integers(0, 2, 999) == 1], np.logical_not),
    ]


def _signatures(module: str) -> list[Case]:
    """The kernels of one module whose C signatures are not IREE's."""
    return [Case(module, name, inputs, expected) for name, (inputs, expected) in SIGNATURES.items()]


def _templates(module: str) -> list[Case]:
    """The kernels of one module that have C++ names."""
    return [Case(module, name, inputs, expected) for name, (inputs, expected) in TEMPLATES.items()]


def _geometry(x: Array, arch: int, block: int, blocks: int) -> Array:
    columns = (np.full(len(x), arch), block, blocks, x.astype(int))
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.int32)


def _backwards(x: Array) -> Array:
    return np.concatenate([x[:0], *(x[i : i + 64][::-1] for i in range(0, len(x), 64))])


def _choices(arch: int) -> list[Case]:
    """Kernels chosen as a model runs, all but one over empty grids, and a loop of them."""

    def chosen(x: Array) -> tuple[Array, Array]:
        y, n = _backwards(x), len(x)
        if n % 3 == 0:
            block, blocks = (96, min(n, 7)) if arch == 901 else (32, -(-n // 32))
        else:
            block, blocks = (128, min(-(-n // 128), 5)) if arch == 901 else (64, -(-n // 64))
        return y, _geometry(y, 901 if arch == 901 else 800, block, blocks)

    def looped(x: Array, turns: int) -> Array:
        for _ in range(turns):
            x = _backwards(x) + np.float32(1)
        return x

    return [
        *(
            Case(
                "choices", "choices", lambda rng, n=n: [rng.integers(0, 99, n).astype("f4")], chosen
            )
            for n in (1, 3, 64, 66, 999, 100_001)
        ),
        *(
            Case(
                "choices", "loop", lambda rng, n=n: [rng.standard_normal(n, np.float32), 5], looped
            )
            for n in (64, 1000)
        ),
    ]


def _implementations(module: str, arch: int) -> list[Case]:
    """Kernels with an implementation for sm_90a: `arch` is 901 where that one must run."""

    def geometry(x: Array) -> Array:
        if arch == 901:
            return _geometry(x, 901, 128, min(-(-len(x) // 128), 5))
        return _geometry(x, 10 * arch, 64, -(-len(x) // 64))

    return [
        *(
            Case(
                module, "geometry", lambda rng, n=n: [rng.integers(0, 99, n).astype("f4")], geometry
            )
            for n in (1, 64, 65, 1000, 0)
        ),
        Case(module, "doubled", f32(3001), _doubled),
    ]


def _scratch(module: str) -> list[Case]:
    """Kernels with memory of their own, which nobody else sees."""
    return [
        *(Case(module, "reversed", f32(n), _backwards) for n in (1, 64, 65, 100_003, 0)),
        *(Case(module, "incremented", f32(n), lambda x: x + np.float32(1)) for n in (1, 1000, 0)),
    ]


def _clusters(module: str) -> list[Case]:
    """Pairs of blocks that swap their parts: on a GPU by way of the cluster's shared memory."""

    def swapped(x: Array) -> Array:
        return x.reshape(-1, 2, 64)[:, ::-1].ravel()

    return [Case(module, "swapped", f32(n), swapped) for n in (128, 128 * 777, 0)]


def _rms_norm(module: str) -> list[Case]:
    """The normalisation of `cuda_kernels`, for both types."""

    def expected(x: Array, weight: Array, epsilon: float) -> Array:
        wide = x.astype(np.float64)
        scale = 1.0 / np.sqrt(np.mean(wide * wide, axis=1, keepdims=True) + float(epsilon))
        return (wide * scale * weight).astype(x.dtype)

    def inputs(dtype: type) -> Callable[[np.random.Generator], Values]:
        return lambda rng: [
            rng.standard_normal((37, 1000)).astype(dtype),
            rng.standard_normal(1000).astype(dtype),
            1e-5,
        ]

    return [
        Case(module, "rms_norm_f32", inputs(np.float32), expected, 1e-5),
        Case(module, "rms_norm_f16", inputs(np.float16), expected, 2e-3),
    ]


def cases(arch: int) -> list[Case]:
    """Every case, for a device whose best variant is that for `arch` (80 on the CPU)."""
    every = [
        Case("mixed", "mixed_invocation", two_f32(100_003), _mixed, 1e-6),
        Case("in_place", "update_argument", two_f32(1000), lambda lhs, rhs: lhs * rhs),
        Case("in_place", "update_and_return", two_f32(1000), lambda lhs, rhs: (lhs * rhs, rhs)),
        Case("in_place", "constants", lambda _: [], lambda: np.arange(8, dtype=np.float32) * 2),
        Case("in_place", "in_a_loop", two_f32(64), lambda lhs, rhs: rhs * lhs**5, 1e-5),
        *_samples("samples", arch),
        *_signatures("signatures"),
        *_templates("templates"),
        *(Case("optional", *case) for case in OPTIONAL),
        *_rms_norm("rms_norm"),
        *_scratch("scratch"),
        *_clusters("clusters"),
        *_choices(80 if arch == 80 else 901),
        *_implementations("implementations", 80 if arch == 80 else 901),
    ]
    if arch > 80:
        every += [
            *_samples("samples_sm_80", 80)[:1],
            *_signatures("signatures_sm_80"),
            *_implementations("implementations_cubin", 901),
            *_clusters("clusters_cubin"),
            *_implementations("implementations_sm_80", 80),
            *_signatures("signatures_cubin"),
            *_samples("image_cubin", arch),
            *_samples("image_fatbin", arch),
            *_samples("ptx_version", arch),
            *_templates("templates_fatbin"),
            *_samples("samples_sm_90a", arch)[:1],
            *_samples("samples_source", arch),
            *_samples("samples_fatbin", arch),
            *_samples("samples_by_path", arch),
            *_samples("samples_cubin", arch),
        ]
    return every

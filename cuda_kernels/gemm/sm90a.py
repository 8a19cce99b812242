"""What blocks of `gemm_sm90a.cu` and `gemm_split_sm90a.cu` compute, and how they are launched."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import ClassVar

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from custom_dispatch.kernel.expr import Expr

TILE_K = 64
"""Elements of k of a stage."""


def _pipeline_bytes(m: int, n: int, stages: int) -> int:
    """Of `Pipeline`: the stages, maps and barriers, up to the next multiple of 1024."""
    stage = (m + n) * TILE_K * 2
    return _whole(stages * stage + 2 * 128 + 2 * 8 + 8 + stages * 16)


def _whole(size_bytes: int) -> int:
    return -(-size_bytes // 1024) * 1024


@dataclass(frozen=True)
class Warpgroups:
    """A block of `gemm_sm90a.cu`: tiles of m x n, one after another.

    Blocks of a cluster compute tiles one above another and share what they read of b. Where b is
    [k, n], a block reads whole parts of 64 columns of it: then n is the next multiple of that, and
    there is no cluster if its blocks would share a part.
    """

    m: int
    n: int
    stages: int
    cluster: int
    together: int = 2
    """Warpgroups that compute a tile; 1 if they take turns."""

    source: ClassVar = "gemm_sm90a.cu"
    function: ClassVar = "gemm_sm90a"
    threads: ClassVar = 384

    def implementation(
        self,
        dtype: str,
        out: str,
        activation: str,
        has_weights: bool,
        sizes: tuple[Expr | int, Expr, Expr],
    ) -> cd.Implementation:
        """The launch for so many products of so many rows and columns."""
        if not has_weights and self.n // self.cluster % 64:
            whole = replace(self, **_of_columns(self.m, self.n, self.stages))
            if whole.n // self.cluster % 64:
                whole = replace(whole, cluster=1)
            return whole.implementation(dtype, out, activation, has_weights, sizes)
        batch, m, n = sizes
        tiles = cd.ceildiv(m, self.m * self.cluster) * cd.ceildiv(n, self.n) * batch
        persistent = MULTIPROCESSORS // self.cluster * self.cluster
        staging = 8 * 2 * 16 * 128 + 128 + 8 + 12
        return cd.Implementation(
            source=self.source,
            entry=_entry(self, dtype, out, activation, has_weights),
            block=self.threads,
            grid=cd.minimum(persistent, tiles * self.cluster),
            dynamic_shared_memory=_whole(_pipeline_bytes(self.m, self.n, self.stages) + staging),
            cluster=self.cluster,
        )


@dataclass(frozen=True)
class Split:
    """A cluster of `gemm_split_sm90a.cu`: a tile of m x n, m 64 or 128; its blocks share k.

    Where b is [k, n], its tiles are made of 64 columns: then n is the next multiple of that.
    """

    m: int
    n: int
    stages: int
    cluster: int

    source: ClassVar = "gemm_split_sm90a.cu"
    function: ClassVar = "gemm_split_sm90a"

    @property
    def threads(self) -> int:
        """Of a block: a warpgroup for each 64 rows, and two warps of producers."""
        return 2 * self.m + 64

    def implementation(
        self,
        dtype: str,
        out: str,
        activation: str,
        has_weights: bool,
        sizes: tuple[Expr | int, Expr, Expr],
    ) -> cd.Implementation:
        """The launch for so many products of so many rows and columns."""
        if not has_weights and self.n % 64:
            whole = replace(self, **_of_columns(self.m, self.n, self.stages))
            return whole.implementation(dtype, out, activation, has_weights, sizes)
        batch, m, n = sizes
        tiles = cd.ceildiv(m, self.m) * cd.ceildiv(n, self.n) * batch
        return cd.Implementation(
            source=self.source,
            entry=_entry(self, dtype, out, activation, has_weights),
            block=self.threads,
            grid=tiles * self.cluster,
            dynamic_shared_memory=_pipeline_bytes(self.m, self.n, self.stages) + 1024,
            cluster=self.cluster,
        )


def _of_columns(m: int, n: int, stages: int) -> dict[str, int]:
    """The same for a b that is [k, n]: whole parts of 64 columns, in the same shared memory."""
    columns = -(-n // 64) * 64
    return {"n": columns, "stages": stages * (m + n) // (m + columns)}


def _entry(
    how: Warpgroups | Split, dtype: str, out: str, activation: str, has_weights: bool
) -> str:
    types = f"{C_TYPES[dtype]}, {C_TYPES[out]}, {activation}, {str(has_weights).lower()}"
    return f"cuda_kernels::{how.function}<{types}, {', '.join(map(str, astuple(how)))}>"

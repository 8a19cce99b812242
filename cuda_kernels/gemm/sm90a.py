"""The tiles and launches of the products for sm_90a alone, `gemm_*_sm90a.cu`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from custom_dispatch.kernel.expr import Expr

TILE_K = 64
"""Elements of k in a stage."""
_MOST_SHARED_BYTES = 227 * 1024


def _pipeline_bytes(m: int, n: int, stages: int) -> int:
    """`sizeof(Pipeline)`: stages, tensor maps and barriers, up to the next multiple of 1024."""
    stage = (m + n) * TILE_K * 2
    return _whole(stages * stage + 2 * 128 + 2 * 8 + 8 + stages * 16)


def _whole(size_bytes: int) -> int:
    return -(-size_bytes // 1024) * 1024


class HopperForm(ABC):
    """What a product is on sm_90a."""

    source: ClassVar[str]
    function: ClassVar[str]
    """Of the source, in its namespace."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What tells it from other forms, in a kernel's name."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[int, ...]:
        """The numbers among the template arguments, in their order."""

    @abstractmethod
    def launch(self, batch: Expr | int, m: Expr, n: Expr) -> dict[str, Any]:
        """That of a batch of products of m x n, as `cd.Implementation` takes it."""

    def for_layout(self, has_weights: bool) -> Self:
        """The form that a layout takes, of b as weights or as [k, n]: itself, if it takes both."""
        del has_weights
        return self

    def entry(self, dtype: str, out: str, activation: str, has_weights: bool) -> str:
        """The kernel's name in C++, with its template arguments."""
        types = f"{C_TYPES[dtype]}, {C_TYPES[out]}, {activation}, {str(has_weights).lower()}"
        return f"cuda_kernels::{self.function}<{types}, {', '.join(map(str, self.parameters))}>"

    def implementation(
        self,
        dtype: str,
        out: str,
        activation: str,
        has_weights: bool,
        sizes: tuple[Expr | int, Expr, Expr],
    ) -> cd.Implementation:
        """The launch for a batch of products of m x n."""
        form = self.for_layout(has_weights)
        entry = form.entry(dtype, out, activation, has_weights)
        return cd.Implementation(source=form.source, entry=entry, **form.launch(*sizes))


@dataclass(frozen=True)
class WarpSpecialised(HopperForm):
    """A block of `gemm_sm90a.cu`: persistent, a producer warpgroup and two of consumers.

    The blocks of a cluster compute tiles one above another, and multicast their parts of b to each
    other. Where b is [k, n], a block copies boxes of 64 columns of it: then n is the next multiple
    of that, and there is no cluster if its blocks would share a box.
    """

    m: int
    n: int
    stages: int
    cluster: int
    warpgroups: int = 2
    """Consumer warpgroups that compute a tile: 2 are cooperative, 1 is ping-pong."""

    source: ClassVar = "gemm_sm90a.cu"
    function: ClassVar = "gemm_sm90a"
    threads: ClassVar = 384

    @property
    def parameters(self) -> tuple[int, ...]:
        """Template arguments."""
        return self.m, self.n, self.stages, self.cluster, self.warpgroups

    @property
    def name(self) -> str:
        """The schedule, unless it is cooperative, the tile, the stages and the cluster."""
        schedule = "pingpong_" if self.warpgroups == 1 else ""
        return f"{schedule}t{self.m}x{self.n}_s{self.stages}_c{self.cluster}"

    def for_layout(self, has_weights: bool) -> Self:
        """The form that a layout takes: for b as [k, n], n is made of whole boxes."""
        if has_weights or self.n // self.cluster % 64 == 0:
            return self
        whole = replace(self, **_of_columns(self.m, self.n, self.stages))
        return replace(whole, cluster=1) if whole.n // self.cluster % 64 else whole

    def launch(self, batch: Expr | int, m: Expr, n: Expr) -> dict[str, Any]:
        """That of a batch of products of m x n, as `cd.Implementation` takes it."""
        tiles = cd.ceildiv(m, self.m * self.cluster) * cd.ceildiv(n, self.n) * batch
        persistent = MULTIPROCESSORS // self.cluster * self.cluster
        staging = 8 * 2 * 16 * 128 + 128 + 8 + 12
        return {
            "block": self.threads,
            "grid": cd.minimum(persistent, tiles * self.cluster),
            "dynamic_shared_memory": _whole(_pipeline_bytes(self.m, self.n, self.stages) + staging),
            "cluster": self.cluster,
        }


@dataclass(frozen=True)
class SplitK(HopperForm):
    """A cluster of `gemm_split_sm90a.cu`: a tile of m x n, m 64 or 128, whose k its blocks split.

    Where b is [k, n], its tiles are made of 64 columns: then n is the next multiple of that.
    """

    m: int
    n: int
    stages: int
    cluster: int

    source: ClassVar = "gemm_split_sm90a.cu"
    function: ClassVar = "gemm_split_sm90a"

    @property
    def parameters(self) -> tuple[int, ...]:
        """Template arguments."""
        return self.m, self.n, self.stages, self.cluster

    @property
    def name(self) -> str:
        """The tile, the stages and the cluster."""
        return f"splitk_t{self.m}x{self.n}_s{self.stages}_c{self.cluster}"

    @property
    def threads(self) -> int:
        """Threads of a block: a consumer warpgroup for each 64 rows, and two producer warps."""
        return 2 * self.m + 64

    def for_layout(self, has_weights: bool) -> Self:
        """The form that a layout takes: for b as [k, n], n is made of whole boxes."""
        if has_weights or self.n % 64 == 0:
            return self
        return replace(self, **_of_columns(self.m, self.n, self.stages))

    def launch(self, batch: Expr | int, m: Expr, n: Expr) -> dict[str, Any]:
        """That of a batch of products of m x n, as `cd.Implementation` takes it."""
        tiles = cd.ceildiv(m, self.m) * cd.ceildiv(n, self.n) * batch
        return {
            "block": self.threads,
            "grid": tiles * self.cluster,
            "dynamic_shared_memory": _pipeline_bytes(self.m, self.n, self.stages) + 1024,
            "cluster": self.cluster,
        }


@dataclass(frozen=True)
class ClusterTile(HopperForm):
    """A cluster of `gemm_cluster_sm90a.cu`: tiles of m x n, m a multiple of 8 and n of 64.

    It computes `rows` tiles one above another and `columns` next to each other, with `split` blocks
    for the k of each. Blocks of the same rows multicast their parts of a to each other, and
    blocks of the same columns those of b; of b as [k, n] parts of 64 columns at least.
    """

    m: int
    n: int
    rows: int = 1
    columns: int = 1
    split: int = 1

    source: ClassVar = "gemm_cluster_sm90a.cu"
    function: ClassVar = "gemm_cluster_sm90a"

    @property
    def stages(self) -> int:
        """As many as a block's shared memory has room for, and not more than loads take."""
        stage = (self.m + self.n) * TILE_K * 2
        return min(16, (_MOST_SHARED_BYTES - 1024) // stage)

    @property
    def parameters(self) -> tuple[int, ...]:
        """Template arguments."""
        return self.m, self.n, self.stages, self.rows, self.columns, self.split

    @property
    def name(self) -> str:
        """The tile, the tiles of a cluster if there are several, and the blocks that split k."""
        tiles = f"_c{self.rows}x{self.columns}" if self.rows * self.columns > 1 else ""
        return f"t{self.m}x{self.n}{tiles}_k{self.split}"

    def for_layout(self, has_weights: bool) -> Self:
        """The form that a layout takes: for b as [k, n], blocks share whole boxes, or none."""
        return self if has_weights or self.n // self.rows % 64 == 0 else replace(self, rows=1)

    def launch(self, batch: Expr | int, m: Expr, n: Expr) -> dict[str, Any]:
        """That of a batch of products of m x n, as `cd.Implementation` takes it."""
        clusters = cd.ceildiv(m, self.m * self.rows) * cd.ceildiv(n, self.n * self.columns) * batch
        cluster = self.rows * self.columns * self.split
        stages = self.stages * (self.m + self.n) * TILE_K * 2
        return {
            "block": 2 * self.n + 64,
            "grid": clusters * cluster,
            "dynamic_shared_memory": _whole(stages + 2 * 128 + 2 * 8 + self.stages * 2 * 8),
            "cluster": cluster,
        }


@dataclass(frozen=True)
class Align1(HopperForm):
    """A block of `gemm_align1_sm90a.cu`: a tile of m x n at any address; a cluster for its k."""

    m: int
    n: int
    split: int = 1

    source: ClassVar = "gemm_align1_sm90a.cu"
    function: ClassVar = "gemm_align1_sm90a"

    @property
    def parameters(self) -> tuple[int, ...]:
        """Template arguments."""
        return self.m, self.n, self.split

    @property
    def name(self) -> str:
        """The tile, and the blocks that split k."""
        return f"t{self.m}x{self.n}_k{self.split}"

    def launch(self, batch: Expr | int, m: Expr, n: Expr) -> dict[str, Any]:
        """That of a batch of products of m x n, as `cd.Implementation` takes it."""
        tiles = cd.ceildiv(m, self.m) * cd.ceildiv(n, self.n) * batch
        return {
            "block": 2 * self.n,
            "grid": tiles * self.split,
            "dynamic_shared_memory": 3 * (self.m + self.n) * TILE_K * 2,
            "cluster": self.split,
        }


@dataclass(frozen=True)
class Transposed(HopperForm):
    """A block of `gemm_tf32_sm90a.cu`, for f32 in TF32 and b as [k, n]: tiles of m x 128."""

    m: int
    stages: int

    source: ClassVar = "gemm_tf32_sm90a.cu"
    function: ClassVar = "gemm_tf32_sm90a"
    threads: ClassVar = 384

    @property
    def name(self) -> str:
        """The tile and the stages."""
        return f"transposed_t{self.m}x128_s{self.stages}"

    @property
    def parameters(self) -> tuple[int, ...]:
        """Template arguments."""
        return self.m, self.stages

    def entry(self, dtype: str, out: str, activation: str, has_weights: bool) -> str:
        """The kernel's name in C++, with its template arguments: types and layout are given."""
        del dtype, out, has_weights
        return f"cuda_kernels::{self.function}<{activation}, {self.m}, {self.stages}>"

    def launch(self, batch: Expr | int, m: Expr, n: Expr) -> dict[str, Any]:
        """That of a batch of products of m x n, as `cd.Implementation` takes it."""
        return {
            "block": self.threads,
            "grid": cd.minimum(MULTIPROCESSORS, cd.ceildiv(m, self.m) * cd.ceildiv(n, 128) * batch),
            "dynamic_shared_memory": _whole(_pipeline_bytes(self.m, 128, self.stages) + 12),
        }


def _of_columns(m: int, n: int, stages: int) -> dict[str, int]:
    """N in whole boxes of 64 columns, and the stages that then fit into the same shared memory."""
    columns = -(-n // 64) * 64
    return {"n": columns, "stages": stages * (m + n) // (m + columns)}

"""Clusters of thread blocks: declared, compared with objects, and grids of whole ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import (
    CallError,
    DeclarationError,
    LinkError,
    PtxError,
    UnsupportedInstructionError,
)
from custom_dispatch.kernel.description import describe, read_description
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.toolchain.images import read_cubin

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels.clusters import n, swapped

Declare = Callable[..., cd.Kernel]
SOURCE = Path(__file__).resolve().parents[1] / "sample_kernels" / "clusters.cu"
X = np.arange(512, dtype=np.float32)


def declare(**changes: Any) -> cd.Kernel:
    parts: dict[str, Any] = {
        "entry": "swapped_in_clusters",
        "source": SOURCE,
        "operands": swapped.operands,
        "block": 64,
        "grid": n // 64,
    }
    return cd.Kernel("swapped", **parts | changes)


def test_what_an_object_states_is_read() -> None:
    library = cd.build(swapped, ["cuda:sm_80", "cuda:sm_90"], image="cubin")
    sm_90, sm_80 = library.objects
    ptx = sm_90.ptx
    assert ptx is not None
    entry = read_module(ptx.data.decode()).entry("swapped_in_clusters")
    assert entry is not None
    assert (entry.cluster, entry.is_clustered) == ((2, 1, 1), True)
    assert read_cubin(sm_90.data)["swapped_in_clusters"].cluster == (2, 1, 1)
    assert read_cubin(sm_80.data)["swapped"].cluster is None


def test_the_cpu_runs_the_kernels_own(tmp_path: Path) -> None:
    assert np.array_equal(swapped.on("cpu")(X), X.reshape(-1, 2, 64)[:, ::-1].ravel())
    with pytest.raises(UnsupportedInstructionError) as caught:
        cd.compile(None, declare(cluster=2), ["cuda:sm_90", "cpu"])
    assert caught.value.found == "Kernel `swapped` is launched in clusters of (2, 1, 1) blocks."
    assert "implementations=" in caught.value.next_step
    assert cd.compile(None, declare(cluster=2), ["cuda:sm_90"]).bytes


@pytest.mark.parametrize(
    ("changes", "found", "expected"),
    [
        (
            {},
            "`clusters.cu` was compiled for clusters of (2, 1, 1) blocks (.reqnctapercluster, "
            "__cluster_dims__), and cluster is None.",
            "cluster=(2, 1, 1)",
        ),
        ({"cluster": 4}, "and cluster is (4, 1, 1).", "cluster=(2, 1, 1)"),
        (
            {"cluster": 2, "entry": "swapped"},
            "cluster is (2, 1, 1), and `clusters.cu` states none.",
            "__cluster_dims__ with its size in the source",
        ),
    ],
)
def test_a_cluster_is_that_of_the_source(
    changes: dict[str, Any], found: str, expected: str
) -> None:
    with pytest.raises(PtxError) as caught:
        cd.build(declare(**changes), ["cuda:sm_90"])
    assert found in caught.value.found
    assert expected in caught.value.expected


def test_a_size_that_the_launch_would_give_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(SOURCE.read_text().replace("__cluster_dims__(2, 1, 1)", "__cluster_dims__()"))
    with pytest.raises(PtxError, match="leaves the size of its clusters to the launch"):
        cd.build(declare(source=source), ["cuda:sm_90"])


def test_machine_code_is_compared_too(tmp_path: Path) -> None:
    (item,) = cd.build(declare(cluster=2), ["cuda:sm_90"], image="cubin").objects
    path = item.write(tmp_path)
    given = {"source": None, "objects": {"cuda:sm_90": path}}
    with pytest.raises(PtxError, match=r"was compiled for clusters of \(2, 1, 1\) blocks"):
        cd.build(declare(**given), ["cuda:sm_90"])
    assert cd.build(declare(**given, cluster=2), ["cuda:sm_90"]).objects


def test_a_grid_has_whole_clusters() -> None:
    with pytest.raises(CallError) as caught:
        swapped.on("cpu")(X[:64])
    assert caught.value.found == (
        "Kernel `swapped`: grid.x = n // 64 is 1 for n = 64, and a cluster has 2 blocks in x."
    )
    program = cd.load(cd.compile(None, swapped, ["cpu"]))
    with pytest.raises(CallError, match=r"grid\.x = n // 64 is no multiple of the cluster's 2"):
        program.swapped(X[:192])
    assert program.swapped(X[:128]).shape == (128,)
    assert program.swapped(X[:0]).shape == (0,)
    model = """
func.func private @swapped(tensor<192xf32>) -> tensor<192xf32>
func.func @run(%x: tensor<192xf32>) -> tensor<192xf32> {
  %y = call @swapped(%x) : (tensor<192xf32>) -> tensor<192xf32>
  return %y : tensor<192xf32>
}
"""
    with pytest.raises(LinkError, match=r"grid.x = n // 64 is 3 for the model's sizes, and a clus"):
        cd.compile(model, swapped, ["cpu"])


def test_a_description_has_it() -> None:
    again = read_description(describe(declare(cluster=4)))
    assert again.cluster == (4, 1, 1)
    assert "cluster" not in describe(declare())
    assert declare().with_launch(cluster=4).cluster == (4, 1, 1)


@pytest.mark.parametrize("cluster", [0, 9, (4, 4), (), (1, 1, 1, 1), "2", 2.5, n])
def test_what_is_no_cluster_is_refused(cluster: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(cluster=cluster)
    assert "cluster is given as" in caught.value.found
    assert "at most 8 blocks together" in caught.value.expected


def test_a_known_grid_is_compared_at_once() -> None:
    with pytest.raises(DeclarationError, match=r"grid.y is 3, and a cluster has 2 blocks in y"):
        declare(grid=(n, 3), cluster=(1, 2))

"""What Hopper's matrix products take of the GPU, and which of them a size gets.

Their results are compared on an H200: `benchmarks/gpu/gemm.py check`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import cuda_kernels
import custom_dispatch as cd
from cuda_kernels import gemm
from cuda_kernels.gemm.forms import FORMS
from cuda_kernels.gemm.sm90a import Align1, ClusterTile, SplitK, WarpSpecialised
from custom_dispatch.errors import SourceError
from custom_dispatch.kernel.target import Target

HOPPER = "cuda:sm_90a"
MOST_SHARED_BYTES = 227 * 1024


@pytest.mark.thorough
def test_no_product_spills() -> None:
    """With every role of a warp within its registers."""
    pingpong = next(k for k in gemm.linear_bf16_f32.kernels if "pingpong_t128x176" in k.name)
    kernels = [gemm.linear_bf16.kernels[1], pingpong, gemm.batch_matmul_bf16_f32.kernels[-1]]
    report = cd.build(kernels, [HOPPER], fail_on_spill=True).report()
    assert [item.kernel for item in report if item.resources.stack_bytes] == []
    assert [item.resources.registers for item in report] == [168, 168, 90]


def test_tiles_of_b_by_rows_of_k_are_made_of_64_columns() -> None:
    entries = [
        next(item for item in choice.kernels if name in item.name)
        .for_target(Target.parse(HOPPER))
        .entry
        for choice, name in (
            (gemm.linear_f16, "pingpong_t128x176_s5_c2"),
            (gemm.matmul_f16, "pingpong_t128x192_s4_c1"),
        )
    ]
    assert [entry.rsplit("true, ")[-1].rsplit("false, ")[-1] for entry in entries] == [
        "128, 176, 5, 2, 1>",
        "128, 192, 4, 1, 1>",
    ]
    pair = WarpSpecialised(128, 192, 4, cluster=2)
    assert pair in [form.hopper for form in FORMS]
    launch = pair.implementation("f16", "f16", "", False, (1, cd.dim("m"), cd.dim("n")))
    assert launch.given["cluster"] == 1


def test_blocks_share_b_by_rows_of_k_in_whole_parts_of_64_columns() -> None:
    assert ClusterTile(160, 128, rows=2).for_layout(False).rows == 2
    narrow = ClusterTile(160, 64, rows=2, columns=2)
    assert narrow.for_layout(True) == narrow
    assert narrow.for_layout(False) == ClusterTile(160, 64, columns=2)


def test_tiles_that_become_the_same_are_one_kernel() -> None:
    """Where b is [k, n], some tiles are as wide as others."""
    for dtype in ("bf16", "f16"):
        entries = {}
        for choice in (getattr(gemm, f"linear_{dtype}"), getattr(gemm, f"matmul_{dtype}")):
            forms = [
                tuple(
                    kernel.for_target(Target.parse(each)).entry for each in (HOPPER, "cuda:sm_80")
                )
                for kernel in choice.kernels
            ]
            assert len(set(forms)) == len(forms)
            entries[choice.name] = len(forms)
        # `matmul` has another kernel for few rows, and not the narrow one.
        assert entries == {f"linear_{dtype}": 42, f"matmul_{dtype}": 41}


def test_launches_have_the_shared_memory_that_the_sources_lay_out(tmp_path: Path) -> None:
    forms = {form.hopper for form in FORMS if form.hopper is not None}
    lines = [f'#include "{source}"' for source in sorted({form.source for form in forms})]
    lines += ["using namespace cuda_kernels;", 'extern "C" __global__ void nothing(float* x) {']
    for form in forms:
        layout = {
            WarpSpecialised: "SharedStorage",
            SplitK: "SplitKStorage",
            ClusterTile: "ClusterStorage",
            Align1: "Align1Storage",
        }[type(form)]
        parts = form.parameters
        parts = parts[: {SplitK: 3, ClusterTile: 3, Align1: 2}.get(type(form), len(parts))]
        launch = form.implementation("f16", "f16", "", True, (1, cd.dim("m"), cd.dim("n")))
        size = launch.given["dynamic_shared_memory"]
        assert size is not None
        assert size <= MOST_SHARED_BYTES
        lines.append(f"static_assert(sizeof({layout}<{', '.join(map(str, parts))}>) == {size});")
    source = tmp_path / "sizes.cu"
    source.write_text("\n".join([*lines, "  *x = 0.0f;", "}"]))
    kernel = cd.Kernel(
        "nothing",
        source=source,
        operands=[cd.Out("x", "f32", [1])],
        block=1,
        grid=1,
        include_dirs=[Path(cuda_kernels.__path__[0], "gemm")],
    )
    cd.build([kernel], [HOPPER])


def test_tiles_that_no_wgmma_is_for_do_not_compile() -> None:
    """They would multiply nothing: 104 rows are 104 columns of a wgmma."""
    kernel = gemm.declare("linear", "bf16", form=gemm.Form(FORMS[1].tile, ClusterTile(104, 128)))
    with pytest.raises(SourceError, match="one of these"):
        cd.build(kernel, [HOPPER], compiler="nvrtc")

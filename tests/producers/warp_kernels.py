"""Kernels of Warp. `python -m tests.producers.warp_kernels DIRECTORY` writes their PTX."""

# No `from __future__ import annotations`: Warp reads the annotations.
import re
import sys
import tempfile
from pathlib import Path

import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float), a: float):
    i = wp.tid()
    out[i] = a * x[i] + y[i]


@wp.kernel
def scale_rows(x: wp.array2d(dtype=float), y: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = x[i, j] * y[i]


@wp.kernel
def row_sum(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(out, i, x[i, j])


def forward_alone(text: str) -> str:
    """A module's PTX without derivatives, and without tables that nothing reads."""
    text = text.rstrip("\0")
    text = re.sub(r"^\.const .*pnanovdb.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\.visible \.entry \w+_backward\(.*?^\}\n", "", text, flags=re.M | re.S)
    return re.sub(r"^\s*// \.globl.*_backward\n", "", text, flags=re.MULTILINE)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        wp.compile_aot_module(
            __name__, device=None, arch=[80], module_dir=directory, use_ptx=True, strip_hash=True
        )
        (found,) = Path(directory).glob("*.ptx")
        (Path(sys.argv[1]) / "warp_kernels.ptx").write_text(forward_alone(found.read_text()))

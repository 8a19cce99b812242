"""The code of pages that run as scripts, with less to compile for CPUs."""

from __future__ import annotations

import re

_IMPORT = re.compile(r"(?m)^from cuda_kernels\.norms import (\w+)_f32$")
_SMALL = r"""
from cuda_kernels.norms import \1 as _declared
from cuda_kernels.norms.rows import RowForm as _RowForm
\1_f32 = _declared.declare(_RowForm("f32", 64, 2))
"""


def in_small_blocks(code: str) -> str:
    """The same, where a norm is the kernel that ships in a smaller block.

    LLVM compiles that in a fifth of the time. README.md is run with one that ships.
    """
    changed, count = _IMPORT.subn(_SMALL, code)
    assert count == 1
    return changed

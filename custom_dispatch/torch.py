"""Kernels in PyTorch models: `cd.torch`. Loaded, with PyTorch, when it is first touched.

Raises
------
ToolNotFoundError
    PyTorch is not installed.
"""

from __future__ import annotations

import importlib.util

from custom_dispatch.errors import ToolNotFoundError

if importlib.util.find_spec("torch") is None:
    raise ToolNotFoundError(
        "PyTorch is not installed in this Python environment.",
        expected="the package torch, which `cd.torch` is for",
        next_step="pip install 'custom-dispatch[torch]'.",
    )

from custom_dispatch.frontends.torch.operator import register

__all__ = ["register"]

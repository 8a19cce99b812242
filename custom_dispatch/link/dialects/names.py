"""Dialects of which IREE's bindings have no Python classes.

Whoever touches an operation in Python gets an object of its dialect's class, if there is one. The
bindings look for it by importing `iree.compiler.dialects.DIALECT`, and remember what they find, but
not what they do not: then they import in vain for each operation that is touched (LLVM,
mlir/lib/Bindings/Python/Globals.cpp, `PyGlobals::loadDialectModule`), which takes a third of the
time in which patterns are compared with a model of JAX. So they are given an empty module to find.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType

from iree.compiler._mlir_libs import _mlir

_WITHOUT_CLASSES = ("chlo", "iree_linalg_ext", "ml_program", "stablehlo", "torch", "torch_c", "ub")


@cache
def end_searches() -> None:
    """Let the bindings find a module, without a class in it, for each of these dialects."""
    for dialect in _WITHOUT_CLASSES:
        name = f"{__name__}.{dialect}"
        sys.modules[name] = ModuleType(name, "It has no classes of operations.")
    _mlir.globals.append_dialect_search_prefix(__name__)

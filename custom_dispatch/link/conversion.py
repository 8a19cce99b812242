"""IREE's own conversion of a model to the dialects that it compiles."""

from __future__ import annotations

import io

from iree.compiler import ir

from custom_dispatch.ir.compiler_tool import run_compiler
from custom_dispatch.process import Completed

_FLAGS = ("--compile-to=input", "--iree-input-demote-f64-to-f32=false", "--emit-mlir-bytecode")


def convert_input(module: ir.Module) -> Completed:
    """Have IREE convert a model; its output is the converted one as MLIR bytecode."""
    source = io.BytesIO()
    module.operation.write_bytecode(source)
    return run_compiler(["-", "-o", "-", *_FLAGS], source.getvalue())

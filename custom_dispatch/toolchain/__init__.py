"""From `.cu` sources to objects: nvcc, NVRTC and ptxas. No GPU and no driver are needed.

Importing this loads neither CUDA nor any tool; the modules do, when asked to compile.
"""

from custom_dispatch.toolchain.compiler import (
    CompiledPtx,
    Compiler,
    CompileRequest,
    find_compiler,
)

__all__ = ["CompileRequest", "CompiledPtx", "Compiler", "find_compiler"]

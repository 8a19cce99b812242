"""From `.cu` sources to objects: nvcc, NVRTC and ptxas. No GPU and no driver are needed.

Importing this loads neither CUDA nor any tool; the modules do, when asked to compile.
"""

from custom_dispatch.format.kernel_resources import KernelResources
from custom_dispatch.toolchain.compiler import (
    CompiledPtx,
    Compiler,
    CompileRequest,
    find_compiler,
)
from custom_dispatch.toolchain.fatbin import make_fatbin
from custom_dispatch.toolchain.image import ImageInfo, describe_image
from custom_dispatch.toolchain.locations import Search
from custom_dispatch.toolchain.object import Object
from custom_dispatch.toolchain.ptxas import Assembly, assemble

__all__ = [
    "Assembly",
    "CompileRequest",
    "CompiledPtx",
    "Compiler",
    "ImageInfo",
    "KernelResources",
    "Object",
    "Search",
    "assemble",
    "describe_image",
    "find_compiler",
    "make_fatbin",
]

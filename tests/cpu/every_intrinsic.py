"""A kernel for each device function that the CUDA headers declare, written from the headers.

That is the math library, the integer, SIMD and conversion intrinsics, atomics, warp functions, and
what `cuda_fp16.h`, `cuda_bf16.h` and `cuda_fp8.h` have.
"""

from __future__ import annotations

import re
from pathlib import Path

_TYPES = {
    "int": "int",
    "unsigned": "unsigned int",
    "unsigned int": "unsigned int",
    "long": "long",
    "long int": "long",
    "unsigned long": "unsigned long",
    "long long": "long long",
    "long long int": "long long",
    "unsigned long long": "unsigned long long",
    "unsigned long long int": "unsigned long long",
    "short": "short",
    "short int": "short",
    "unsigned short": "unsigned short",
    "unsigned short int": "unsigned short",
    "char": "char",
    "signed char": "signed char",
    "unsigned char": "unsigned char",
    "bool": "bool",
    "void": "void",
    "size_t": "size_t",
    **{name: name for name in ("float", "double", "float2", "double2", "float4", "int4", "uint2")},
    **{name: name for name in ("__half", "__half2", "__half_raw", "__half2_raw")},
    **{name: name for name in ("__nv_bfloat16", "__nv_bfloat162")},
    **{name: name for name in ("__nv_bfloat16_raw", "__nv_bfloat162_raw")},
    "__nv_fp8_storage_t": "__nv_fp8_storage_t",
    "__nv_fp8x2_storage_t": "__nv_fp8x2_storage_t",
}
_FIXED = {"__nv_saturation_t": "__NV_SATFINITE"}
"""Arguments that a program writes as a constant."""
_KIND = "__NV_E4M3"

_DECLARED = re.compile(
    r"(?:__\w*DECL(?:ARE)?__|__device_builtin__)\s+"
    r"(?:(?:static|inline|__inline__|__device_builtin__|__cudart_builtin__|extern)\s+)*"
    r"(?P<result>(?:const\s+)?(?:" + "|".join(sorted(_TYPES, key=len, reverse=True)) + r"))\s+"
    r"(?P<name>\w+)\s*\((?P<arguments>[^()]*)\)"
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_GROUPS = {
    "math": ("crt/math_functions.h",),
    "intrinsics": (
        "crt/device_functions.h",
        "crt/device_double_functions.h",
        "sm_20_intrinsics.h",
        "sm_30_intrinsics.h",
        "sm_32_intrinsics.h",
        "sm_61_intrinsics.h",
        "crt/sm_70_rt.h",
        "crt/sm_80_rt.h",
    ),
    "atomics": (
        "device_atomic_functions.h",
        "sm_20_atomic_functions.h",
        "sm_32_atomic_functions.h",
        "sm_60_atomic_functions.h",
        "crt/sm_90_rt.h",
    ),
    "f16": ("cuda_fp16.h",),
    "bf16": ("cuda_bf16.h",),
    "fp8": ("cuda_fp8.h",),
}
GROUPS = tuple(_GROUPS)
_INCLUDES = "".join(f"#include <cuda_{name}.h>\n" for name in ("fp16", "bf16", "fp8"))


def kernels(include: Path, group: str) -> list[str]:
    """CUDA text, one line a kernel; the headers are in `include`."""
    lines: dict[str, str] = {}
    for header in _GROUPS[group]:
        text = _COMMENT.sub(" ", (include / header).read_text())
        for found in _DECLARED.finditer(text):
            kernel = _kernel(found, group)
            if kernel:
                lines.setdefault(kernel, kernel.replace(f" {group}_", f" {group}_{len(lines)}_"))
    return list(lines.values())


def source(lines: list[str]) -> str:
    """A file of these kernels; kernel i is on line i plus the number returned by `first_line`."""
    return _INCLUDES + "\n".join(lines)


def first_line() -> int:
    return _INCLUDES.count("\n") + 1


def _kernel(declared: re.Match[str], group: str) -> str:
    result = _TYPES[declared["result"].removeprefix("const").strip()]
    parameters, arguments = [], []
    for place, argument in enumerate(_split(declared["arguments"])):
        words = argument.partition("=")[0].replace("const", " ").replace("*", " * ").split()
        is_pointer = "*" in words
        words = [word for word in words if word != "*"]
        if " ".join(words[:-1]) in _FIXED:
            arguments.append(_FIXED[" ".join(words[:-1])])
            continue
        if words[:1] == ["__nv_fp8_interpretation_t"]:
            arguments.append(_KIND)
            continue
        names = " ".join(words[:-1]) if " ".join(words) not in _TYPES else " ".join(words)
        if names not in _TYPES or argument.count("*") > 1:
            return ""
        parameters.append(f"{_TYPES[names]}* a{place}")
        arguments.append(
            f"a{place}[i]" if not is_pointer else f"a{place}" + " + i" * (names != "void")
        )
    call = f"{declared['name']}({', '.join(arguments)})"
    if result != "void":
        parameters.append(f"{result}* out")
        call = f"out[i] = {call}"
    return (
        f'extern "C" __global__ void {group}_{declared["name"]}({", ".join(parameters)}) '
        f"{{ int i = threadIdx.x; {call}; }}"
    )


def _split(arguments: str) -> list[str]:
    listed = [argument.strip() for argument in arguments.split(",")]
    return [] if listed in ([""], ["void"]) else listed

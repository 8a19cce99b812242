"""The `.cu` files around a declared function: a kernel of it, and what is translated of it."""

from collections.abc import Sequence
from pathlib import Path

from custom_dispatch.errors import DeclarationError, SourceError
from custom_dispatch.kernel.abi import MAX_BINDINGS
from custom_dispatch.kernel.expr import batch, ceildiv
from custom_dispatch.kernel.function import Function
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import In, Out, Scalar
from custom_dispatch.phases import say
from custom_dispatch.store import open_store
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.object_sources import CPU_PTX_ARCH
from custom_dispatch.toolchain.produced import file_of
from custom_dispatch.toolchain.stored_build import StoredBuild

HELPERS = Path(__file__).with_name("function.cuh")
"""The types that their operands and results go through."""
_HEADERS = {"f16": "cuda_fp16.h", "bf16": "cuda_bf16.h"}
_BLOCK = 256
"""Threads of a block of the kernel."""


def kernel_form(function: Function) -> Kernel:
    """The function as a kernel, of tensors of one shape: a thread computes an element.

    Raises `DeclarationError`: it has more operands and results than a kernel may have buffers.
    """
    arguments, results = _names(function)
    count = len(arguments) + len(results)
    if count > MAX_BINDINGS:
        raise DeclarationError(
            f"Function `{function.name}` has {count} operands and results, numbers of structs "
            "counted.",
            expected=f"at most {MAX_BINDINGS}: each may be a tensor, and IREE's CUDA driver takes "
            "no more",
            next_step="declare functions for parts of it, which take fewer numbers.",
        )
    pointers = [f"const {item.dtype.c_name}* {name}" for name, item in arguments.items()]
    pointers += [f"{item.dtype.c_name}* {name}" for name, item in results.items()]
    element = "custom_dispatch_i"
    held = [f"{name}_{element}" for name in results]
    call = _call(function, [f"{name}[{element}]" for name in arguments], held)
    text = _source(
        function,
        f"{', '.join(pointers)}, long long custom_dispatch_count",
        [
            f"long long {element} = blockIdx.x * {_BLOCK}ll + threadIdx.x;",
            f"if ({element} >= custom_dispatch_count) return;",
            *call,
            *(f"{name}[{element}] = {at}.value;" for name, at in zip(results, held, strict=True)),
        ],
    )
    return Kernel(
        function.name,
        source=file_of(text, ".cu"),
        entry=function.symbol,
        operands=[
            *(In(item.name, item.dtype, [...]) for item in function.arguments),
            *(Out(item.name, item.dtype, [...]) for item in function.results),
            Scalar("custom_dispatch_count", "i64", batch),
        ],
        block=_BLOCK,
        grid=ceildiv(batch, _BLOCK),
        include_dirs=function.include_dirs,
        options=function.options,
        reference=function.reference,
        function=function,
    )


def function_ptx(function: Function) -> str:
    """The PTX of an entry that takes the operands by value, and marks the results.

    Raises `SourceError`: the source is missing, does not compile, or has no such function.
    """
    arguments, results = _names(function)
    parameters = [f"{item.dtype.c_name} {name}" for name, item in arguments.items()]
    text = _source(
        function,
        ", ".join(parameters),
        [
            *_call(function, [*arguments], [*results]),
            *(f"custom_dispatch_result<{i}>({name}.value);" for i, name in enumerate(results)),
        ],
        "#define CUSTOM_DISPATCH_MLIR" if function.library == "mlir" else "",
    )
    request = CompileRequest(
        file_of(text, ".cu"),
        CPU_PTX_ARCH,
        tuple(dict.fromkeys((*function.options, "-lineinfo"))),  # for errors
        function.include_dirs,
        (function.symbol,),
    )
    say(f"code of {function.name}")
    stored = StoredBuild(open_store())
    try:
        with stored.compiling():
            return stored.compile(find_compiler(), request).ptx.decode("utf-8", "replace")
    except SourceError as error:
        takes = ", ".join(map(str, function.operands)) or "nothing"
        raise SourceError(
            f"Function `{function.name}` cannot be compiled from `{function.source}`.",
            expected=f"a source with a __device__ function `{function.entry}` that takes {takes} "
            f"and gives {', '.join(map(str, function.results))}: no type is converted",
            next_step="correct the source or the declaration; `custom_dispatch_exp` and the like "
            'are MLIR\'s functions: without them, with library="cuda", the message is plainer:',
            log=error.log,
        ) from None


def _names(function: Function) -> tuple[dict[str, Scalar], dict[str, Scalar]]:
    """The names of parameters and results, which no source has."""
    return (
        {f"custom_dispatch_a{index}": item for index, item in enumerate(function.arguments)},
        {f"custom_dispatch_r{index}": item for index, item in enumerate(function.results)},
    )


def _call(function: Function, arguments: Sequence[str], results: Sequence[str]) -> list[str]:
    """The statements that call it, after those that declare variables for results."""
    kinds = (item.dtype.c_name for item in function.results)
    pairs = zip(kinds, results, strict=True)
    given = [f"custom_dispatch_operand({each})" for each in arguments]
    variables = [f"custom_dispatch_Result<{kind}> {name};" for kind, name in pairs]
    return [*variables, function.call(given, results)]


def _source(function: Function, parameters: str, body: Sequence[str], define: str = "") -> str:
    kinds = {item.dtype.name for item in (*function.arguments, *function.results)}
    headers = [f"#include <{name}>" for kind, name in _HEADERS.items() if kind in kinds]
    head = f'extern "C" __global__ void {function.symbol}({parameters}) {{'
    lines = [
        define,
        *headers,
        f'#include "{HELPERS}"',
        f'#include "{function.source}"',
        head,
        *(f"  {line}" for line in body),
        "}",
    ]
    return "\n".join(lines).lstrip() + "\n"

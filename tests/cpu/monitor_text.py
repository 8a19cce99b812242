"""Compiling the monitor of checked mode: `monitor.mlir` from `monitor.cu`, beside it.

``PYTHONPATH=. python tests/cpu/monitor_text.py`` writes it anew. It ships, so that `cpu:checked`
needs no CUDA compiler, and takes no time to compile its monitor. A test compares it with what comes
out now.

NVRTC compiles the source to PTX, and the functions in that are lowered like kernels, with two
differences. They stay functions, where a kernel's are put in the place of their calls, and they
call the C library. A checked module is a system library (`link_embedded = false`): what it does not
define is found in the process that loads it, which has a C library on every Linux.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cpu_harness import compile_cuda

from custom_dispatch import ptx
from custom_dispatch.cpu.analysis.control_flow import build_graph
from custom_dispatch.cpu.analysis.inline_calls import inline_calls, promote_parameters
from custom_dispatch.cpu.analysis.liveness import local_registers, registers_of
from custom_dispatch.cpu.checked.monitor import TEXT
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import POINTER, FunctionBuilder, function_text
from custom_dispatch.cpu.text.variables import global_texts
from custom_dispatch.cpu.threads.block_memory import BlockMemory, place_shared
from custom_dispatch.cpu.threads.thread_code import Callee, ThreadCode
from custom_dispatch.cpu.threads.thread_function import declare, lower_blocks

SOURCE = TEXT.with_suffix(".cu")
HEAD = "// The functions of monitor.cu, compiled by tests/cpu/monitor_text.py. Do not edit.\n"
PRINT = "vararg(!llvm.func<i32 (ptr, ptr, ...)>)"
C_LIBRARY = {
    "c_calloc": Callee("calloc", ("i64", "i64"), POINTER),
    "c_free": Callee("free", (POINTER,)),
    "c_write": Callee("write", ("i32", POINTER, "i64"), "i64"),
    "c_open_memstream": Callee("open_memstream", (POINTER, POINTER), POINTER),
    "c_fclose": Callee("fclose", (POINTER,), "i32"),
    "c_fputc": Callee("fputc", ("i32", POINTER), "i32"),
    "c_fputs": Callee("fputs", (POINTER, POINTER), "i32"),
    "c_fprintf_int": Callee("fprintf", (POINTER, POINTER, "i32"), "i32", PRINT),
    "c_fprintf_long": Callee("fprintf", (POINTER, POINTER, "i64"), "i32", PRINT),
    "c_fprintf_double": Callee("fprintf", (POINTER, POINTER, "f64"), "i32", PRINT),
}
"""The functions of the C library by the names that the source has for them."""


def monitor_text() -> str:
    """The text of `monitor.mlir`."""
    options = ["--relocatable-device-code=true", "--std=c++17", f"-I{SOURCE.parent}"]
    module = ptx.read_module(compile_cuda(SOURCE.read_text(), options=options))
    functions = [function for function in module.functions if not function.is_declaration]
    own = {function.name: _callee(function) for function in functions}
    # The symbols have dots, which no kernel's has.
    symbols = {v.name: f"check.variable.{index}" for index, v in enumerate(module.variables)}
    used: set[str] = set()
    lines = []
    for function in functions:
        lines += _function(module, function, C_LIBRARY | own, symbols, used)
    return HEAD + "\n".join([*_declarations(), *global_texts(module, symbols, used), *lines]) + "\n"


def _declarations() -> list[str]:
    """The C library's functions; IREE leaves those with the attribute to the linker."""
    found = {}
    for callee in C_LIBRARY.values():
        parameters = f"{POINTER}, {POINTER}, ..." if callee.kind else ", ".join(callee.parameters)
        result = f" -> {callee.result}" if callee.result else ""
        head = f"  llvm.func @{callee.symbol}({parameters}){result}"
        found[callee.symbol] = f"{head} attributes {{hal.import.static}}"
    return list(found.values())


def _callee(function: ptx.Function) -> Callee:
    parameters = tuple(_type(parameter) for parameter in function.parameters)
    symbol = function.name.replace("check_", "check.").replace("$", ".")
    return Callee(symbol, parameters, "".join(map(_type, function.results)))


def _type(parameter: ptx.Parameter) -> str:
    return f"i{ptx.TYPE_BITS[parameter.type]}"


def _function(
    module: ptx.Module,
    function: ptx.Function,
    callees: dict[str, Callee],
    symbols: dict[str, str],
    used: set[str],
) -> list[str]:
    """The lines of a function. Its parameters and its result are registers of its body."""
    callee = callees[function.name]
    kernel = CpuKernel(function.name, callee.symbol, (1, 1, 1), bindings=0, constants=0)
    entry = promote_parameters(inline_calls(module, _entry(function), kept=callees))
    memory = BlockMemory(kernel, place_shared((), 0))
    graph = build_graph(entry)
    thread = ThreadCode(entry, kernel, graph, symbols, memory, None, callees, used)
    frame = Frame(b := FunctionBuilder(), thread)
    passed = {
        f"{parameter.name}+0": b.named(f"%a{index}", _type(parameter))
        for index, parameter in enumerate(function.parameters)
    }
    results = [f"{result.name}+0" for result in function.results]
    frame.local = local_registers(graph, lambda _: False).difference(passed, results)
    declare(frame)
    read = {register.name for register in registers_of(thread.instructions)}
    for register, value in passed.items():
        if register in read:
            frame.write(register, value)
    b.branch("b0")
    lower_blocks(frame, b)
    b.block("exit")
    b.return_(frame.read(results[0]) if results else "", callee.result)
    arguments = [(value, value.type) for value in passed.values()]
    body = [*b.entry_lines, *b.lines]
    return function_text(callee.symbol, arguments, body, callee.result, "no_inline")


def _entry(function: ptx.Function) -> ptx.Entry:
    """A function as an entry without parameters."""
    variables = [
        ptx.Variable("param", p.name, p.type, (), p.align, None, False, 0)
        for p in (*function.results, *function.parameters)
    ]
    empty = ptx.read_module(".version 9.0 .target sm_80 .address_size 64 .entry k() { ret; }")
    return replace(
        empty.entries[0],
        name=function.name,
        body=function.body,
        variables=(*variables, *function.variables),
    )


if __name__ == "__main__":
    Path(TEXT).write_text(monitor_text())

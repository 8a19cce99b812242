"""Lowering kernels to what a CPU variant of a `hal.executable` holds."""

import re
from collections.abc import Sequence
from dataclasses import replace

from custom_dispatch.cpu.analysis import suspension
from custom_dispatch.cpu.analysis.control_flow import build_graph
from custom_dispatch.cpu.analysis.inline_calls import inline_calls
from custom_dispatch.cpu.checked.checked_block import checked_block_function, monitor
from custom_dispatch.cpu.checked.checks import Checks
from custom_dispatch.cpu.checked.sites import Sites
from custom_dispatch.cpu.cpu_kernel import CpuCode, CpuKernel
from custom_dispatch.cpu.text.variables import global_symbols, global_texts, reachable_variables
from custom_dispatch.cpu.threads.block_memory import BlockMemory, place_shared
from custom_dispatch.cpu.threads.coroutine import step_function
from custom_dispatch.cpu.threads.dispatch_function import entry_function
from custom_dispatch.cpu.threads.scheduler import block_function
from custom_dispatch.cpu.threads.thread_code import Callee, ThreadCode
from custom_dispatch.cpu.threads.thread_function import (
    MAX_STACK_BYTES,
    stack_bytes,
    thread_function,
)
from custom_dispatch.cpu.warps.lane_loop import NoWarpFormError
from custom_dispatch.cpu.warps.lane_values import LANES
from custom_dispatch.cpu.warps.warp_function import warp_function
from custom_dispatch.errors import PtxError
from custom_dispatch.ptx import Entry, Module, Origins, named_by

_PRINT = Callee("check.print", ("i64", "i64"), "i32")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def lower(module: Module, kernels: Sequence[CpuKernel], *, checked: bool = False) -> CpuCode:
    """Lower kernels of one PTX module for IREE's llvm-cpu target.

    Each becomes a function that an IREE workgroup calls: it runs one CUDA block, or several
    neighbours along x. The same input gives the same text. `.approx` results are at least as exact
    as a GPU's.

    - `module`: the PTX, read.
    - `kernels`: what to lower; their symbols differ.
    - `checked`: whether the kernels' memory accesses and more are checked while they run
      (`checked/checks.py`). The code then needs a C library, and `printf` works.

    Returns: the contents of the variant's ``builtin.module { ... }``, and what its exports must
    say.
    """
    symbols = global_symbols(module)
    used: set[str] = set()
    functions: list[str] = []
    local_memory: dict[str, int] = {}
    names = [kernel.symbol for kernel in kernels]
    sites = Sites() if checked else None
    for kernel in kernels:
        entry = _entry(module, kernel)
        if not _IDENTIFIER.fullmatch(kernel.symbol) or names.count(kernel.symbol) > 1:
            raise PtxError(
                f"The symbol {kernel.symbol!a} of kernel `{kernel.entry}` cannot be used.",
                expected="letters, digits and `_`, and another symbol for each kernel",
                next_step="rename the kernel's symbol.",
            )
        thread = _thread_code(module, entry, kernel, symbols, sites)
        thread, lines = _by_warps(thread) or (thread, _by_threads(thread))
        functions += lines
        if thread.checks is not None:
            functions += _checked_block(module, thread, thread.checks)
        functions += entry_function(thread)
        local_memory[kernel.symbol] = thread.memory.size if thread.memory.needed else 0
        used |= thread.used_globals
    if sites is not None:
        functions += monitor(sites)
    text = "\n".join(global_texts(module, symbols, used) + functions) + "\n"
    return CpuCode(text, local_memory)


def _thread_code(
    module: Module, entry: Entry, kernel: CpuKernel, symbols: dict[str, str], sites: Sites | None
) -> ThreadCode:
    callees = {} if sites is None else {"vprintf": _PRINT}
    entry = inline_calls(module, entry, kept=callees)
    graph = build_graph(entry)
    instructions = [i for block in graph.blocks for i in block.instructions]
    named = {name for instruction in instructions for name in named_by(instruction)}
    variables = [*entry.variables, *module.variables]
    # A function that is called twice declares its shared variables twice.
    shared = {v.name: v for v in variables if v.space == "shared" and v.name in named}
    memory = BlockMemory(
        kernel,
        place_shared(shared.values(), kernel.dynamic_shared_memory),
        suspends=sites is not None or any(suspension.suspends(i) for i in instructions),
        lockstep=suspension.is_lockstep(instructions),
        words=max((suspension.words_shown(i) for i in instructions), default=0),
    )
    checks = None
    if sites is not None:
        places = {v.name for v in variables if v.space != "const" or v.name in symbols}
        pointers = [f"{parameter.name}+0" for parameter in entry.parameters[: kernel.bindings]]
        origins = Origins(entry, pointers, places)
        checks = Checks(kernel, instructions, origins, pointers, memory, sites)
    return ThreadCode(entry, kernel, graph, symbols, memory, checks, callees)


def _checked_block(module: Module, thread: ThreadCode, checks: Checks) -> list[str]:
    """The function ``@symbol.checked``, which runs a block in checked mode."""
    symbols = thread.globals
    variables = {v.name: v for v in module.variables if v.name in symbols}
    rest = reachable_variables(module, symbols, thread.used_globals)
    thread.used_globals.update(checks.variables)
    names = dict.fromkeys([*checks.variables, *sorted(rest)])
    return checked_block_function(thread, [variables[name] for name in names], symbols)


def _by_threads(thread: ThreadCode) -> list[str]:
    """What runs a block thread by thread: the function ``@symbol.block`` and those it calls."""
    lines = step_function(thread) if thread.memory.suspends else []
    if thread.checks is None:
        thread.memory.check_size(thread.entry)
    return (lines or thread_function(thread)) + block_function(thread)


def _by_warps(thread: ThreadCode) -> tuple[ThreadCode, list[str]] | None:
    """The same for a kernel that can be run warp by warp, and the kernel with the memory that it
    needs then; None for any other.
    """
    if thread.checks is not None:
        return None
    instructions = thread.instructions
    memory = BlockMemory(
        thread.kernel,
        thread.memory.shared,
        suspends=any(map(suspension.is_barrier, instructions)),
        lockstep=suspension.is_lockstep(
            [i for i in instructions if not suspension.is_warp_operation(i)]
        ),
        by_warps=True,
    )
    thread = replace(thread, memory=memory)
    if stack_bytes(thread) * LANES > MAX_STACK_BYTES:
        return None
    try:
        lines = warp_function(thread) + block_function(thread)
    except NoWarpFormError:
        return None
    memory.check_size(thread.entry)
    return thread, lines


def _entry(module: Module, kernel: CpuKernel) -> Entry:
    """The kernel in the module, which was compared with its declaration before."""
    entry = module.entry(kernel.entry)
    if entry is None or len(entry.parameters) != kernel.bindings + kernel.constants:
        raise TypeError(f"no entry {kernel.entry} with the parameters declared")
    return entry

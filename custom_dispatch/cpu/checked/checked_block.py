"""Running a block in checked mode: the function around it that makes its memory and its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from custom_dispatch.cpu.checked.checks import Checks
from custom_dispatch.cpu.checked.monitor import (
    BARRIER,
    BASE,
    BLOCK_ID,
    CELL_BYTES,
    CELLS,
    CONTEXT,
    CONTEXT_BYTES,
    COUNT,
    FAILED,
    HEIGHT,
    KERNEL,
    LENGTH,
    LOCAL_BYTES,
    NAME,
    NOW,
    RECORD_BYTES,
    RECORDS,
    REGION_BYTES,
    REGION_COUNT,
    REGIONS,
    SHARED,
    SHARED_BYTES,
    SHARED_CELLS,
    USES,
    USES_BYTES,
    WIDTH,
    WRITABLE,
    WRONG,
    Field,
    call,
    get,
    number_of,
    put,
)
from custom_dispatch.cpu.text.builder import FAILURE, POINTER, Builder
from custom_dispatch.cpu.text.c_library import call_c
from custom_dispatch.cpu.text.structure import when
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.cpu.threads.thread_function import (
    PLACE,
    ThreadFunction,
    parameters_of,
    signature_text,
)
from custom_dispatch.format.failure import Failure
from custom_dispatch.ptx import Variable

LENGTHS = "%lengths"
"""The function argument that points to the bindings' lengths in bytes, each a `size_t`."""
_ALIGN = 64


def checked_signature(thread: ThreadFunction) -> tuple[tuple[str, str], ...]:
    """What ``@symbol.checked`` takes."""
    parameters = parameters_of(thread.kernel)
    return (*parameters, *PLACE, (LENGTHS, POINTER), (FAILURE, POINTER))


def checked_block_function(
    thread: ThreadFunction, variables: Sequence[Variable], symbols: Mapping[str, str]
) -> list[str]:
    """The lines of ``@symbol.checked``: it runs one block, and says in `FAILURE` how that went.

    Parameters
    ----------
    thread
        The kernel, lowered.
    variables
        The module's variables that code can reach; those that accesses were held to come first.
    symbols
        Their symbols.
    """
    b = Builder()
    kernel, memory, checks = thread.kernel, thread.memory, thread.checks
    if checks is None:
        raise TypeError(f"kernel {kernel.entry} was lowered without checks")
    count = kernel.bindings + len(variables)
    taken, (context, regions, records, cells, uses, block) = _take_memory(
        b,
        [
            CONTEXT_BYTES,
            REGION_BYTES * count,
            RECORD_BYTES * (memory.threads + 31) if checks.has_records else 0,
            CELL_BYTES * memory.shared.size,
            USES_BYTES * memory.threads if checks.may_drop else 0,
            memory.size,
        ],
    )
    null = b.value(f"llvm.mlir.zero : {POINTER}")
    name = b.value(f"llvm.mlir.addressof @check.kernel.{kernel.symbol} : {POINTER}")
    values: list[tuple[Field, str]] = [
        (NOW, b.const(1, 32)),
        (BARRIER, b.const(0, 32)),
        (SHARED, block),
        (SHARED_BYTES, b.const(memory.shared.size, 64)),
        (SHARED_CELLS, cells),
        (RECORDS, records if checks.has_records else null),
        (REGIONS, regions),
        (USES, uses),
        (REGION_COUNT, b.const(count, 32)),
        (WIDTH, b.const(kernel.block[0], 32)),
        (HEIGHT, b.const(kernel.block[1], 32)),
        (LOCAL_BYTES, b.const(checks.local_bytes, 64)),
        (KERNEL, name),
    ]
    values += [
        ((BLOCK_ID[0] + 4 * axis, "i32"), value) for axis, (value, _) in enumerate(PLACE[:3])
    ]
    for field, value in values:
        put(b, context, field, value)
    _write_regions(b, regions, thread, checks, variables, symbols)
    _run_block(b, thread, context, block)
    for index in range(count):
        call_c(b, "free", [(get(b, b.offset(regions, REGION_BYTES * index), CELLS), POINTER)])
    call_c(b, "free", [(taken, POINTER)])
    b.line("llvm.return")
    arguments = signature_text(checked_signature(thread))
    return [f"  llvm.func internal @{kernel.symbol}.checked({arguments}) {{", *b.lines, "  }"]


def _take_memory(b: Builder, sizes: Sequence[int]) -> tuple[str, list[str]]:
    """Ask the C library for zeroed memory, in one piece; return from the function without it.

    Parameters
    ----------
    sizes
        Bytes of each part.

    Returns
    -------
    tuple
        What is to be given back, and pointers to the parts, each aligned to `_ALIGN` bytes.
    """
    places, end = [], 0
    for size in sizes:
        places.append(end)
        end += -(-size // _ALIGN) * _ALIGN
    taken = call_c(b, "calloc", [(b.const(end + _ALIGN, 64), "i64"), (b.const(1, 64), "i64")])
    enough, none = b.fresh_label("enough"), b.fresh_label("none")
    b.cond_branch(b.icmp("ne", number_of(b, taken), b.const(0, 64), "i64"), enough, none)
    b.block(none)
    b.store(b.const(Failure.NO_MEMORY, 32), FAILURE, "i32", 4)
    b.line("llvm.return")
    b.block(enough)
    start = b.binary("add", number_of(b, taken), b.const(_ALIGN - 1, 64), "i64")
    start = b.cast("inttoptr", b.binary("and", start, b.const(-_ALIGN, 64), "i64"), "i64", POINTER)
    return taken, [b.offset(start, place) for place in places]


def _write_regions(
    b: Builder,
    regions: str,
    thread: ThreadFunction,
    checks: Checks,
    variables: Sequence[Variable],
    symbols: Mapping[str, str],
) -> None:
    """Write where the operands and the variables lie, whose accesses are held to them."""
    bindings = thread.kernel.bindings
    for index in range(bindings):
        length = b.load(b.offset(LENGTHS, 8 * index), "i64", 8)
        what = checks.operand(index)
        _region(b, b.offset(regions, REGION_BYTES * index), f"%p{index}", length, what)
    for index, variable in enumerate(variables, bindings):
        base = b.value(f"llvm.mlir.addressof @{symbols[variable.name]} : {POINTER}")
        what = (checks.sites.text(f"variable `{variable.name}`"), variable.space == "global")
        length = b.const(max(variable.size_bytes, 1), 64)
        _region(b, b.offset(regions, REGION_BYTES * index), base, length, what)


def _run_block(b: Builder, thread: ThreadFunction, context: str, block: str) -> None:
    """Run the block's threads, and report what was found."""
    passed = {MEMORY: block, CONTEXT: context}
    names = ", ".join(passed.get(name, name) for name, _ in thread.block_arguments)
    types = ", ".join(kind for _, kind in thread.block_arguments)
    b.line(f"llvm.call @{thread.kernel.symbol}.block({names}) : ({types}) -> ()")
    if thread.checks is not None and thread.checks.may_drop:
        call(b, "settle", [(b.const(thread.memory.threads, 32), "i32")], context=context)
    failed, wrong, count = (get(b, context, field) for field in (FAILED, WRONG, COUNT))
    wrong = b.binary("or", failed, wrong, "i32")
    with when(b, b.icmp("ne", b.binary("or", wrong, count, "i32"), b.const(0, 32), "i32")):
        call(b, "report", [], context=context)
    with when(b, b.icmp("ne", wrong, b.const(0, 32), "i32")):
        b.store(b.const(Failure.FINDING, 32), FAILURE, "i32", 4)
    call(b, "free_cells", [], context=context)


def _region(b: Builder, region: str, base: str, length: str, what: tuple[int, bool]) -> None:
    name, writable = what
    put(b, region, BASE, base)
    put(b, region, LENGTH, length)
    put(b, region, NAME, b.const(name, 32))
    put(b, region, WRITABLE, b.const(int(writable), 32))

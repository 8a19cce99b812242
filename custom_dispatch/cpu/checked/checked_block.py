"""Running a block in checked mode: the function around it that makes its memory and its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from custom_dispatch.cpu.checked.finding_report import findings_entry, report, report_globals
from custom_dispatch.cpu.checked.monitor import (
    CELL_BYTES,
    CONTEXT,
    USES_BYTES,
    Context,
    Record,
    Region,
    Sites,
    call,
    functions,
    number_of,
)
from custom_dispatch.cpu.checked.monitor_access import access_function
from custom_dispatch.cpu.checked.monitor_order import order_functions
from custom_dispatch.cpu.checked.monitor_shadow import shadow_functions
from custom_dispatch.cpu.checked.printf import print_function, print_globals
from custom_dispatch.cpu.text.builder import FAILURE, POINTER, Builder, Given, function_text
from custom_dispatch.cpu.text.c_library import call_c, declarations
from custom_dispatch.cpu.text.control_structures import when
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.cpu.threads.thread_code import LENGTHS, PLACE, ThreadCode
from custom_dispatch.format.keys import Failure
from custom_dispatch.ptx import Variable

_ALIGN = 64


def checked_block_function(
    thread: ThreadCode, variables: Sequence[Variable], symbols: Mapping[str, str]
) -> list[str]:
    """The lines of ``@symbol.checked``: it runs one block, and says in `FAILURE` how that went.

    - `thread`: the kernel, lowered.
    - `variables`: the module's variables that code can reach; those that accesses were held to come
      first.
    - `symbols`: their symbols.
    """
    b = Builder()
    kernel, memory, checks = thread.kernel, thread.memory, thread.checks
    if checks is None:
        raise TypeError(f"kernel {kernel.entry} was lowered without checks")
    count = kernel.bindings + len(variables)
    taken, (context, regions, records, cells, uses, block) = _take_memory(
        b,
        [
            Context.SIZE,
            Region.SIZE * count,
            Record.SIZE * (memory.threads + 31) if checks.has_records else 0,
            CELL_BYTES * memory.shared.size,
            USES_BYTES * memory.threads if checks.may_drop else 0,
            memory.size,
        ],
    )
    null = b.null()
    name = b.address_of(f"check.kernel.{kernel.symbol}")
    of = Context(b, context)
    of.now, of.barrier = 1, 0
    of.shared, of.shared_bytes, of.shared_cells = block, memory.shared.size, cells
    of.records = records if checks.has_records else null
    of.regions, of.uses, of.region_count = regions, uses, count
    of.width, of.height = kernel.block[:2]
    of.local_bytes, of.kernel = checks.local_bytes, name
    for index, (axis, kind) in enumerate(PLACE[:3]):
        b.store(axis, b.offset(context, Context.block + 4 * index), kind)
    for index in range(kernel.bindings):
        length = b.load(b.offset(LENGTHS, 8 * index), "i64")
        region = b.offset(regions, Region.SIZE * index)
        _write_region(b, region, f"%p{index}", length, checks.operand(index))
    for index, variable in enumerate(variables, kernel.bindings):
        base = b.address_of(symbols[variable.name])
        what = (checks.sites.text(f"variable `{variable.name}`"), variable.space == "global")
        region = b.offset(regions, Region.SIZE * index)
        _write_region(b, region, base, max(variable.size_bytes, 1), what)
    _run_block(b, thread, context, block)
    for index in range(count):
        cells = Region(b, b.offset(regions, Region.SIZE * index)).cells
        call_c(b, "free", cells)
    call_c(b, "free", taken)
    b.return_()
    return function_text(f"{kernel.symbol}.checked", thread.checked_arguments, b.lines)


def _take_memory(b: Builder, sizes: Sequence[int]) -> tuple[SsaValue, list[SsaValue]]:
    """Ask the C library for zeroed memory, in one piece; return from the function without it.

    - `sizes`: bytes of each part.

    Returns: what is to be given back, and pointers to the parts, each aligned to `_ALIGN` bytes.
    """
    places, end = [], 0
    for size in sizes:
        places.append(end)
        end += -(-size // _ALIGN) * _ALIGN
    taken = call_c(b, "calloc", end + _ALIGN, 1)
    enough, none = b.fresh_label("enough"), b.fresh_label("none")
    b.cond_branch(number_of(b, taken).cmp("ne", 0), enough, none)
    b.block(none)
    b.store(Failure.NO_MEMORY, FAILURE)
    b.return_()
    b.block(enough)
    start = (number_of(b, taken) + (_ALIGN - 1) & -_ALIGN).cast("inttoptr", POINTER)
    return taken, [b.offset(start, place) for place in places]


def _write_region(b: Builder, place: str, base: str, length: Given, what: tuple[int, bool]) -> None:
    """Write where an operand or a variable lies, its name's place, and whether it is writable."""
    region = Region(b, place)
    region.base, region.length = base, length
    region.name, region.writable = what


def _run_block(b: Builder, thread: ThreadCode, context: str, block: str) -> None:
    """Run the block's threads, and report what was found."""
    passed = {MEMORY: block, CONTEXT: context}
    arguments = [(passed.get(name, name), kind) for name, kind in thread.block_arguments]
    b.call(f"{thread.kernel.symbol}.block", arguments)
    if thread.checks is not None and thread.checks.may_drop:
        call(b, "settle", thread.memory.threads, context=context)
    of = Context(b, context)
    failed, wrong, count = of.failed, of.wrong, of.count
    wrong = failed | wrong
    with when(b, (wrong | count).cmp("ne", 0)):
        call(b, "report", context=context)
    with when(b, wrong.cmp("ne", 0)):
        b.store(Failure.FINDING, FAILURE)
    call(b, "free_cells", context=context)


def monitor(sites: Sites) -> list[str]:
    """The lines of the functions and tables that checks call and read."""
    return [
        *declarations(),
        *sites.globals(),
        *report_globals(),
        *functions(report=report),
        *order_functions(),
        *shadow_functions(),
        *access_function(),
        *print_globals(),
        *print_function(),
        *findings_entry(),
    ]

"""Running a block in checked mode: the function around it that makes its memory and its context."""

from collections.abc import Mapping, Sequence

from custom_dispatch.cpu.checked.finding import FINDINGS_ENTRY, findings_global
from custom_dispatch.cpu.checked.monitor import CONTEXT, call, monitor_functions
from custom_dispatch.cpu.checked.sites import Sites
from custom_dispatch.cpu.text.builder import FAILURE, POINTER, Builder, function_text
from custom_dispatch.cpu.text.control_structures import when
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.cpu.threads.dispatch_function import BINDING_POINTERS, declare_entry
from custom_dispatch.cpu.threads.thread_code import LENGTHS, PLACE, ThreadCode
from custom_dispatch.format.keys import Failure
from custom_dispatch.ptx import Variable


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
    kernel, checks = thread.kernel, thread.checks
    if checks is None:
        raise TypeError(f"kernel {kernel.entry} was lowered without checks")
    tables = [f"kernel.{kernel.symbol}", "sites", "texts", "texts_of_findings"]
    addresses = [b.address_of(f"check.{name}") for name in tables]
    context = call(b, "begin", *addresses, *(axis for axis, _ in PLACE[:3]))
    b.cond_branch(context.cmp("eq", 0), "no_memory", "begun")
    b.block("no_memory")
    b.store(Failure.NO_MEMORY, FAILURE)
    b.return_()
    b.block("begun")
    for index in range(kernel.bindings):
        base = b.named(f"%p{index}", POINTER)
        length = b.load(b.offset(LENGTHS, 8 * index), "i64")
        call(b, "region", context, index, base, length, *checks.operand(index))
    for index, variable in enumerate(variables, kernel.bindings):
        base = b.address_of(symbols[variable.name])
        name = checks.sites.text(f"variable `{variable.name}`")
        size, writable = max(variable.size_bytes, 1), variable.space == "global"
        call(b, "region", context, index, base, size, name, writable)
    memory = b.load(context.cast("inttoptr", POINTER), POINTER)
    passed = {MEMORY: memory, CONTEXT: context}
    arguments = [(passed.get(name, name), kind) for name, kind in thread.block_arguments]
    b.call(f"{kernel.symbol}.block", arguments)
    with when(b, call(b, "end", context).cmp("ne", 0)):
        b.store(Failure.FINDING, FAILURE)
    b.return_()
    lines = function_text(f"{kernel.symbol}.checked", thread.checked_arguments, b.lines)
    return [checks.table(kernel.bindings + len(variables)), *lines]


def monitor(sites: Sites) -> list[str]:
    """The lines of the functions and tables that checks call and read."""
    return [monitor_functions(), *sites.globals(), findings_global(), *_findings_entry()]


def _findings_entry() -> list[str]:
    """The lines of a dispatch function that writes what was found since it last ran, as texts
    with a mark before each and a zero behind the last. From then on findings are not written to
    standard error any more: whoever runs it once takes care of them.
    """
    b = Builder()
    bindings = b.load(b.offset("%dispatch", BINDING_POINTERS), POINTER)
    call(b, "findings", b.load(bindings, POINTER))
    b.return_(0, "i32")
    return declare_entry(FINDINGS_ENTRY, b)

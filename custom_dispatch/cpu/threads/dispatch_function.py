"""The function IREE calls for a workgroup.

It is written in the form that IREE's own code has after lowering, with the three pointers of an
executable library's dispatch function (iree/hal/local/executable_library.h, version 0.6:
`iree_hal_executable_dispatch_v0_t`), and not as a `func.func` of `hal.interface` operations: those
can only return success.
"""

from collections.abc import Callable

from custom_dispatch.cpu.numbers.subnormals import keep_subnormals
from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.cpu.text.control_structures import loop
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.thread_code import ThreadCode

_ARGUMENTS = ("%environment", "%dispatch", "%workgroup")
_ATTRIBUTES = "{llvm.align = 16 : i64, llvm.noalias, llvm.nonnull, llvm.noundef}"

# Byte offsets in `iree_hal_executable_dispatch_state_v0_t`.
_COUNTS = ((12, 32), (16, 32), (20, 16))
_CONSTANTS = 24
BINDING_POINTERS = 32
_BINDING_LENGTHS = 40
# In `iree_hal_executable_workgroup_state_v0_t`.
_IDS = ((0, 32), (4, 32), (8, 16))
_LOCAL_MEMORY = 16


def entry_function(thread: ThreadCode) -> list[str]:
    """The lines of ``@symbol``: it fetches what the block function takes, and runs a share of a row
    of blocks.
    """
    kernel = thread.kernel
    b = Builder()
    failure: SsaValue | None = None
    if thread.may_fail or thread.checks is not None:
        (failure,) = b.alloca("i32")
        b.store(0, failure)
    arguments = _fetch_parameters(b, thread)
    place = [_field(b, "%workgroup", offset, bits) for offset, bits in _IDS]
    place += [_field(b, "%dispatch", offset, bits) for offset, bits in _COUNTS]
    last = []
    if thread.checks is not None:
        last.append(_pointer(b, "%dispatch", _BINDING_LENGTHS))
    elif thread.memory.needed:
        last.append(_pointer(b, "%workgroup", _LOCAL_MEMORY))
    last += [failure] if failure is not None else []
    keeps = thread.keeps_subnormals
    restore = keep_subnormals(b, kernel.processor.architecture if keeps else "")

    def run(here: list[SsaValue]) -> None:
        _call_block(b, thread, [*arguments, *here, *last])

    _run_share(b, kernel.constants, place, run)
    restore()
    b.return_(0 if failure is None else b.load(failure), "i32")
    return declare_entry(kernel.symbol, b)


def declare_entry(symbol: str, body: Builder) -> list[str]:
    """The lines of a dispatch function, which returns an i32."""
    listed = ", ".join(f"{name}: {POINTER} {_ATTRIBUTES}" for name in _ARGUMENTS)
    return [f"  llvm.func @{symbol}({listed}) -> i32 {{", *body.lines, "  }"]


def _call_block(b: Builder, thread: ThreadCode, arguments: list[SsaValue]) -> None:
    """Run a block."""
    kind, signature = "block", thread.block_arguments
    if thread.checks is not None:
        kind, signature = "checked", thread.checked_arguments
    types = [type_name for _, type_name in signature]
    b.call(f"{thread.kernel.symbol}.{kind}", list(zip(arguments, types, strict=True)))


def _fetch_parameters(b: Builder, thread: ThreadCode) -> list[SsaValue]:
    """The kernel's parameters: bindings, then constants."""
    pointers = _pointer(b, "%dispatch", BINDING_POINTERS) if thread.kernel.bindings else ""
    found = [_pointer(b, pointers, 8 * index) for index in range(thread.kernel.bindings)]
    constants = _pointer(b, "%dispatch", _CONSTANTS) if thread.kernel.constants else ""
    for index in range(thread.kernel.constants):
        found.append(b.load(b.offset(constants, 4 * index)))
    return found


def _pointer(b: Builder, base: str, offset: int) -> SsaValue:
    return b.load(b.offset(base, offset), POINTER)


def _field(b: Builder, base: str, offset: int, bits: int) -> SsaValue:
    return b.load(b.offset(base, offset), f"i{bits}").resize(32)


def _run_share(
    b: Builder, ordinal: int, place: list[SsaValue], run: Callable[[list[SsaValue]], None]
) -> None:
    """Share a row of blocks out evenly among the workgroups that there are along x.

    For IREE to start a workgroup costs as much as a block of 64 threads of an elementwise kernel
    takes to run: at one block a workgroup such a kernel takes up to 1.7 times as long as IREE's
    own code for the same operation, at several 0.8 times (benchmarks/cpu/elementwise.py).
    """
    group, group_y, group_z, groups, count_y, count_z = place
    constants = _pointer(b, "%dispatch", _CONSTANTS)
    blocks = b.load(b.offset(constants, 4 * ordinal))
    share = (blocks - 1) // groups + 1  # of at least one block, as there is a workgroup
    first = group * share
    end = (first + share).call("umin", blocks)
    some = first.cmp("ult", end)
    with loop(b, some.select(end - first, 0)) as index:
        run([first + index, group_y, group_z, blocks, count_y, count_z])

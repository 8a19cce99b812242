"""One CUDA block as a function: the loop over its threads.

The threads of a block without barriers run one after another, x fastest, as a GPU might schedule
them. IREE leaves LLVM's loop vectoriser off; the loop along x asks for it where LLVM will succeed,
because LLVM warns the user where it does not.
"""

from __future__ import annotations

from custom_dispatch.cpu.analysis.guard import Comparison, Guard
from custom_dispatch.cpu.analysis.liveness import registers_of
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import Builder, int_type
from custom_dispatch.cpu.threads.thread_function import (
    THREAD,
    ThreadFunction,
    make_ids,
    signature_text,
)
from custom_dispatch.cpu.threads.vectorise import can_vectorise
from custom_dispatch.ptx import TYPE_BITS

_VECTORISE = "#llvm.loop_annotation<vectorize = <disable = false>>"


def block_function(thread: ThreadFunction, guard: Guard | None) -> list[str]:
    """The lines of the function ``@symbol.block``.

    Parameters
    ----------
    thread
        The thread's function; its text must take ``%in_range`` when there is a guard.
    guard
        The kernel's bounds check, if it has one that whole rows can do without.
    """
    kernel = thread.kernel
    b = Builder()
    arguments = thread.block_arguments
    width, height, depth = (b.const(size, 32) for size in kernel.block)
    zero, one = b.const(0, 32), b.const(1, 32)
    b.branch("z", (zero, "i32"))
    b.block("z", ("%tid_z", "i32"))
    b.branch("y", (zero, "i32"))
    b.block("y", ("%tid_y", "i32"))
    if guard is None:
        _row(b, thread, arguments, "row", width, promise=None, vectorise=False)
    else:
        names = ", ".join(name for name, _ in (*arguments, *THREAD[1:]))
        types = ", ".join(t for _, t in (*arguments, *THREAD[1:]))
        whole = b.value(f"llvm.call @{kernel.symbol}.whole({names}) : ({types}) -> i1")
        b.cond_branch(whole, "whole", "partial")
        b.block("whole")
        vectorise = can_vectorise(thread.entry, thread.graph, thread.pointers)
        _row(b, thread, arguments, "whole_row", width, promise=True, vectorise=vectorise)
        b.block("partial")
        _row(b, thread, arguments, "partial_row", width, promise=False, vectorise=False)
    b.block("next_y")
    next_y = b.binary("add", "%tid_y", one, "i32")
    more_y = b.icmp("ult", next_y, height, "i32")
    b.line(f"llvm.cond_br {more_y}, ^y({next_y} : i32), ^next_z")
    b.block("next_z")
    next_z = b.binary("add", "%tid_z", one, "i32")
    more_z = b.icmp("ult", next_z, depth, "i32")
    b.line(f"llvm.cond_br {more_z}, ^z({next_z} : i32), ^done")
    b.block("done")
    b.line("llvm.return")
    return [
        f"  llvm.func internal @{kernel.symbol}.block({signature_text(arguments)}) {{",
        *b.lines,
        "  }",
    ]


def _row(
    b: Builder,
    thread: ThreadFunction,
    arguments: tuple[tuple[str, str], ...],
    label: str,
    width: str,
    *,
    promise: bool | None,
    vectorise: bool,
) -> None:
    """The loop over x, going on at ``^next_y``."""
    passed = [*arguments, *THREAD[1:]]
    tail = []
    if promise is not None:
        tail = [(b.const(int(promise), 1), "i1")]
    zero, one = b.const(0, 32), b.const(1, 32)
    x = f"%{label}_x"
    b.branch(label, (zero, "i32"))
    b.block(label, (x, "i32"))
    call = [*passed[: len(arguments)], (x, "i32"), *passed[len(arguments) :], *tail]
    names = ", ".join(name for name, _ in call)
    types = ", ".join(type_name for _, type_name in call)
    b.line(f"llvm.call @{thread.kernel.symbol}.thread({names}) : ({types}) -> ()")
    following = b.binary("add", x, one, "i32")
    more = b.icmp("ult", following, width, "i32")
    if not vectorise:
        b.line(f"llvm.cond_br {more}, ^{label}({following} : i32), ^next_y")
        return
    b.line(
        f'"llvm.cond_br"({more}, {following})[^{label}, ^next_y] '
        f"<{{loop_annotation = {_VECTORISE}, operandSegmentSizes = array<i32: 1, 1, 0>}}> : "
        "(i1, i32) -> ()"
    )


def whole_function(thread: ThreadFunction, guard: Guard) -> list[str]:
    """The lines of ``@symbol.whole``: whether no thread of a row takes the guard's branch."""
    kernel = thread.kernel
    b = Builder()
    first = thread.graph.blocks[0].instructions
    registers = registers_of(list(first))
    stays: list[str] = []
    ends: list[list[str]] = []
    for prefix, x in (("first", 0), ("last", kernel.block[0] - 1)):
        ids = make_ids((b.const(x, 32), "%tid_y", "%tid_z"))
        frame = thread.frame(b, ids)
        frame.slot_prefix = prefix
        for register in registers:
            frame.declare_register(register)
        for instruction in first[:-1]:
            thread.lower(frame, instruction)
        predicate = guard.branch.predicate
        assert predicate is not None  # noqa: S101 - `find_guard` returns no other branch
        condition = frame.predicate(predicate.register)
        if not predicate.negated:
            condition = b.binary("xor", condition, b.const(1, 1), "i1")
        stays.append(condition)
        ends.append([_end(frame, comparison) for comparison in guard.comparisons])
        thread.used_globals |= frame.used_globals
    whole = b.binary("and", stays[0], stays[1], "i1")
    for comparison, low, high in zip(guard.comparisons, *ends, strict=True):
        type_name = comparison.instruction.parts[-1]
        bits = TYPE_BITS[type_name]
        integer = int_type(bits)
        rise = b.const(comparison.slope * (kernel.block[0] - 1), bits)
        even = b.icmp("eq", b.binary("sub", high, low, integer), rise, integer)
        ordered = b.icmp("sle" if _is_signed(comparison) else "ule", low, high, integer)
        whole = b.binary("and", whole, b.binary("and", even, ordered, "i1"), "i1")
    b.line(f"llvm.return {whole} : i1")
    arguments = signature_text((*thread.block_arguments, *THREAD[1:]))
    return [
        f"  llvm.func internal @{kernel.symbol}.whole({arguments}) -> i1 "
        "attributes {always_inline} {",
        *b.lines,
        "  }",
    ]


def _is_signed(comparison: Comparison) -> bool:
    """Whether a comparison orders its operands as signed numbers."""
    parts = comparison.instruction.parts
    return parts[-1].startswith("s") and parts[1] not in ("lo", "ls", "hi", "hs")


def _end(frame: Frame, comparison: Comparison) -> str:
    return frame.integer(comparison.grows, TYPE_BITS[comparison.instruction.parts[-1]])

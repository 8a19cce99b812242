"""One CUDA block as a function: the loop over its threads.

The threads of a block without barriers run one after another, x fastest, as a GPU might schedule
them.
"""

from __future__ import annotations

from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.structure import loop
from custom_dispatch.cpu.threads.thread_function import ThreadFunction, signature_text


def block_function(thread: ThreadFunction) -> list[str]:
    """The lines of the function ``@symbol.block``, which calls ``@symbol.thread``."""
    b = Builder()
    width, height, depth = (b.const(size, 32) for size in thread.kernel.block)
    with loop(b, depth) as z, loop(b, height) as y, loop(b, width) as x:
        call = [*thread.block_arguments, (x, "i32"), (y, "i32"), (z, "i32")]
        names = ", ".join(name for name, _ in call)
        types = ", ".join(type_name for _, type_name in call)
        b.line(f"llvm.call @{thread.kernel.symbol}.thread({names}) : ({types}) -> ()")
    b.line("llvm.return")
    return [
        f"  llvm.func internal @{thread.kernel.symbol}.block("
        f"{signature_text(thread.block_arguments)}) {{",
        *b.lines,
        "  }",
    ]

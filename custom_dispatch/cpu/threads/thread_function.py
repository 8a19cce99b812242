"""One CUDA thread as a function of the LLVM dialect.

The function takes the kernel's parameters, the block's and grid's place and the thread's, and runs
the thread to its end. It is inlined into the loop over a block's threads
(`threads/scheduler.py`). A kernel whose threads wait for each other gets another function, from
the same instructions (`threads/coroutine.py`).
"""

from custom_dispatch.cpu.analysis.control_flow import Block
from custom_dispatch.cpu.analysis.liveness import local_registers, registers_of
from custom_dispatch.cpu.analysis.spins import SpinCounter
from custom_dispatch.cpu.lowering.frame import CARRY, Frame
from custom_dispatch.cpu.lowering.instruction_table import lower_instruction
from custom_dispatch.cpu.text.builder import FunctionBuilder, Signature, function_text
from custom_dispatch.cpu.threads.thread_code import THREAD, ThreadCode
from custom_dispatch.errors import PtxError
from custom_dispatch.ptx import Instruction, Variable

MAX_LOCAL_BYTES = 32768
"""What a variable in local memory may have: IREE's own limit."""
MAX_STACK_BYTES = 98304
"""What all of them may have on a worker's stack, which has 128 KiB, with what else is there."""


def thread_function(thread: ThreadCode) -> list[str]:
    """The lines of ``@symbol.thread``."""
    b = FunctionBuilder(thread.kernel.symbol)
    frame = Frame(b, thread)
    frame.local = local_registers(thread.graph, lambda _: False)
    declare(frame)
    b.branch("b0")
    lower_blocks(frame, b)
    b.block("exit")
    b.return_()
    return inlined_function(thread, b, "thread", THREAD)


def inlined_function(
    thread: ThreadCode, b: FunctionBuilder, what: str, more: Signature
) -> list[str]:
    """The lines of ``@symbol.what``, which is inlined, and of those that it calls."""
    return [
        *(line for lines in b.functions.values() for line in lines),
        *function_text(
            f"{thread.kernel.symbol}.{what}",
            (*thread.block_arguments, *more),
            [*b.entry_lines, *b.lines],
            attribute="always_inline",
        ),
    ]


def declare(frame: Frame) -> None:
    """Give registers and local variables their places."""
    instructions = frame.thread.instructions
    for register in registers_of(instructions):
        frame.declare_register(register)
    if any("cc" in i.parts or i.parts[0] in ("addc", "subc", "madc") for i in instructions):
        frame.declare(CARRY, 1)
    size = stack_bytes(frame.thread)
    if size > MAX_STACK_BYTES:
        raise _too_large(frame, size, "in all", MAX_STACK_BYTES)
    for variable in _local_variables(frame.thread):
        if variable.size_bytes > MAX_LOCAL_BYTES:
            place = f"in `{variable.name}` (PTX line {variable.line})"
            raise _too_large(frame, variable.size_bytes, place, MAX_LOCAL_BYTES)
        frame.declare_variable(variable.name, max(variable.size_bytes, 1), variable.align)


def stack_bytes(thread: ThreadCode) -> int:
    """What the local variables of a thread take of a worker's stack."""
    sizes = (variable.size_bytes for variable in _local_variables(thread))
    return 0 if thread.memory.suspends else sum(sizes)


def _local_variables(thread: ThreadCode) -> list[Variable]:
    return [v for v in thread.entry.variables if v.space in ("local", "param")]


def _too_large(frame: Frame, size: int, place: str, most: int) -> PtxError:
    return PtxError(
        f"Kernel `{frame.thread.entry.name}` has {size} bytes of local memory {place}.",
        expected=f"at most {most} bytes, a CPU worker's stack being small",
        next_step="leave `cpu` out of the targets, or keep the array in a buffer.",
    )


def lower_blocks(frame: Frame, b: FunctionBuilder) -> None:
    """Lower every basic block, as ``^b0`` and so on; a thread's end is ``^exit``."""
    thread = frame.thread
    counter = SpinCounter(b, thread.spins) if thread.checks is None else None
    for index, block in enumerate(thread.graph.blocks):
        b.block(f"b{index}")
        if counter is not None:
            counter.begin(index)
        for instruction in block.instructions:
            if instruction is not block.branch:
                _lower(frame, instruction)
        _leave(frame, index, block)


def _leave(frame: Frame, index: int, block: Block) -> None:
    """The branch at a block's end, or the way into the next."""
    b, branch = frame.b, block.branch
    following = f"b{index + 1}" if block.falls_through else "exit"
    if branch is None:
        b.branch(following)
        return
    frame.current = branch
    if branch.parts[0] == "brx":
        _switch(frame, block, branch)
        return
    taken = f"b{block.successors[0]}" if branch.parts[0] == "bra" else "exit"
    if branch.predicate is None:
        b.branch(taken)
        return
    b.cond_branch(frame.predicate(branch.predicate), taken, following)


def _switch(frame: Frame, block: Block, branch: Instruction) -> None:
    if branch.predicate is not None:
        raise frame.unsupported("with a predicate")
    selector = frame.integer(branch.operands[0], 32)
    targets = block.successors
    cases = ", ".join(f"{case}: ^b{target}" for case, target in enumerate(targets))
    frame.b.line(f"llvm.switch {selector} : i32, ^b{targets[-1]} [{cases}]")


def _lower(frame: Frame, instruction: Instruction) -> None:
    """Lower one instruction that is no branch."""
    frame.current = instruction
    predicate = instruction.predicate
    if predicate is None:
        lower_instruction(frame)
        return
    b = frame.b
    condition = frame.read(predicate.name)
    done, run = b.fresh_label("skip"), b.fresh_label("run")
    b.cond_branch(condition, *((done, run) if predicate.negated else (run, done)))
    b.block(run)
    lower_instruction(frame)
    b.branch(done)
    b.block(done)

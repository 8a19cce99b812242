"""One CUDA thread as a function of the LLVM dialect.

The function takes the kernel's parameters, the block's and grid's place and the thread's, and runs
the thread to its end. It is inlined into the loop over a block's threads
(`threads/block_function.py`). A kernel whose threads wait for each other gets another
function, from the same instructions (`threads/coroutine.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from custom_dispatch.cpu.analysis.graph import Block, Graph, opcode_base
from custom_dispatch.cpu.analysis.inline_calls import ASSERTION
from custom_dispatch.cpu.analysis.liveness import local_registers, registers_of
from custom_dispatch.cpu.analysis.spins import SpinCounter, find_spins
from custom_dispatch.cpu.analysis.suspension import suspends
from custom_dispatch.cpu.checked.checks import Checks
from custom_dispatch.cpu.checked.monitor import CONTEXT
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.lowering.instruction_table import lowering_of
from custom_dispatch.cpu.text.builder import FAILURE, POINTER, Builder, FunctionBuilder
from custom_dispatch.cpu.text.special_registers import Ids
from custom_dispatch.cpu.threads.block_memory import MEMORY, BlockMemory
from custom_dispatch.errors import PtxError
from custom_dispatch.ptx import Entry, Instruction, Variable

MAX_LOCAL_BYTES = 32768
"""Local memory a thread may have: a worker's stack has 128 KiB, and IREE's own limit is this."""

Signature = tuple[tuple[str, str], ...]


def parameters_of(kernel: CpuKernel) -> Signature:
    """The function arguments that stand for a kernel's parameters."""
    pointers = tuple((f"%p{index}", POINTER) for index in range(kernel.bindings))
    constants = tuple((f"%p{kernel.bindings + index}", "i32") for index in range(kernel.constants))
    return pointers + constants


PLACE: Signature = tuple(
    (f"%{name}_{axis}", "i32") for name in ("ctaid", "nctaid") for axis in "xyz"
)
"""The function arguments that say which block of which grid this is."""

THREAD: Signature = tuple((f"%tid_{axis}", "i32") for axis in "xyz")
"""The function arguments that say which thread this is."""


def signature_text(signature: Signature) -> str:
    """Arguments as a function declares them."""
    return ", ".join(f"{name}: {type_name}" for name, type_name in signature)


def make_ids(thread: tuple[str, str, str]) -> Ids:
    """The ids of a thread in a function that takes `PLACE`."""
    names = [name for name, _ in PLACE]
    return Ids(thread, (names[0], names[1], names[2]), (names[3], names[4], names[5]))


class ThreadFunction:
    """Lowers an entry's instructions.

    Parameters
    ----------
    entry, kernel
        The kernel.
    graph
        Its basic blocks.
    globals_
        Symbols of the module's variables by PTX name.
    memory
        The block's memory.
    checks
        In checked mode, what is checked.
    """

    def __init__(
        self,
        entry: Entry,
        kernel: CpuKernel,
        graph: Graph,
        globals_: Mapping[str, str],
        memory: BlockMemory,
        checks: Checks | None = None,
    ) -> None:
        self.entry = entry
        self.kernel = kernel
        self.graph = graph
        self.globals = globals_
        self.used_globals: set[str] = set()
        self.memory = memory
        self.checks = checks
        self.spins = find_spins(graph)
        """The loops in which it may wait. Checked mode counts accesses instead."""

    @property
    def block_arguments(self) -> Signature:
        """What the functions of a block, a warp and a thread take first."""
        arguments = parameters_of(self.kernel) + PLACE
        if self.memory.needed:
            arguments += ((MEMORY, POINTER),)
        if self.may_fail:
            arguments += ((FAILURE, POINTER),)
        if self.checks is not None:
            arguments += ((CONTEXT, POINTER),)
        return arguments

    @property
    def may_fail(self) -> bool:
        """Whether the kernel can fail: by an instruction of its own, or by waiting in vain. In
        checked mode that is a finding.
        """
        if self.checks is not None:
            return False
        instructions = [i for block in self.graph.blocks for i in block.instructions]
        memory = self.memory
        if memory.by_warps:
            waits_in_vain = any(suspends(i) for i in instructions)
        else:
            waits_in_vain = memory.suspends and not memory.lockstep
        return (
            waits_in_vain
            or bool(self.spins.asking)
            or any(opcode_base(i) in ("trap", ASSERTION) for i in instructions)
        )

    def frame(self, builder: Builder, ids: Ids) -> Frame:
        """A frame of this kernel."""
        frame = Frame(builder, self.entry, self.kernel, ids, self.globals, self.memory)
        frame.checks = self.checks
        return frame

    def text(self) -> list[str]:
        """The function's lines."""
        builder = FunctionBuilder(self.kernel.symbol)
        ids = make_ids(("%tid_x", "%tid_y", "%tid_z"))
        frame = self.frame(builder, ids)
        frame.local = local_registers(self.graph, lambda _: False)
        self.declare(frame)
        builder.branch("b0")
        self.lower_blocks(frame, builder)
        builder.block("exit")
        builder.line("llvm.return")
        self.used_globals |= frame.used_globals
        arguments = signature_text(self.block_arguments + THREAD)
        return [
            *(line for lines in builder.functions.values() for line in lines),
            f"  llvm.func internal @{self.kernel.symbol}.thread({arguments}) "
            "attributes {always_inline} {",
            *builder.entry_lines,
            *builder.lines,
            "  }",
        ]

    def declare(self, frame: Frame) -> None:
        """Give registers and local variables their places."""
        instructions = [i for block in self.graph.blocks for i in block.instructions]
        for register in registers_of(instructions):
            frame.declare_register(register)
        if any("cc" in i.parts or i.parts[0] in ("addc", "subc", "madc") for i in instructions):
            frame.declare_carry()
        for variable in self.entry.variables:
            self._declare(frame, variable)

    def lower_blocks(self, frame: Frame, builder: FunctionBuilder) -> None:
        """Lower every basic block, as ``^b0`` and so on; a thread's end is ``^exit``.

        Parameters
        ----------
        frame, builder
            Its registers, and the frame's builder.
        """
        counter = None
        if self.checks is None:
            counter = SpinCounter(builder, self.spins)
        for index, block in enumerate(self.graph.blocks):
            frame.b.block(f"b{index}")
            if counter is not None:
                counter.begin(index)
            self._block(frame, index, block)

    def _declare(self, frame: Frame, variable: Variable) -> None:
        if variable.space not in ("local", "param"):
            return
        if variable.size_bytes > MAX_LOCAL_BYTES:
            raise PtxError(
                f"Kernel `{self.entry.name}` has {variable.size_bytes} bytes of local memory in "
                f"`{variable.name}` (PTX line {variable.line}).",
                expected=f"at most {MAX_LOCAL_BYTES} bytes, a CPU worker's stack being small",
                next_step="leave `cpu` out of the targets, or keep the array in a buffer.",
            )
        frame.declare_variable(variable.name, max(variable.size_bytes, 1), variable.align)

    def _block(self, frame: Frame, index: int, block: Block) -> None:
        branch = block.branch
        for instruction in block.instructions:
            if instruction is not branch:
                self.lower(frame, instruction)
        following = f"b{index + 1}" if block.falls_through else "exit"
        if branch is None:
            frame.b.branch(following)
            return
        frame.current = branch
        taken = self._target(frame, index, block, branch)
        if branch.predicate is None:
            frame.b.branch(taken)
            return
        condition = frame.predicate(branch.predicate.register)
        if branch.predicate.negated:
            condition = frame.b.binary("xor", condition, frame.b.const(1, 1), "i1")
        frame.b.cond_branch(condition, taken, following)

    def _target(self, frame: Frame, index: int, block: Block, branch: Instruction) -> str:
        """The label a branch goes to; a switch's blocks are emitted on the way."""
        base = opcode_base(branch)
        if base == "bra":
            return f"b{block.successors[0]}"
        if base in ("ret", "exit"):
            return "exit"
        b = frame.b
        if branch.predicate is not None:
            raise frame.unsupported(branch, "with a predicate")
        selector = frame.integer(branch.operands[0], 32)
        targets = block.successors
        label = f"switch{index}"
        b.branch(label)
        b.block(label)
        cases = ", ".join(f"{case}: ^b{target}" for case, target in enumerate(targets))
        b.line(f"llvm.switch {selector} : i32, ^b{targets[-1]} [{cases}]")
        unreachable = f"after{index}"
        b.block(unreachable)  # what the caller goes on with; no one comes here
        return f"b{targets[-1]}"

    def lower(self, frame: Frame, instruction: Instruction) -> None:
        """Lower one instruction that is no branch.

        Raises
        ------
        UnsupportedInstructionError
            The CPU target does not lower it.
        PtxError
            Its operands are not what the instruction takes.
        """
        frame.current = instruction
        lowering = lowering_of(instruction)
        if lowering is None:
            raise frame.unsupported(instruction)
        predicate = instruction.predicate
        if predicate is None:
            lowering(frame, instruction)
            return
        b = frame.b
        condition = frame.predicate(predicate.register)
        done = b.fresh_label("skip")
        run = b.fresh_label("run")
        yes, no = (done, run) if predicate.negated else (run, done)
        b.cond_branch(condition, yes, no)
        b.block(run)
        lowering(frame, instruction)
        b.branch(done)
        b.block(done)

"""The control-flow graph of a PTX entry (PTX ISA 9.0, section 9.7.12, "Control Flow")."""

from dataclasses import dataclass

from custom_dispatch.errors import PtxError
from custom_dispatch.ptx import BranchTargets, Entry, Instruction, Label, Symbol

_ENDINGS = ("bra", "brx", "ret", "exit")


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block."""

    instructions: tuple[Instruction, ...]
    """All of them; the branch, if there is one, comes last."""
    successors: tuple[int, ...]
    """Blocks control may go to, by index: a branch's targets first, then the next block."""
    falls_through: bool
    """Whether control may run on into the next block."""

    @property
    def branch(self) -> Instruction | None:
        """The instruction that leaves the block, or None when it only runs on."""
        if self.instructions and self.instructions[-1].parts[0] in _ENDINGS:
            return self.instructions[-1]
        return None


@dataclass(frozen=True, slots=True)
class Graph:
    """An entry's basic blocks, in the order written; the first is where a thread starts."""

    blocks: tuple[Block, ...]


def build_graph(entry: Entry) -> Graph:
    """Split an entry's body into basic blocks."""
    runs: list[list[Instruction]] = [[]]
    labels: dict[str, int] = {}
    tables: dict[str, tuple[str, ...]] = {}
    for statement in entry.body:
        if isinstance(statement, BranchTargets):
            tables[statement.name] = statement.targets
        elif isinstance(statement, Label):
            if runs[-1]:
                runs.append([])
            labels[statement.name] = len(runs) - 1
        else:
            runs[-1].append(statement)
            if statement.parts[0] in _ENDINGS:
                runs.append([])
    blocks: list[Block] = []
    for index, run in enumerate(runs):
        targets: tuple[int, ...] = ()
        falls_through = index + 1 < len(runs)
        if run and run[-1].parts[0] in _ENDINGS:
            last = run[-1]
            falls_through = falls_through and last.predicate is not None
            targets = tuple(
                _block_of(name, labels, entry, last) for name in branch_targets(last, tables, entry)
            )
        following = (index + 1,) if falls_through else ()
        blocks.append(Block(tuple(run), targets + following, falls_through))
    return Graph(tuple(blocks))


def branch_targets(
    branch: Instruction, tables: dict[str, tuple[str, ...]], entry: Entry
) -> tuple[str, ...]:
    """The labels a branch may go to."""
    base = branch.parts[0]
    last = branch.operands[-1] if branch.operands else None
    if base == "bra" and isinstance(last, Symbol):
        return (last.name,)
    if base == "brx" and isinstance(last, Symbol) and last.name in tables:
        return tables[last.name]
    if base in ("bra", "brx"):
        raise PtxError(
            f"Kernel `{entry.name}`, PTX line {branch.line}: `{branch.opcode}` names no label.",
            expected="a label, or for `brx.idx` the name of a `.branchtargets` table",
            next_step="give PTX as nvcc or NVRTC print it.",
        )
    return ()


def _block_of(name: str, labels: dict[str, int], entry: Entry, branch: Instruction) -> int:
    if name not in labels:
        raise PtxError(
            f"Kernel `{entry.name}`, PTX line {branch.line}: the label `{name}` is not in the "
            "kernel.",
            expected="a label of the same kernel",
            next_step="give PTX as nvcc or NVRTC print it, complete.",
        )
    return labels[name]

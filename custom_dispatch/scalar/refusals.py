"""What a function of numbers may not do, in the order in which it is told."""

from collections.abc import Callable, Iterable
from typing import Final

from custom_dispatch import ptx
from custom_dispatch.scalar.scalar_frame import ScalarFrame

_THREADS: Final = frozenset(
    {"bar", "barrier", "membar", "fence", "shfl", "vote", "match", "activemask", "redux", "elect"}
    | {"mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "cp"}
)
_MEMORY: Final = frozenset({"ld", "ldu", "st", "prefetch", "cvta"})
_ALONE: Final = "each element is computed by itself"


def refuse_more_than_arithmetic(
    frame: ScalarFrame, module: ptx.Module, instructions: Iterable[ptx.Instruction]
) -> None:
    """Raise an error that names the most telling instruction, and what is wrong with it."""
    variables = (*module.variables, *frame.thread.entry.variables)
    shared = {each.name for each in variables if each.space == "shared"}

    def begins(*bases: str) -> Callable[[ptx.Instruction], bool]:
        return lambda instruction: instruction.parts[0] in bases

    reasons: dict[str, Callable[[ptx.Instruction], bool]] = {
        "it ends what calls it": begins("trap", "__assertfail"),
        f"{_ALONE}: there is no thread or block to ask for": lambda each: any(
            isinstance(leaf, ptx.SpecialRegister) for leaf in ptx.leaves(*each.operands)
        ),
        f"{_ALONE}: there is no shared memory": lambda each: bool(
            shared.intersection(ptx.named_by(each))
        ),
        f"{_ALONE}: there are no other threads": begins(*_THREADS),
        "a function of numbers has no atomic operations": begins("atom", "red"),
        "a function of numbers has no `volatile` memory": lambda each: "volatile" in each.parts,
        "a function of numbers has no memory, nor arrays of which an index is computed": (
            lambda each: (
                each.parts[0] in _MEMORY
                or (each.parts[0] not in ("bra", "brx") and bool({*ptx.named_by(each)} - {"_"}))
            )
        ),
    }
    listed = list(instructions)
    for reason, is_wrong in reasons.items():
        frame.current = next(filter(is_wrong, listed), None)
        if frame.current is not None:
            raise frame.unsupported(reason)

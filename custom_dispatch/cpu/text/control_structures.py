"""Loops and conditions for code that is written by hand, such as the scheduler of a block."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from custom_dispatch.cpu.text.builder import Arguments, Builder, Given
from custom_dispatch.cpu.text.ssa_value import SsaValue


@contextmanager
def loop(b: Builder, count: Given, step: int = 1) -> Iterator[SsaValue]:
    """Run the body with an i32 counting from zero, while it is below `count`."""
    head, body, after = (b.fresh_label(name) for name in ("head", "body", "after"))
    index, count = b.named(b.fresh(), "i32"), b.typed(count, "i32")
    b.branch(head, (0, "i32"))
    b.block(head, (index, "i32"))
    b.cond_branch(index.cmp("ult", count), body, after)
    b.block(body)
    yield index
    b.branch(head, (index + step, "i32"))
    b.block(after)


@contextmanager
def when(b: Builder, condition: str) -> Iterator[None]:
    """Run the body if an i1 holds."""
    body, after = b.fresh_label("when"), b.fresh_label("endwhen")
    b.cond_branch(condition, body, after)
    b.block(body)
    yield
    b.branch(after)
    b.block(after)


Turn = Callable[[SsaValue, list[SsaValue]], list[SsaValue]]


def fold(b: Builder, count: Given, initial: Arguments, body: Turn) -> list[SsaValue]:
    """A loop that carries values.

    - `count`: how often it runs, an i32.
    - `initial`: the carried values at its start, with their types.
    - `body`: from the index and the carried values to the next ones.

    Returns: the values after the last turn.
    """
    head, inside, after = (b.fresh_label(name) for name in ("head", "body", "after"))
    types = [type_name for _, type_name in initial]
    count = b.typed(count, "i32")
    index, carried = b.named(b.fresh(), "i32"), [b.named(b.fresh(), kind) for kind in types]
    b.branch(head, (0, "i32"), *initial)
    b.block(head, (index, "i32"), *zip(carried, types, strict=True))
    b.cond_branch(index.cmp("ult", count), inside, after)
    b.block(inside)
    following = body(index, carried)
    b.branch(head, (index + 1, "i32"), *zip(following, types, strict=True))
    b.block(after)
    return carried


class Cell:
    """A variable on the stack, made at a function's start: LLVM makes SSA values of it."""

    def __init__(self, b: Builder, value: int, bits: int = 32) -> None:
        self._b = b
        self._type = f"i{bits}"
        (self._place,) = b.alloca(self._type)
        self.set(value)

    def get(self) -> SsaValue:
        """Its value."""
        return self._b.read(self._place, self._type)

    def set(self, value: Given) -> None:
        """Write it."""
        self._b.write(self._b.typed(value, self._type), self._place, self._type)

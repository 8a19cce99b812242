"""What can be reached from something, step by step."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node")


def reachable(
    starts: Iterable[Node], following: Callable[[Node], Iterable[Node]]
) -> Iterator[Node]:
    """What is reached from the starts, these among it, each once: who has seen enough may stop."""
    seen: set[Node] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node
            waiting += following(node)

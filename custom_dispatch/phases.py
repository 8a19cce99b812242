"""What long work is at: Python's logger `custom_dispatch`, at the level INFO."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOGGER = logging.getLogger("custom_dispatch")


def say(text: str) -> None:
    """Say what begins now, and may take long; nobody hears it who does not ask."""
    LOGGER.info(text)


class _Handler(logging.Handler):
    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(logging.INFO)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


@contextmanager
def listening(tell: Callable[[str], object]) -> Iterator[None]:
    """Have a function called with what is said in the block, by any thread."""
    handler, level = _Handler(tell), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)

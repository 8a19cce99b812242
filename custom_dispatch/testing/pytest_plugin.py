"""A plugin of pytest: `pytest -p custom_dispatch.testing.pytest_plugin --triton-on-cpu`."""

from __future__ import annotations

import importlib
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from custom_dispatch.testing import triton_on_cpu

if TYPE_CHECKING:
    import pytest

_NAME = "--triton-on-cpu"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption(
        _NAME,
        nargs="?",
        const="unchecked",
        choices=("unchecked", "checked"),
        help="run launches of Triton on the CPU; `checked`: also look for mistakes in kernels",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let launches run on the CPU from here on, when test modules are loaded, too."""
    asked = config.getoption(_NAME)
    if asked:
        with suppress(ImportError):
            importlib.import_module("torch")  # which test modules ask about its GPU as they load
        block = ExitStack()
        block.enter_context(triton_on_cpu(checked=asked == "checked"))
        config.add_cleanup(block.close)

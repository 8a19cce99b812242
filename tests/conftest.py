"""What the tests of several rooms share."""

from __future__ import annotations

import gc
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.ir import compiler_tool
from custom_dispatch.process import Completed

# The first example of a test may load a compiler or wait for another process: no time limit each.
settings.register_profile("thorough", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)

# Before anything opens the user's own; programs that tests start inherit it, and so do the workers
# of pytest-xdist, each of which would compile the kernels that the others have compiled.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _store = tempfile.TemporaryDirectory(prefix="custom-dispatch-store-")
    os.environ["CUSTOM_DISPATCH_STORE"] = _store.name
    _triton = tempfile.TemporaryDirectory(prefix="custom-dispatch-triton-")
    os.environ["TRITON_CACHE_DIR"] = _triton.name
    # What JAX computes for comparison is compiled for one call: that takes longer than the call.
    _quick = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    os.environ["XLA_FLAGS"] = f"{_quick} {os.environ.get('XLA_FLAGS', '')}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough",
        action="store_true",
        help="also run what is marked `thorough`, and more examples of each property",
    )


def pytest_configure(config: pytest.Config) -> None:
    is_thorough = config.getoption("thorough")
    settings.load_profile("thorough" if is_thorough else "quick")
    gc.set_threshold(20_000, 10, 10)
    if "PYTEST_XDIST_WORKER" in os.environ:
        compiler_tool.run = partial(_run_as_worker, compiler_tool.run, links=not is_thorough)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Those behind it take seconds each: one worker would be busy with the last of them for longer.
    items.sort(key=lambda item: "toolchain" in item.path.parts)
    if config.getoption("thorough"):
        return
    left_out = [item for item in items if item.get_closest_marker("thorough")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


def pytest_collection_finish() -> None:
    """Look for no garbage among what is loaded by now, a million objects of PyTorch and JAX."""
    gc.freeze()
    # PyTorch takes a fifth of an export for records with tracebacks if this logger has a handler,
    # and pytest listens to each logger that passes nothing on.
    logging.getLogger("torch.__trace").propagate = True


def _run_as_worker(
    run: Callable[..., Completed], arguments: Sequence[str | Path], *, links: bool, **options: Any
) -> Completed:
    """Run iree-compile in a worker: the workers have the cores already.

    Passes that are set up for several threads take a fifth more time for the small models of tests.
    Executables of their own, which several threads compile at once, take three times the time of
    one for all (`links`), where a model has a hundred of them. Only a module for CPUs can have one,
    and none where two kernels have a symbol of the same name.
    """
    one = [*arguments, "--mlir-disable-threading"]
    if links and "--iree-hal-target-device=local" in one and _APART in one:
        done = run([argument for argument in one if argument != _APART], **options)
        if done.returncode == 0:
            return done
    return run(one, **options)


_APART = "--iree-hal-link-executables=false"

Declare = Callable[..., cd.Kernel]


@pytest.fixture
def declare() -> Declare:
    """Declare a kernel that is right in every part that a test does not give."""

    def declare(name: Any = "scale", **changes: Any) -> cd.Kernel:
        n = cd.dim("n")
        parts: dict[str, Any] = {
            "source": "scale.cu",
            "operands": [
                cd.In("x", "f32", [n]),
                cd.Out("y", "f32", [n]),
                cd.Scalar("factor", "f32"),
                cd.Scalar("count", "i32", n),
            ],
            "block": 64,
            "grid": cd.ceildiv(n, 64),
        }
        return cd.Kernel(name, **(parts | changes))

    return declare


@pytest.fixture(scope="session")
def mixed() -> CompiledModule:
    """`mixed_invocation.mlir` for two GPU architectures and the CPU."""
    model = Path(__file__).parents[1] / "mlir" / "mixed_invocation.mlir"
    targets = ["cuda:sm_80", "cuda:sm_90", "cpu"]
    return cd.compile(model, [simple_mul, simple_mul_inplace], targets)

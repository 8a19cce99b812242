"""Options that several commands share, and progress on a terminal."""

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import click

from custom_dispatch.files import check_output
from custom_dispatch.kernel.target import DEFAULT_TARGETS, read_device
from custom_dispatch.phases import LOGGER

Command = TypeVar("Command", bound=Callable[..., Any])

_LONG_S = 2.0
"""How long a phase takes that a log tells of."""

FILE = click.Path(path_type=Path)

kernels = click.argument("kernels", nargs=-1, required=True, type=click.Path())
target = click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    default=DEFAULT_TARGETS,
    show_default=True,
    metavar="TARGET",
    callback=lambda _context, _option, words: _split(words),
    help="cuda:sm_80, cuda:sm_90a, cpu, cpu:host, ...; repeat it or use commas.",
)
_BUILD_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "objects": click.option(
        "--objects",
        type=FILE,
        help="Take the objects from this directory (NAME_sm_XX.ptx, as CMake writes them) instead "
        "of compiling.",
    ),
    "compiler": click.option(
        "--compiler",
        type=click.Choice(["auto", "nvrtc", "nvcc"]),
        default="auto",
        show_default=True,
        help="The compiler; auto uses NVRTC, and nvcc for sources with host code.",
    ),
    "include_dirs": click.option(
        "--include",
        "-I",
        "include_dirs",
        multiple=True,
        type=FILE,
        help="A directory to search for headers.",
    ),
    "image": click.option(
        "--image",
        type=click.Choice(["ptx", "cubin", "fatbin"]),
        default="ptx",
        show_default=True,
        help="PTX, which also runs on later GPUs; machine code; or one file with both for all "
        "targets.",
    ),
    "ptx_version": click.option(
        "--ptx-version", metavar="VERSION", help="The PTX version to write, for old drivers: 8.0."
    ),
}
"""The keywords of `cd.build`, as options."""


def build(*names: str) -> Callable[[Command], Command]:
    """How kernels are built: a command gets the options of these keywords together, as `how`."""

    def decorate(command: Command) -> Any:
        @wraps(command)
        def gathered(**given: Any) -> Any:
            how = {name: given.pop(name) for name in names}
            return command(**given, how=how)

        for name in reversed(names):
            _BUILD_OPTIONS[name](gathered)
        return gathered

    return decorate


class _Seconds(click.FloatRange):
    """A number in a range. click takes NaN for one, which neither is below nor above."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{number} is not in the range {self.min}<=x<={self.max}.", param, ctx)
        return number


class _Directory(click.Path):
    """The name of a directory. click takes an empty text, which is a variable without a value."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("the name is empty: write . for the working directory.", param, ctx)
        return super().convert(value, param, ctx)


DIRECTORY = _Directory(path_type=Path)

function = click.option("--function", "-f", help="The function; optional if there is only one.")
inputs = partial(click.option, "--input", "-i", "texts", multiple=True, metavar="INPUT")
parameters = click.option(
    "--parameters",
    type=FILE,
    help="The .irpa file with the weights, if it is not beside MODULE with the same name.",
)
shape = partial(click.option, "--shape", "-s", "shapes", multiple=True, metavar="NAME=SIZE,...")
"""Sizes of a kernel's dims, as `parse_sizes` reads them."""
repetitions = partial(
    click.option, "--repetitions", type=click.IntRange(1, 1_000_000), show_default=True
)
seconds = partial(click.option, "--seconds", type=_Seconds(0.001, 3600), show_default=True)
timeout = partial(click.option, "--timeout", type=_Seconds(0.1, 86400), show_default=True)
_DEVICES = ("auto", "cuda", "cuda:1", "cpu")
device = partial(
    click.option,
    "--device",
    type=read_device,  # whether there is such a device is asked where it is used
    default="auto",
    show_default=True,
    metavar="auto|cuda|cuda:N|cpu",
    shell_complete=lambda *given: [name for name in _DEVICES if name.startswith(given[-1])],
    help="Where to run; auto is the first GPU that can run it, else the CPU; cuda:1 is the second "
    "GPU.",
)


def device_for(wanted: str) -> tuple[str, str]:
    """The device that a kernel is built for, and why it is the CPU."""
    from custom_dispatch.runtime.device_choice import choose_device  # loads IREE

    chosen = choose_device(wanted, "", None)
    return chosen.device.argument, chosen.reason if chosen.device.kind == "cpu" else ""


def input_files(texts: Sequence[str]) -> list[Path]:
    """The files of --input, which are read."""
    return [Path(text[1:]) for text in texts if text.startswith("@")]


def object_files(how: Mapping[str, Any]) -> list[Path]:
    """The files of --objects, which are read."""
    directory = how["objects"]
    return [] if directory is None else [*Path(directory).glob("*")]


def check_outputs(*outputs: Path | None, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse to write over what the command reads, and over Python that it has imported."""
    given = [*filter(None, inputs)]
    for output in filter(None, outputs):
        # Thousands of files, which are looked at only where there is an output already.
        files = (vars(item).get("__file__") for item in [*sys.modules.values()] if item is not None)
        imported = (Path(file) for file in files if isinstance(file, str))
        check_output(output, chain(given, imported))


def _split(targets: Iterable[str]) -> list[str]:
    """Targets given again and again, or with commas, or both."""
    return [name.strip() for word in targets for name in word.split(",") if name.strip()]


@contextmanager
def progress(message: str) -> Iterator[Callable[[str], None]]:
    """Show what is going on, and for how long: on a terminal always, in a log what takes long.

    What the rooms log is shown, and what is given to the function that comes back.
    """
    started, timers = time.monotonic(), list[threading.Timer]()

    def print_later(more: str) -> None:
        """Print a phase once it has taken a while."""
        while timers:
            timers.pop().cancel()
        line = f"{message}: {more} (since {time.monotonic() - started:.0f} s)"
        timers.append(threading.Timer(_LONG_S, click.echo, [line], {"err": True}))
        timers[-1].daemon = True
        timers[-1].start()

    if not sys.stderr.isatty():
        with _listening(print_later):
            yield lambda _: None
        while timers:
            timers.pop().cancel()
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(message, total=None)

        def say(more: str) -> None:
            shown.update(task, description=f"{message}: {more}")

        with _listening(say):
            yield say


@contextmanager
def _listening(tell: Callable[[str], object]) -> Iterator[None]:
    """Have a function called with what any thread says of its work."""

    def hear(record: logging.LogRecord) -> bool:
        tell(record.getMessage())
        return True

    level = LOGGER.level
    LOGGER.addFilter(hear)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeFilter(hear)
        LOGGER.setLevel(level)

"""The command line, one module a command."""

import contextlib
import errno
import importlib
import io
import os
import signal
import sys
import threading
import traceback
import warnings
from functools import cache
from types import FrameType
from typing import NoReturn

import click
from click.shell_completion import shell_complete

from custom_dispatch import __version__
from custom_dispatch.cli.report import show_error, with_json_places
from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.files import remove_temporary_directories
from custom_dispatch.process import end_all

PROGRAM = "custom-dispatch"
COMPLETE = "_CUSTOM_DISPATCH_COMPLETE"
"""Set where a shell asks what completes a word, as click's own programs have it."""
EXIT_INPUT = 2
"""The exit status for wrong usage or input; click uses it too."""
EXIT_INTERNAL = 1
EXIT_SIGNAL = 128
"""What a shell adds to the number of the signal by which a program ended."""
EXIT_INTERRUPTED = EXIT_SIGNAL + signal.SIGINT
EXIT_BROKEN_PIPE = EXIT_SIGNAL + signal.SIGPIPE

_verbose_option = click.option(
    "--verbose", is_flag=True, expose_value=False, help="Show a traceback with every error."
)


_COMMANDS = {
    "bench": "Time a function of a .vmfb, or a kernel.",
    "build": "Build kernels to objects.",
    "check": "Build kernels and compare them with their references.",
    "cmake-dir": "Print where the CMake function is.",
    "compile": "Link kernels into a model; compile one .vmfb.",
    "demo": "Build, compile and run two sample kernels.",
    "doctor": "Report what this machine can build and run.",
    "emit": "Write the .mlir that stock iree-compile takes.",
    "inspect": "Show what is in a file.",
    "profile": "Say where the time of a function's calls goes.",
    "run": "Run a function of a .vmfb.",
    "store": "Show, verify or clear the store.",
    "tune": "Measure the kernels of a choice.",
    "which": "Say which kernel of a choice a call takes, and why.",
}
"""What the list of commands says of each. Its module, which has its name, is imported when the
command is asked for: some load IREE and what compiles."""


@cache
def command_of(name: str) -> click.Command:
    """A command of the command line, imported."""
    module = importlib.import_module(f"custom_dispatch.cli.{name.replace('-', '_')}")
    command: click.Command = module.command
    for item in (command, *getattr(command, "commands", {}).values()):
        _verbose_option(item)
    return command


class _Group(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command_of(name) if name else command, rest


@click.group(
    cls=_Group,
    commands={name: click.Command(name, short_help=text) for name, text in _COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name=PROGRAM)
@_verbose_option
def group() -> None:
    """Hand-written CUDA kernels inside every model that the IREE compiler compiles.

    KERNELS is a Python module or file that declares kernels at its top level, in lists, tuples and
    dicts too: cuda_kernels.simple_mul, my/kernels.py.
    """


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status: errors are sentences on stderr."""
    words = sys.argv[1:] if arguments is None else arguments
    verbose = "--verbose" in words
    if asked := os.environ.get(COMPLETE):
        return shell_complete(group, {}, PROGRAM, COMPLETE, asked)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            status = group.main(with_json_places(words), prog_name=PROGRAM, standalone_mode=False)
    except CustomDispatchError as error:
        return _fail(f"error: {error}", EXIT_INPUT, verbose)
    except click.ClickException as error:
        _show_usage_error(error)
        return EXIT_INPUT
    except (KeyboardInterrupt, click.Abort) as stop:
        ended = stop if isinstance(stop, KeyboardInterrupt) else stop.__cause__  # click's way
        if isinstance(ended, _EndedError):
            return _fail("ended", EXIT_SIGNAL + ended.number, verbose=False)
        return _fail("interrupted", EXIT_INTERRUPTED, verbose=False)
    except SystemExit:
        _drop_output()  # click's answer to a pipe that nobody reads
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence instead of a traceback
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and not error.filename:
            _drop_output()
            return _fail(
                f"error: Standard output cannot be written: {error.strerror}.\n"
                "  next step: make room where it goes to.",
                EXIT_INPUT,
                verbose,
            )
        return _fail(
            f"error: internal error: {type(error).__name__}: {error}\n"
            "  next step: run the command again with --verbose and report what it prints.",
            EXIT_INTERNAL,
            verbose,
        )
    return status if isinstance(status, int) else 0


def _drop_output() -> None:
    """Write no more: what is still buffered would fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _EndedError(KeyboardInterrupt):
    """Somebody wants the process to end: `timeout`, a CI, a container, a closed terminal.

    As with Ctrl-C, compilers end with it and nothing is left behind: they have sessions of their
    own, which no signal to this process reaches.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


_running = False
"""Whether a command runs, and has not said how it ended."""
_PATIENCE_S = 0.7
"""How long threads have to come to their end: one may be in a compiler, which hears nothing."""


def _end(number: int, frame: FrameType | None) -> NoReturn:
    if _imports(frame):
        _leave(number)
    leaving = threading.Timer(_PATIENCE_S, _leave, [number])
    leaving.daemon = True
    leaving.start()
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise _EndedError(number)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported: C++ that begins one may abort at an exception."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _leave(number: int) -> NoReturn:
    """End at once, as `main` ends a command that was interrupted."""
    end_all()
    remove_temporary_directories()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        if _running:
            _fail("interrupted" if number == signal.SIGINT else "ended", 0, verbose=False)
    os._exit(EXIT_SIGNAL + number)


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning as a sentence, without the line of code that it came from."""
    if not issubclass(category, DeprecationWarning):
        show_error(f"warning: {message}", "yellow")


def _show_usage_error(error: click.ClickException) -> None:
    """Print click's own text, which ends with the error."""
    text = io.StringIO()
    error.show(text)
    usage, mark, message = text.getvalue().rstrip("\n").partition("Error: ")
    click.echo(usage, err=True, nl=False)
    show_error(mark + message)


def _fail(message: str, status: int, verbose: bool) -> int:
    if verbose:
        traceback.print_exc()
    show_error(message)
    return status


def _open_streams() -> None:
    """Give a process that was started without standard streams, as daemons are, ones to nowhere."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115, PTH123


def script() -> None:
    """The `custom-dispatch` program."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # `nohup` has SIGHUP ignored, and a shell SIGINT of what it starts in the background.
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)
    global _running
    _running = True
    _open_streams()
    status = main()
    _running = False
    sys.exit(status)

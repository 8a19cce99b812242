"""Completion of commands in a shell: options, targets, kernels, functions and files.

No code of the user runs for it: modules are looked for and not imported, names read from the text.
"""

from __future__ import annotations

import os
import pkgutil
import re
import shlex
import sys
from contextlib import redirect_stderr, suppress
from functools import partial
from glob import escape
from importlib.machinery import ModuleSpec, PathFinder
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from custom_dispatch.cli.report import show_error

PROGRAM = "custom-dispatch"
VARIABLE = "_CUSTOM_DISPATCH_COMPLETE"
"""In the environment where a shell asks, "bash_complete"."""
_SHIPPED = "cuda_kernels"
_MOST_BYTES, _MOST_MODULE_BYTES = 1 << 20, 1 << 28
"""Of a file, and of a .vmfb, that is read for the names in it: nobody waits for more."""

Items = list[CompletionItem[str]]

_BASH = """\
%(complete_func)s() {
    local type value line=${COMP_LINE:0:COMP_POINT}
    local word=${line##*[[:space:]]}
    local known=$(( ${#word} > ${#2} ? ${#word} - ${#2} : 0 ))
    COMPREPLY=()
    while IFS=, read -r type value; do
        if [[ $type == plain ]]; then
            COMPREPLY+=("${value:known}")
        else
            compopt -o filenames
            type=${type/%%dir/directory}
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -A "$type" -- "$2")
        fi
    done < <(env %(complete_var)s=bash_complete COMP_WORDS="$line" "${1/#\\~/$HOME}" 2> /dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[./] ]]; then compopt -o nospace; fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Words(ShellComplete):
    """`--target=cpu` is one word: what completes its value comes back with the option."""

    def get_completions(self, args: list[str], incomplete: str) -> Items:
        option, mark, begun = incomplete.rpartition("=" if incomplete.startswith("--") else "\0")
        found = super().get_completions([*args, option] if mark else args, begun)
        for item in found:
            item.value = option + mark + item.value
        return found


class _Bash(_Words, BashComplete):
    """For bash, which takes `cuda:sm_80` for three words: the script gives it what is behind."""

    source_template: ClassVar[str] = _BASH

    @staticmethod
    def _check_version() -> None:
        """Start no program for it: docs/command-line.md says which version."""

    def get_completion_args(self) -> tuple[list[str], str]:
        # With a letter more, what is not begun yet is a word too.
        *words, last = split_arg_string(os.environ["COMP_WORDS"] + "_")
        return words[1:], last[:-1]


class _Zsh(_Words, ZshComplete):
    """For zsh."""


class _Fish(_Words, FishComplete):
    """For fish; values may have commas."""

    source_template: ClassVar[str] = FishComplete.source_template.replace("split ", "split -m 1 ")


_SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that makes SHELL complete commands, options, targets, kernels and files.

    In ~/.bashrc or ~/.zshrc:  eval "$(custom-dispatch completion bash)"

    In ~/.config/fish/config.fish:  custom-dispatch completion fish | source
    """
    click.echo(_of(shell, context.find_root().command).source())


def _of(shell: str, command: click.Command) -> ShellComplete:
    return _SHELLS[shell](command, {}, PROGRAM, VARIABLE)


def answer(command: click.Command, asked: str) -> int:
    """Answer a shell, and return the exit status. What goes wrong meanwhile completes nothing."""
    shell, _, what = asked.partition("_")
    if shell not in _SHELLS or what not in ("source", "complete"):
        show_error(
            f"error: {VARIABLE} is {asked[:60]!r}.\n"
            f"  expected: a shell that is known, {', '.join(_SHELLS)}: bash_source\n"
            f"  next step: unset it, and write: {PROGRAM} completion bash"
        )
        return 2
    if what == "source":
        click.echo(_of(shell, command).source())
        return 0
    with suppress(Exception), redirect_stderr(StringIO()):
        click.echo(_of(shell, command).complete())
    return 0


def complete_targets(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Targets, also behind a comma; LLVM's CPUs once their names are begun."""
    from custom_dispatch.kernel.cpu_names import X86_64
    from custom_dispatch.kernel.target import AARCH64, CPU_NAMES, Arch

    before, comma, begun = incomplete.rpartition(",")
    levels = [name for name in X86_64 if name.startswith("x86-64")]
    cpus = ["host", "checked", AARCH64, *levels] if begun in ("", "cpu:") else CPU_NAMES
    every = [*(f"cuda:{arch}" for arch in Arch.known()), "cpu", *(f"cpu:{cpu}" for cpu in cpus)]
    return [before + comma + name for name in every if name.startswith(begun)]


def complete_kernels(_: click.Context, __: click.Parameter, incomplete: str) -> Items:
    """Modules and files that may declare kernels."""
    return [*map(CompletionItem, _modules(incomplete)), CompletionItem(incomplete, type="file")]


def complete_functions(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """The functions of the module, a .vmfb, that the command line names."""
    from custom_dispatch.runtime.module_file import ModuleFile

    path = _subject(context)
    if Path(path).suffix != ".vmfb" or Path(path).stat().st_size > _MOST_MODULE_BYTES:
        return []
    return [name for name in ModuleFile(path).functions() if name.startswith(begun)]


def complete_inputs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Files of arrays, behind the @."""
    if not incomplete.startswith("@"):
        return []
    directory, slash, begun = incomplete[1:].rpartition("/")
    found = sorted(Path(directory + slash or ".").expanduser().glob(escape(begun) + "*"))
    names = [f"{path.name}/" if path.is_dir() else path.name for path in found]
    values = [f"@{directory}{slash}{name}" for name in names if name.endswith(("/", ".npy"))]
    # What a shell would read as more than a word is left to whoever quotes it.
    return [value for value in values if shlex.quote(value) == value]


def _modules(begun: str) -> list[str]:
    """Modules whose names begin so, a package also with the point behind which its own follow."""
    package, point, last = begun.rpartition(".")
    if not begun:
        return [_SHIPPED, f"{_SHIPPED}."]
    spec = _spec(package) if package else None
    inside = [] if spec is None else spec.submodule_search_locations or []
    found = []
    for item in pkgutil.iter_modules(inside if package else _places()):
        if item.name.startswith(last) and item.name.startswith("_") == last.startswith("_"):
            name = package + point + item.name
            found += [name, f"{name}."] if item.ispkg else [name]
    return found


def _places() -> list[str]:
    return [str(Path.cwd()), *sys.path[1:]]  # the first is where this program is


def _spec(name: str) -> ModuleSpec | None:
    """Where a module is, without importing the packages that it is in."""
    spec, place = None, _places()
    for part in accumulate(name.split("."), "{}.{}".format):
        spec = PathFinder.find_spec(part, place)
        if spec is None:
            break
        place = list(spec.submodule_search_locations or [])
    return spec


def _subject(context: click.Context) -> str:
    """The file or module that a command is about."""
    given = [context.params.get(name) for name in ("module", "subject")]
    # click does not get as far as to name it where an option lacks its value.
    return next((str(item) for item in (*given, *context.args) if item), "")


def complete_declared(
    kind: str, context: click.Context, _: click.Parameter, begun: str
) -> list[str]:
    """The kernels or choices of KERNELS that stand in its text by their names."""
    subject = _subject(context)
    spec = None if subject.endswith(".py") else _spec(subject)
    path = Path((spec and spec.origin) or subject)
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_MOST_BYTES)
    names = re.findall(rf"""\b{kind}\(\s*(?:name\s*=\s*)?["'](\w+)["']""", text)
    return [name for name in dict.fromkeys(names) if name.startswith(begun)]


complete_kernel_names = partial(complete_declared, "Kernel")
complete_choices = partial(complete_declared, "Choice")

"""Compiler options as declared with a kernel: nvcc's spellings, one meaning for both compilers.

Options that would move the output, change the architecture or stop at another phase are refused,
because the build decides those. So are the ones that act on machine code: what is built is PTX,
and they would do nothing to it without a word.

Source: nvcc 13.0 `--help`, and the NVRTC 13.0 documentation, "Supported Compile Options".
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from custom_dispatch.errors import DeclarationError


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its long name, and its value where it has one."""

    name: str
    value: str | None = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value}"


# These alone are joined to their value without a sign: -DNAME, -O3.
_JOINED = ("-D", "-I", "-O", "-U", "-m")

DEBUG_INFORMATION = "--device-debug"
"""It describes every variable of a source, and every type."""


@dataclass(frozen=True)
class _Known:
    """The options in `nvcc_options.toml`."""

    with_value: Mapping[str, str]
    flags: Mapping[str, str]
    refused: Mapping[str, str]
    """Names by the reason."""
    of_the_host: str
    """Names of those that change nothing with NVRTC."""

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """Why options are refused, by name."""
        return {name: why for why, names in self.refused.items() for name in names.split()}


@cache
def _known() -> _Known:
    return _Known(**tomllib.loads(Path(__file__).with_name("nvcc_options.toml").read_text()))


def check_options(options: Sequence[str]) -> tuple[Option, ...]:
    """Read declared options."""
    if isinstance(options, str):
        raise DeclarationError(
            f"options is the text {options!r}.",
            expected="a list of texts, one an option",
            next_step=f"write options={options.split()!r}.",
        )
    return tuple(_read(iter(options)))


def for_nvcc(options: Sequence[Option]) -> list[str]:
    """The options as arguments of nvcc."""
    return [str(option) for option in options]


def for_nvrtc(options: Sequence[Option]) -> list[str]:
    """The options as NVRTC takes them, without those of the host's half."""
    # NVRTC has no system include path; a directory is a directory to it.
    renamed = {"--system-include": "--include-path"}
    return [
        str(Option(renamed.get(option.name, option.name), option.value))
        for option in options
        if option.name not in _known().of_the_host.split()
    ]


def option_values(options: Sequence[Option], name: str) -> tuple[str, ...]:
    """The values that an option is given, in order."""
    return tuple(option.value or "" for option in options if option.name == name)


def option_directories(options: Sequence[Option]) -> tuple[str, ...]:
    """The directories that options add to the search for headers, in order."""
    names = ("--include-path", "--system-include")
    return tuple(option.value or "" for option in options if option.name in names)


def _read(tokens: Iterator[str]) -> Iterator[Option]:
    for token in tokens:
        if not isinstance(token, str):
            raise DeclarationError(
                f"A compiler option is given as {type(token).__name__}.",
                expected="text such as '-use_fast_math'",
                next_step="quote the option.",
            )
        if not token.startswith("-") or "\0" in token:
            raise DeclarationError(
                f"{token!r} is not a compiler option.",
                expected="an option, which begins with `-`",
                next_step="name sources and include directories in the declaration instead.",
            )
        name, value = _split(token)
        if name in _known().reasons:
            raise DeclarationError(
                f"The compiler option `{token}` is refused: {_known().reasons[name]}.",
                next_step=f"remove `{token}` from the kernel's options.",
            )
        if name in _known().with_value.values() and value is None:
            value = next(tokens, None)
            if value is None:
                raise DeclarationError(
                    f"The compiler option `{token}` has no value.",
                    expected=f"{token} VALUE",
                    next_step="add the value, or remove the option.",
                )
        yield Option(name, value)


def _split(token: str) -> tuple[str, str | None]:
    name, sign, value = token.partition("=")
    if name in _known().with_value:
        return _known().with_value[name], value if sign else None
    if name in _known().reasons or name in _known().with_value.values():
        return name, value if sign else None
    if token in _known().flags:
        return _known().flags[token], None
    for short in _JOINED:
        # `-DA=1`: the sign belongs to the value. `-dopt` and the like were dealt with above.
        digits = short in ("-m", "-O")  # -m64, -O3; not -minimal, -Ofast-compile=max
        if token.startswith(short) and (token[2:].isdigit() or not digits):
            return _known().with_value[short], token[len(short) :]
    return token, None

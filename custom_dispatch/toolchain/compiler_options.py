"""Compiler options as declared with a kernel: nvcc's spellings, one meaning for both compilers.

Options that would move the output, change the architecture or stop at another phase are refused,
because the build decides those. So are the ones that act on machine code: what is built is PTX,
and they would do nothing to it without a word.

Source: nvcc 13.0 `--help`, and the NVRTC 13.0 documentation, "Supported Compile Options".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from custom_dispatch.errors import DeclarationError


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its long name, and its value where it has one."""

    name: str
    value: str | None = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value}"


# nvcc's short names of options, by the long ones used here. Each takes a value.
_WITH_VALUE = {
    "-D": "--define-macro",
    "-I": "--include-path",
    "-O": "--optimize",
    "-U": "--undefine-macro",
    "-Werror": "--Werror",
    "-Xcompiler": "--compiler-options",
    "-ccbin": "--compiler-bindir",
    "-diag-error": "--diag-error",
    "-diag-suppress": "--diag-suppress",
    "-diag-warn": "--diag-warn",
    "-fmad": "--fmad",
    "-ftz": "--ftz",
    "-include": "--pre-include",
    "-isystem": "--system-include",
    "-m": "--machine",
    "-prec-div": "--prec-div",
    "-prec-sqrt": "--prec-sqrt",
    "-rdc": "--relocatable-device-code",
    "-std": "--std",
}
# These alone are joined to their value without a sign: -DNAME, -O3.
_JOINED = ("-D", "-I", "-O", "-U", "-m")
_FLAGS = {
    "-G": "--device-debug",
    "-allow-unsupported-compiler": "--allow-unsupported-compiler",
    "-expt-extended-lambda": "--extended-lambda",
    "--expt-extended-lambda": "--extended-lambda",
    "-expt-relaxed-constexpr": "--expt-relaxed-constexpr",
    "-extended-lambda": "--extended-lambda",
    "-extra-device-vectorization": "--extra-device-vectorization",
    "-lineinfo": "--generate-line-info",
    "-restrict": "--restrict",
    "-use_fast_math": "--use_fast_math",
    "-w": "--disable-warnings",
}

DEBUG_INFORMATION = "--device-debug"
"""It describes every variable of a source, and every type."""

_TARGET = "the kernel's targets decide the architecture"
_OUTPUT = "the build decides where objects go"
_PHASE = "the build always compiles to PTX"
_MACHINE_CODE = (
    "it acts when machine code is made, which is when the PTX loads, and would change nothing here"
)
_OTHER_INPUT = "it brings in inputs that the build could not see change"
_MAXRREGCOUNT = f"{_MACHINE_CODE}; declare max_registers= instead"

# By reason, and in nvcc's order of short and long names.
_REFUSED_FOR = {
    _TARGET: "-arch --gpu-architecture -code --gpu-code -gencode --generate-code",
    _OUTPUT: "-o --output-file -odir --output-directory -keep --keep -save-temps --save-temps "
    "-keep-dir --keep-dir -objtemp --objdir-as-tempdir -MF --dependency-output "
    "-MD --generate-dependencies-with-compile "
    "-MMD --generate-nonsystem-dependencies-with-compile "
    "-pch --pch -create-pch --create-pch -use-pch --use-pch -pch-dir --pch-dir "
    "-time --time -fdevice-time-trace --fdevice-time-trace",
    _PHASE: "-ptx --ptx -c --compile -dc --device-c -dw --device-w -cubin --cubin "
    "-fatbin --fatbin -cuda --cuda -E --preprocess -lib --lib -link --link "
    "-dlink --device-link -run --run -M --generate-dependencies "
    "-MM --generate-nonsystem-dependencies -optix-ir --optix-ir -ltoir --ltoir "
    "-dlto --dlink-time-opt -dryrun --dryrun -clean --clean-targets -x --x "
    "-h --help -V --version",
    _MACHINE_CODE: "-Xptxas --ptxas-options -dopt --dopt",
    _MAXRREGCOUNT: "-maxrregcount --maxrregcount",
    _OTHER_INPUT: "-optf --options-file",
}
_REFUSED = {name: reason for reason, names in _REFUSED_FOR.items() for name in names.split()}

# Of the host's half of the compilation only: NVRTC has none, so they change nothing there.
_HOST_ONLY = frozenset(
    {
        "--allow-unsupported-compiler",
        "--compiler-bindir",
        "--compiler-options",
        "--machine",
        "--optimize",
    }
)


def check_options(options: Sequence[str]) -> tuple[Option, ...]:
    """Read declared options.

    Raises
    ------
    DeclarationError
        One is not text, has no value where it needs one, or is refused.
    """
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
        if option.name not in _HOST_ONLY
    ]


def option_values(options: Sequence[Option], name: str) -> tuple[str, ...]:
    """The values that an option is given, in order."""
    return tuple(option.value or "" for option in options if option.name == name)


def option_directories(options: Sequence[Option]) -> tuple[str, ...]:
    """The directories that options add to the search for headers, in order."""
    names = ("--include-path", "--system-include")
    return tuple(option.value or "" for option in options if option.name in names)


def option_macros(options: Sequence[Option]) -> tuple[tuple[str, str], ...]:
    """The macros that options define, with their values."""
    pairs = (value.partition("=") for value in option_values(options, "--define-macro"))
    return tuple((name, value) for name, _, value in pairs)


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
        if name in _REFUSED:
            raise DeclarationError(
                f"The compiler option `{token}` is refused: {_REFUSED[name]}.",
                next_step=f"remove `{token}` from the kernel's options.",
            )
        if name in _WITH_VALUE.values() and value is None:
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
    if name in _WITH_VALUE:
        return _WITH_VALUE[name], value if sign else None
    if name in _REFUSED or name in _WITH_VALUE.values():
        return name, value if sign else None
    if token in _FLAGS:
        return _FLAGS[token], None
    for short in _JOINED:
        # `-DA=1`: the sign belongs to the value. `-dopt` and the like were dealt with above.
        digits = short in ("-m", "-O")  # -m64, -O3; not -minimal, -Ofast-compile=max
        if token.startswith(short) and (token[2:].isdigit() or not digits):
            return _WITH_VALUE[short], token[len(short) :]
    return token, None

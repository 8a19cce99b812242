"""A kernel's code: its files and compiler options, its function's name, and that of single targets.

The name of a `__global__` function, as `entry=` may give it, is a plain identifier, or a C++ name:
`ns::scale`, `rms_norm<float, 256>`, and, to choose one of several overloads, with its parameter
types: `scale(const float*, float*, int)`. It goes into C++ source that is compiled, so nothing
passes but what such a name is made of.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.kernel.target import EVERY_CPU, Target

_MAX_LENGTH = 10_000
"""Characters; names of CUTLASS's kernels have thousands."""
_PART = r"[A-Za-z_]\w*|[0-9][\w.]*|::|[<>(),*&+-]"
_WORD = r"\w"
_IDENTIFIER = r"[A-Za-z_]\w*"
_CLOSES = {"<": ">", "(": ")"}


@dataclass(frozen=True, slots=True)
class CppName:
    """A function's C++ name, taken apart."""

    function: str
    """The name with its namespaces and template arguments: "ns::scale<float>"."""
    parameters: str | None
    """The parameter types that choose an overload: "const float*, int"; None where not given."""

    @property
    def is_identifier(self) -> bool:
        """Whether it is a plain name, which a C function may have as well."""
        return (
            self.parameters is None
            and re.fullmatch(_IDENTIFIER, self.function, re.ASCII) is not None
        )

    @property
    def address(self) -> str:
        """A C++ constant expression: the function's address."""
        if self.parameters is None:
            return f"&{self.function}"
        return f"static_cast<void (*)({self.parameters})>(&{self.function})"

    def __str__(self) -> str:
        return self.function + ("" if self.parameters is None else f"({self.parameters})")


def check_entry(kernel: str, entry: object) -> str:
    """Return a declared entry with its blanks as this package writes them."""
    found = _read(entry) if isinstance(entry, str) else None
    if found is None:
        raise DeclarationError(
            f"Kernel `{kernel}`: entry {shown(entry)} is not the name of a function.",
            expected="a name such as scale, ns::scale or rms_norm<float, 256>, or, to choose an "
            "overload, scale(const float*, int)",
            next_step="name the __global__ function as C++ code would; simplify template "
            "arguments with an alias in the source.",
        )
    return str(found)


def cpp_name(entry: str) -> CppName:
    """A checked entry, taken apart."""
    found = _read(entry)
    if found is None:  # pragma: no cover - `check_entry` let it pass
        raise TypeError(f"not an entry: {entry}")
    return found


@lru_cache(maxsize=4096)  # forms of a kernel have the same
def _read(entry: str) -> CppName | None:
    tokens = re.findall(_PART, entry, re.ASCII)
    if len(entry) > _MAX_LENGTH or "".join(tokens) != entry.replace(" ", ""):
        return None  # something else than tokens and blanks is in it
    position = 1 if tokens[:1] == ["::"] else 0
    while True:
        if position == len(tokens) or re.fullmatch(_IDENTIFIER, tokens[position], re.ASCII) is None:
            return None
        position += 1
        if tokens[position : position + 1] == ["<"]:
            end = _end_of_group(tokens, position)
            if end is None:
                return None
            position = end
        if tokens[position : position + 1] != ["::"]:
            break
        position += 1
    function, rest = _joined(tokens[:position]), tokens[position:]
    if not rest:
        return CppName(function, None)
    if rest[0] != "(" or _end_of_group(rest, 0) != len(rest):
        return None
    return CppName(function, _joined(rest[1:-1]))


def _end_of_group(tokens: list[str], start: int) -> int | None:
    """The position behind the bracket that closes the one at `start`."""
    waiting: list[str] = []
    for position in range(start, len(tokens)):
        token = tokens[position]
        if token in _CLOSES:
            waiting.append(_CLOSES[token])
        elif token in _CLOSES.values():
            if waiting.pop() != token:
                return None
            if not waiting:
                return position + 1
    return None


def _joined(tokens: list[str]) -> str:
    text = ""
    for token in tokens:
        if text.endswith(",") or (
            re.match(_WORD, token, re.ASCII) and re.fullmatch(r"[\w*&>]", text[-1:], re.ASCII)
        ):
            text += " "
        text += token
    return text


def declaring_directory() -> Path:
    """The directory of the file that declares a kernel; the working directory at a prompt."""
    frame = sys._getframe(2)
    file = frame.f_globals.get("__file__")
    return _directory_of(file) if isinstance(file, str) else Path.cwd()


@lru_cache(maxsize=256)
def _directory_of(file: str) -> Path:
    return Path(file).resolve().parent


def check_path(
    kernel: str, what: str, path: str | os.PathLike[str], base: Path, *, of: str = "Kernel"
) -> Path:
    """A file's or directory's path, relative to the declaring file's directory.

    - `what`: what it is, for errors: "source".
    - `base`: the directory that it is relative to.
    - `of`: what it is a part of, if that is no kernel.
    """
    try:
        text = os.fspath(path)
    except TypeError:
        text = ""
    if not isinstance(text, str) or not text or not is_argument(text, escaped=True):
        raise DeclarationError(
            f"{of} `{kernel}`: {what} is given as {shown(path)}.",
            expected="a file's path, as text or a pathlib.Path",
            next_step=f"name the file, relative to the one that declares the {of.lower()}.",
        )
    return base / text


def check_include_dirs(
    kernel: str, directories: Sequence[str | os.PathLike[str]], base: Path
) -> tuple[Path, ...]:
    """The directories that are searched for headers."""
    if not is_list(directories):
        raise DeclarationError(
            f"Kernel `{kernel}`: include_dirs is {shown(directories)}.",
            expected="a list of directories",
            next_step='put the directory into a list: include_dirs=["include"].',
        )
    return tuple(check_path(kernel, "an include directory", path, base) for path in directories)


def check_objects(
    kernel: str, objects: Mapping[str, str | os.PathLike[str]] | None, base: Path
) -> tuple[tuple[Target, Path], ...]:
    """Objects built elsewhere, by target."""
    if objects is None:
        return ()
    if not isinstance(objects, Mapping):
        raise DeclarationError(
            f"Kernel `{kernel}`: objects is given as {shown(objects)}.",
            expected="a dict of files by target",
            next_step='write objects={"cuda:sm_90": "kernel.ptx"}.',
        )
    found: dict[Target, Path] = {}
    for name, path in objects.items():
        target = Target.parse(name)
        if not target.is_cuda:
            raise DeclarationError(
                f"Kernel `{kernel}`: an object is given for target {target}.",
                expected="objects for cuda:sm_XX targets; the CPU runs the PTX of one of them",
                next_step=f"drop {str(target)!r} from objects.",
            )
        if target in found:
            raise DeclarationError(
                f"Kernel `{kernel}`: two objects are given for target {target}.",
                expected="one a target",
                next_step="drop one of them.",
            )
        found[target] = check_path(kernel, f"the object for {target}", path, base)
    return tuple(sorted(found.items(), key=lambda item: str(item[0])))


def check_options(kernel: str, options: Sequence[str]) -> tuple[str, ...]:
    """The compiler's options."""
    if not is_list(options) or not all(map(is_argument, options)):
        raise DeclarationError(
            f"Kernel `{kernel}`: options is {shown(options)}.",
            expected='a list of texts, one an option: ["-use_fast_math", "-DTILE=64"]',
            next_step="put each option into a text of its own.",
        )
    return tuple(options)


def is_argument(option: object, *, escaped: bool = False) -> bool:
    """Whether a program can be given it: text of characters that exist, none of them NUL.

    `escaped`: whether it may have bytes that are no text, as Python keeps those of file names.
    """
    if not isinstance(option, str) or "\0" in option:
        return False
    try:
        option.encode("utf-8", "surrogateescape" if escaped else "strict")
    except UnicodeEncodeError:
        return False
    return True


class Launch(TypedDict, total=False):
    """The keywords of a kernel that `with_launch` replaces; None keeps what there is."""

    block: Sequence[int] | int | None
    grid: Sequence[Expr | int] | Expr | int | None
    dynamic_shared_memory: int | None
    launch_bounds: int | None
    max_registers: int | None
    cluster: Sequence[int] | int | None
    options: Sequence[str] | None


class TargetParts(Launch, total=False):
    """The keywords of a kernel that an `Implementation` replaces, too."""

    source: str | os.PathLike[str] | None
    objects: Mapping[str, str | os.PathLike[str]] | None
    entry: str | None
    include_dirs: Sequence[str | os.PathLike[str]] | None


def given_parts(parts: Mapping[str, Any], known: type, where: str) -> dict[str, Any]:
    """The keywords of a call that are not None; raises TypeError for what is not `known`'s."""
    for name in parts:
        if name not in known.__annotations__:
            raise TypeError(f"{where}() got an unexpected keyword argument {name!r}")
    return {name: value for name, value in parts.items() if value is not None}


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Implementation:
    """Other code for a kernel on one target: `implementations={"cuda:sm_90a": ...}`.

    The implementation for `cpu` runs on every CPU, for instance the PTX of a source without tensor
    cores. `cpu:checked` runs the kernel's own code, whose mistakes it looks for.

    Arguments that are given replace the kernel's own; the others stay. A source replaces objects,
    and objects a source. The operands, and so the C signature, the reference and the requirements
    are the same on every target.

    Parameters
    ----------
    source, objects, entry, block, grid, dynamic_shared_memory, options, launch_bounds, \
max_registers, cluster, include_dirs
        As of a kernel; paths are relative to the file that declares it.
    """

    given: Mapping[str, Any]
    """The parts that it replaces, by name."""

    def __init__(self, **parts: Unpack[TargetParts]) -> None:
        given = given_parts(parts, TargetParts, "Implementation.__init__")
        object.__setattr__(self, "given", given)


Implementations = tuple[tuple[Target, Implementation], ...]


def check_implementations(
    kernel: str, given: Mapping[str, Implementation] | None, base: Path
) -> Implementations:
    """Implementations by target, in the targets' order, their paths relative to a directory."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise DeclarationError(
            f"Kernel `{kernel}`: implementations is given as {shown(given)}.",
            expected="a dict of cd.Implementation by target",
            next_step='write implementations={"cuda:sm_90a": cd.Implementation(source=...)}.',
        )
    found: dict[Target, Implementation] = {}
    for name, item in given.items():
        target = Target.parse(name)
        if not (target.is_cuda or target == EVERY_CPU) or target in found:
            raise DeclarationError(
                f"Kernel `{kernel}`: "
                + ("two implementations are" if target in found else "an implementation is")
                + f" given for target {target}.",
                expected="one for each cuda:sm_XX target that needs another than the kernel's own, "
                "and one for cpu, which is every CPU",
                next_step="drop one of them." if target in found else "give it for cpu.",
            )
        if not isinstance(item, Implementation) or not item.given:
            said = "replaces nothing" if isinstance(item, Implementation) else f"is {shown(item)}"
            raise DeclarationError(
                f"Kernel `{kernel}`: the implementation for {target} {said}.",
                expected="cd.Implementation with a source, objects, an entry, a block or whatever "
                "else is another there",
                next_step="give what differs, or drop it.",
            )
        with naming(kernel, target):
            found[target] = _located(kernel, item, base, target)
    on_gpus = [(target, item) for target, item in found.items() if target.is_cuda]
    on_gpus.sort(key=lambda pair: pair[0].cuda_arch, reverse=True)
    return (*on_gpus, *((target, item) for target, item in found.items() if not target.is_cuda))


def _located(kernel: str, item: Implementation, base: Path, target: Target) -> Implementation:
    given = dict(item.given)
    if "objects" in given:
        objects = check_objects(kernel, given["objects"], base)
        targets = [other for other, _ in objects]
        if target.is_cuda and targets != [target]:
            raise DeclarationError(
                f"Kernel `{kernel}`: objects are given for {', '.join(map(str, targets))}.",
                expected=f"one object, for {target}: other targets do not use it",
                next_step="give each target's object to its own implementation.",
            )
        given["objects"] = {str(other): path for other, path in objects}
    if "source" in given:
        given["source"] = check_path(kernel, "source", given["source"], base)
    if "include_dirs" in given:
        given["include_dirs"] = check_include_dirs(kernel, given["include_dirs"], base)
    return Implementation(**given)


@contextmanager
def naming(kernel: str, target: Target) -> Iterator[None]:
    """Say in errors of a declaration which of its implementations they are about."""
    try:
        yield
    except DeclarationError as error:
        named, plain = f"Kernel `{kernel}`, implementation for {target}", f"Kernel `{kernel}`"
        raise error.saying(error.found.replace(plain, named, 1)) from None


@dataclass(frozen=True, slots=True)
class Produced:
    """Code that another language's compiler made for a target, and the launch that it needs."""

    path: Path
    """A PTX file."""
    entry: str
    block: Sequence[int] | int | None
    """Threads; None for those that are declared."""
    dynamic_shared_memory: int
    """Bytes."""


class Producer(Protocol):
    """Makes a kernel's code when it is built. Plain data: what it says is what code is kept by."""

    def produce(self, kernel: str, target: Target) -> Produced:
        """The code for a CUDA target; `kernel` is its name, for errors."""
        ...

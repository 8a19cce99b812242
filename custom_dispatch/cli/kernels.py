"""Finding the kernels and patterns that a module or file declares."""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from custom_dispatch.errors import CallError, CustomDispatchError, DeclarationError, users_line
from custom_dispatch.files import exists, is_directory, is_file
from custom_dispatch.installation import install_command
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import check_declared, kernels_of
from custom_dispatch.kernel.function import Function
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import chosen, type_name

Item = TypeVar("Item")

_CUDA = ".cu"

_EVERY_PATTERN = "everything"
_PATTERNS = ("cd.Pattern", "cd.jax.Pattern", "cd.onnx.Pattern", "cd.torch.Pattern")
_EXTRAS = ("jax", "onnx", "torch")
"""Frameworks that an extra of this package brings, in the version that it needs."""


def load_members(names: tuple[str, ...]) -> list[Kernel]:
    """As `load_kernels`, with the kernels of choices in their places, each once."""
    return _each_once(kernel for item in load_kernels(names) for kernel in kernels_of(item))


def choice_in(subject: str, name: str | None, option: str = "--choice NAME") -> Choice:
    """The choice of a file or module that has a name, or the only one there is."""
    found = {item.name: item for item in load_kernels((subject,)) if isinstance(item, Choice)}
    if not found:
        raise CallError(
            f"`{subject}` declares no choice.",
            expected="a cd.Choice of the kernels to be compared",
            next_step='write gemm = cd.Choice("gemm", [...], tuning="gemm.tuning.json").',
        )
    return chosen(f"`{subject}` declares", found, name, "choice", option)


def load_kernels(names: tuple[str, ...]) -> list[Kernel | Choice]:
    """Every kernel and choice that the modules or files declare, in their order, each once; and the
    kernels of functions.

    They are at the module's top level, those in lists, tuples and dicts among them.
    """
    found: list[Kernel | Choice] = []
    for name in names:
        every = _held(import_named(name))
        declared = (each for each in every if isinstance(each, Kernel | Choice | Function))
        kernels = [check_declared(each, name) for each in declared]
        if not kernels:
            raise DeclarationError(
                f"`{name}` declares no kernel.",
                expected="module-level cd.Kernel objects, or lists of them",
                next_step='declare one: simple_mul = cd.Kernel("simple_mul", ...).',
            )
        found += kernels
    return _each_once(found)


def load_patterns(names: tuple[str, ...], kinds: tuple[str, ...]) -> list[Any]:
    """Every pattern that modules or files have, in their order, each once.

    A module's patterns are `everything` where it has that name; else all at its top level, those in
    lists, tuples and dicts among them.

    `kinds`: the kinds that the model's format takes, "cd.onnx.Pattern". Others are left out.
    """
    found: list[Any] = []
    for name in names:
        # No front end is loaded to tell what is a pattern: its type's name says it.
        every = _held(import_named(name, "patterns"), _EVERY_PATTERN)
        every = [item for item in every if type_name(item) in _PATTERNS]
        fitting = [item for item in every if type_name(item) in kinds]
        if not fitting:
            others = sorted({type_name(item) for item in every})
            raise DeclarationError(
                f"`{name}` has no pattern for this model"
                + (f", but {' and '.join(others)}." if others else "."),
                expected=f"module-level {' or '.join(kinds)} objects, or lists of them",
                next_step="write pattern = cd.Pattern(kernel, computes=...), or the like, there.",
            )
        found += fitting
    return _each_once(found)


def _each_once(items: Iterable[Item]) -> list[Item]:
    return list({id(item): item for item in items}.values())


def _held(module: ModuleType, everything: str = "") -> list[Any]:
    """What a module has at its top level, and in the places of lists, tuples and dicts what these
    hold; or only what it has by the name `everything`, where it has that.
    """
    # A module may declare some only when they are asked for, and list them all the same.
    names = module.__dir__()
    waiting = [getattr(module, name) for name in ((everything,) if everything in names else names)]
    waiting.reverse()
    found, seen = list[Any](), set[int]()
    while waiting:
        value = waiting.pop()
        if not isinstance(value, list | tuple | dict):
            found.append(value)
        elif id(value) not in seen:  # a list may hold itself
            seen.add(id(value))
            waiting += [*(value.values() if isinstance(value, dict) else value)][::-1]
    return found


def import_named(name: str, what: str = "kernels") -> ModuleType:
    """Import a module by its name, or a file by its path.

    `what`: what is looked for in it, for errors.
    """
    path = Path(name)
    is_file = path.suffix in (".py", _CUDA) or "/" in name
    if is_file:
        _check_file(path, what)
    elif not all(part.isidentifier() for part in name.split(".")):
        raise _no_module(name)
    try:
        if is_file:
            return _import_file(path)
        # As `python -m` does: a module of the working directory is found too.
        with _search_first(Path.cwd()):
            return importlib.import_module(name)
    except CustomDispatchError as error:
        place = _place(error).strip(" ()")
        raise error.saying(f"{place}: {error.found}" if place else error.found) from error
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise _no_module(name) from None
        raise _cannot_import(name, error) from error
    except (Exception, SystemExit) as error:
        raise _cannot_import(name, error) from error


def _no_module(name: str) -> DeclarationError:
    return DeclarationError(
        f"There is no Python module `{name}`.",
        expected="an importable module such as cuda_kernels.simple_mul, or a .py file",
        next_step="correct the name; a file is given by its path: my/kernels.py.",
    )


def _check_file(path: Path, what: str) -> None:
    if is_file(path) and path.suffix == ".py":
        return
    problem = "does not exist"
    if exists(path):
        problem = "is a directory" if is_directory(path) else "is not a Python file"
    raise DeclarationError(
        f"The {what}' file `{path}` {problem}.",
        expected=f"a Python file, NAME.py, that declares {what}",
        next_step="declare them in a Python file beside it, and give that: see README.md."
        if path.suffix == _CUDA and is_file(path)
        else "correct the path.",
    )


def _import_file(path: Path) -> ModuleType:
    file = path.resolve()
    # A name of its own: a file may be called path.py or json.py without taking that module's place.
    name = f"_custom_dispatch_{file.stem}_{hashlib.sha256(bytes(file)).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None  # noqa: S101 - a name that ends in .py has a loader
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickling look a module up by its name, so it is there while it runs.
    sys.modules[name] = module
    try:
        with _search_first(file.parent):  # the file may import its neighbours, as a script may
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


_neighbours: dict[str, Path] = {}
"""Modules that were found in a directory that was searched first, and that directory."""


@contextmanager
def _search_first(directory: Path) -> Iterator[None]:
    """Find modules of a directory before others, as a script beside them does.

    Two files may each have a neighbour `shared.py`: the second does not get that of the first.
    """
    for name, place in [*_neighbours.items()]:
        if place != directory and _file_of(name, directory):
            del _neighbours[name]
            sys.modules.pop(name, None)
    path, before = list(sys.path), set(sys.modules)
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            top = sys.modules.get(name.partition(".")[0])
            if getattr(top, "__file__", None) == _file_of(name, directory) is not None:
                _neighbours[name] = directory


def _file_of(name: str, directory: Path) -> str | None:
    """The file of a module, or of the package that it is a part of, in a directory; None: none."""
    spec = PathFinder.find_spec(name.partition(".")[0], [str(directory)])
    return None if spec is None else spec.origin


def _cannot_import(name: str, error: BaseException) -> DeclarationError:
    todo = "correct the file"
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        package = error.name.partition(".")[0]
        todo = f"install the package that holds `{package}`, or correct the file"
        if package in _EXTRAS:
            todo = f"install it ({install_command(package)}), or correct the file"
    said = error.msg if isinstance(error, SyntaxError) else str(error).rstrip(".")
    return DeclarationError(
        f"`{name}` cannot be imported: {type(error).__name__}: {said}{_place(error)}.",
        next_step=f"{todo}; --verbose shows the whole traceback.",
    )


def _place(error: BaseException) -> str:
    """The file and line that the reader can correct: the innermost that is not this package's."""
    if isinstance(error, SyntaxError):
        return f" ({error.filename}, line {error.lineno})"
    line = users_line(error, Path(str(importlib.__file__)))
    return f" ({line.filename}, line {line.lineno})" if line else ""

"""Finding the kernels that a module or file declares."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from custom_dispatch.errors import CustomDispatchError, DeclarationError
from custom_dispatch.kernel.kernel import Kernel


def load_kernels(names: tuple[str, ...]) -> list[Kernel]:
    """Every kernel that the modules or files declare, in their order.

    Raises
    ------
    DeclarationError
        One does not exist, cannot be imported, or declares no kernel.
    """
    found: dict[int, Kernel] = {}
    for name in names:
        module = _import(name)
        kernels = [value for value in vars(module).values() if isinstance(value, Kernel)]
        if not kernels:
            raise DeclarationError(
                f"`{name}` declares no kernel.",
                expected="module-level cd.Kernel objects",
                next_step='declare one: simple_mul = cd.Kernel("simple_mul", ...).',
            )
        found.update((id(kernel), kernel) for kernel in kernels)
    return list(found.values())


def _import(name: str) -> ModuleType:
    path = Path(name)
    try:
        if path.suffix == ".py" or "/" in name:
            return _import_file(path)
        # As `python -m` does: a module of the working directory is found too.
        with _search_first(Path.cwd()):
            return importlib.import_module(name)
    except CustomDispatchError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise DeclarationError(
                f"There is no Python module `{name}`.",
                expected="an importable module such as cuda_kernels.simple_mul, or a .py file",
                next_step="correct the name; a file is given by its path: my/kernels.py.",
            ) from None
        raise _cannot_import(name, error) from error
    except (Exception, SystemExit) as error:
        raise _cannot_import(name, error) from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        problem = "is a directory" if path.is_dir() else "does not exist"
        raise DeclarationError(
            f"The kernels' file `{path}` {problem}.",
            expected="a Python file that declares kernels",
            next_step="correct the path.",
        )
    file = path.resolve()
    # A name of its own: a file may be called path.py or json.py without taking that module's place.
    name = f"_custom_dispatch_{file.stem}_{hashlib.sha256(bytes(file)).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise DeclarationError(
            f"`{path}` is not a Python file.",
            expected="a name that ends in .py",
            next_step="rename it, or give the module's name.",
        )
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


@contextmanager
def _search_first(directory: Path) -> Iterator[None]:
    before = list(sys.path)
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.path[:] = before


def _cannot_import(name: str, error: BaseException) -> DeclarationError:
    return DeclarationError(
        f"`{name}` cannot be imported: {type(error).__name__}: {_message(error)}{_place(error)}.",
        next_step="correct the file; --verbose shows the whole traceback.",
    )


def _message(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error).rstrip(".")


def _place(error: BaseException) -> str:
    """The file and line that the reader can correct: the innermost that is no import machinery."""
    if isinstance(error, SyntaxError):
        return f" ({error.filename}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame
        for frame in frames
        if not frame.filename.startswith("<frozen")
        and frame.filename not in (__file__, importlib.__file__)
    ]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""

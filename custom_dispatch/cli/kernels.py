"""Finding the kernels that a module or file declares."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
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
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(Path.cwd()))
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
    except Exception as error:
        raise _cannot_import(name, error) from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise DeclarationError(
            f"The kernels' file `{path}` does not exist.",
            expected="a Python file that declares kernels",
            next_step="correct the path.",
        )
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise DeclarationError(
            f"`{path}` is not a Python file.",
            expected="a name that ends in .py",
            next_step="rename it, or give the module's name.",
        )
    module = importlib.util.module_from_spec(spec)
    # The file may import its neighbours, as a script may.
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _cannot_import(name: str, error: Exception) -> DeclarationError:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return DeclarationError(
        f"`{name}` cannot be imported: {type(error).__name__}: {error}{place}.",
        next_step="correct the file; --verbose shows the whole traceback.",
    )

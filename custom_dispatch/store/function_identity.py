"""What tells a Python function from another that computes something else."""

import dis
import functools
import sys
from collections.abc import Callable, Collection, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from custom_dispatch.store.key import key_of

_NUMBERS = (type(None), bool, int, float, complex, str, bytes, type(...))
_PURE = frozenset({"builtins", "functools", "itertools", "math", "operator", "typing"})
"""Modules of Python's whose functions give the same for the same arguments."""
_IMPURE = frozenset(
    {"__import__", "compile", "eval", "exec", "globals", "id", "input", "locals", "open", "vars"}
)
"""Functions of Python's that read what no code refers to."""


class _UnknownError(Exception):
    """Something is referred to that has no known form."""


def function_identity(
    function: Any,
    packages: Collection[str],
    constants: tuple[type, ...] = (),
    open_to_all: Mapping[str, Collection[str]] | None = None,
    parts_of: Callable[[Any], tuple[Any, ...] | None] | None = None,
) -> bytes | None:
    """A digest of a function's code and of everything that the code refers to.

    None where it refers to what has no known form, such as an object of a class of the user's:
    what the function computes may change then without being seen.

    - `packages`: packages whose functions and classes are known by their names. Their versions are
      not part of the digest.
    - `constants`: types whose objects are known by their texts.
    - `open_to_all`: names of the packages' under which others put things of their own, and what the
      packages themselves have there: {"ops": ["aten"]} for `torch.ops.aten`.
    - `parts_of`: what an object is known by instead of itself; None for one that it knows nothing
      of.
    """
    try:
        return key_of(
            "function",
            sys.version,
            _Describing(packages, constants, open_to_all or {}, parts_of).of(function),
        )
    except (_UnknownError, RecursionError):  # a list may hold itself
        return None


class _Describing:
    """Describes objects in parts of keys."""

    def __init__(
        self,
        packages: Collection[str],
        constants: tuple[type, ...],
        open_to_all: Mapping[str, Collection[str]],
        parts_of: Callable[[Any], tuple[Any, ...] | None] | None,
    ) -> None:
        self._packages = frozenset(packages) | _PURE
        self._constants = constants
        self._open_to_all = open_to_all
        self._parts_of = parts_of or (lambda _: None)
        self._known: dict[int, int] = {}

    def of(self, value: Any) -> object:
        """An object as a part of a key; raises _UnknownError for one that has no known form."""
        match value:
            case _ if isinstance(value, _NUMBERS) and type(value) in _NUMBERS:
                return type(value).__name__, repr(value)
            case tuple() | list() if type(value) in (tuple, list):
                return type(value).__name__, [self.of(item) for item in value]
            case dict() if type(value) is dict and all(isinstance(key, str) for key in value):
                return "dict", [(key, self.of(item)) for key, item in value.items()]
            case frozenset():
                return "set", sorted(repr(self.of(item)) for item in value)
            case ModuleType() if sys.modules.get(value.__name__) is value:
                return "module", self._in_packages(value.__name__)
            case CodeType():
                return self._code(value)
            case functools.partial():
                return "partial", self.of((value.func, value.args, value.keywords))
            case _ if isinstance(value, self._constants):
                return "constant", type(value).__qualname__, str(value)
        parts = self._parts_of(value)
        if parts is not None:
            return "parts", self.of(parts)
        if self._is_named(value):
            return "named", value.__module__, value.__qualname__
        if isinstance(value, FunctionType):
            return self._function(value)
        raise _UnknownError

    def _in_packages(self, module: str) -> str:
        if module.partition(".")[0] not in self._packages:
            raise _UnknownError
        return module

    def _is_named(self, value: Any) -> bool:
        """Whether it is what a package has by its name: wrappers and methods copy those names."""
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            return False
        if module.partition(".")[0] not in self._packages or module not in sys.modules:
            return False
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part, None)
        return found is value

    def _function(self, function: FunctionType) -> object:
        if id(function) in self._known:  # it calls itself, or is called twice
            return "function again", self._known[id(function)]
        self._known[id(function)] = len(self._known)
        cells = function.__closure__ or ()
        return (
            "function",
            self._code(function.__code__),
            self.of(function.__defaults__),
            self.of(function.__kwdefaults__),
            [self._cell(cell) for cell in cells],
            self._globals(function.__code__, function.__globals__),
        )

    def _cell(self, cell: Any) -> object:
        try:
            return self.of(cell.cell_contents)
        except ValueError:  # nothing was put in yet
            raise _UnknownError from None

    def _code(self, code: CodeType) -> object:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        constants = [self.of(item) for item in code.co_consts]
        return "code", code.co_code, code.co_exceptiontable, counts, names, constants

    def _globals(self, code: CodeType, known: Mapping[str, Any]) -> list[object]:
        """What the module's names stand for in a function and in those within it."""
        found: list[object] = []
        before: Any = None
        for item in dis.get_instructions(code):
            name = item.argval
            known_here = self._open_to_all.get(before) if isinstance(before, str) else None
            if known_here is not None and name not in known_here:
                raise _UnknownError
            before = name
            if item.opname == "IMPORT_NAME":
                self._in_packages(name)
            elif item.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                continue
            elif name in known:
                found.append((name, self.of(known[name])))
            elif name in _IMPURE:
                raise _UnknownError
        for item in code.co_consts:
            if isinstance(item, CodeType):
                found += self._globals(item, known)
        return found

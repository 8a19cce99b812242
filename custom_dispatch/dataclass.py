"""Frozen dataclasses that are made quickly: their `__init__` is compiled for the first object.

Python's own decorator compiles six functions for each frozen class, which takes 0.7 ms with Python
3.11, and a program that loads a module declares fifty of them and makes objects of ten. Here the
other five are the same for all classes.
"""

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *,
        frozen: bool,
        slots: bool = False,
        kw_only: bool = False,
        init: bool = True,
        eq: bool = True,
    ) -> Callable[[type], type]:
        """As Python's, for frozen classes whose bases are no dataclasses."""
        if not frozen:
            raise TypeError("Python's own dataclass is for data that changes")

        def make(plain: type) -> type:
            content = dict(vars(plain))
            made = dataclasses.dataclass(
                init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
            )(plain)

            def first_init(self: Any, *arguments: Any, **keywords: Any) -> None:
                for name in ("__dict__", "__weakref__"):
                    content.pop(name, None)
                twin = type(plain.__name__, plain.__bases__, content)
                python_s = dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=kw_only)
                made.__init__ = python_s(twin).__init__
                made.__init__(self, *arguments, **keywords)

            methods: dict[str, Any] = {
                "__repr__": _repr,
                "__setattr__": _refuse_to_assign,
                "__delattr__": _refuse_to_delete,
            }
            if init:
                methods["__init__"] = first_init
            if slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
            if eq:
                methods |= _comparing(made)
            for name, method in methods.items():
                if name not in content or content[name] is None:
                    setattr(made, name, method)
            return made

        return make


def _comparing(made: type) -> dict[str, Any]:
    """How objects of a class are compared: by their fields."""
    names = [field.name for field in dataclasses.fields(made) if field.compare]
    if len(names) > 1:
        parts: Callable[[Any], Any] = attrgetter(*names)
    else:

        def parts(item: Any) -> Any:
            return tuple(getattr(item, name) for name in names)

    def is_equal(self: Any, other: object) -> bool:
        same: bool = parts(self) == parts(other) if type(self) is type(other) else NotImplemented
        return same

    def hash_of(self: Any) -> int:
        return hash(parts(self))

    return {"__eq__": is_equal, "__hash__": hash_of}


def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_assign(_: Any, name: str, __: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)

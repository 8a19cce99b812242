"""Values from plain data, as JSON has it, by the types that the fields of dataclasses declare.

A file may hold anything: what is not of its type is refused, and reading executes nothing.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Union

UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)
"""Whatever data leads to that is not of its type."""


def read(kind: Any, data: Any, leaf: Callable[[Any, Any], Any], *, exact: bool = False) -> Any:
    """A value of a type, from its plain form: sequences are lists, mappings objects or pairs.

    - `leaf`: gives a value of a type from what is none of these; raises where that is none.
    - `exact`: whether the fields of a dataclass are all there, and no others. Else those that have
      a default or may be None may be missing, and what is no field is passed over.
    """
    origin, arguments = _parts_of(kind)
    if origin in (Union, types.UnionType) and types.NoneType in arguments:
        (kind,) = (argument for argument in arguments if argument is not types.NoneType)
        return None if data is None else read(kind, data, leaf, exact=exact)
    if origin is tuple:
        if type(data) is not list:
            raise ValueError("no sequence")
        if arguments[1:] != (Ellipsis,):
            pairs = zip(arguments, data, strict=True)
            return tuple(read(part, item, leaf, exact=exact) for part, item in pairs)
        if arguments[0] is str:
            return tuple(leaf(str, item) for item in data)  # a thousand paths
        return tuple(read(arguments[0], item, leaf, exact=exact) for item in data)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        pair = types.GenericAlias(tuple, arguments)
        items = map(list, data.items()) if type(data) is dict else data
        return dict(read(pair, item, leaf, exact=exact) for item in items)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and type(data) is dict:
        fields = _field_types(kind)
        if exact and data.keys() != fields.keys():
            raise ValueError("other fields")
        found = {
            name: read(part, data.get(name), leaf, exact=exact)
            for name, part in fields.items()
            if name in data or types.NoneType in _parts_of(part)[1]
        }
        return kind(**found)
    return leaf(kind, data)


def as_it_is(_: Any, value: Any) -> Any:
    """The `leaf` of data that this package has written for itself."""
    return value


@cache
def _parts_of(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return typing.get_origin(kind), typing.get_args(kind)


@cache
def _field_types(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}

"""What a module holds in lists, attributes and objects, and not only as parameters and buffers."""

import copyreg
import operator
import sys
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

_LISTS = (list, deque)
_PLAIN = (*_LISTS, dict, tuple, SimpleNamespace)
_REGISTERED = ("_parameters", "_buffers")
_PARTS = (*_REGISTERED, "_modules")
_NUMBERS = (int, float, bool, str, type(None), torch.SymInt, torch.SymFloat, torch.SymBool)
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Change:
    """Something that was set: its name as code has it (`self.cache[0]`), what was there, and is."""

    name: str
    where: Any
    key: Any
    old: Any
    new: Any

    @property
    def is_number(self) -> bool:
        """Whether a number, a word or nothing was there, and another one is."""
        return all(isinstance(each, _NUMBERS) or each is _ABSENT for each in (self.old, self.new))

    def make(self, value: Any) -> None:
        """Set something in that place."""
        _fill(self.where, {**_entries(self.where), self.key: value})


@dataclass(frozen=True, slots=True)
class _Container:
    name: str
    value: Any
    entries: Mapping[Any, Any]
    registered: bool


class Holdings:
    """All that can be reached from a module, as it is now.

    Objects of the standard library's and PyTorch's own classes are not looked into, but modules,
    lists, tuples and dicts are.
    """

    def __init__(self, root: Any) -> None:
        self._found = list(_containers(root, "self"))

    def tensors(self, registered: bool = False) -> Iterator[tuple[str, torch.Tensor]]:
        """Each tensor that is held, with its name; also parameters and buffers, if so wanted."""
        for each in self._found:
            for key, value in each.entries.items():
                if isinstance(value, torch.Tensor) and (registered or not each.registered):
                    yield _name_of(each, key), value

    def changes(self) -> Iterator[Change]:
        """What was set since; but not to what equals it."""
        for each in self._found:
            now = _entries(each.value)
            for key in {**each.entries, **now}:
                old, new = each.entries.get(key, _ABSENT), now.get(key, _ABSENT)
                same = old is new or (isinstance(old, _NUMBERS) and str(old) == str(new))
                # PyTorch keeps what becomes of a buffer itself.
                if not same and not (each.registered and isinstance(old, torch.Tensor)):
                    yield Change(_name_of(each, key), each.value, key, old, new)

    def restore(self) -> None:
        """Make all objects hold what they held."""
        for each in self._found:
            _fill(each.value, each.entries)

    def exchange(self, others: Mapping[int, torch.Tensor]) -> None:
        """Put other tensors in the place of some, which are given by their `id`."""

        def other(value: Any) -> Any:
            if isinstance(value, tuple):
                found = tuple(map(other, value))
                if any(map(operator.is_not, found, value)):
                    return value._make(found) if hasattr(value, "_make") else type(value)(found)
            return others.get(id(value), value)

        for each in self._found:
            if not each.registered:
                _fill(each.value, {key: other(value) for key, value in each.entries.items()})


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """All tensors that can be reached from something."""
    yield from (tensor for _, tensor in Holdings((value,)).tensors(registered=True))


def _containers(root: Any, name: str) -> Iterator[_Container]:
    waiting, seen = deque([(name, root, False)]), set()
    while waiting:
        name, value, registered = waiting.popleft()
        if id(value) in seen or _is_opaque(value):
            continue
        seen.add(id(value))
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            is_module = isinstance(value, torch.nn.Module)
            attributes_of = _Container(f"{name}.", attributes, dict(attributes), False)
            yield attributes_of
            for key, item in attributes.items():
                part = is_module and key in _PARTS
                inside = f"{name}." if part else _name_of(attributes_of, key)
                waiting.append((inside, item, is_module and key in _REGISTERED))
        entries = _entries(value)
        if entries or isinstance(value, (dict, *_LISTS)):
            found = _Container(name, value, entries, registered)
            yield found
            waiting.extend((_name_of(found, key), item, False) for key, item in entries.items())


def _is_opaque(value: Any) -> bool:
    if isinstance(value, torch.nn.Module) or type(value) in _PLAIN:
        return False
    if isinstance(value, (torch.Tensor, type)):
        return True
    room = type(value).__module__.partition(".")[0]
    return room == "torch" or (room in sys.stdlib_module_names and not isinstance(value, _PLAIN))


def _name_of(container: _Container, key: Any) -> str:
    if container.name.endswith("."):
        return f"{container.name}{key}"
    by_name = not isinstance(container.value, (dict, tuple, *_LISTS))
    return f"{container.name}.{key}" if by_name else f"{container.name}[{key!r}]"


def _entries(value: Any) -> dict[Any, Any]:
    if isinstance(value, dict):
        return dict(dict.items(value))
    if isinstance(value, (tuple, *_LISTS)):
        return dict(enumerate(value))
    names = copyreg._slotnames(type(value))  # type: ignore[attr-defined]
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _fill(value: Any, entries: Mapping[Any, Any]) -> None:
    """Make something hold other things; nothing is touched that holds them already."""
    now = _entries(value)
    if list(now) == list(entries) and not any(map(operator.is_not, now.values(), entries.values())):
        return
    if isinstance(value, dict):
        kind = OrderedDict if isinstance(value, OrderedDict) else dict
        kind.clear(value)
        kind.update(value, entries)
    elif isinstance(value, _LISTS):
        value.clear()
        value.extend(entries.values())
    elif not isinstance(value, tuple):
        for name in now.keys() - entries.keys():
            object.__delattr__(value, name)
        for name, item in entries.items():
            object.__setattr__(value, name, item)

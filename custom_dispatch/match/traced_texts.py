"""What was found out about patterns' functions, kept in the store: tracing one takes long."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import Any, TypeVar

from custom_dispatch.store import key_of, open_store, package_identity
from custom_dispatch.store.function_identity import function_identity

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework that patterns' functions are written in.

    - `packages`: those that it consists of.
    - `distributions`: what pip calls them: their versions change what comes out of a function.
    - `constants`: types whose objects are known by their texts, such as those of dtypes.
    - `open_to_all`, `parts_of`: as for `function_identity`.
    """

    packages: tuple[str, ...]
    distributions: tuple[str, ...]
    constants: tuple[type, ...]
    open_to_all: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts_of: Callable[[Any], tuple[Any, ...] | None] | None = None


def kept_text(
    framework: Framework, function: Any, parts: Sequence[object], make: Callable[[], str | T]
) -> str | T:
    """A text that follows from a function and further parts; from the store if it is there.

    `make`: makes it. What it gives that is no text is not kept, nor is anything of a function that
    refers to what has no known form.
    """
    identity = function_identity(
        function,
        ("custom_dispatch", *framework.packages),
        framework.constants,
        framework.open_to_all,
        framework.parts_of,
    )
    return make() if identity is None else kept(framework.distributions, (identity, parts), make)


def kept(distributions: Sequence[str], parts: object, make: Callable[[], str | T]) -> str | T:
    """A text that follows from distributions' versions and parts; `make` as of `kept_text`."""
    store = open_store()
    if store is None:
        return make()
    key = key_of("pattern", package_identity(), list(map(_version, distributions)), parts)
    with store.once(key):
        found = store.load(str, key)
        if found is not None:
            return found
        made = make()
        if isinstance(made, str):
            store.save(key, made)
        return made


@cache
def _version(distribution: str) -> str:
    return metadata.version(distribution)

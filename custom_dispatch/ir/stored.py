"""Modules kept in the store: what `iree-compile` made, by all that it follows from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from custom_dispatch.ir.installed_compiler import compiler_identity
from custom_dispatch.store import key_of, open_store, package_identity


class StoredModules:
    """The store, for compiled modules.

    Parameters
    ----------
    wanted
        Whether there is to be one at all.
    """

    def __init__(self, wanted: bool) -> None:
        self._store = open_store() if wanted else None

    def remember(
        self, kind: str, parts: Sequence[object], cpu: str, make: Callable[[], bytes]
    ) -> bytes:
        """The `.vmfb` of these parts, or else made now and kept.

        Parameters
        ----------
        kind
            What the parts are: "kernels" or "model".
        cpu
            The CPU that it is compiled for, if it is for one.
        """
        store = self._store
        if store is None:
            return make()
        compiler = compiler_identity(cpu)
        if compiler is None:
            return make()
        key = key_of("module", kind, package_identity(), compiler, *parts)
        with store.once(key):
            found = store.get(key)
            store.count(hit=found is not None)
            if found is None:
                found = make()
                store.put(key, found)
            return found

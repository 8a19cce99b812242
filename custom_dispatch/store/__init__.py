"""The store: what compilers made, kept on disk by everything that it was made from.

This room knows neither kernels nor compilers. A key is a digest of whatever can change a result; a
value is bytes, or a dataclass of plain parts. What is found is right or is not found: every doubt
is a miss, and no failure of the store is an error of a build.
"""

from custom_dispatch.store.closure import Closure, Snapshot
from custom_dispatch.store.key import file_identity, host_identity, key_of, package_identity
from custom_dispatch.store.store import Store, StoreWarning, open_store, remember, store_if

__all__ = [
    "Closure",
    "Snapshot",
    "Store",
    "StoreWarning",
    "file_identity",
    "host_identity",
    "key_of",
    "open_store",
    "package_identity",
    "remember",
    "store_if",
]

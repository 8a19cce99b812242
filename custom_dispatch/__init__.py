"""Hand-written CUDA kernels inside every model that the IREE compiler compiles.

Declare a kernel once (`Kernel`), then call it, build it (`build`), link it into a model
(`compile`) and run the result (`load`). Importing this package and declaring kernels loads
neither IREE nor CUDA; the functions that need them load them when they are first used.
"""

import importlib
from functools import cache
from typing import Any

__version__ = "0.1.0.dev0"


# None is loaded before it is asked for: who runs a module needs no declarations, and who declares a
# kernel neither IREE nor a compiler.
@cache
def _rooms() -> dict[str, str]:
    """The room of each public name, as the stub beside this file has them."""
    import re
    from pathlib import Path

    stub = Path(__file__).with_suffix(".pyi").read_text()
    return {name: room for room, name in re.findall(r"^from (\S+) import (\w+) as", stub, re.M)}


def __getattr__(name: str) -> Any:
    if name == "__all__":  # no front ends: most are for packages that need not be here
        languages = f"{__name__}.frontends.languages"
        return [each for each, room in _rooms().items() if room not in (__name__, languages)]
    room = None if name.startswith("__") else _rooms().get(name)
    if room is None:
        raise AttributeError(f"module 'custom_dispatch' has no attribute {name!r}")
    if room == __name__:
        return importlib.import_module(f"{room}.{name}")
    value = getattr(importlib.import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))

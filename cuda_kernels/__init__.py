"""Hand-written CUDA kernels, in folders by purpose: NAME.cu beside the module that declares it."""

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

_MOVED = {
    **dict.fromkeys(("layer_norm", "rms_norm", "softmax"), "norms"),
    **dict.fromkeys(("gelu", "swiglu"), "elementwise"),
    **dict.fromkeys(("rotary", "write_cache"), "attention"),
    "gated": "gemm",
    **{f"{name}_patterns": "patterns" for name in ("jax", "mlir", "onnx", "torch")},
}
"""Modules that were in no folder, and the folder of each."""


class _Moved(ModuleType):
    """A module under the name that it had before it was in a folder."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever looks through sys.modules does not load it
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = getattr(self._module(), name)
        here = self._module().__name__
        warnings.warn(f"{self.__name__} is {here} now", DeprecationWarning, stacklevel=2)
        return found

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._module()) if not name.startswith("__")]

    def _module(self) -> ModuleType:
        package, _, name = self.__name__.partition(".")
        return import_module(f"{package}.{_MOVED[name]}.{name.removesuffix('_patterns')}")


for _name in _MOVED:
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _Moved(f"{__name__}.{_name}")

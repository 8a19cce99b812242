"""Calling a kernel now, without this room knowing how.

Running needs every room to the right of this one. They are not imported here: the package's
`__init__` installs a launcher, which loads them on the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custom_dispatch.kernel.kernel import Kernel

Launcher = Callable[["Kernel", str, tuple[Any, ...], dict[str, Any]], Any]

_launcher: Launcher | None = None


def install_launcher(launcher: Launcher) -> None:
    """Set the function that runs a kernel: (kernel, device, arguments, keywords) -> results."""
    global _launcher
    _launcher = launcher


def launch(
    kernel: Kernel, device: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Run a kernel with the installed launcher."""
    if _launcher is None:  # pragma: no cover - `custom_dispatch/__init__.py` always installs one
        raise RuntimeError("no launcher: import custom_dispatch before calling kernels")
    return _launcher(kernel, device, arguments, keywords)


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """A kernel together with the device its calls run on. Made by `Kernel.on`."""

    kernel: Kernel
    device: str

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel now, on this device; otherwise as `Kernel.__call__`."""
        return launch(self.kernel, self.device, arguments, keywords)

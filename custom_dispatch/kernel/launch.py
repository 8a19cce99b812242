"""Calling a kernel now, without this room knowing how.

Running needs every room to the right of this one. They are not imported here: the package's
`__init__` installs a launcher, which loads them on the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import is_one_of, shown

if TYPE_CHECKING:
    from custom_dispatch.kernel.choice import Choice
    from custom_dispatch.kernel.kernel import Kernel
    from custom_dispatch.kernel.target import Target

Launcher = Callable[["BoundKernel", tuple[Any, ...], dict[str, Any]], Any]

_launcher: Launcher | None = None
decide: Callable[[Choice, Target | str | None, dict[str, int]], Taken]
"""Tells which kernel of a choice a call takes; set by the package's `__init__`, too."""


def install_launcher(launcher: Launcher) -> None:
    """Set the function that runs a kernel: (bound kernel, arguments, keywords) -> results."""
    global _launcher
    _launcher = launcher


def launch(bound: BoundKernel, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Run a kernel with the installed launcher."""
    if _launcher is None:  # pragma: no cover - `custom_dispatch/__init__.py` always installs one
        raise RuntimeError("no launcher: import custom_dispatch before calling kernels")
    return _launcher(bound, arguments, keywords)


COMPILER_NAMES = ("auto", "nvrtc", "nvcc")


def check_compiler_name(name: object) -> str:
    """Refuse what is no compiler's name.

    Raises
    ------
    DeclarationError
        No compiler has that name.
    """
    if isinstance(name, str) and is_one_of(name, COMPILER_NAMES):
        return name
    raise DeclarationError(
        f"{shown(name)} is not a compiler.",
        expected=" or ".join((", ".join(COMPILER_NAMES[:-1]), COMPILER_NAMES[-1])),
        next_step="choose one of these, or leave it out.",
    )


@dataclass(frozen=True)
class Taken:
    """Which kernel of a choice a call takes, and why. Made by `Choice.which`."""

    choice: str
    target: Target
    dims: Mapping[str, int]
    kernel: str
    reason: str
    """A sentence without its subject, which is the kernel."""
    others: Mapping[str, str]
    """Why not, for each of the other kernels, as they are declared."""

    @property
    def call(self) -> str:
        """What was asked about."""
        sizes = " ".join(f"{name}={size}" for name, size in self.dims.items()) or "every call"
        return f"`{self.choice}` for {sizes} on {self.target}"

    def __str__(self) -> str:
        others = (f"  `{name}` {why}." for name, why in self.others.items())
        return "\n".join([f"{self.call}: `{self.kernel}` {self.reason}.", *others])


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """A kernel or a choice, together with how its calls run. Made by `Kernel.on`."""

    kernel: Kernel | Choice
    device: str
    compiler: str = "auto"
    """What compiles its source, as of `cd.build`."""
    store: bool = True
    """Whether to take from the store what was compiled before, and to keep there what is new."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel now, on this device; otherwise as `Kernel.__call__`."""
        return launch(self, arguments, keywords)

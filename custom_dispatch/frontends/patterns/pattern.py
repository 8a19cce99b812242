"""What a kernel computes, as MLIR: what is looked for in a model. Data, which loads no IREE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Scalar


class Replaceable(Protocol):
    """What every front end's patterns have."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that takes the places that are found."""

    @property
    def fixed(self) -> Mapping[str, Any]:
        """Its scalars that have one value wherever the pattern is found."""

    @property
    def required(self) -> bool:
        """Whether it is an error that no place is found."""


@dataclass(frozen=True, init=False)
class Pattern:
    """A kernel, and what it computes, as a function in the dialects of the model.

    Parameters
    ----------
    kernel
        The kernel that takes the places that are found.
    computes
        One or several modules as MLIR text, each with one public function. Its parameters are the
        kernel's operands in a call's order: tensors, and numbers for value-less scalars. Optional
        operands may be left out, all of them. A size `?` stands for every size.
    fixed
        Scalars with a value that the functions hold for, instead of a parameter:
        {"causal": True}.
    required
        Whether it is an error that no place is found.

    Raises
    ------
    DeclarationError
        A part is none. What is wrong in the text is said when a model is compiled.
    """

    kernel: Kernel
    computes: tuple[str, ...]
    fixed: Mapping[str, Any] = field(hash=False)
    required: bool

    def __init__(
        self,
        kernel: Kernel,
        computes: str | Sequence[str],
        *,
        fixed: Mapping[str, Any] | None = None,
        required: bool = True,
    ) -> None:
        check_kernel(kernel)
        texts = (computes,)
        if isinstance(computes, list | tuple):
            texts = tuple(computes)
        if not texts or not all(isinstance(text, str) and "func" in text for text in texts):
            raise DeclarationError(
                f"The pattern of kernel `{kernel.name}` is {shown(computes)}.",
                expected="MLIR text with a function, or a list of such texts",
                next_step="for functions of a framework use its own front end: cd.jax.Pattern, "
                "cd.torch.Pattern.",
            )
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "computes", texts)
        object.__setattr__(self, "fixed", check_fixed(kernel, fixed))
        object.__setattr__(self, "required", bool(required))


def check_kernel(kernel: object) -> None:
    """Require a kernel.

    Raises
    ------
    DeclarationError
        It is something else.
    """
    if not isinstance(kernel, Kernel):
        raise DeclarationError(
            f"A pattern is given {shown(kernel)} for its kernel.",
            expected="a cd.Kernel",
            next_step="pass the kernel's declaration first, and then what it computes.",
        )


def check_fixed(kernel: Kernel, fixed: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values of fixed scalars.

    Raises
    ------
    DeclarationError
        One is for something else than a scalar that calls pass.
    """
    found = dict(fixed or {})
    scalars = [item.name for item in kernel.arguments if isinstance(item, Scalar)]
    for name, value in found.items():
        if name not in scalars:
            raise wrong(
                kernel,
                f"fixes `{name}`",
                f"a value-less scalar of the kernel: {', '.join(scalars) or 'it has none'}",
            )
        if not isinstance(value, int | float):
            raise wrong(kernel, f"fixes `{name}` to {shown(value)}", "a number")
    return found


def wrong(
    kernel: Kernel, found: str, expected: str, next_step: str = "", log: str = ""
) -> DeclarationError:
    """An error about a kernel's pattern."""
    return DeclarationError(
        f"The pattern of kernel `{kernel.name}` {found}.",
        expected=expected,
        next_step=next_step or "correct the pattern.",
        log=log,
    )

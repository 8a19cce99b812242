"""Which kernel of a choice a call fits, and what is said where it fits none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from custom_dispatch.errors import CallError, LinkError
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel

Found = TypeVar("Found")


def first_fitting(
    item: Kernel | Choice,
    attempt: Callable[[Kernel], Found],
    found: str,
    kernels: Iterable[Kernel] | None = None,
) -> Found:
    """What is returned for a kernel, or for the first of a choice that is not refused.

    Parameters
    ----------
    found
        What the error says: "No kernel of choice `scale` takes these arrays."
    kernels
        Those of the choice, where they are in another order than declared.

    Raises
    ------
    CallError, LinkError
        The kernel is refused, with that error; or each of the choice is.
    """
    if isinstance(item, Kernel):
        return attempt(item)
    refusals: list[CallError | LinkError] = []
    for kernel in item.kernels if kernels is None else kernels:
        try:
            return attempt(kernel)
        except (CallError, LinkError) as error:
            refusals.append(error)
    raise fits_none(found, refusals)


def fits_none(found: str, refusals: Iterable[CallError | LinkError]) -> CallError | LinkError:
    """The error where each kernel of a choice is refused, of the class of those refusals."""
    each = list(refusals)
    lines = (
        error.found.removesuffix(".") + (f" (expected: {error.expected})" if error.expected else "")
        for error in each
    )
    what = "correct the model" if isinstance(each[0], LinkError) else "pass others"
    return type(each[0])(
        found,
        expected="what one of them takes",
        next_step=f"{what}, or add a kernel that takes these; of those there are:",
        log="\n".join(dict.fromkeys(lines)),
    )

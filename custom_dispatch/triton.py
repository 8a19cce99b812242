"""Kernels of Triton: `cd.triton`. Loaded, with Triton, when it is first touched.

Raises `ToolNotFoundError`: Triton is not installed, or is of a release that was not tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from custom_dispatch.frontends.triton import RELEASES
from custom_dispatch.installation import require

require("triton", "Triton", "cd.triton", RELEASES)

from custom_dispatch.frontends.triton import declaring  # noqa: E402
from custom_dispatch.kernel.choice import Choice  # noqa: E402
from custom_dispatch.kernel.kernel import Kernel  # noqa: E402

if TYPE_CHECKING:
    from custom_dispatch.kernel.operand import Operand

__all__ = ["autotuned", "kernel"]


def kernel(
    fn: Any,
    *,
    operands: Sequence[Operand],
    grid: Any,
    constexprs: Mapping[str, Any] | None = None,
    num_warps: int = 4,
    num_stages: int | None = None,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    **rest: Any,
) -> Kernel | Choice:
    """Declare a function of Triton as a kernel.

    Nothing is compiled: that is done, by Triton and without a GPU, when the kernel is built.

    As Triton does it in each launch, integers that are multiples of 16, and those that are 1, lead
    to other code. What the declaration proves is used: a `Scalar` of value 4096 or 64 * n, or a
    condition in `requires`. Where a `Scalar` is such a multiple for some sizes alone, the result is
    a `Choice`: of one kernel for each combination of up to three such conditions, and then of all
    or none. Addresses are always multiples of 16 bytes.

    - `fn`: a function with `@triton.jit`.
    - `operands`: `In`, `Out`, `InOut` and `Scalar`, named as the function's parameters, in any
      order. What is left out has its default.
    - `grid`: blocks in the grid: dim expressions, or a function of the constants, as in Triton:
      `lambda meta: cd.ceildiv(n, meta["BLOCK"])`.
    - `constexprs`: the values of parameters of type `tl.constexpr`, and of others that are to be
      constants; None for a pointer that is absent.
    - `num_warps, num_stages`: as of a launch in Triton.
    - `name`: the kernel's name, if it is not the function's.
    - `options`: further options of Triton's compiler: {"maxnreg": 128}.
    - `**rest`: reference, fallback, requires, flops and bytes_moved, as of `cd.Kernel`.

    Raises `DeclarationError`: the function is none of Triton's, a parameter is missing or named
    twice, or what `cd.Kernel` raises.
    """
    chosen = {"num_warps": num_warps, "num_stages": num_stages, **(options or {})}
    name = name or declaring.name_of(fn)
    launch = declaring.Launch(name, fn, operands, constexprs or {}, chosen, rest)
    return declaring.of_launch(launch, grid)


def autotuned(
    fn: Any,
    *configs: Any,
    operands: Sequence[Operand],
    grid: Any,
    constexprs: Mapping[str, Any] | None = None,
    name: str | None = None,
    tuning: Any = None,
    **rest: Any,
) -> Choice:
    """Declare a function of Triton as a choice over configurations, which `tune` measures.

    Until they are measured, the first one that fits is taken. Each is a kernel, or several, as
    `kernel` has it.

    - `fn`: a function with `@triton.jit`, or one with `@triton.autotune` above it.
    - `*configs`: `triton.Config` objects; left out, those of `@triton.autotune`. Its key and what
      prunes configurations do not count: tables know every size.
    - `grid`: as of `kernel`, most often a function of the constants.
    - `tuning`: the table that `custom-dispatch tune` writes, as of `cd.Choice`.
    - `operands, constexprs, name, **rest`: as of `kernel`.

    Raises `DeclarationError`: there is no configuration, one has a `pre_hook`, or as of `kernel`.
    """
    name = name or declaring.name_of(fn)
    found = declaring.check_configs(name, fn, configs)
    launch = declaring.Launch(name, fn, operands, constexprs or {}, {}, rest)
    return declaring.of_configs(launch, [(config, grid) for config in found], tuning)

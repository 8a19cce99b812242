"""What a kernel computes, as MLIR: what is looked for in a model. Data, which loads no IREE."""

import copy
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from custom_dispatch.errors import DeclarationError, LinkError, ReplacementWarning, warn
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.consistency import check_requires
from custom_dispatch.kernel.declared import Declared, Names, check_declared, kernels_of
from custom_dispatch.kernel.expr import Condition
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import as_integer, is_list, several, shown
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.kernel.target import Target
from custom_dispatch.link.arguments import arguments_by_name
from custom_dispatch.replaced import Replaced, near_miss_lines


@dataclass(frozen=True, init=False)
class Replaceable:
    """What every front end's patterns have."""

    item: Kernel | Choice
    """What takes the places that are found."""
    kernel: Kernel
    """The kernel by whose declaration places are compared; of a choice, the first."""
    computes: tuple[Any, ...]
    fixed: Mapping[str, Any] = field(hash=False)
    """Its scalars that have one value wherever the pattern is found."""
    sizes: Mapping[str, int] = field(hash=False)
    axes: Mapping[str, tuple[int, ...]] = field(hash=False)
    """What the model has done to the axes of operands and results."""
    made: Mapping[str, Kernel] = field(hash=False)
    """Kernels that make optional operands of others of the same names."""
    required: bool
    """Whether it is an error if nothing matches."""
    profitable: Mapping[str, tuple[Condition, ...] | None] = field(hash=False, compare=False)
    """The sizes for which the kernel is faster than IREE's code, by `cuda` and `cpu`; None if
    there are none."""
    only: tuple[Condition, ...] | None = field(hash=False, compare=False)
    """Those of the targets at hand: a place for which they do not hold stays with IREE. None until
    targets are known."""

    def profitable_where(
        self, *, cuda: Sequence[Condition] | None = (), cpu: Sequence[Condition] | None = ()
    ) -> Self:
        """The same pattern, which leaves places to IREE where its code is faster.

        Sizes that are not known count as those for which the kernel is meant.

        - `cuda, cpu`: conditions on the kernel's dims, all of which hold where the kernel is
          faster, on GPUs and on CPUs. Those for GPUs count if a module is compiled for both. With
          None the pattern is left out there, and so is what it rewrites.

        Raises `DeclarationError`: an item is no condition on the kernel's dims.
        """
        rules = {
            backend: None if given is None else check_requires(self.kernel.name, given)
            for backend, given in (("cuda", cuda), ("cpu", cpu))
        }
        for rule in rules.values():
            self.kernel.requiring(rule or ())  # or its error
        found = copy.copy(self)
        found._keep(profitable=rules)
        return found

    def with_kernel(self, kernel: Kernel | Choice) -> Self:
        """The same pattern, for another kernel with the same operands."""
        first = kernels_of(kernel)[0]
        if first.operands != self.kernel.operands:
            raise wrong(first, "has other operands", f"those of `{self.kernel.name}`")
        found = copy.copy(self)
        found._keep(item=kernel, kernel=first)
        return found

    def _set(
        self,
        item: Declared,
        required: bool,
        fixed: Mapping[str, Any] | None,
        sizes: Mapping[str, int] | None = None,
        axes: Mapping[str, Sequence[int]] | None = None,
        numbers: Collection[str] = (),
        made: Mapping[str, Kernel] | None = None,
    ) -> None:
        """Check and keep all but what is computed; `numbers` are of a model, as dims are."""
        item = check_declared(item, "A pattern")
        kernel = kernels_of(item)[0]
        free = [each.name for each in kernel.inputs if getattr(each, "optional", False)]
        for name in made or {}:
            if name not in free:
                raise wrong(kernel, f"makes `{name}`", f"optional operands: {', '.join(free)}")
        self._keep(
            item=item,
            kernel=kernel,
            fixed=check_fixed(kernel, fixed, numbers),
            sizes=check_sizes(kernel, sizes),
            axes=check_axes(kernel, axes),
            made=dict(made or {}),
            required=bool(required),
            profitable={},
            only=None,
        )

    def _keep(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def examples(self, model: Any) -> Any:
        """What places of a model are compared with: `match.text.Examples`."""
        raise NotImplementedError


Anything = TypeVar("Anything", bound=Replaceable)


@dataclass(frozen=True, init=False)
class Pattern(Replaceable):
    """A kernel, and what it computes, as a function in the dialects of the model.

    - `kernel`: the kernel or function that replaces the matches; or a choice, whose first fitting
      kernel replaces each match.
    - `computes`: one or several modules as MLIR text, each with one public function. Its parameters
      are the kernel's operands in a call's order: tensors, and numbers for value-less scalars.
      Optional operands may be left out, the last ones first. A size `?` stands for every size.
    - `fixed`: scalars that have this value in the functions instead of being a parameter:
      {"causal": True}. A value may be a function of dims, which must be known in the model:
      {"scale": lambda dim: dim**-0.5}.
    - `axes`: for operands and results whose axes have another order in the functions, that order as
      in `numpy.transpose`: {"k": (0, 2, 1)}. They are transposed where a kernel is inserted.
    - `rewrites`: for models of PyTorch, as of `cd.torch.Pattern`.
    - `required`: whether it is an error if nothing matches.

    Raises `DeclarationError`: an argument has the wrong type. Errors in the MLIR text are reported
    at compile time.
    """

    computes: tuple[str, ...]
    rewrites: Callable[[Any], None] | None = field(hash=False, compare=False, repr=False)

    def __init__(
        self,
        kernel: Declared,
        computes: str | Sequence[str],
        *,
        fixed: Mapping[str, Any] | None = None,
        axes: Mapping[str, Sequence[int]] | None = None,
        rewrites: Callable[[Any], None] | None = None,
        required: bool = True,
    ) -> None:
        self._set(kernel, required, fixed, axes=axes)
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
        self._keep(computes=texts, rewrites=rewrites)


def with_own_names(
    patterns: Sequence[Anything], called: Iterable[Kernel | Choice]
) -> list[Anything]:
    """The patterns, each with a kernel whose name nothing else in the model has.

    `called`: what the model calls by name.
    """
    names = Names(called)
    return [each.with_kernel(names.add_renamed(each.item)) for each in patterns]


def for_targets(patterns: Iterable[Any], targets: Sequence[Target]) -> list[Any]:
    """The patterns, which leave to IREE what its code does faster on the first targets they get.

    GPUs alone count where there are any: a module for both is made for them.
    """
    backend = "cuda" if any(target.is_cuda for target in targets) else "cpu"
    found = []
    for each in map(copy.copy, patterns):
        if isinstance(each, Replaceable) and each.only is None:
            only = each.profitable.get(backend, ())
            if only is None:
                continue
            each._keep(only=only)
        found.append(each)
    return found


def kernels_given(patterns: Iterable[Replaceable]) -> list[Kernel | Choice]:
    """All kernels that patterns may put into a model."""
    every = [item for pattern in patterns for item in (*pattern.made.values(), pattern.item)]
    return list({item.name: item for item in every}.values())


def alike(pattern: Anything) -> list[list[Anything]]:
    """The pattern for each kernel of a choice, together where their operands are the same.

    These compute the same.
    """
    groups: dict[tuple[str, ...], list[Anything]] = {}
    for kernel in kernels_of(pattern.item):
        one = copy.copy(pattern)
        one._keep(kernel=kernel)
        groups.setdefault(tuple(map(str, one.kernel.operands)), []).append(one)
    return list(groups.values())


def _by_name(kernel: Kernel, given: Any, what: str, expected: str) -> dict[str, Any]:
    """What is given by names; nothing for None."""
    if given is None:
        return {}
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return dict(given)
    raise wrong(kernel, f"{what} {shown(given)}", expected)


def check_fixed(
    kernel: Kernel, fixed: Mapping[str, Any] | None, numbers: Collection[str] = ()
) -> dict[str, Any]:
    """The values of fixed scalars."""
    found = _by_name(kernel, fixed, "fixes", 'values of scalars by name: {"causal": True}')
    arguments = arguments_by_name(kernel)
    scalars = [name for name, item in arguments.items() if isinstance(item, Scalar)]
    for name, value in found.items():
        if name not in scalars:
            raise wrong(
                kernel,
                f"fixes `{name}`",
                f"a value-less scalar of the kernel: {', '.join(scalars) or 'it has none'}",
            )
        if callable(value):
            _check_function_of_dims(kernel, name, value, numbers)
        elif not isinstance(value, int | float):
            raise wrong(
                kernel, f"fixes `{name}` to {shown(value)}", "a number, or a function of dims"
            )
    return found


def _check_function_of_dims(
    kernel: Kernel, name: str, function: Any, numbers: Collection[str]
) -> None:
    dims = [*(dim.name for dim in kernel.dims), *numbers]
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = []
    if not parameters or not {*parameters} <= {*dims}:
        raise wrong(
            kernel,
            f"fixes `{name}` to a function of {', '.join(parameters) or 'nothing'}",
            f"dims of the kernel as parameters: {', '.join(dims)}",
        )


def check_axes(
    kernel: Kernel, axes: Mapping[str, Sequence[int]] | None
) -> dict[str, tuple[int, ...]]:
    """The orders of axes, by operands and results."""
    found = _by_name(kernel, axes, "has the axes", 'orders by name: {"k": (0, 2, 1)}')
    ranks = {
        item.name: item.rank
        for item in (*kernel.arguments, *kernel.outputs)
        if isinstance(item, Buffer) and not item.batched
    }
    for name, order in found.items():
        if name not in ranks:
            raise wrong(
                kernel,
                f"has axes of `{name}`",
                f"an operand or result of a known rank: {', '.join(ranks) or 'it has none'}",
            )
        given = {as_integer(axis) for axis in order} if is_list(order) else None
        if given != {*range(ranks[name])} or len(order) != ranks[name]:
            raise wrong(
                kernel,
                f"has `{name}` with the axes {shown(order)}",
                f"each of 0 to {ranks[name] - 1} once",
            )
    return {name: tuple(order) for name, order in found.items()}


def check_sizes(kernel: Kernel, sizes: Mapping[str, int] | None) -> dict[str, int]:
    """The values of dims that functions are traced with."""
    dims = [dim.name for dim in kernel.dims]
    found = _by_name(kernel, sizes, "has the sizes", 'numbers by dim: {"heads": 8}')
    for name, size in found.items():
        if name not in dims or (as_integer(size) or 0) < 1:
            raise wrong(
                kernel, f"has the size {name}={shown(size)}", f"numbers for dims: {', '.join(dims)}"
            )
    return {name: int(size) for name, size in found.items()}


def fixed_numbers(pattern: Replaceable) -> dict[str, Any]:
    """The fixed scalars by the declaration's names: `params.alpha` for `params_alpha`."""
    arguments = arguments_by_name(pattern.kernel)
    return {arguments[name].name: value for name, value in pattern.fixed.items()}


def as_list(items: Any) -> list[Any]:
    """`replace=` as a list, of items that may be in lists or come one by one."""
    found = several(items)
    return [items] if found is None else [inner for item in found for inner in as_list(item)]


def check_found(patterns: Sequence[Replaceable], report: Replaced, optional: str) -> None:
    """Require that each pattern was found that has to be.

    `optional`: how one is written that need not be found.
    """
    for pattern in patterns:
        name = pattern.item.name
        if not pattern.required or report.of(name):
            continue
        near = tuple(item for item in report.near_misses if item.kernel == name)
        raise LinkError(
            f"No place in the model computes what kernel `{name}` replaces.",
            expected="at least one, since its pattern is required",
            next_step="correct the pattern where the model differs, or let it be missing: "
            f"{optional}.",
            log="\n".join(near_miss_lines(near)),
        )


def warn_of_nothing(report: Replaced) -> None:
    """Warn that no pattern is found in a model: IREE compiles all of it alone.

    Patterns that have to be found are errors instead (`check_found`).
    """
    near = near_miss_lines(report.near_misses) if report.near_misses else []
    said = "These places nearly match:" if near else "No place is like one either."
    said = f"No pattern is found in the model. {said}"
    if any(each.faster for each in report.remaining):
        said = "No kernel is put into the model, since IREE's own code is faster."
    lines = [said, *near, *map(str, report.remaining)]
    warn("\n".join(lines), ReplacementWarning)


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

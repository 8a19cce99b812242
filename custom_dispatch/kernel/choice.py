"""Several kernels for one operation, of which each call takes the first that it fits."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.consistency import check_requires, check_structure
from custom_dispatch.kernel.evaluation import dims_of, uses_device
from custom_dispatch.kernel.expected import Expected
from custom_dispatch.kernel.expr import Condition
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import Callee, Taken, eager
from custom_dispatch.kernel.names import check_name, is_list, is_one_of, shown
from custom_dispatch.kernel.operand import Operand, Scratch, set_fields
from custom_dispatch.kernel.sources import check_path, declaring_directory
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured


@dataclass(frozen=True, init=False, eq=False)
class Choice(Callee):
    """Several kernels for one operation; a call takes the first one that fits it.

    A kernel fits a call if dtypes, ranks and sizes are as declared and its requirements hold. If
    the sizes are known when a model is compiled, the choice is made then; otherwise the module
    decides at each call.

    - `name`: the name by which a model calls the choice; none of its kernels may have that name.
    - `kernels`: the kernels, the preferred one first. Their inputs and their results have the same
      names in the same order.
    - `tuning`: the table that `custom-dispatch tune` writes, beside the file that declares the
      choice: "gemm.tuning.json". Among kernels that fit a call, the one that was fastest for its
      sizes, or the nearest measured sizes, is then taken; if the file does not exist, the first
      one. Or another choice with a table, whose first kernels correspond to these in the same
      order, for instance with other types; its measurements then apply to these.
    - `rules`: conditions on dims, by kernel name, for sizes that were not measured or of which
      several are unknown: a kernel is taken only where its conditions hold. Kernels after the first
      one that takes everything are candidates for tables only.

    Raises `DeclarationError`: no kernels are given, their operands or names do not fit together, or
    a rule names no kernel of the choice.
    """

    name: str
    kernels: tuple[Kernel, ...]
    tuning: Path | None
    like: Choice | None = field(metadata={"not_in_keys": True})
    """The choice whose table counts."""
    rules: Mapping[str, tuple[Condition, ...]]
    measured: tuple[Measured, ...]
    """What was measured for the targets at hand, one each at most, where the table was read."""
    settled: bool
    """Whether its kernels are those of certain calls: then its table says no more."""
    _ordered: dict[tuple[frozenset[tuple[str, int]], Target | None], tuple[Kernel, ...]] = field(
        metadata={"not_in_keys": True}
    )
    _expected: dict[Target | None, Expected | None] = field(metadata={"not_in_keys": True})

    def __init__(
        self,
        name: str,
        kernels: Sequence[Kernel],
        *,
        tuning: str | os.PathLike[str] | Choice | None = None,
        rules: Mapping[str, Sequence[Condition]] | None = None,
    ) -> None:
        check_name(name, "choice")
        if not is_list(kernels) or not kernels:
            raise DeclarationError(
                f"Choice `{name}`: its kernels are given as {shown(kernels)}.",
                expected="a list of kernels, the preferred one first",
                next_step=f'write cd.Choice("{name}", [wide, any_size]).',
            )
        for kernel in kernels:
            if not isinstance(kernel, Kernel):
                raise DeclarationError(
                    f"Choice `{name}`: {shown(kernel)} is not a kernel.",
                    expected="cd.Kernel objects",
                    next_step="pass the declared kernels.",
                )
        names = [kernel.name for kernel in kernels]
        for taken in names:
            if names.count(taken) > 1 or taken == name:
                raise DeclarationError(
                    f"Choice `{name}`: "
                    + (
                        "a kernel has that name." if taken == name else f"`{taken}` is in it twice."
                    ),
                    expected="a name for the choice and for each kernel",
                    next_step="rename one; entry= keeps the __global__ function's name.",
                )
        check_structure(
            f"Choice `{name}`",
            {each.name: {"inputs": each.inputs, "results": each.outputs} for each in kernels},
        )
        directory = declaring_directory()
        like, path = None, None
        if isinstance(tuning, Choice):
            like = tuning
            _check_like(name, len(kernels), like)
        elif tuning is not None:
            path = check_path(name, "tuning", tuning, directory, of="Choice")
        checked = _check_rules(name, kernels, rules)
        set_fields(self, name=name, kernels=tuple(kernels), tuning=path, like=like, rules=checked)
        set_fields(self, measured=(), settled=False, _ordered={}, _expected={})

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """What a call passes, as the first kernel declares it."""
        return self.kernels[0].inputs

    def ordered(self, dims: Mapping[str, int], target: Target | None = None) -> tuple[Kernel, ...]:
        """The kernels, the preferred one first, for a call of which these sizes are known.

        Some of them have further requirements, which say when a call is theirs.

        `target`: where the call runs. Measurements apply to their own target only; on other
        targets, and if none is given, the rules and the declared order decide.
        """
        key = frozenset(dims.items()), target
        found = self._ordered.get(key)
        if found is None:
            if len(self._ordered) >= _MOST_ORDERS:
                self._ordered.clear()  # another thread may be at the same place
            found = self._ordered[key] = self._order(self.expected_on(target), dims)
        return found

    def expected_on(self, target: Target | None) -> Expected | None:
        """What its kernels are expected to take on a target; None if nothing was measured there."""
        if target not in self._expected:
            there = tuple(m for m in self.measured if m.target == target and (m.models or m.dims))
            self._expected[target] = Expected(self.kernels, there) if there else None
        return self._expected[target]

    def own(self, kernel: Kernel) -> Kernel:
        """Map a kernel that `ordered` returned back to its declaration."""
        return next(item for item in self.kernels if item.name == kernel.name)

    def _order(self, expected: Expected | None, dims: Mapping[str, int]) -> tuple[Kernel, ...]:
        if expected is None:
            return self._by_rules()
        if expected.has_models and any(name not in dims for name in expected.dims):
            return expected.open_order(dims)
        is_open = any(name not in dims for item in expected.measured for name in item.dims)
        return self._by_rules() if is_open and self.rules else expected.ranked(dims)

    def _by_rules(self) -> tuple[Kernel, ...]:
        reached = self._reached() if self.rules else [item.name for item in self.kernels]
        kernels = (item for item in self.kernels if item.name in reached)
        return tuple(kernel.requiring(self.rules.get(kernel.name, ())) for kernel in kernels)

    def by_tables(self, measured: Sequence[Measured]) -> Choice:
        """The same choice, ordered by what was measured on some targets."""
        return self._with(self.kernels, measured)

    def taken_on(self, targets: Sequence[Target]) -> Choice:
        """The same with those of its kernels that calls may take on some targets, without most.

        On a target that was measured they are a few, of which one is about the best wherever it
        was; on others, those that the declared order and the rules reach. If nothing was measured
        for any of them and there are no rules, the choice stays as it is.
        """
        expected = [self.expected_on(target) for target in targets]
        if self.settled or not (self.rules or any(expected)):
            return self
        kept = {name for each in expected for name in self._taken(each)}
        return self._with([item for item in self.kernels if item.name in kept], self.measured)

    def only(self, names: Collection[str]) -> Choice:
        """The same with some of its kernels: those that certain calls may take."""
        found = self._with([item for item in self.kernels if item.name in names], self.measured)
        set_fields(found, settled=True)
        return found

    def with_kernels(self, change: Callable[[Kernel], Kernel]) -> Choice:
        """The same with each kernel changed, and what was measured of it."""
        found = self._with([*map(change, self.kernels)], self.measured)
        set_fields(found, settled=self.settled)
        return found

    def _taken(self, expected: Expected | None) -> list[str]:
        """The kernels that some call may take: of those that take the same or more, about the best
        for each of the measured sizes.
        """
        if expected is None:
            return self._reached()
        found = [] if expected.has_models or not self.rules else self._reached()
        for kernel in {what_it_takes(kernel): kernel for kernel in self.kernels}.values():
            able = [item.name for item in self.kernels if _takes_all_of(item, kernel)]
            found += expected.best_of(able) or able
        return found

    def _reached(self) -> list[str]:
        """The kernels that no earlier one stands for, whatever the call."""
        found: list[Kernel] = []
        for kernel in self.kernels:
            # Of one with a rule, calls go on to the next.
            if not any(
                _takes_all_of(earlier, kernel) and not self.rules.get(earlier.name)
                for earlier in found
            ):
                found.append(kernel)
        return [kernel.name for kernel in found]

    def _with(self, kernels: Sequence[Kernel], measured: Sequence[Measured]) -> Choice:
        names = [kernel.name for kernel in kernels]
        rules = {name: rule for name, rule in self.rules.items() if name in names}
        found = Choice(self.name, kernels)
        given = tuple(measured)
        set_fields(found, tuning=self.tuning, like=self.like, rules=rules, measured=given)
        return found

    def which(self, *, target: Target | str | None = None, **dims: int) -> Taken:
        """Which kernel a call of these sizes takes, and why, as modules and calls decide.

        Nothing is compiled. Optional operands count as given, and types are as the first kernel
        with these dims declares them.

        - `target`: where the call runs. By default, where calls run on this machine.
        - `**dims`: the size of every dim of the inputs; leading dims are `batch`, as one.

        Raises `CallError`: a dim is unknown or missing, a size is not valid, or no kernel takes
        these sizes.
        Raises `DeclarationError`: the target is not valid, or the table is damaged.
        """
        found: Taken = eager("call_choice").which(self, target, dims)
        return found

    def __repr__(self) -> str:
        return f"Choice({self.name}: {', '.join(kernel.name for kernel in self.kernels)})"


_MOST_ORDERS = 4096
"""Calls' sizes whose orders are kept."""


def _check_like(name: str, count: int, like: Choice) -> None:
    if like.like is None and len(like.kernels) >= count:
        return
    raise DeclarationError(
        f"Choice `{name}`: the table of `{like.name}` cannot be taken"
        + (
            f", whose kernels are {len(like.kernels)}, and these {count}."
            if like.like is None
            else f", which takes that of `{like.like.name}`."
        ),
        expected="a choice with a table of its own, of these kernels in the same order; it may "
        "have more behind them",
        next_step='give that, or a file: tuning="NAME.tuning.json".',
    )


def _check_rules(
    name: str, kernels: Sequence[Kernel], rules: Mapping[str, Sequence[Condition]] | None
) -> dict[str, tuple[Condition, ...]]:
    if rules is None:
        return {}
    if not isinstance(rules, Mapping):
        raise DeclarationError(
            f"Choice `{name}`: rules is given as {shown(rules)}.",
            expected="a dict of lists of comparisons by kernel name",
            next_step=f'write rules={{"{kernels[0].name}": [n <= 8192]}}.',
        )
    names = [kernel.name for kernel in kernels]
    for named in rules:
        if not is_one_of(named, names):
            raise DeclarationError(
                f"Choice `{name}`: a rule is for {shown(named)}, which is not one of its kernels.",
                expected=f"names of its kernels: {', '.join(names)}",
                next_step="correct the name.",
            )
    found = {named: check_requires(named, rule) for named, rule in rules.items()}
    for kernel in kernels:
        rule = found.get(kernel.name)
        if not rule:
            continue
        sides = [side for item in rule for side in (item.left, item.right)]
        if any(map(uses_device, sides)) or not {*dims_of(*sides)} <= {*kernel.dims}:
            kernel.requiring(rule)  # which is the error
    return found


def what_it_takes(kernel: Kernel) -> tuple[str, ...]:
    """What a kernel takes: equal for kernels of which one can stand for the other."""
    return (*_operands(kernel), *sorted(map(str, kernel.requires)))


def _takes_all_of(one: Kernel, other: Kernel) -> bool:
    """Whether a kernel takes all that another one does."""
    return _operands(one) == _operands(other) and (
        {*map(str, one.requires)} <= {*map(str, other.requires)}
    )


def _operands(kernel: Kernel) -> tuple[str, ...]:
    return tuple(sorted(str(item) for item in kernel.operands if not isinstance(item, Scratch)))

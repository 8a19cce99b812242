"""Whether two declarations say the same, and whether kernels are the same code on a target."""

from __future__ import annotations

from dataclasses import fields

from custom_dispatch.kernel.choice import Choice, kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target


def are_same(first: Kernel | Choice, second: Kernel | Choice) -> bool:
    """Whether two declarations say the same; references are not compared."""
    if not isinstance(first, Kernel) or not isinstance(second, Kernel):
        several = (kernels_of(first), kernels_of(second))
        return (
            type(first) is type(second)
            and _preferences(first) == _preferences(second)
            and len(several[0]) == len(several[1])
            and all(map(are_same, *several))
        )
    return _parts(first) == _parts(second)


def _preferences(item: Kernel | Choice) -> tuple[object, ...]:
    """What says which kernel of a choice is taken."""
    if not isinstance(item, Choice):
        return ()
    return (item.tuning, item.like and item.like.tuning, str(item.rules))


def is_same_on(target: Target, first: Kernel, second: Kernel) -> bool:
    """Whether two kernels are the same code with the same launch on a target."""
    return is_same_code(first.for_target(target), second.for_target(target))


def is_same_code(first: Kernel, second: Kernel) -> bool:
    """Whether two forms of kernels are the same code with the same launch."""
    return _launched(first) == _launched(second)


def _launched(form: Kernel) -> tuple[object, ...]:
    return (
        *(form.source, form.objects, form.entry, form.options, form.include_dirs),
        *(form.max_registers, form.launch_bounds, form.block, form.cluster),
        form.dynamic_shared_memory,
        tuple(map(str, form.grid)),
        tuple(map(str, form.operands)),
    )


def _parts(kernel: Kernel) -> tuple[object, ...]:
    parts = {
        item.name: getattr(kernel, item.name)
        for item in fields(Kernel)
        if not item.metadata.get("not_in_keys")
    }
    variants = tuple((target, _parts(form)) for target, form in kernel.variants)
    return tuple((parts | {"variants": variants}).values())

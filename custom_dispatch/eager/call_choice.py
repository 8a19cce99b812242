"""The kernel of a choice that a call takes; and why, for who asks."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from custom_dispatch.eager.call import check_values, take_out
from custom_dispatch.eager.placing import kind_of_device, target_for_gpu
from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import bind_dims, match_arguments
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import first_fitting, fits_none
from custom_dispatch.kernel.evaluation import dims_of, evaluate
from custom_dispatch.kernel.expected import Expected
from custom_dispatch.kernel.expr import Dim
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import Taken
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.kernel.shapes import folded
from custom_dispatch.kernel.target import CHECKED, Target, gpu_index
from custom_dispatch.kernel.tuning import EQUAL
from custom_dispatch.runtime.device import device_of
from custom_dispatch.runtime.incoming import read_array, shape_of
from custom_dispatch.toolchain.tuned import tuned


def choose(
    choice: Choice, arguments: tuple[Any, ...], keywords: Mapping[str, Any], device: str = "cpu"
) -> Kernel:
    """The first kernel that the arguments fit, or of those the one that was measured to be best.

    `device`: the device of the call, for what was measured on such devices.
    """
    first = choice.kernels[0]
    named = dict(keywords)
    take_out(first, named)
    values = match_arguments(first, arguments, named)
    shapes: dict[str, Sequence[int]] = {}
    for index, operand in enumerate(first.inputs):
        if isinstance(operand, Buffer) and not (values[index] is None and operand.optional):
            what = f"operand `{operand.name}` of `{choice.name}`"
            values[index] = read_array(values[index], what)
            shapes[operand.name] = shape_of(values[index])

    def own(kernel: Kernel) -> Kernel:
        check_values(kernel, values)
        return choice.own(kernel)

    found = f"No kernel of choice `{choice.name}` takes these arguments."
    return first_fitting(choice, own, found, _preferred(choice, shapes, device))


def _preferred(
    choice: Choice, shapes: Mapping[str, Sequence[int]], device: str
) -> Sequence[Kernel]:
    """The kernels in the order that the table of the choice has for such a call."""
    if (choice.like or choice).tuning is None or device == CHECKED:
        return choice.ordered({})
    ordered, target = _by_table(choice, kind_of_device(choice.kernels[0], device))
    return ordered.ordered(_known_dims(choice, shapes), target)


@lru_cache(maxsize=256)
def _by_table(choice: Choice, kind: str) -> tuple[Choice, Target]:
    """As `_with_table`, for calls on a kind of device: tables are read once a process."""
    device = device_of(kind).name if gpu_index(kind) is not None else ""
    return _with_table(choice, targets_here(choice, kind), device)


def targets_here(choice: Choice, kind: str) -> list[Target]:
    """Where calls on a kind of device run, the preferred one first."""
    if gpu_index(kind) is None:
        return [Target("cpu", cpu="host", checked=kind == CHECKED)]
    of_kernels = {target_for_gpu(kernel, kind) for kernel in choice.kernels}
    return sorted(of_kernels, key=lambda target: target.cuda_arch, reverse=True)


def _with_table(
    choice: Choice, targets: Sequence[Target], device: str = ""
) -> tuple[Choice, Target]:
    """The choice by its table, and the first of some targets for which something was measured."""
    found = tuned(choice, targets, device)
    return found, next(filter(found.expected_on, targets), targets[0])


def _known_dims(choice: Choice, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The sizes that decide the order of the kernels, from the shapes of a call's inputs."""
    dims: dict[str, int] = {}
    for operand in choice.kernels[0].buffers:
        if operand.name in shapes:
            shape = shapes[operand.name]
            if operand.has_rank(len(shape)):
                sizes = zip(operand.shape, folded(operand, shape), strict=True)
                dims |= {size.name: actual for size, actual in sizes if isinstance(size, Dim)}
    return dims


def which(choice: Choice, target: Target | str | None, dims: Mapping[str, int]) -> Taken:
    """See `Choice.which`."""
    if target is None:
        targets = targets_here(choice, kind_of_device(choice.kernels[0], "auto"))
    else:
        targets = [Target.parse(target)]
    like = _with_dims(choice, dims)
    shapes = {
        item.name: tuple(evaluate(size, dims) for size in item.shape) for item in like.buffers
    }
    found, at = _with_table(choice, targets)
    known = _known_dims(choice, shapes)
    order = {kernel.name: kernel for kernel in found.ordered(known, at)}
    # Those that a table leaves out are of interest, too.
    kernels = order | {item.name: item for item in choice.kernels if item.name not in order}
    problems = {name: _problem(kernel, like, shapes) for name, kernel in kernels.items()}
    taken = next((name for name in order if problems[name] is None), None)
    if taken is None:
        refusals = filter(None, problems.values())
        raise fits_none(f"No kernel of choice `{choice.name}` takes these sizes.", refusals)
    some = found.expected_on(at)
    expected = Expected(choice.kernels, some.measured) if some else None
    seconds = expected.seconds(known) if expected else {}
    others = {}
    for kernel in choice.kernels:
        problem = problems[kernel.name]
        if kernel.name == taken:
            continue
        if problem is None:
            others[kernel.name] = _behind(kernel.name, taken, seconds, expected, known)
            continue
        text = problem.found.removeprefix(f"Kernel `{kernel.name}`").lstrip(": ").rstrip(".")
        if _problem(kernel, like, shapes) is None:
            text = text.replace("requires", "takes them, but for its rule", 1)
        others[kernel.name] = text
    reason = _reason(choice, choice.own(order[taken]), at, expected, known)
    return Taken(choice.name, at, dict(dims), taken, reason, others)


def _with_dims(choice: Choice, dims: Mapping[str, int]) -> Kernel:
    """The first kernel whose inputs have these dims: what its types are, those of the call are."""
    names = {}
    for kernel in choice.kernels:
        shapes = [size for item in kernel.buffers for size in item.shape]
        names[kernel] = [dim.name for dim in dims_of(*shapes)]
    like = next((kernel for kernel in names if {*names[kernel]} == {*dims}), None)
    wanted = names[choice.kernels[0]]
    if like is None:
        unknown = [name for name in dims if name not in wanted]
        missing = [name for name in wanted if name not in dims]
        found = f"has no dim `{unknown[0]}`" if unknown else f"needs `{'`, `'.join(missing)}`"
        raise CallError(
            f"Choice `{choice.name}` {found}.",
            expected=f"a size for each of {', '.join(wanted)}" if wanted else "no sizes",
            next_step=f"give {', '.join(f'{name}=1024' for name in wanted)}."
            if wanted
            else "leave them out.",
        )
    for name, size in dims.items():
        if type(size) is not int or not 0 <= size < 2**63:
            raise CallError(
                f"Choice `{choice.name}`: {name} is given as {shown(size)}.",
                expected="a whole number from 0 to 2**63 - 1",
                next_step=f"give {name}=1024.",
            )
    return like


def _problem(
    kernel: Kernel, like: Kernel, shapes: Mapping[str, tuple[int, ...]]
) -> CallError | None:
    """Why a kernel does not take such a call."""
    for own, given in zip(kernel.inputs, like.inputs, strict=True):
        if isinstance(own, Buffer) and isinstance(given, Buffer) and own.dtype != given.dtype:
            return CallError(
                f"Kernel `{kernel.name}` takes {own.dtype} for `{own.name}`, and `{like.name}`, "
                f"as which types are taken, {given.dtype}."
            )
    try:
        bind_dims(kernel, shapes)
    except CallError as error:
        return error
    return None


def _behind(
    name: str,
    taken: str,
    seconds: Mapping[str, float],
    expected: Expected | None,
    dims: Mapping[str, int],
) -> str:
    """Why a kernel that takes the call, too, is not taken."""
    if expected is None:
        return "takes them, too, and is declared later"
    if seconds[name] == math.inf:
        results = (r for item in expected.nearest(dims) for r in item.results if r.kernel == name)
        problem = next((result.problem for result in results), "")
        return f"has no time in the table{f': {problem}' if problem else ''}"
    times = seconds[name] / seconds[taken]
    if times <= EQUAL:
        return "is as fast, and declared later"
    return f"is expected to take {times:.2f} times as long"


def _reason(
    choice: Choice, kernel: Kernel, at: Target, expected: Expected | None, dims: Mapping[str, int]
) -> str:
    if expected is not None:
        devices = " and ".join(item.device for item in expected.measured)
        seconds = expected.seconds(dims)[kernel.name] / len(expected.measured)
        if any(size.distance(dims) == 0 for size in expected.nearest(dims)):
            why = f"was measured to be the best that takes them, on {devices}"
        elif seconds < math.inf:
            why = f"is expected to be the best that takes them, with {1e6 * seconds:.2f} us, "
            why += f"by what was measured on {devices}"
        else:
            why = "is the first declared that takes them: none that does has a time"
    else:
        rule = choice.rules.get(kernel.name)
        why = f"is the first declared {'whose rule holds' if rule else 'that takes them'}"
        why += f": {', '.join(map(str, rule))}" if rule else ""
        if (choice.like or choice).tuning:
            why += f"; nothing that counts was measured for {at}"
    form = kernel.for_target(at)
    made_elsewhere = form.source is None and form.producer is None
    if at.is_cuda and made_elsewhere and at not in dict(form.objects):
        why += f"; it has no object for {at}, so a build for that fails"
    return why

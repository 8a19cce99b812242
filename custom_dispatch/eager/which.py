"""Which kernel of a choice a call takes, told by what decides it in calls and in modules."""

from __future__ import annotations

from collections.abc import Mapping

from custom_dispatch.eager.call_choice import by_table, known_dims, targets_here
from custom_dispatch.eager.placing import kind_of_device
from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import bind_dims
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import dims_of
from custom_dispatch.kernel.fitting import fits_none
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import Taken
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import EQUAL, Measured
from custom_dispatch.kernel.tuning_table import sizes_said


def which(choice: Choice, target: Target | str | None, dims: Mapping[str, int]) -> Taken:
    """See `Choice.which`."""
    if target is None:
        targets = targets_here(choice, kind_of_device(choice.kernels[0], "auto"))
    else:
        targets = [Target.parse(target)]
    like = _with_dims(choice, dims)
    buffers = [operand for operand in like.inputs if isinstance(operand, Buffer)]
    shapes = {item.name: tuple(evaluate(size, dims) for size in item.shape) for item in buffers}
    found, at = by_table(choice, targets)
    known = known_dims(choice, shapes)
    order = {kernel.name: kernel for kernel in found.ordered(known, at)}
    # Those that a table leaves out are of interest, too.
    kernels = order | {item.name: item for item in choice.kernels if item.name not in order}
    problems = {name: _problem(kernel, like, shapes) for name, kernel in kernels.items()}
    taken = next((name for name in order if problems[name] is None), None)
    if taken is None:
        refusals = filter(None, problems.values())
        raise fits_none(f"No kernel of choice `{choice.name}` takes these sizes.", refusals)
    measured = found.measured_for(at)
    others = {}
    for kernel in choice.kernels:
        problem = problems[kernel.name]
        if kernel.name == taken:
            continue
        if problem is None:
            others[kernel.name] = _behind(kernel, measured, known)
            continue
        text = problem.found.removeprefix(f"Kernel `{kernel.name}`").lstrip(": ").rstrip(".")
        if _problem(kernel, like, shapes) is None:
            text = text.replace("requires", "takes them, but for its rule", 1)
        others[kernel.name] = text
    reason = _reason(choice, choice.own(order[taken]), at, measured, known)
    return Taken(choice.name, at, dict(dims), taken, reason, others)


def _with_dims(choice: Choice, dims: Mapping[str, int]) -> Kernel:
    """The first kernel whose inputs have these dims: what its types are, those of the call are."""
    names = {}
    for kernel in choice.kernels:
        shapes = [size for item in kernel.inputs if isinstance(item, Buffer) for size in item.shape]
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


def _behind(kernel: Kernel, measured: Measured | None, dims: Mapping[str, int]) -> str:
    """Why a kernel that takes the call, too, is not taken."""
    if measured is None:
        return "takes them, too, and is declared later"
    times = measured.times_as_long(kernel.name, dims)
    if times <= EQUAL:
        return "is as fast, and declared later"
    if times < float("inf"):
        return f"takes {times:.2f} times as long as the fastest that was measured"
    results = (result for item in measured.nearest(dims) for result in item.results)
    problem = next((result.problem for result in results if result.kernel == kernel.name), "")
    return f"has no time in the table{f': {problem}' if problem else ''}"


def _reason(
    choice: Choice, kernel: Kernel, at: Target, measured: Measured | None, dims: Mapping[str, int]
) -> str:
    if measured is not None:
        nearest = measured.nearest(dims)
        sizes = "; ".join(sizes_said(item.dims) for item in nearest[:3])
        sizes += f"; and {len(nearest) - 3} more" if len(nearest) > 3 else ""
        near = "these sizes" if nearest[0].distance(dims) == 0 else f"the nearest sizes ({sizes})"
        if measured.times_as_long(kernel.name, dims) < float("inf"):
            why = f"was measured to be the best that takes them, for {near} on {measured.device}"
        else:
            why = f"is the first declared that takes them: none that does has a time for {near}"
    else:
        table = choice.like or choice
        none = f"; nothing that counts was measured for {at}" if table.tuning else ""
        rule = choice.rules.get(kernel.name)
        why = f"is the first declared {'whose rule holds' if rule else 'that takes them'}"
        why += f": {', '.join(map(str, rule))}" if rule else ""
        why += none
    form = kernel.for_target(at)
    if at.is_cuda and form.source is None and at not in dict(form.objects):
        why += f"; it has no object for {at}, so a build for that fails"
    return why

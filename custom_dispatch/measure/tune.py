"""Measuring the kernels of a choice for some sizes: `custom-dispatch tune`.

Kernels are built here, and one other process launches them all, in turn and with the same inputs. A
kernel that faults ends the use of the GPU for everything in that process, and one that hangs ends
only with it: then that is the kernel's result, and what is left goes on in a new process.
"""

import json
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.compilation import compile as compile_module
from custom_dispatch.eager.reference import reference_results
from custom_dispatch.errors import CustomDispatchError, DeclarationError, DeviceError
from custom_dispatch.files import temporary_directory
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.description import describe
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expected import Expected
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result
from custom_dispatch.kernel.tuning_table import sizes_said
from custom_dispatch.measure.child import START_S, Child, ChildEndedError
from custom_dispatch.measure.comparison import sample_of, write_samples
from custom_dispatch.measure.inputs import (
    bytes_moved,
    check_dims,
    elements,
    inputs_for_kernel,
    why_not_taken,
)
from custom_dispatch.measure.time_fit import fitted
from custom_dispatch.measure.tune_candidates import Candidate, build_each, distinct, read_objects
from custom_dispatch.measure.tune_child import Effort
from custom_dispatch.runtime.device import device_of
from custom_dispatch.runtime.driver import device_attribute
from custom_dispatch.toolchain.library import Library
from custom_dispatch.toolchain.tuned import digest_of

Report = Callable[[str], object]
Dims = Mapping[str, int]

_NONE = "takes no time that could be measured"
_MULTIPROCESSORS = 16
"""CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT."""
_FIRST = 32
"""After so many sizes, and again after as many, models tell which kernels are slow for others."""
_SLOW = 2.0
"""Times as long as the best."""
_MOST_BYTES, _MOST_FLOPS = 1 << 31, 5 * 10**12
"""Of sizes of which there are more than are measured."""
_MOST_OPERATIONS = 1_000_000_000
"""The reference, usually numpy in double precision, takes seconds for so many."""


def tune(
    choice: Choice,
    sizes: Sequence[Dims],
    target: Target,
    *,
    device: str,
    effort: Effort,
    compiler: str,
    include_dirs: Sequence[Path],
    objects: Path | None,
    report: Report,
    done: Report,
) -> Measured:
    """Measure every kernel of a choice for some sizes, on the device of this machine.

    - `sizes`: the value of every dim, once for each measurement.
    - `target`: what the kernels are built for: of the GPU, or the CPU.
    - `device`: the GPU, where the target is one.
    - `objects`: a directory of what `write_objects` built; nothing is compiled then.
    - `report`, `done`: called with what is done now, and with what came out for each of the sizes.
    """
    for dims in sizes:
        for kernel in choice.kernels:
            check_dims(kernel, dims, "--shape", ",")
    here = device_of(device if target.is_cuda else "cpu")
    choice = distinct(choice, target)
    # Of the sources as they were before: an edit while they are measured makes the table stale.
    digests = {kernel.name: digest_of(kernel, target) for kernel in choice.kernels}
    if objects is None:
        report(f"building {len(choice.kernels)} kernels for {target}")
        built = build_each(choice, target, compiler, include_dirs)
    else:
        built = read_objects(choice, target, objects)
    measured = Measured(
        target,
        here.name,
        ", ".join(sorted({item.compiler for item in built if item.compiler})),
        time.strftime("%Y-%m-%d"),
        digests,
        (),
        dict(effort.scalars),
    )
    processors = device_attribute(here.index, _MULTIPROCESSORS) if target.is_cuda else 1
    places = {item.kernel.name: item.resident * processors for item in built}
    order = list(sizes)
    if len(order) > _FIRST:  # the first of them are all that is known of those that follow
        order = [order[at] for at in numpy.random.default_rng(effort.seed).permutation(len(order))]
    with temporary_directory() as directory:
        runner = Runner(built, target, here.argument, effort, directory)
        try:
            for index, dims in enumerate(order):
                said = f"{index + 1} of {len(order)}, {sizes_said(dims)}"
                report(said)
                slow: Collection[str] = ()
                if index >= _FIRST:
                    if index % _FIRST == 0:
                        measured = fitted(choice, measured, places)
                    slow = _slow(choice, measured, dims)
                reference = _reference(choice, dims, effort, directory / f"reference{index}.npz")
                found = MeasuredSizes(dict(dims), runner.measure(dims, reference, slow))
                measured = replace(measured, sizes=(*measured.sizes, found))
                done(f"{said}: {_best_said(found)}")
        finally:
            runner.close()
    return fitted(choice, measured, places)


def is_worth_measuring(choice: Choice, dims: Dims) -> bool:
    """Whether some kernel takes calls of these sizes, in little memory and time."""
    first = choice.kernels[0]
    return (
        bytes_moved(first, dims) <= _MOST_BYTES
        and _operations(first, dims) <= _MOST_FLOPS
        and not all(why_not_taken(kernel, dims) for kernel in choice.kernels)
    )


def _slow(choice: Choice, measured: Measured, dims: Dims) -> Collection[str]:
    """Kernels that are not worth measuring for some sizes, by those measured before."""
    seconds = Expected(choice.kernels, (measured,)).seconds(dims)
    most = _SLOW * min(seconds.values())
    return [name for name, each in seconds.items() if most < each < math.inf]


def _reference(choice: Choice, dims: Dims, effort: Effort, path: Path) -> Path | None:
    """What the reference computes for some sizes, as a file; None where there is none, or more
    operations than it is asked for.
    """
    if not effort.with_reference:
        return None
    able = (item for item in choice.kernels if item.reference and not why_not_taken(item, dims))
    kernel = next(able, None)
    if kernel is None or _operations(kernel, dims) > _MOST_OPERATIONS:
        return None
    generator = numpy.random.default_rng(effort.seed)
    inputs = inputs_for_kernel(kernel, dims, generator, with_optional=False, scalars=effort.scalars)
    results = reference_results(kernel, [*inputs.named.values()])
    pairs = zip(kernel.outputs, results, strict=True)
    write_samples(path, {item.name: sample_of(result) for item, result in pairs})
    return path


def _operations(kernel: Kernel, dims: Dims) -> int:
    """As many as the kernel declares; one for each element of its operands otherwise."""
    try:
        if kernel.flops is not None:
            return evaluate(kernel.flops, dims)
        return elements(kernel, dims)
    except DeclarationError:
        return 0


def _best_said(found: MeasuredSizes) -> str:
    if not found.seconds:
        return "no kernel could be measured"
    name, seconds = min(found.seconds.items(), key=lambda item: item[1])
    return f"{name}, {1e6 * seconds:.2f} us"


class Runner:
    """Measures candidates for one set of sizes after another.

    - `device`: the name of the GPU, or "cpu".
    - `directory`: for the files that the process reads.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        target: Target,
        device: str,
        effort: Effort,
        directory: Path,
    ) -> None:
        self._effort = effort
        self._kernels = [item.kernel for item in candidates]
        self._problems: dict[int, str] = {}
        self._right: set[int] = set()
        kernels = []
        for index, item in enumerate(candidates):
            code, symbol = b"", ""
            try:
                self._problems[index] = item.problem
                if not item.problem and item.library is not None:
                    code, symbol = _launched(item.kernel, item.library, target)
            except CustomDispatchError as error:
                self._problems[index] = error.found
            path = directory / f"{index}.code"
            path.write_bytes(code)
            form = describe(item.kernel.for_target(target))
            kernels.append({"kernel": form, "code": str(path), "symbol": symbol})
        request = directory / "request.json"  # a command line has too little room
        request.write_text(json.dumps(kernels))
        self._child = Child(
            "custom_dispatch.measure.tune_child",
            "Candidates",
            request=str(request),
            device=device,
            effort=asdict(effort),
        )

    def close(self) -> None:
        """End the process."""
        self._child.close()

    def measure(
        self, dims: Dims, reference: Path | None, without: Collection[str] = ()
    ) -> tuple[Result, ...]:
        """Every candidate for some sizes, but those that are to be left out.

        `reference`: a file of the results that are right; else they are those of a kernel that was
        right for other sizes, or of the first.
        """
        problems = {
            index: problem
            for index, kernel in enumerate(self._kernels)
            if (problem := self._problems[index] or why_not_taken(kernel, dims))
        }
        seconds: dict[int, float] = {}
        kept = [i for i, kernel in enumerate(self._kernels) if kernel.name not in without]
        while left := [i for i in kept if i not in problems]:
            # Without a reference what was right before is what others are compared with.
            left.sort(key=lambda index: index not in self._right)
            if not self._check(left, dims, reference, problems):
                continue
            left = [index for index in left if index not in problems]
            if reference is not None:
                self._right.update(left)
            seconds = self._time(left, dims, reference, problems)
            break
        return tuple(
            Result(
                self._kernels[i].name,
                seconds.get(i),
                "" if i in seconds else problems.get(i, _NONE),
            )
            for i in kept
        )

    def _check(
        self, indices: Sequence[int], dims: Dims, reference: Path | None, problems: dict[int, str]
    ) -> bool:
        """Run each once; whether the process is still there."""
        try:
            self._ask(START_S, "open", dict(dims), str(reference or ""))
        except (ChildEndedError, CustomDispatchError) as error:
            problems.update(dict.fromkeys(indices, error.found))
            return False
        for index in indices:
            try:
                if problem := self._ask(self._effort.timeout_s, "check", index):
                    problems[index] = problem
            except (ChildEndedError, CustomDispatchError) as error:
                problems[index] = error.found
                if isinstance(error, ChildEndedError):
                    return False
        return True

    def _ask(self, timeout_s: float, method: str, *arguments: Any) -> Any:
        try:
            return self._child.ask(timeout_s, method, *arguments)
        except DeviceError as error:  # of no use to that process any more
            self._child.close()
            raise ChildEndedError(error.found.rstrip(".")) from None

    def _time(
        self, indices: Sequence[int], dims: Dims, reference: Path | None, problems: dict[int, str]
    ) -> dict[int, float]:
        """Time kernels that did not fail when they ran once, together; where one fails now, each by
        itself, as it is not known which one.
        """
        if not indices:
            return {}
        try:
            answer = self._ask(self._effort.timeout_s * len(indices), "seconds", list(indices))
        except (ChildEndedError, CustomDispatchError) as error:
            if len(indices) == 1:
                problems[indices[0]] = error.found
                return {}
            alone: dict[int, float] = {}
            for index in indices:
                if self._check([index], dims, reference, problems) and index not in problems:
                    alone |= self._time([index], dims, reference, problems)
            return alone
        found = {int(index): float(value) for index, value in answer.items()}
        return {index: value for index, value in found.items() if 0 < value < math.inf}


def _launched(kernel: Kernel, library: Library, target: Target) -> tuple[bytes, str]:
    """What runs a kernel: an object for the GPU and its symbol there, or a module for the CPU."""
    if target.is_cuda:
        (found,) = library.objects
        return found.data, found.symbol(kernel.for_target(target).entry)
    return compile_module(None, library).bytes, ""

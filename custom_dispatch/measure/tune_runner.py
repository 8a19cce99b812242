"""The process that launches candidates for `tune.py`, and another one in its place when it ends.

One process launches all kernels, in turn and with the same inputs. A kernel that faults ends the
use of the GPU for everything in it, and one that hangs ends only with it: then that is the kernel's
result, and what is left goes on in a new process.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.binding import grids_for
from custom_dispatch.kernel.description import describe
from custom_dispatch.kernel.evaluation import for_values, holds
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Result
from custom_dispatch.measure.child import START_S, Child, ChildEndedError

Dims = Mapping[str, int]

_NONE = "takes no time that could be measured"


@dataclass(frozen=True, slots=True)
class Effort:
    """How long is measured, and how inputs are made."""

    repetitions: int = 100
    """Launches of each kernel and size, about."""
    seconds: float = 1.0
    """Time for these, at most."""
    timeout_s: float = 60.0
    """Seconds after which one kernel with one of the sizes is given up."""
    seed: int = 0
    """For the random inputs, which are the same for every kernel."""
    with_reference: bool = True
    """Whether results are compared with the reference of the choice's kernels, if one has any."""
    scalars: Mapping[str, float | int] = field(default_factory=dict)
    """The values of scalars that calls pass, by name; others get some number."""


DEFAULT_EFFORT = Effort()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel to be measured, or why it cannot be."""

    kernel: Kernel
    code: bytes = field(repr=False)
    """An object for the GPU, or a module for the CPU."""
    symbol: str
    problem: str = ""


class Runner:
    """Measures candidates for one set of sizes after another.

    Parameters
    ----------
    device
        The name of the GPU, or "cpu".
    directory
        For the files that the process reads.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        target: Target,
        device: str,
        effort: Effort,
        directory: Path,
    ) -> None:
        self._candidates, self._effort = candidates, effort
        request = directory / "request.json"
        self._child = Child("custom_dispatch.measure.tune_child", str(request))
        self._right: set[int] = set()
        kernels = []
        for index, item in enumerate(candidates):
            path = directory / f"{index}.code"
            path.write_bytes(item.code)
            form = describe(item.kernel.for_target(target))
            kernels.append({"kernel": form, "code": str(path), "symbol": item.symbol})
        asked = {
            "device": device,
            "kernels": kernels,
            "repetitions": effort.repetitions,
            "budget_s": effort.seconds,
            "seed": effort.seed,
            "scalars": dict(effort.scalars),
        }
        request.write_text(json.dumps(asked))

    def close(self) -> None:
        """End the process."""
        self._child.close()

    def measure(self, dims: Dims, reference: Path | None) -> tuple[Result, ...]:
        """Every candidate for some sizes.

        Parameters
        ----------
        reference
            A file of the results that are right; else they are those of a kernel that was right
            for other sizes, or of the first.
        """
        problems = {
            index: problem
            for index, item in enumerate(self._candidates)
            if (problem := item.problem or not_taken(item.kernel, dims))
        }
        seconds: dict[int, float] = {}
        while left := [i for i in range(len(self._candidates)) if i not in problems]:
            # Without a reference what was right before is what others are compared with.
            left.sort(key=lambda index: index not in self._right)
            if not self._check(left, dims, reference, problems):
                continue
            left = [index for index in left if index not in problems]
            if reference is not None:
                self._right.update(left)
            try:
                seconds = self._time(left)
            except ChildEndedError:
                for index in left:
                    self._time_alone(index, dims, reference, problems, seconds)
            break
        return tuple(
            Result(item.kernel.name, seconds.get(i), "" if i in seconds else problems.get(i, _NONE))
            for i, item in enumerate(self._candidates)
        )

    def _check(
        self, indices: Sequence[int], dims: Dims, reference: Path | None, problems: dict[int, str]
    ) -> bool:
        """Run each once; whether the process is still there."""
        try:
            opened = self._child.ask(START_S, open=dict(dims), reference=str(reference or ""))
        except ChildEndedError as error:
            problems.update(dict.fromkeys(indices, str(error)))
            return False
        if problem := opened.get("problem"):
            problems.update(dict.fromkeys(indices, str(problem)))
            return True
        for index in indices:
            try:
                if problem := self._child.ask(self._effort.timeout_s, check=index)["problem"]:
                    problems[index] = problem
            except ChildEndedError as error:
                problems[index] = str(error)
                return False
        return True

    def _time(self, indices: Sequence[int]) -> dict[int, float]:
        if not indices:
            return {}
        answer = self._child.ask(self._effort.timeout_s * len(indices), time=list(indices))
        if "problem" in answer:
            raise ChildEndedError(answer["problem"])
        found = {int(index): float(value) for index, value in answer["seconds"].items()}
        return {index: value for index, value in found.items() if 0 < value < math.inf}

    def _time_alone(
        self,
        index: int,
        dims: Dims,
        reference: Path | None,
        problems: dict[int, str],
        seconds: dict[int, float],
    ) -> None:
        """One that did not fail when it ran once, by itself: which of several does is not known."""
        if not self._check([index], dims, reference, problems) or index in problems:
            return
        try:
            seconds |= self._time([index])
        except ChildEndedError as error:
            problems[index] = str(error)


def not_taken(kernel: Kernel, dims: Dims) -> str:
    """Why a kernel does not take a call of these sizes."""
    try:
        for condition in kernel.requires:
            if not holds(condition, dims):
                return f"requires {condition}, which does not hold{for_values(condition, dims)}"
        grids_for(kernel, dims)
    except (CallError, DeclarationError) as error:
        return error.found
    return ""

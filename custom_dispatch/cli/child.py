"""What the process answers (`measure/child.py`) that runs kernels for `check` and `bench`.

Kernels have references, which are Python: so it imports what declares them, as the command did.
What they are compiled to comes as a file.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from custom_dispatch.measure.child import Answer, lost_device

if TYPE_CHECKING:
    from custom_dispatch.kernel.kernel import Kernel

Question = Mapping[str, Any]


def answers(request: str) -> Callable[[Question], Answer]:
    """What answers the questions of a command."""
    from custom_dispatch.cli import show_warning

    warnings.showwarning = show_warning
    asked = json.loads(request)
    return Checks(asked).answer if asked["command"] == "check" else Benches(asked).answer


class Checks:
    """Comparisons of kernels with their references."""

    def __init__(self, asked: Question) -> None:
        self._kernels = _declared(*asked["kernels"])

    def answer(self, question: Question) -> Answer:
        """`open` the module of a kernel by its place, for a device; `check` it for some sizes."""
        import numpy

        from custom_dispatch.eager.call import keep
        from custom_dispatch.measure.check import check_once

        if "open" in question:
            self._kernel, self._device = self._kernels[question["open"]], question["device"]
            keep(self._kernel, self._device, Path(question["module"]).read_bytes())
            self._generator = numpy.random.default_rng(0)
            return {}
        found = check_once(self._kernel, self._device, question["check"], self._generator)
        return lost_device() or asdict(found)


class Benches:
    """Measurements of a function of a module."""

    def __init__(self, asked: Question) -> None:
        import numpy

        self._asked = asked
        self._generator = numpy.random.default_rng(asked["seed"])

    def answer(self, question: Question) -> Answer:
        """`open` the module; `measure` it for some sizes, the first ones with the reference."""
        from custom_dispatch.cli.bench import inputs_for
        from custom_dispatch.measure.bench import Bench

        asked = self._asked
        if "open" in question:
            kernels = _declared(asked["subject"]) if asked["kernel"] else []
            kernel = next((item for item in kernels if item.name == asked["kernel"]), None)
            content, what = Path(question["open"]).read_bytes(), (asked["label"], asked["function"])
            self._runs = Bench(content, *what, asked["device"], kernel, reason=asked["reason"])
            return asdict(self._runs.subject)
        inputs = inputs_for(self._runs, question["measure"], asked["inputs"], self._generator)
        effort = {"repetitions": asked["repetitions"], "budget_s": asked["seconds"]}
        found = self._runs.measure(inputs, **effort, reference=question["reference"])
        return lost_device() or asdict(found)


def _declared(*names: str) -> list[Kernel]:
    """The kernels that the command has found, which said already what there is to say of them."""
    from custom_dispatch.cli.kernels import load_members

    with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
        return load_members(names)

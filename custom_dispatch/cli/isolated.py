"""What `check` and `bench` run in a process of its own (`measure/child.py`).

Kernels have references, which are Python: so it imports what declares them, as the command did.
What they are compiled to comes as a file.
"""

import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.cli import show_warning
from custom_dispatch.cli.kernels import load_members
from custom_dispatch.cli.notation import parse_input_or_draw
from custom_dispatch.eager.call import keep
from custom_dispatch.errors import CallError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.measure import inputs
from custom_dispatch.measure.bench import Bench
from custom_dispatch.measure.check import check_once


class Checks:
    """Comparisons of the kernels of some files with their references."""

    def __init__(self, names: Sequence[str]) -> None:
        self._kernels = _declared(names)

    def open(self, place: int, device: str, module: str) -> None:
        """Take the module of a kernel, by its place, for a device."""
        self._kernel, self._device = self._kernels[place], device
        keep(self._kernel, device, Path(module).read_bytes())
        self._generator = numpy.random.default_rng(0)

    def check(self, dims: dict[str, int]) -> dict[str, Any]:
        """Compare it for some sizes."""
        return asdict(check_once(self._kernel, self._device, dims, self._generator))


class Benches:
    """Measurements of a function of a module, which may be a kernel of a file."""

    def __init__(
        self, names: Sequence[str], texts: Sequence[str], seed: int, **effort: Any
    ) -> None:
        self._kernels = {kernel.name: kernel for kernel in _declared(names)}
        self._texts, self._effort = texts, effort
        self._generator = numpy.random.default_rng(seed)

    def open(
        self, module: str, label: str, function: str | None, device: str, reason: str
    ) -> dict[str, Any]:
        """Take a module; what of it is measured."""
        content, kernel = Path(module).read_bytes(), self._kernels.get(function or "")
        self._bench = Bench(content, label, function, device, kernel, reason=reason)
        return asdict(self._bench.subject)

    def measure(self, dims: dict[str, int], reference: bool) -> dict[str, Any]:
        """Measure it for some sizes."""
        inputs = self._inputs(dims)
        return asdict(self._bench.measure(inputs, **self._effort, reference=reference))

    def _inputs(self, dims: dict[str, int]) -> inputs.BenchInputs:
        """What the function is called with: what --input gives, else random values."""
        kernel, function = self._bench.kernel, self._bench.function
        if self._texts:
            used = {name for name in dims if any(f"{{{name}}}" in text for text in self._texts)}
            if set(dims) - used:
                name = min(set(dims) - used)
                raise CallError(
                    f"--dims gives `{name}`, which no --input uses.",
                    expected=f"an --input such as {{{name}}}xf32, or no --input at all for a "
                    "kernel",
                    next_step="leave one of them out.",
                )
            values = [self._parsed(text, dims) for text in self._texts]
            return inputs.given_inputs(kernel, function.type, values)
        if kernel is not None:
            return inputs.inputs_for_kernel(kernel, dims, self._generator)
        if dims:
            raise CallError(
                f"--dims is given, and `{function.name}` is no kernel alone, so it has no dims.",
                expected=f"--input for each argument of {function.type}",
                next_step=f"give --input {{{next(iter(dims))}}}xf32, for example.",
            )
        return inputs.inputs_for_type(function.name, function.type, self._generator)

    def _parsed(self, text: str, dims: dict[str, int]) -> Any:
        """An input; one without values is random."""
        for name, value in dims.items():
            text = text.replace(f"{{{name}}}", str(value))
        return parse_input_or_draw(text, self._generator)


def _declared(names: Sequence[str]) -> list[Kernel]:
    """The kernels that the command has found, which said already what there is to say of them."""
    with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
        found = load_members(tuple(names))
    warnings.showwarning = show_warning
    return found

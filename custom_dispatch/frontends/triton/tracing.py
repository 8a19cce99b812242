"""Launches of Triton while PyTorch traces a model: recorded, and not run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from triton.runtime.autotuner import Heuristics
from triton.runtime.jit import KernelInterface

from custom_dispatch.frontends.triton.on_cpu import launches_on_cpu


@contextmanager
def launches_traced(wrap: Callable[[Any], Any], stand_in: type) -> Iterator[None]:
    """Record launches that are given tensors without values.

    PyTorch records those that a model wraps itself. Of others it runs the function that Triton
    makes of `kernel[grid]`, so that is another one meanwhile. A driver is there for PyTorch to ask
    which architecture's code tells what a kernel writes.

    - `wrap`: `torch.library.wrap_triton`.
    - `stand_in`: the type of tensors without values.
    """
    before = KernelInterface.__getitem__

    def launcher(kernel: Any, grid: Any) -> Callable[..., Any]:
        def launch(*arguments: Any, **keywords: Any) -> Any:
            values = (*arguments, *keywords.values())
            if not any(isinstance(value, stand_in) for value in values):
                return before(kernel, grid)(*arguments, **keywords)
            inner, given = kernel, dict(keywords)
            while isinstance(inner, Heuristics):
                for name, value in inner.values.items():
                    known = dict(zip(inner.arg_names, arguments, strict=False))
                    given[name] = value({**known, **given})
                inner = inner.fn
            plain, chosen = (
                inner,
                {key for each in getattr(inner, "configs", ()) for key in each.kwargs},
            )
            while not hasattr(plain, "params"):
                plain = plain.fn
            for item in plain.params[len(arguments) :]:  # PyTorch wants those with defaults, too
                if item.has_default and item.name not in chosen:
                    given.setdefault(item.name, item.default)
            return wrap(inner)[grid](*arguments, **given)

        return launch

    with patch.object(KernelInterface, "__getitem__", launcher), launches_on_cpu():
        yield

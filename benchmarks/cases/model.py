"""What each model of `benchmarks/gpu/models.py` says of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

Arguments = tuple[torch.Tensor, ...]
Targets = Sequence[str]


@dataclass(frozen=True)
class Case:
    """A model, calls of it, and how it is compiled."""

    make: Callable[[Path], torch.nn.Module]
    """PyTorch's, which says what is right, and has the weights."""
    calls: Callable[[Path], dict[str, Arguments]]
    """By what they are."""
    compiled: Callable[..., Any]
    """With kernels; of a model, calls and targets, and `graph` where the sizes are known."""
    alone: Callable[[torch.nn.Module, dict[str, Arguments], Targets], Any] | None = None
    """By IREE without kernels, with the same weights; None where another case has that."""
    eased: Callable[[Arguments], tuple[Any, ...]] | None = None
    """Of the call's arguments others that mean the same, and are easier for PyTorch."""
    carried: str = ""
    """The case whose weights are carried, and are this one's; empty if they are written anew."""
    open_sizes: bool = False
    """Whether `alone` leaves sizes open. Then IREE alone is also measured with the sizes of each
    call, which it is many times faster at."""


def with_kernels(
    module: torch.nn.Module,
    calls: dict[str, Arguments],
    targets: Targets,
    *,
    dynamic: Callable[[], Any] | None = None,
    products: bool = True,
    epilogues: bool = False,
    graph: bool = False,
) -> Any:
    """A model of PyTorch with every kernel that ships; those for matrix products only if asked, and
    what follows these as functions that they call if that is asked.

    Parameters
    ----------
    calls
        The first is what it is exported with.
    dynamic
        The sizes that stay open, made when a model is exported; None for none.
    """
    import custom_dispatch as cd
    from cuda_kernels.patterns import torch as torch_patterns
    from cuda_kernels.patterns import torch_epilogues

    arguments, shapes = next(iter(calls.values())), None if dynamic is None else dynamic()
    left_out = () if products else (*torch_patterns.linear, *torch_patterns.matmul)
    everything = torch_patterns.everything
    if epilogues:
        everything = torch_epilogues.everything_in(module, arguments, dynamic_shapes=shapes)
    patterns = [item for item in everything if item not in left_out]
    return cd.torch.compile(
        module,
        arguments,
        targets,
        dynamic_shapes=shapes,
        replace=patterns,
        inline_bytes=0,
        graph=graph,
    )


def without_kernels(
    module: torch.nn.Module,
    calls: dict[str, Arguments],
    targets: Targets,
    *,
    dynamic: Callable[[], Any] | None = None,
) -> Any:
    """The same by IREE alone."""
    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul
    from custom_dispatch.compiled import CompiledModule
    from custom_dispatch.frontends.torch.importer import export_model, import_programs
    from custom_dispatch.ir.compiler_tool import compile_mlir, device_flags
    from custom_dispatch.link.dialects.torch_dialect import convert_torch

    shapes = None if dynamic is None else dynamic()
    program = export_model(module, next(iter(calls.values())), shapes)
    imported = import_programs({"main": program}, 0)
    source = convert_torch(imported.module, {})[0]
    flags = device_flags(cd.build([simple_mul], targets))
    return CompiledModule(compile_mlir(source, flags), (), (), imported.parameters)

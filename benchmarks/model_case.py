"""What each model of `benchmarks/models.py` says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

TARGETS = ("cuda:sm_80", "cuda:sm_90", "cpu")
Arguments = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Case:
    """A model, calls of it, and how it is compiled."""

    make: Callable[[Path], torch.nn.Module]
    """PyTorch's, which says what is right, and has the weights."""
    calls: Callable[[Path], dict[str, Arguments]]
    """By what they are."""
    compiled: Callable[[torch.nn.Module, dict[str, Arguments]], Any]
    """With kernels."""
    alone: Callable[[torch.nn.Module, dict[str, Arguments]], Any] | None = None
    """By IREE without kernels, with the same weights; None where another case has that."""
    carried: bool = False
    """Whether the weights are carried, and not written where the model runs."""


def with_kernels(module: torch.nn.Module, arguments: Arguments, dynamic: Any) -> Any:
    """A model of PyTorch with every kernel that ships."""
    import custom_dispatch as cd
    from cuda_kernels.torch_patterns import everything

    return cd.torch.compile(
        module, arguments, TARGETS, dynamic_shapes=dynamic, replace=everything, inline_bytes=0
    )


def without_kernels(module: torch.nn.Module, arguments: Arguments, dynamic: Any) -> Any:
    """The same by IREE alone, for the same targets."""
    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul
    from custom_dispatch.compilation import compile_mlir, device_flags
    from custom_dispatch.compiled import CompiledModule
    from custom_dispatch.frontends.torch.importer import export_model, import_program
    from custom_dispatch.frontends.torch_dialect import convert_torch

    program = export_model(module, arguments, dynamic)
    imported, parameters = import_program(program, "main", 0)
    source = convert_torch(imported, {})[0]
    flags = device_flags(cd.build([simple_mul], TARGETS))
    return CompiledModule(compile_mlir(source, flags), (), (), parameters)

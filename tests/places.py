"""Which places of a model patterns are found in, without compiling it."""

from __future__ import annotations

from typing import Any

from custom_dispatch.frontends.torch.importer import export_model, import_program
from custom_dispatch.frontends.torch.replacing import put_kernels
from custom_dispatch.replaced import Replaced


def replaced_in_torch(model: Any, arguments: Any, items: Any, shapes: Any = None) -> Replaced:
    """What `cd.torch.compile` says it replaced."""
    program = export_model(model, arguments, shapes)
    imported = import_program(program, "main", for_patterns=True)
    report, _ = put_kernels(imported, program, items, [])
    assert imported.module.operation.verify()
    return report

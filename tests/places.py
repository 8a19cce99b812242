"""Which places of a model patterns are found in, without compiling it."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from custom_dispatch.match.replace import replace_places
from custom_dispatch.replaced import Replaced


def replaced_in_torch(model: Any, arguments: Any, items: Any, shapes: Any = None) -> Replaced:
    """What `cd.torch.compile` says it replaced."""
    from custom_dispatch.frontends.torch.importer import export_model
    from custom_dispatch.frontends.torch.replacing import import_with_kernels

    program = export_model(model, arguments, shapes)
    imported, report, _ = import_with_kernels({"main": program}, 4096, items, [])
    assert report is not None
    assert imported.module.operation.verify()
    assert "torch.bind_symbolic_shape" not in str(imported.module)
    return report


def import_program(program: Any, name: str, *given: Any, **options: Any) -> Any:
    """A model of PyTorch that has one function, as `import_programs` does it."""
    from custom_dispatch.frontends.torch.importer import import_programs

    return import_programs({name: program}, *given, **options)


def imported_from_onnx(model: Any) -> ir.Module:
    """A model of ONNX, or the path of one, as `cd.onnx.compile` imports it."""
    from custom_dispatch.frontends.onnx.importer import find_kernels, import_graph, infer_types
    from custom_dispatch.frontends.onnx.model import read_model

    graph = read_model(model, "main", 4096, lambda *_: False)
    return import_graph(infer_types(graph, find_kernels(graph, {})), {}, "main")


def replaced_in_onnx(model: Any, items: Any) -> Replaced:
    """What `cd.onnx.compile` says it replaced."""
    module = imported_from_onnx(model)
    report = replace_places(module, items)
    assert module.operation.verify()
    assert "torch.bind_symbolic_shape" not in str(module)
    return report

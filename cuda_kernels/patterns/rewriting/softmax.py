"""Softmax that converts as it goes, as a conversion and a softmax."""

from __future__ import annotations

import torch

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    keeps_results,
    named,
    put,
)


@keeps_results
def write_softmax(program: torch.export.ExportedProgram) -> None:
    """Write softmax of another type as that of a tensor converted before."""
    for node in calls(program.graph, aten.softmax.int):
        given = named(node)
        if given["dtype"] is not None:
            write = Writer(node)
            wide = write.cast(given["self"], given["dtype"])
            put(node, write.call(aten.softmax.int, wide, given["dim"], None))

"""Kernels in the places of a PyTorch model that compute what they do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from custom_dispatch.frontends.torch.glance import glanced
from custom_dispatch.frontends.torch.importer import Imported
from custom_dispatch.frontends.torch.pattern import as_pattern
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.match.pattern import as_list, with_own_names
from custom_dispatch.match.replace import replace_places
from custom_dispatch.replaced import Replaced


def put_kernels(
    imported: Imported,
    program: torch.export.ExportedProgram,
    items: Any,
    called: Iterable[Kernel | Choice],
) -> tuple[Replaced, list[Kernel | Choice]]:
    """Put kernels into an imported model; return what was done, and the kernels.

    Parameters
    ----------
    program
        What was imported.
    items
        Patterns, kernels whose references are code of PyTorch, and lists of them.
    called
        What the model calls by name: patterns' kernels get other names.

    Raises
    ------
    DeclarationError
        An item is not a pattern, or PyTorch cannot trace its function.
    LinkError
        A pattern that is required is found nowhere; the message lists what nearly is.
    """
    patterns = with_own_names([as_pattern(item) for item in as_list(items)], called)
    report = replace_places(
        imported.module,
        glanced(patterns, program),
        held=imported.held,
        optional="cd.torch.Pattern(kernel, ..., required=False)",
    )
    names = {item.kernel for item in report}
    return report, [pattern.item for pattern in patterns if pattern.item.name in names]

"""What a kernel is on one target alone, where that differs from what it is elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.sources import check_include_dirs, check_path
from custom_dispatch.kernel.target import EVERY_CPU, Target


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Implementation:
    """Another code for a kernel, on one target: `implementations={"cuda:sm_90a": ...}`.

    That for `cpu` is what every CPU runs: the PTX of another source, say, without tensor cores.
    `cpu:checked` keeps to the kernel's own code, whose mistakes it is for.

    What is given takes the place of the kernel's own; what is left out stays. Operands, and so the
    C signature, are the same everywhere, as are the reference and what the kernel requires.

    Parameters
    ----------
    source, entry, block, grid, dynamic_shared_memory, options, launch_bounds, max_registers, \
cluster, include_dirs
        As of a kernel; paths are relative to the file that declares it.
    """

    source: str | os.PathLike[str] | None = None
    entry: str | None = None
    block: Sequence[int] | int | None = None
    grid: Sequence[Expr | int] | Expr | int | None = None
    dynamic_shared_memory: int | None = None
    options: Sequence[str] | None = None
    launch_bounds: int | None = None
    max_registers: int | None = None
    cluster: Sequence[int] | int | None = None
    include_dirs: Sequence[str | os.PathLike[str]] | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The parts that it replaces, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


Implementations = tuple[tuple[Target, Implementation], ...]


def check_implementations(
    kernel: str, given: Mapping[str, Implementation] | None, base: Path
) -> Implementations:
    """Implementations by target, in the targets' order, their paths relative to a directory.

    Raises
    ------
    DeclarationError
        An item is not an `Implementation` or replaces nothing, or its target is not a GPU
        architecture or `cpu`, or occurs twice.
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise DeclarationError(
            f"Kernel `{kernel}`: implementations is given as {shown(given)}.",
            expected="a dict of cd.Implementation by target",
            next_step='write implementations={"cuda:sm_90a": cd.Implementation(source=...)}.',
        )
    found: dict[Target, Implementation] = {}
    for name, item in given.items():
        target = Target.parse(name)
        if not (target.is_cuda or target == EVERY_CPU) or target in found:
            raise DeclarationError(
                f"Kernel `{kernel}`: "
                + ("two implementations are" if target in found else "an implementation is")
                + f" given for target {target}.",
                expected="one for each cuda:sm_XX target that needs another than the kernel's own, "
                "and one for cpu, which is every CPU",
                next_step="drop one of them." if target in found else "give it for cpu.",
            )
        if not isinstance(item, Implementation) or not item.given:
            said = "replaces nothing" if isinstance(item, Implementation) else f"is {shown(item)}"
            raise DeclarationError(
                f"Kernel `{kernel}`: the implementation for {target} {said}.",
                expected="cd.Implementation with a source, an entry, a block or whatever else is "
                "another there",
                next_step="give what differs, or drop it.",
            )
        with naming(kernel, target):
            found[target] = _located(kernel, item, base)
    on_gpus = [(target, item) for target, item in found.items() if target.is_cuda]
    on_gpus.sort(key=lambda pair: pair[0].cuda_arch, reverse=True)
    return (*on_gpus, *((target, item) for target, item in found.items() if not target.is_cuda))


def _located(kernel: str, item: Implementation, base: Path) -> Implementation:
    paths: dict[str, Any] = {}
    if item.source is not None:
        paths["source"] = check_path(kernel, "source", item.source, base)
    if item.include_dirs is not None:
        paths["include_dirs"] = check_include_dirs(kernel, item.include_dirs, base)
    return replace(item, **paths)


@contextmanager
def naming(kernel: str, target: Target) -> Iterator[None]:
    """Say in errors of a declaration which of its implementations they are about."""
    try:
        yield
    except DeclarationError as error:
        named, plain = f"Kernel `{kernel}`, implementation for {target}", f"Kernel `{kernel}`"
        raise DeclarationError(
            error.found.replace(plain, named, 1),
            expected=error.expected,
            next_step=error.next_step,
        ) from None

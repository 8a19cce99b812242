"""`custom-dispatch check`: conformance of kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from custom_dispatch.cli.options import (
    compiler_option,
    include_option,
    optional_target_option,
    progress,
    split_targets,
)

if TYPE_CHECKING:
    from custom_dispatch.runtime.check import CheckResult
    from custom_dispatch.toolchain.library import Library


@click.command(short_help="Build kernels and compare them with their references.")
@click.argument("kernels", nargs=-1, required=True)
@optional_target_option
@compiler_option
@include_option
def check(
    kernels: tuple[str, ...],
    targets: tuple[str, ...],
    compiler: str,
    include_dirs: tuple[Path, ...],
) -> int:
    """Build KERNELS for each target and validate them; then compare them with their references,
    for several sizes, on every device of this machine.
    """
    from custom_dispatch.cli.kernels import load_members
    from custom_dispatch.cli.report import show_error, show_resources, show_table
    from custom_dispatch.runtime import devices
    from custom_dispatch.runtime.check import check_kernel
    from custom_dispatch.toolchain.build import build

    declared = load_members(kernels)
    with progress("building and validating"):
        library = build(
            declared, split_targets(targets), compiler=compiler, include_dirs=include_dirs
        )
        _compile_for_cpu(library)
    show_resources(library)
    results: list[CheckResult] = []
    rows = []
    for kernel in declared:
        if kernel.reference is None:
            click.echo(f"{kernel.name}: declares no reference, so it was not run", err=True)
            continue
        for device in dict.fromkeys(device.kind for device in devices()):
            with progress(f"checking {kernel.name} on {device}"):
                found = list(check_kernel(kernel, device, compiler=compiler))
            skipped = [result for result in found if result.skipped]
            if skipped:
                rows.append((kernel.name, device, "-", "-", f"not run: {skipped[0].skipped}"))
                continue
            results += found
            failed = [result for result in found if not result.passed]
            sizes = ", ".join(_sizes(result) for result in failed or found)
            largest = max(result.largest_difference for result in found)
            verdict = failed[0].problem if failed else "agrees"
            rows.append((kernel.name, device, sizes, f"{largest:.3g}", verdict))
    click.echo()
    show_table(("kernel", "device", "dims", "largest difference", "result"), rows)
    failures = sum(not result.passed for result in results)
    if failures:
        show_error(f"error: {failures} of {len(results)} comparisons failed")
    if not results:
        show_error("error: no kernel declares a reference, so nothing was compared")
    return 2 if failures or not results else 0


def _compile_for_cpu(library: Library) -> None:
    """Make the kernels' CPU half; one whose reference may run instead need not have any."""
    from dataclasses import replace

    from custom_dispatch.compilation import compile as compile_module
    from custom_dispatch.errors import UnsupportedInstructionError

    try:
        compile_module(None, library)
    except UnsupportedInstructionError:
        if all(kernel.fallback is None for kernel in library.kernels):
            raise
    else:
        return
    for unit in library.units:
        for kernel in unit.kernels:
            alone = replace(library, units=(replace(unit, kernels=(kernel,)),))
            try:
                compile_module(None, alone)
            except UnsupportedInstructionError:
                if kernel.fallback is None:
                    raise


def _sizes(result: CheckResult) -> str:
    return " ".join(f"{name}={size}" for name, size in result.dims.items()) or "-"

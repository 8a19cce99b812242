"""`custom-dispatch check`: conformance of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from custom_dispatch.cli.options import progress

if TYPE_CHECKING:
    from custom_dispatch.runtime.check import CheckResult


@click.command()
@click.argument("kernels", nargs=-1, required=True)
def check(kernels: tuple[str, ...]) -> int:
    """Build KERNELS, validate them, and compare them with their references on every device here."""
    from custom_dispatch.cli.kernels import load_kernels
    from custom_dispatch.cli.report import show_table
    from custom_dispatch.runtime import devices
    from custom_dispatch.runtime.check import check_kernel

    results: list[CheckResult] = []
    rows = []
    unchecked = []
    for kernel in load_kernels(kernels):
        if kernel.reference is None:
            unchecked.append(kernel.name)
            continue
        for device in dict.fromkeys(device.kind for device in devices()):
            with progress(f"checking {kernel.name} on {device}"):
                found = list(check_kernel(kernel, device))
            results += found
            failed = [result for result in found if not result.passed]
            sizes = ", ".join(_sizes(result) for result in failed or found)
            largest = max(result.largest_difference for result in found)
            verdict = failed[0].problem if failed else "agrees"
            rows.append((kernel.name, device, sizes, f"{largest:.3g}", verdict))
    show_table(("kernel", "device", "dims", "largest difference", "result"), rows)
    for name in unchecked:
        click.echo(f"{name}: declares no reference, so its results were not compared", err=True)
    failures = sum(not result.passed for result in results)
    if failures or not results:
        click.echo(f"{failures} of {len(results)} checks failed", err=True)
        return 2
    return 0


def _sizes(result: CheckResult) -> str:
    return " ".join(f"{name}={size}" for name, size in result.dims.items()) or "-"

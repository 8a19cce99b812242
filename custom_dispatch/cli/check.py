"""`custom-dispatch check`: conformance of kernels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from custom_dispatch.cli import options, report
from custom_dispatch.cli.kernels import load_members
from custom_dispatch.compilation import compile as compile_module
from custom_dispatch.eager.call import module_for
from custom_dispatch.errors import CustomDispatchError, KernelError, UnsupportedInstructionError
from custom_dispatch.files import temporary_directory
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.measure.check import CheckResult, checked_sizes
from custom_dispatch.measure.child import START_S, Child, ChildEndedError
from custom_dispatch.runtime.device import devices
from custom_dispatch.toolchain.build import BuildOptions, build
from custom_dispatch.toolchain.library import Library


@click.command()
@options.kernels
@options.target
@options.build("compiler", "include_dirs")
@options.device(help="Where they run; auto is every device here, of equal GPUs the first.")
@options.timeout(default=300.0, help="Abandon a kernel that takes longer for one size, in seconds.")
@report.json_option
def command(
    kernels: tuple[str, ...],
    targets: list[str],
    device: str,
    timeout: float,
    json_path: str | None,
    how: BuildOptions,
) -> int:
    """Build KERNELS for each target and validate them. Then compare them with their references,
    for several sizes, on each kind of device of this machine. They run in a separate process, so
    a kernel that hangs or faults is reported like any other result.
    """
    declared = load_members(kernels)
    with options.progress("building and validating"):
        library = build(declared, targets, **how)
        _compile_for_cpu(library)
    options.check_outputs(report.json_file(json_path))
    # Of equal GPUs the first.
    here = {(item.name, item.compute_capability): item.argument for item in reversed(devices())}
    places = [*here.values()][::-1] if device == "auto" else [options.device_for(device)[0]]
    report.show_resources(library)
    results: list[CheckResult] = []
    rows, ended = [], list[KernelError]()
    with (
        temporary_directory() as made,
        Child("custom_dispatch.cli.isolated", "Checks", shown=True, names=kernels) as child,
    ):
        module = made / "module.vmfb"
        for place, kernel in enumerate(declared):
            if kernel.reference is None:
                click.echo(f"{kernel.name}: declares no reference, so it was not run", err=True)
                continue
            for device in places:
                with options.progress(f"checking {kernel.name} on {device}"):
                    seen = list(_check(child, place, kernel, device, timeout, module, **how))
                found = [item for item in seen if not isinstance(item, KernelError)]
                ended += [item for item in seen if isinstance(item, KernelError)]
                results += found
                rows.append((kernel.name, device, *_cells(found)))

    def show() -> None:
        click.echo()
        report.show_table(("kernel", "device", "dims", "largest difference", "result"), rows)

    results.sort(key=lambda result: bool(result.skipped))
    report.tell(json_path, show, kernels=library.report(), results=results)
    for error in ended:
        report.show_error(f"error: {error}")
    compared = [result for result in results if not result.skipped]
    failures = sum(not result.passed for result in compared)
    if failures:
        report.show_error(f"error: {failures} of {len(compared)} comparisons failed")
    if not compared:
        report.show_error("error: no kernel declares a reference, so nothing was compared")
    return 2 if failures or not compared else 0


def _cells(found: Sequence[CheckResult]) -> tuple[str, str, str]:
    """What a row says of a kernel on a device: sizes, the largest difference, the verdict."""
    for result in found:
        if result.skipped:
            return "-", "-", f"not run: {result.skipped}"
    failed = [result for result in found if not result.passed]
    sizes = ", ".join(_sizes(result) for result in failed or found)
    largest = max(result.largest_difference for result in found)
    return sizes, f"{largest:.3g}", failed[0].problem if failed else "agrees"


def _check(
    child: Child, place: int, kernel: Kernel, device: str, timeout: float, module: Path, **how: Any
) -> Iterator[CheckResult | KernelError]:
    """Compare a kernel for several sizes, up to the first that ends the process; and that error."""
    dims: Mapping[str, int] = {}
    try:
        sizes = checked_sizes(kernel)
        module.write_bytes(module_for(kernel, device, **how))
        child.ask(START_S, "open", place, device, str(module))
        for dims in sizes:
            yield CheckResult(**child.ask(timeout, "check", dims))
    except ChildEndedError as error:
        result = CheckResult(kernel.name, device, dims, str(error), 0.0)
        where = f" for {_sizes(result)}" if dims else ""
        yield from (result, error.of(f"kernel `{kernel.name}` on {device}{where}"))
    except CustomDispatchError as error:
        may_fall_back = isinstance(error, UnsupportedInstructionError) and kernel.fallback
        problem, skipped = ("", error.found) if may_fall_back else (error.found, "")
        yield CheckResult(kernel.name, device, dims, problem, 0.0, skipped)


def _compile_for_cpu(library: Library) -> None:
    """Make the kernels' CPU half; one whose reference may run instead need not have any."""
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

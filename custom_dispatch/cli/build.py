"""`custom-dispatch build`: sources to objects."""

from pathlib import Path

import click

from custom_dispatch.cli import options
from custom_dispatch.cli.kernels import load_kernels
from custom_dispatch.cli.report import show_resources
from custom_dispatch.toolchain.build import BuildOptions
from custom_dispatch.toolchain.build import build as build_library


@click.command()
@options.kernels
@options.target
@click.option(
    "--out", "-o", required=True, type=options.DIRECTORY, help="The directory of objects."
)
@options.build("compiler", "include_dirs", "image", "ptx_version")
@click.option(
    "--report", is_flag=True, help="Show registers, spills, shared memory, occupancy, sizes."
)
@click.option("--fail-on-spill", is_flag=True, help="Refuse a kernel that spills registers.")
def command(
    kernels: tuple[str, ...],
    targets: list[str],
    out: Path,
    report: bool,
    fail_on_spill: bool,
    how: BuildOptions,
) -> None:
    """Build KERNELS for each target and write NAME_sm_XX.ptx (.cubin, .fatbin) into a directory."""
    declared = load_kernels(kernels)
    with options.progress("building"):
        library = build_library(declared, targets, **how | {"fail_on_spill": fail_on_spill})
    for item in library.objects:
        if item.log.strip():
            click.echo(item.log.rstrip(), err=True)
    for path in library.write(out):
        click.echo(path)
    if not library.cuda_targets:
        click.echo(
            "no file is written for the CPU: it runs the PTX, which `compile` translates", err=True
        )
    if report:
        show_resources(library)

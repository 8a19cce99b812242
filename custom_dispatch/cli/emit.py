"""`custom-dispatch emit`: the .mlir that stock iree-compile takes."""

from __future__ import annotations

from pathlib import Path

import click

from custom_dispatch.cli.options import (
    check_outputs,
    compiler_option,
    image_option,
    include_option,
    kernels_argument,
    objects_option,
    progress,
    ptx_version_option,
    split_targets,
    target_option,
)


@click.command(short_help="Write the .mlir that stock iree-compile takes.")
@kernels_argument
@target_option
@click.option("--into", type=click.Path(path_type=Path), help="A model to link the kernels into.")
@click.option(
    "--form",
    type=click.Choice(["executable", "source"]),
    default="executable",
    show_default=True,
    help="hal.executable with conditioned variants; or hal.executable.source, which serves one "
    "CUDA target, or several through one fatbin image.",
)
@click.option("--embed", is_flag=True, help="Put the objects into the .mlir itself.")
@objects_option
@compiler_option
@include_option
@image_option
@ptx_version_option
@click.option(
    "--output", "-o", required=True, type=click.Path(path_type=Path), help="The .mlir to write."
)
def emit(
    kernels: tuple[str, ...],
    targets: tuple[str, ...],
    into: Path | None,
    form: str,
    embed: bool,
    objects: Path | None,
    compiler: str,
    include_dirs: tuple[Path, ...],
    image: str,
    ptx_version: str | None,
    output: Path,
) -> None:
    """Write one .mlir with KERNELS as executables and typed functions; print how to compile it."""
    from custom_dispatch.cli.kernels import load_kernels, with_members
    from custom_dispatch.compilation import emit as emit_module
    from custom_dispatch.kernel.choice import files_of

    declared = load_kernels(kernels)
    objects_there = objects.glob("*") if objects is not None else ()
    check_outputs(output, inputs=[into, *objects_there, *files_of(declared)])
    with progress("building and writing"):
        emitted = emit_module(
            declared if into is not None else with_members(declared),
            split_targets(targets),
            output=output,
            into=into,
            form=form,
            embed=embed,
            compiler=compiler,
            objects=objects,
            include_dirs=include_dirs,
            image=image,
            ptx_version=ptx_version,
        )
    click.echo(emitted.command_line)

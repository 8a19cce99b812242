"""`custom-dispatch emit`: the .mlir that stock iree-compile takes."""

from pathlib import Path

import click

from custom_dispatch.cli import options
from custom_dispatch.cli.kernels import load_kernels
from custom_dispatch.compilation import emit as emit_module
from custom_dispatch.kernel.declared import files_of
from custom_dispatch.toolchain.build import BuildOptions


@click.command()
@options.kernels
@options.target
@click.option("--into", type=options.FILE, help="A model to link the kernels into.")
@click.option(
    "--form",
    type=click.Choice(["executable", "source"]),
    default="executable",
    show_default=True,
    help="hal.executable with conditioned variants; or hal.executable.source, which serves one "
    "CUDA target, or several through one fatbin image.",
)
@click.option("--embed", is_flag=True, help="Put the objects into the .mlir itself.")
@options.build("objects", "compiler", "include_dirs", "image", "ptx_version")
@click.option("--output", "-o", required=True, type=options.FILE, help="The .mlir to write.")
def command(
    kernels: tuple[str, ...],
    targets: list[str],
    into: Path | None,
    form: str,
    embed: bool,
    output: Path,
    how: BuildOptions,
) -> None:
    """Write one .mlir with KERNELS as executables and typed functions; print how to compile it."""
    declared = load_kernels(kernels)
    options.check_outputs(output, inputs=[into, *options.object_files(how), *files_of(declared)])
    with options.progress("building and writing"):
        emitted = emit_module(
            declared, targets, output=output, into=into, form=form, embed=embed, **how
        )
    click.echo(emitted.command_line)

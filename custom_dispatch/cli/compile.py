"""`custom-dispatch compile`: a model and kernels to one .vmfb."""

from __future__ import annotations

from pathlib import Path

import click

from custom_dispatch.cli.options import (
    compiler_option,
    image_option,
    include_option,
    objects_option,
    progress,
    ptx_version_option,
    split_targets,
    target_option,
)


@click.command("compile", short_help="Link kernels into a model; compile one .vmfb.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--kernels", "-k", multiple=True, required=True, help="A module or file; again for each."
)
@target_option
@objects_option
@compiler_option
@include_option
@image_option
@ptx_version_option
@click.option(
    "--iree-flag", "flags", multiple=True, metavar="FLAG", help="A further iree-compile flag."
)
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path))
def compile_command(
    model: Path,
    kernels: tuple[str, ...],
    targets: tuple[str, ...],
    objects: Path | None,
    compiler: str,
    include_dirs: tuple[Path, ...],
    image: str,
    ptx_version: str | None,
    flags: tuple[str, ...],
    output: Path,
) -> None:
    """Link kernels into MODEL, an .mlir file, and compile it for every target into one .vmfb."""
    from custom_dispatch.cli.kernels import load_kernels
    from custom_dispatch.compilation import compile as compile_module

    declared = load_kernels(kernels)
    with progress("building and compiling"):
        module = compile_module(
            model,
            declared,
            split_targets(targets),
            compiler=compiler,
            objects=objects,
            include_dirs=include_dirs,
            image=image,
            ptx_version=ptx_version,
            flags=flags,
        )
    path = module.save(output)
    held = ", ".join(map(str, module.targets))
    click.echo(f"{path}: {', '.join(module.kernels)} for {held}, {len(module.bytes)} bytes")

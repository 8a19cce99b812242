"""`custom-dispatch compile`: a model and kernels to one .vmfb."""

from pathlib import Path

import click

from custom_dispatch.cli import options
from custom_dispatch.cli.kernels import load_kernels, load_patterns
from custom_dispatch.compilation import compile as compile_module
from custom_dispatch.compiled import check_module_output
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.declared import files_of
from custom_dispatch.parameters import SUFFIX
from custom_dispatch.toolchain.build import BuildOptions

_ONNX = ".onnx"


@click.command()
@click.argument("model", type=options.FILE)
@click.option(
    "--kernels", "-k", multiple=True, type=click.Path(), help="A module or file; repeatable."
)
@click.option(
    "--replace",
    "-r",
    multiple=True,
    type=click.Path(),
    help="A module or file with patterns, whose kernels are put wherever the model computes what "
    "they do; repeatable.",
)
@options.target
@options.build("objects", "compiler", "include_dirs", "image", "ptx_version")
@click.option(
    "--iree-flag", "flags", multiple=True, metavar="FLAG", help="A further iree-compile flag."
)
@click.option(
    "--graph",
    is_flag=True,
    help="Record each function's commands once, when the module is loaded, over buffers that stay: "
    "on a GPU one CUDA graph. All sizes must be known.",
)
@click.option(
    "--verify", is_flag=True, help="Run an .onnx file once on the CPU, and compare it with ONNX."
)
@click.option("--output", "-o", required=True, type=options.FILE, help="The .vmfb to write.")
def command(
    model: Path,
    kernels: tuple[str, ...],
    replace: tuple[str, ...],
    targets: list[str],
    flags: tuple[str, ...],
    graph: bool,
    verify: bool,
    output: Path,
    how: BuildOptions,
) -> None:
    """Link kernels into MODEL, an .mlir or .onnx file, and compile it for every target into one
    .vmfb.

    MODEL calls --kernels by name. --replace finds places for kernels in it, with cd.Pattern and
    cd.jax.Pattern objects for .mlir and cd.onnx.Pattern objects for .onnx. The command prints which
    places were replaced and which almost matched. IREE compiles whatever no kernel computes.
    """
    is_onnx = model.suffix.lower() == _ONNX
    if verify and not is_onnx:
        raise DeclarationError(
            f"--verify is given for `{model}`, with which there is nothing to compare it.",
            expected="an .onnx file, which ONNX runs",
            next_step="leave it out, or give verify=True to cd.torch.compile.",
        )
    kinds = ("cd.onnx.Pattern",) if is_onnx else ("cd.Pattern", "cd.jax.Pattern")
    called = load_kernels(kernels)
    patterns = load_patterns(replace, kinds)
    read = [model, *files_of([*called, *(pattern.item for pattern in patterns)])]
    read += options.object_files(how)
    options.check_outputs(output, output.with_suffix(SUFFIX) if is_onnx else None, inputs=read)
    check_module_output(output)
    with options.progress("building and compiling"):
        if is_onnx:
            from custom_dispatch.onnx import compile as compile_onnx

            module = compile_onnx(
                model,
                targets,
                kernels=called,
                replace=patterns,
                verify=verify,
                graph=graph,
                flags=flags,
                **how,
            )
        else:
            module = compile_module(
                model, called, targets, replace=patterns, graph=graph, flags=flags, **how
            )
    path = module.save(output)
    held = ", ".join(map(str, module.targets))
    inside = ", ".join(module.kernels) or "no kernels"
    click.echo(f"{path}: {inside} for {held}, {len(module.bytes)} bytes")
    if module.parameters is not None:
        click.echo(f"{path.with_suffix(SUFFIX)}: its weights")
    if module.replaced is not None:
        click.echo(f"\n{module.replaced}")

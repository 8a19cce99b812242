"""`custom-dispatch demo`: the whole way, on the sample kernels."""

from pathlib import Path

import click
import numpy

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.cli import options
from custom_dispatch.cli.report import show_table
from custom_dispatch.installation import resource
from custom_dispatch.runtime.program import Program


@click.command()
@click.option(
    "--output", "-o", type=options.FILE, default=Path("mixed_invocation.vmfb"), show_default=True
)
def command(output: Path) -> None:
    """Build two kernels, link them into a model, compile one .vmfb, and run it here."""
    kernels = [simple_mul, simple_mul_inplace]
    with options.progress("building the kernels"):
        library = cd.build(kernels)
    click.echo(f"built     {simple_mul.name} and {simple_mul_inplace.name} from simple_mul.cu")
    with options.progress("compiling the model"):
        module = cd.compile(resource("mlir/mixed_invocation.mlir"), library)
    path = module.save(output)
    click.echo(f"compiled  mixed_invocation.mlir into {path} ({len(module.bytes)} bytes)")
    program = cd.load(path)
    click.echo(f"runs on   {program.device}")
    click.echo(f"because   {program.device_reason}")
    _show_variants(program)
    lhs = numpy.full(8, 2.0, numpy.float32)
    rhs = numpy.full(8, 4.0, numpy.float32)
    result = program.mixed_invocation(lhs, rhs)
    click.echo(f"mixed_invocation(8 x 2.0, 8 x 4.0) = {result}")
    product = lhs * rhs
    if not numpy.array_equal(result, (product + rhs) * product):
        raise click.ClickException("the result is wrong; please report this with `doctor`'s output")


def _show_variants(program: Program) -> None:
    if program.manifest is None:
        return
    capability = program.device.compute_capability
    best = program.manifest.best_for(capability) if capability is not None else None
    rows = []
    for target in program.manifest.targets:
        files = [item for item in program.manifest.objects if item.target == target]
        what = ", ".join(f"{item.file} ({item.origin})" for item in files)
        chosen = target == best or (best is None and not target.is_cuda)
        rows.append((str(target), what or "the same PTX, as code", "runs here" if chosen else ""))
    show_table(("variant", "object", ""), rows)

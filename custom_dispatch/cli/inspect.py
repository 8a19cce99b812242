"""`custom-dispatch inspect`: what is in a file."""

from __future__ import annotations

from pathlib import Path

import click

from custom_dispatch.errors import CustomDispatchError, ToolNotFoundError
from custom_dispatch.kernel.target import Arch


@click.command(short_help="Say what is in a file.")
@click.argument("file", type=click.Path(path_type=Path))
def inspect(file: Path) -> None:
    """Say what is in FILE (.ptx .cubin .fatbin .mlir .vmfb), and for which architectures."""
    from custom_dispatch.files import read_bytes

    content = read_bytes(file, "The file", CustomDispatchError)
    if content.startswith(b"PK\x03\x04") or file.suffix == ".vmfb":
        _module(content, file)
    elif file.suffix in (".mlir", ".mlirbc"):
        _model(file)
    else:
        _image(content)


def _image(content: bytes) -> None:
    from custom_dispatch.toolchain.image import describe_image, fatbin_parts

    image = describe_image(content)
    members = ", ".join(f"{kind} for {arch}" for kind, arch in image.members)
    click.echo(f"{image.kind}: {members}")
    if image.kind != "fatbin":
        _part(image.kind, image.archs[0], content)
        return
    parts = fatbin_parts(content)
    for kind, arch, part in parts:
        click.echo(f"\n{kind} for {arch}")
        _part(kind, arch, part)
    hidden = len(image.members) - len(parts)
    if hidden:
        click.echo(f"{hidden} of them are compressed, so their kernels cannot be listed")


def _part(kind: str, arch: Arch, content: bytes) -> None:
    from custom_dispatch.cli.report import RESOURCE_COLUMNS, resource_cells, show_table
    from custom_dispatch.ptx import read_module
    from custom_dispatch.toolchain.cubin import read_cubin

    if kind == "ptx":
        _ptx(content, arch)
        module = read_module(content.decode("utf-8", "replace"))
        click.echo(f"PTX ISA {module.version[0]}.{module.version[1]}")
        return
    rows = [
        (
            name,
            " ".join(map(str, kernel.parameter_bytes)),
            str(kernel.max_threads or "-"),
            *resource_cells(kernel.resources),
        )
        for name, kernel in read_cubin(content).items()
    ]
    show_table(("kernel", "parameter bytes", "max threads", *RESOURCE_COLUMNS), rows)


def _ptx(content: bytes, arch: Arch) -> None:
    from custom_dispatch.cli.report import RESOURCE_COLUMNS, resource_cells, show_table
    from custom_dispatch.ptx import read_module
    from custom_dispatch.toolchain.ptxas import assemble

    module = read_module(content.decode("utf-8", "replace"))
    try:
        reports = {report.kernel: report for report in assemble(content, arch).resources}
    except ToolNotFoundError as error:
        click.echo(f"registers and spills are not known: {error.found}", err=True)
        reports = {}
    rows = []
    for entry in module.entries:
        parameters = " ".join(f".{item.type}" for item in entry.parameters)
        rows.append((entry.name, parameters, *resource_cells(reports.get(entry.name))))
    show_table(("kernel", "parameters", *RESOURCE_COLUMNS), rows)


def _model(file: Path) -> None:
    from custom_dispatch.cli.report import show_table
    from custom_dispatch.frontends.model import describe_model

    show_table(("function", "type", ""), describe_model(file))


def _module(content: bytes, file: Path) -> None:
    from custom_dispatch.cli.report import RESOURCE_COLUMNS, resource_cells, show_table
    from custom_dispatch.runtime.module_file import ModuleFile
    from custom_dispatch.runtime.report import (
        FUNCTION_COLUMNS,
        PART_COLUMNS,
        function_rows,
        part_rows,
        report_functions,
    )
    from custom_dispatch.toolchain.plan import listed

    module = ModuleFile(content, label=f"`{file.name}`")
    click.echo(f"module {module.name}")
    manifest = module.manifest
    # Code that IREE generated is the same for each kind of device; its names are better on GPUs.
    kinds = [part.kind.lower() for part in module.parts if part.generated]
    kind = "cuda" if "cuda" in kinds else "cpu"
    types = {name: points.type for name, points in module.functions().items()}
    functions = report_functions(types, manifest, module.parts, kind)
    show_table(FUNCTION_COLUMNS, function_rows(functions))
    if module.parts:
        show_table(PART_COLUMNS, part_rows(module.parts))
    if module.parameters is not None:
        click.echo(f"weights in a file of their own: {module.parameters}")
    if manifest is None:
        click.echo(module.why_no_manifest)
        return
    if manifest.made_by:
        made_by = " and ".join(f"{name} {item}" for name, item in manifest.made_by.items())
        click.echo(f"linked by {made_by}")
    if manifest.flags:
        click.echo(f"compiled with {' '.join(manifest.flags)}")
    click.echo(f"kernels: {', '.join(manifest.kernels)}")
    click.echo(f"targets: {', '.join(map(str, manifest.targets))}")
    for target, names in manifest.left_out.items():
        click.echo(f"not built: the code for {target} that {listed(names)} could run there")
    if manifest.cpu_architecture:
        more = f" with {' '.join(manifest.cpu_features)}" if manifest.cpu_features else ""
        click.echo(f"CPU architecture: {manifest.cpu_architecture}{more}")
    show_table(
        ("object", "target", "PTX ISA", "origin", "sha256"),
        [
            (
                item.file,
                str(item.target),
                f"{item.ptx[0]}.{item.ptx[1]}" if item.ptx else "-",
                item.origin,
                item.sha256[:16],
            )
            for item in manifest.objects
        ],
    )
    if manifest.sources:
        show_table(
            ("source", "kernels", "options", "sha256"),
            [
                (
                    item.file + (f" for {', '.join(item.targets)}" if item.targets else ""),
                    ", ".join(item.kernels),
                    " ".join(item.options) or "-",
                    item.sha256[:16],
                )
                for item in manifest.sources
            ],
        )
    taken = [
        (resources.kernel, item.target.symbol, *resource_cells(resources))
        for item in manifest.objects
        for resources in item.resources
    ]
    if taken:
        show_table(("kernel", "arch", *RESOURCE_COLUMNS), taken)

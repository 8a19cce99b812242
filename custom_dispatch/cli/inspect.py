"""`custom-dispatch inspect`: what is in a file."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custom_dispatch.cli.options import check_outputs
from custom_dispatch.cli.told import json_file, json_option, tell
from custom_dispatch.errors import CustomDispatchError, ToolNotFoundError
from custom_dispatch.kernel.target import Arch

if TYPE_CHECKING:
    from custom_dispatch.runtime.module_file import ModuleFile
    from custom_dispatch.runtime.report import FunctionReport
    from custom_dispatch.toolchain.kernel_resources import KernelResources


@click.command(short_help="Say what is in a file.")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def inspect(file: Path, json_path: str | None) -> None:
    """Say what is in FILE (.ptx .cubin .fatbin .mlir .vmfb), and for which architectures."""
    from custom_dispatch.files import read_bytes

    check_outputs(json_file(json_path), inputs=[file])
    content = read_bytes(file, "The file", CustomDispatchError)
    if content.startswith(b"PK\x03\x04") or file.suffix == ".vmfb":
        show, found = partial(_module, content, file), partial(_module_data, content, file)
    elif file.suffix in (".mlir", ".mlirbc"):
        show, found = partial(_model, file), partial(_model_data, file)
    else:
        show, found = partial(_image, content), partial(_image_data, content)
    tell(json_path, show, **({} if json_path is None else found()))


def _image_data(content: bytes) -> dict[str, Any]:
    from custom_dispatch.ptx import read_module
    from custom_dispatch.toolchain.cubin import read_cubin
    from custom_dispatch.toolchain.image import describe_image, fatbin_parts

    image = describe_image(content)
    alone = [(image.kind, image.archs[0], content)]
    kernels: list[dict[str, Any]] = []
    for kind, arch, part in fatbin_parts(content) if image.kind == "fatbin" else alone:
        held = {"kind": kind, "arch": arch}
        if kind == "ptx":
            reports = _resources(part, arch)
            kernels += (
                {
                    "kernel": entry.name,
                    **held,
                    "parameters": [item.type for item in entry.parameters],
                    "resources": reports.get(entry.name),
                }
                for entry in read_module(part.decode("utf-8", "replace")).entries
            )
        else:
            kernels += (
                {
                    "kernel": name,
                    **held,
                    "parameter_bytes": kernel.parameter_bytes,
                    "max_threads": kernel.max_threads,
                    "resources": kernel.resources,
                }
                for name, kernel in read_cubin(part).items()
            )
    members = [{"kind": kind, "arch": arch} for kind, arch in image.members]
    return {"kind": image.kind, "members": members, "kernels": kernels}


def _model_data(file: Path) -> dict[str, Any]:
    from custom_dispatch.frontends.model import describe_model

    functions = [
        {"name": name, "type": kind, "linking": what} for name, kind, what in describe_model(file)
    ]
    return {"kind": "model", "functions": functions}


def _module_data(content: bytes, file: Path) -> dict[str, Any]:
    from custom_dispatch.runtime.module_file import ModuleFile

    module = ModuleFile(content, label=f"`{file.name}`")
    return {
        "kind": "module",
        "name": module.name,
        "functions": [
            {
                "name": item.name,
                "type": item.type,
                "kernels": None if item.kernels is None else list(map(asdict, item.kernels)),
                "generated": item.generated,
            }
            for item in _functions(module)
        ],
        "parts": module.parts,
        "parameters": module.parameters,
        "manifest": module.manifest,
    }


def _functions(module: ModuleFile) -> list[FunctionReport]:
    from custom_dispatch.runtime.report import report_functions

    # Code that IREE generated is the same for each kind of device; its names are better on GPUs.
    kinds = [part.kind.lower() for part in module.parts if part.generated]
    kind = "cuda" if "cuda" in kinds else "cpu"
    types = {name: points.type for name, points in module.functions().items()}
    return list(report_functions(types, module.manifest, module.parts, kind))


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

    module = read_module(content.decode("utf-8", "replace"))
    reports = _resources(content, arch)
    rows = []
    for entry in module.entries:
        parameters = " ".join(f".{item.type}" for item in entry.parameters)
        rows.append((entry.name, parameters, *resource_cells(reports.get(entry.name))))
    show_table(("kernel", "parameters", *RESOURCE_COLUMNS), rows)


def _resources(content: bytes, arch: Arch) -> dict[str, KernelResources]:
    from custom_dispatch.toolchain.ptxas import assemble

    try:
        return {report.kernel: report for report in assemble(content, arch).resources}
    except ToolNotFoundError as error:
        click.echo(f"registers and spills are not known: {error.found}", err=True)
        return {}


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
    )
    from custom_dispatch.toolchain.plan import listed

    module = ModuleFile(content, label=f"`{file.name}`")
    click.echo(f"module {module.name}")
    manifest = module.manifest
    show_table(FUNCTION_COLUMNS, function_rows(_functions(module)))
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

"""`custom-dispatch inspect`: what is in a file."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from custom_dispatch.cli import options, report
from custom_dispatch.errors import CustomDispatchError, ToolNotFoundError
from custom_dispatch.files import read_bytes
from custom_dispatch.format.kernel_resources import KernelResources
from custom_dispatch.format.manifest import Manifest
from custom_dispatch.kernel.names import listed
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx import read_module
from custom_dispatch.runtime import program_report
from custom_dispatch.runtime.module_file import ModuleFile
from custom_dispatch.toolchain.images import describe_image, fatbin_parts, read_cubin
from custom_dispatch.toolchain.ptxas import assemble


@click.command()
@click.argument("file", type=options.FILE)
@report.json_option
def command(file: Path, json_path: str | None) -> None:
    """Say what is in FILE (.ptx .cubin .fatbin .mlir .vmfb), and for which architectures."""
    options.check_outputs(report.json_file(json_path), inputs=[file])
    content = read_bytes(file, "The file", CustomDispatchError)
    if content.startswith(b"PK\x03\x04") or file.suffix == ".vmfb":
        show, found = _module(content, file)
    elif file.suffix in (".mlir", ".mlirbc"):
        show, found = _model(file)
    else:
        show, found = _image(content)
    report.tell(json_path, show, **found)


Found = tuple[Callable[[], None], dict[str, Any]]
"""What prints what was found, and the same as data."""


def _image(content: bytes) -> Found:
    image = describe_image(content)
    alone = [(image.kind, image.archs[0], content)]
    parts = fatbin_parts(content) if image.kind == "fatbin" else alone
    kernels, rows, notes = list[dict[str, Any]](), list[list[str]](), list[str]()
    for kind, arch, part in parts:
        if kind == "ptx":
            module = read_module(part.decode("utf-8", "replace"))
            reports = _resources(part, arch)
            notes.append(f"ptx for {arch}: PTX ISA {module.version[0]}.{module.version[1]}")
            found: dict[str, dict[str, Any]] = {
                entry.name: {
                    "parameters": [item.type for item in entry.parameters],
                    "resources": reports.get(entry.name),
                }
                for entry in module.entries
            }
        else:
            found = {
                name: {
                    "parameter_bytes": kernel.parameter_bytes,
                    "max_threads": kernel.max_threads,
                    "resources": kernel.resources,
                }
                for name, kernel in read_cubin(part).items()
            }
        for name, held in found.items():
            kernels.append({"kernel": name, "kind": kind, "arch": arch, **held})
            types = [f".{item}" for item in held.get("parameters", ())]
            passed = " ".join(map(str, types or held.get("parameter_bytes", ())))
            most = str(held.get("max_threads") or "-")
            rows.append(
                [name, kind, str(arch), passed, most, *report.resource_cells(held["resources"])]
            )
    hidden = len(image.members) - len(parts)
    if hidden:
        notes.append(f"{hidden} of them are compressed, so their kernels cannot be listed")

    def show() -> None:
        members = ", ".join(f"{kind} for {arch}" for kind, arch in image.members)
        click.echo(f"{image.kind}: {members}")
        columns = ("kernel", "kind", "arch", "parameters or their bytes", "max threads")
        report.show_table((*columns, *report.RESOURCE_COLUMNS), rows)
        for note in notes:
            click.echo(note)

    members = [{"kind": kind, "arch": arch} for kind, arch in image.members]
    return show, {"kind": image.kind, "members": members, "kernels": kernels, "notes": notes}


def _resources(content: bytes, arch: Arch) -> dict[str, KernelResources]:
    try:
        return {report.kernel: report for report in assemble(content, arch).resources}
    except ToolNotFoundError as error:
        click.echo(f"registers and spills are not known: {error.found}", err=True)
        return {}


def _model(file: Path) -> Found:
    from custom_dispatch.link.model import describe_model  # needs IREE's compiler

    rows = describe_model(file)
    functions = [dict(zip(("name", "type", "linking"), row, strict=True)) for row in rows]
    show = partial(report.show_table, ("function", "type", ""), rows)
    return show, {"kind": "model", "functions": functions}


def _module(content: bytes, file: Path) -> Found:
    module = ModuleFile(content, label=f"`{file.name}`")
    manifest = module.manifest
    # Code that IREE generated is the same for each kind of device; its names are better on GPUs.
    kinds = [part.kind.lower() for part in module.parts if part.generated]
    kind = "cuda" if "cuda" in kinds else "cpu"
    types = {name: points.type for name, points in module.functions().items()}
    functions = program_report.report_functions(types, manifest, module.parts, kind)
    left_out = {} if manifest is None else manifest.left_out
    notes = [] if manifest is not None else [module.why_no_manifest]
    for target, names in left_out.items():
        notes.append(f"not built: the code for {target} that {listed(names)} could run there")

    def show() -> None:
        click.echo(f"module {module.name}")
        report.show_table(program_report.FUNCTION_COLUMNS, program_report.function_rows(functions))
        if module.memory:
            click.echo(program_report.memory_text(module.memory))
        report.show_table(program_report.PART_COLUMNS, program_report.part_rows(module.parts))
        if module.parameters is not None:
            click.echo(f"weights in a file of their own: {module.parameters}")
        if manifest is not None:
            _show_manifest(manifest)
        for note in notes:
            click.echo(note)

    told = [
        {
            **{name: getattr(item, name) for name in ("name", "type", "generated")},
            "kernels": None if item.kernels is None else list(map(asdict, item.kernels)),
        }
        for item in functions
    ]
    return show, {
        "kind": "module",
        "name": module.name,
        "functions": told,
        "parts": module.parts,
        "memory": module.memory,
        "parameters": module.parameters,
        "manifest": manifest,
        "notes": notes,
    }


def _show_manifest(manifest: Manifest) -> None:
    if manifest.made_by:
        made_by = " and ".join(f"{name} {item}" for name, item in manifest.made_by.items())
        click.echo(f"linked by {made_by}")
    if manifest.flags:
        click.echo(f"compiled with {' '.join(manifest.flags)}")
    click.echo(f"kernels: {', '.join(manifest.kernels)}")
    click.echo(f"targets: {', '.join(map(str, manifest.targets))}")
    if manifest.cpu_architecture:
        more = f" with {' '.join(manifest.cpu_features)}" if manifest.cpu_features else ""
        click.echo(f"CPU architecture: {manifest.cpu_architecture}{more}")
    report.show_table(
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
    report.show_table(
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
        (resources.kernel, item.target.symbol, *report.resource_cells(resources))
        for item in manifest.objects
        for resources in item.resources
    ]
    report.show_table(("kernel", "arch", *report.RESOURCE_COLUMNS), taken)

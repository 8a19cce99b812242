"""`custom-dispatch doctor`: what this machine can build and run, and why not."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil

import click


@click.command(short_help="Say what this machine can build and run.")
def doctor() -> None:
    """Say what this machine can build and run, and what to do about the rest."""
    from custom_dispatch.cli.report import show_table

    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime")
    rows = [("Python", platform.python_version(), "")]
    rows += [_package(name) for name in packages]
    rows += _compilers()
    rows += _devices()
    rows.append(_store())
    note = "add it to CMAKE_MODULE_PATH, then include(CustomDispatch)"
    rows.append(("CMake function", str(_cmake()), note))
    show_table(("what", "found", "note"), rows)


def _package(name: str) -> tuple[str, str, str]:
    try:
        return name, importlib.metadata.version(name), ""
    except importlib.metadata.PackageNotFoundError:
        return name, "no", f"pip install {name}"


def _compilers() -> list[tuple[str, str, str]]:
    from custom_dispatch.errors import CustomDispatchError
    from custom_dispatch.toolchain.compiler import find_compiler
    from custom_dispatch.toolchain.locations import find_tool

    rows = []
    for name in ("nvrtc", "nvcc"):
        try:
            rows.append((name, find_compiler(name).version, ""))
        except CustomDispatchError as error:
            rows.append((name, "no", f"{error.found} {error.next_step}"))
    gcc = shutil.which("gcc")
    rows.append(("gcc", gcc or "no", "" if gcc else "only nvcc needs it: apt install g++"))
    ptxas = find_tool("ptxas")
    if ptxas.found is not None:
        rows.append(("ptxas", str(ptxas.found), "checks every object"))
    else:
        rows.append(("ptxas", "no", "pip install 'custom-dispatch[cuda]'"))
    return rows


def _devices() -> list[tuple[str, str, str]]:
    from custom_dispatch.runtime.choice import newest_ptx, why_not
    from custom_dispatch.runtime.device import devices, iree_drivers
    from custom_dispatch.runtime.driver import VISIBLE_DEVICES, driver_state, listed
    from custom_dispatch.runtime.hardware import hardware

    driver = driver_state()
    version = driver.cuda_version
    ptx = None if version is None else newest_ptx(version)
    rows = [
        (
            "NVIDIA driver",
            driver.description or "no",
            "" if ptx is None else f"reads PTX up to {ptx[0]}.{ptx[1]}",
        ),
        ("IREE's drivers", ", ".join(iree_drivers()), ""),
    ]
    problem = why_not("cuda")
    if problem is not None:
        rows.append(("cuda", "no", problem))
    present = hardware().gpu_names
    hidden = "" if len(present) <= len(driver.gpus) else _hidden(VISIBLE_DEVICES, listed(present))
    for device in devices():
        note = _BEST_FOR_CPU if device.kind == "cpu" else hidden
        if device.index:
            shown = os.environ.get(VISIBLE_DEVICES, "").split(",")
            name = shown[device.index] if len(shown) > device.index else str(device.index)
            note = f"not used here; with {VISIBLE_DEVICES}={name.strip()} it is the first"
        rows.append((device.kind, str(device), note))
    return rows


_BEST_FOR_CPU = "the target cpu:host makes code for just this CPU"


def _hidden(variable: str, present: str) -> str:
    value = os.environ.get(variable)
    return f"this machine has {present}" + (f"; {variable} is {value!r}" if value else "")


def _store() -> tuple[str, str, str]:
    from custom_dispatch.store import open_store
    from custom_dispatch.store.directory import DIRECTORY_VARIABLE

    store = open_store()
    if store is None:
        return "store", "no", f"{DIRECTORY_VARIABLE} turns it off or names what cannot be used"
    return "store", str(store.path), "keeps what was compiled; see `custom-dispatch store`"


def _cmake() -> object:
    from custom_dispatch.resources import resource

    return resource("cmake")

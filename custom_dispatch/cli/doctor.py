"""`custom-dispatch doctor`: what this machine can build and run, and why not."""

import importlib.metadata
import os
import platform
import shutil
from typing import NamedTuple

import click

from custom_dispatch.cli.report import json_option, show_table, tell
from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.installation import install_command, resource
from custom_dispatch.runtime.device import devices, iree_drivers
from custom_dispatch.runtime.device_choice import newest_ptx, why_not
from custom_dispatch.runtime.driver import VISIBLE_DEVICES, driver_state, hardware, listed
from custom_dispatch.store import open_store
from custom_dispatch.store.directory import DIRECTORY_VARIABLE
from custom_dispatch.toolchain import locations
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.nvcc import tool_version


@click.command()
@json_option
def command(json_path: str | None) -> int:
    """Report what this machine can build and run, and how to fix the rest.

    The exit status is 1 if something that is installed cannot work, or no kernel can be built.
    """
    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime")
    rows = [Row("Python", platform.python_version())]
    rows += [_package(name) for name in packages]
    compilers = _compilers()
    rows += compilers
    rows += _devices(_release_built(compilers))
    rows.append(_store())
    note = "add it to CMAKE_MODULE_PATH, then include(CustomDispatch)"
    rows.append(Row("CMake function", str(resource("cmake")), note))
    tell(
        json_path,
        lambda: show_table(("what", "found", "note"), [row[:3] for row in rows]),
        parts=[row._asdict() for row in rows],
    )
    return int(any(row.fails for row in rows))


class Row(NamedTuple):
    """What is told of one part of this machine."""

    what: str
    found: str
    note: str = ""
    fails: bool = False
    """Whether something cannot work for it."""


def _package(name: str) -> Row:
    try:
        return Row(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        # This package works as a clone on the path, too.
        return Row(name, "no", "pip install -e . (in the clone)", name != "custom-dispatch")


def _compilers() -> list[Row]:
    parts = {
        "nvrtc": locations.find_nvrtc(),
        "nvcc": locations.find_tool("nvcc"),
        "ptxas": locations.find_tool("ptxas"),
    }
    none = parts["nvrtc"].found is None and parts["nvcc"].found is None
    rows = {name: _compiler(name, search, fails=none) for name, search in parts.items()}
    nvrtc, nvcc, ptxas = rows.values()
    if ptxas.found == "no":
        rows["ptxas"] = ptxas._replace(note=install_command("cuda"), fails=True)
    elif nvrtc.found != "no" and _numbers(nvrtc.found) > _numbers(ptxas.found):
        note = f"PTX becomes that of ptxas {locations.release(ptxas.found)}, where ptxas agrees; "
        rows["nvrtc"] = nvrtc._replace(note=note + f"one release: {install_command('cuda')}")
    path = parts["nvcc"].found
    if path is not None and nvcc.found != "no":
        conflict = locations.nvcc_conflict(path, tool_version(path))
        note = "" if conflict is None else f"{conflict}; {install_command('nvcc')}"
        rows["nvcc"] = nvcc._replace(note=note, fails=conflict is not None)
    gcc = shutil.which("gcc")
    note = "" if gcc else "only nvcc needs it: apt install g++"
    return [rows["nvrtc"], rows["nvcc"], Row("gcc", gcc or "no", note), rows["ptxas"]]


def _compiler(name: str, search: locations.Search, *, fails: bool) -> Row:
    """A compiler or ptxas by itself: one that is here and does not start fails."""
    try:
        path = search.require("cuda")
        if name == "ptxas":
            return Row(name, tool_version(path), f"checks every object; {path}")
        return Row(name, find_compiler(name).version)
    except CustomDispatchError as error:
        broken = search.found is not None
        return Row(name, "no", f"{error.found} {error.next_step}", fails=fails or broken)


def _release_built(compilers: list[Row]) -> tuple[int, int] | None:
    """The CUDA release whose PTX is made here: that of the first compiler, but not over ptxas'."""
    versions = {row.what: _numbers(row.found) for row in compilers if row.found[:1].isdigit()}
    made = versions.get("nvrtc", versions.get("nvcc"))
    if made is None or "ptxas" not in versions:
        return None
    return min(made, versions["ptxas"])


def _numbers(version: str) -> tuple[int, int]:
    """A release, to be compared."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def _devices(built: tuple[int, int] | None) -> list[Row]:
    driver = driver_state()
    version = driver.cuda_version
    ptx = None if version is None else newest_ptx(version)
    note = "" if ptx is None else f"reads PTX up to {ptx[0]}.{ptx[1]}"
    needed = None if built is None else newest_ptx(built)
    too_old = bool(driver.gpus) and ptx is not None and needed is not None and needed > ptx
    if too_old and ptx is not None and needed is not None:
        note += (
            f", and the compilers here make {needed[0]}.{needed[1]}: update the driver, or build "
            f"with --ptx-version {ptx[0]}.{ptx[1]} or --image cubin"
        )
    rows = [
        Row("NVIDIA driver", driver.description or "no", note, fails=too_old),
        Row("IREE's drivers", ", ".join(iree_drivers())),
    ]
    problem = why_not("cuda")
    present = hardware().gpu_names
    if problem is not None:
        # Nobody who hides a GPU expects it to work.
        rows.append(Row("cuda", "no", problem, bool(present) and VISIBLE_DEVICES not in os.environ))
    hidden = "" if len(present) <= len(driver.gpus) else _hidden(listed(present))
    for device in devices():
        note = _BEST_FOR_CPU if device.kind == "cpu" else hidden
        if device.index:
            note = f'taken where it is named, device="{device.argument}", or by arrays on it'
        rows.append(Row(device.argument, str(device), note))
    return rows


_BEST_FOR_CPU = "the target cpu:host makes code for just this CPU"


def _hidden(present: str) -> str:
    value = os.environ.get(VISIBLE_DEVICES)
    return f"this machine has {present}" + (f"; {VISIBLE_DEVICES} is {value!r}" if value else "")


def _store() -> Row:
    store = open_store()
    if store is None:
        return Row("store", "no", f"{DIRECTORY_VARIABLE} turns it off or names what cannot be used")
    return Row("store", str(store.path), "keeps what was compiled; see `custom-dispatch store`")

"""`custom-dispatch cmake-dir`: where the CMake function is."""

from __future__ import annotations

import click

from custom_dispatch.resources import resource


@click.command("cmake-dir", short_help="Print where the CMake function is.")
def cmake_dir() -> None:
    """Print the directory of CustomDispatch.cmake, for a project's CMAKE_MODULE_PATH."""
    click.echo(resource("cmake"))

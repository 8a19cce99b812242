"""`custom-dispatch cmake-dir`: where the CMake function is."""

import click

from custom_dispatch.installation import resource


@click.command()
def command() -> None:
    """Print the directory of CustomDispatch.cmake, for a project's CMAKE_MODULE_PATH."""
    click.echo(resource("cmake"))

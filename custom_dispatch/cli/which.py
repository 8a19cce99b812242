"""`custom-dispatch which`: which kernel of a choice a call takes, and why."""

import click

from custom_dispatch.cli import options
from custom_dispatch.cli.kernels import choice_in
from custom_dispatch.cli.notation import parse_sizes
from custom_dispatch.cli.report import json_option, show_table, tell


@click.command()
@click.argument("subject", metavar="KERNELS", type=click.Path())
@click.argument("name", required=False)
@options.shape(help="The size of every dim, n=1024; a range for one, n=1024:1048576:x4.")
@click.option("--target", "-t", help="Where it runs, cuda:sm_90a; else as a call here does.")
@json_option
def command(
    subject: str,
    name: str | None,
    shapes: tuple[str, ...],
    target: str | None,
    json_path: str | None,
) -> None:
    """Say which kernel of a cd.Choice, NAME, a call of some sizes takes, and why not the others.

    The decision is the one that modules and calls make. This compiles nothing and needs no GPU.
    """
    from custom_dispatch.eager.call_choice import which  # `--help` needs no device

    choice = choice_in(subject, name, "NAME")
    found = [which(choice, target, dims) for dims in parse_sizes(shapes)]

    def show() -> None:
        for taken in found:
            click.echo(taken.call)
            others = [(f"  {other}", why) for other, why in taken.others.items()]
            show_table(("kernel", "why"), [(f"* {taken.kernel}", taken.reason), *others])

    tell(json_path, show, calls=[vars(taken) for taken in found])

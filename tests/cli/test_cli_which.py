"""`custom-dispatch which`: as a table, as JSON, and asked in a wrong way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_harness import CommandLine

KERNELS = """
import custom_dispatch as cd
n = cd.dim("n")

def one(name, **more):
    return cd.Kernel(
        name, source="k.cu", block=64, grid=cd.ceildiv(n, 64),
        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])], **more,
    )

alone = one("alone")
both = cd.Choice("both", [one("fours", requires=[n % 4 == 0]), one("any")])
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def test_it_is_told_as_a_table_and_as_json(kernels: Path, cli: CommandLine) -> None:
    words = ("which", kernels, "-s", "n=6:9:2", "-t", "cuda:sm_90a")
    outcome = cli(*words)
    outcome.succeeded()
    assert outcome.out.splitlines() == [
        "`both` for n=6 on cuda:sm_90a",
        "kernel   why",
        "* any    is the first declared that takes them",
        "  fours  requires n % 4 == 0, which does not hold for n = 6",
        "`both` for n=8 on cuda:sm_90a",
        "kernel   why",
        "* fours  is the first declared that takes them",
        "  any    takes them, too, and is declared later",
    ]
    first, second = json.loads(cli(*words, "--json").out)["calls"]
    assert (first["kernel"], second["kernel"]) == ("any", "fours")
    assert first["target"] == "cuda:sm_90a"
    assert first["dims"] == {"n": 6}
    assert first["others"].keys() == {"fours"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("alone", "-s", "n=8"), "declares no choice `alone`.\n  expected: one of both"),
        (("other", "-s", "n=8"), "declares no choice `other`."),
        (("both",), "Choice `both` needs `n`."),
        (("both", "-s", "n=8,m=1"), "Choice `both` has no dim `m`."),
        (("both", "-s", "n=-8"), "'n=-8' is no size."),
        (("both", "-s", f"n={2**63}"), f"n is given as {2**63}"),
        (("both", "-s", "n=8", "-t", "sm_80"), "did you mean 'cuda:sm_80'?"),
        (("both", "-s", "n=8", "-t", ""), "'' is not a target."),
    ],
)
def test_wrong_questions(
    words: tuple[str, ...], text: str, kernels: Path, cli: CommandLine
) -> None:
    cli("which", kernels, *words).refused(text)

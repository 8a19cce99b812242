"""`custom-dispatch profile`: on the CPU for real, by IREE's own tools; wrong use is a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_harness import CommandLine

INPUTS = ("-i", "1000xf32", "-i", "1000xf32=2")
ON_CPU = ("--device", "cpu", "--calls", "2")


def test_a_profile_is_a_table_and_files(vmfb: Path, cli: CommandLine) -> None:
    words = ("profile", "mixed.vmfb", *INPUTS, *ON_CPU)
    outcome = cli(*words, "--html", "p.html", "--trace", "t.json", "--json", "p.json")
    outcome.succeeded("recorded by IREE's iree-benchmark-module: 2 calls", "simple_mul_inplace ")
    assert "mixed_invocation$async_dispatch_0_elementwise" in outcome.out
    assert outcome.appeared == {"p.html", "t.json", "p.json"}
    found = json.loads(Path("p.json").read_text())
    assert (found["command"], found["calls"]) == ("profile", 2)
    assert found["files"] == ["p.html", "t.json"]
    origins = {item["name"]: item["origin"] for item in found["kernels"]}
    assert (origins.pop("simple_mul"), origins.pop("simple_mul_inplace")) == ("hand-written",) * 2
    assert set(origins.values()) == {"generated"}
    assert len(json.loads(Path("t.json").read_text())["traceEvents"]) > 8
    assert "<title>Profile</title>" in Path("p.html").read_text()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["-f", "none", *INPUTS], ["has no function `none`"]),
        ([], ["its type does not say its sizes", "give --input 1024xf32"]),
        (["-i", "8xf32"], ["is called with 1 arguments", "expected: 2"]),
        (["-i", "8xf32", "-i", "9xf32"], ["disagree"]),
        ([*INPUTS, "--calls", "0"], ["0 is not in the range"]),
        ([*INPUTS, "--html", "mixed.vmfb"], ["would be written over"]),
        ([*INPUTS, "--html", "mixed.vmfb/p.html"], ["cannot be a directory"]),
    ],
)
def test_wrong_use_is_a_sentence(
    vmfb: Path, cli: CommandLine, words: list[str], parts: list[str]
) -> None:
    cli("profile", "mixed.vmfb", "--device", "cpu", *words).refused(*parts)

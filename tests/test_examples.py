"""The examples run, and print what the kernels compute."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
import pytest

from custom_dispatch.cli import main

EXAMPLES = Path(__file__).parents[1] / "examples"


def printed(example: str, directory: Path) -> str:
    """What an example prints, run in an empty directory."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / example],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_own_kernel(tmp_path: Path) -> None:
    clamped = numpy.linspace(-8, 8, 6, dtype=numpy.float32).reshape(2, 3).clip(0, 6)
    assert printed("own_kernel.py", tmp_path) == f"{clamped}\n{clamped * clamped}\n"


@pytest.mark.thorough  # docs/torch.md and test_torch.py make the same calls
def test_torch_model(tmp_path: Path) -> None:
    assert printed("torch_model.py", tmp_path).splitlines() == [
        "eager: the kernel runs where the tensors are",
        "torch.compile: one graph",
        "one module for all devices: (tensor<?x64xf32>) -> (tensor<?x64xf32>)",
    ]


@pytest.mark.thorough  # docs/onnx.md, which quick runs execute, makes the same calls
def test_onnx_model(tmp_path: Path) -> None:
    assert printed("onnx_model.py", tmp_path).splitlines() == [
        "ONNX knows the operator, and the types of its results",
        "ONNX's reference evaluator runs the kernel",
        "one module for all devices: (tensor<?x?x64xf32>) -> (tensor<?x?x128xf32>)",
    ]


@pytest.mark.thorough  # as does docs/jax.md
def test_jax_function(tmp_path: Path) -> None:
    assert printed("jax_function.py", tmp_path).splitlines() == [
        "eager and jit: the kernel runs on the CPU",
        "swiglu_f32 takes the place of 6 operations",
        "one module for all devices: (tensor<2x5x64xf32>) -> (tensor<2x5x64xf32>)",
    ]


def test_plain_mlir() -> None:
    """A shell script, which runs the programs of this environment."""
    programs = sysconfig.get_path("scripts")
    done = subprocess.run(
        ["bash", EXAMPLES / "plain_mlir/run.sh"],
        env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    (numbers,) = re.findall(r"^1x64xf32=\[(.*)\]$", done.stdout, re.MULTILINE)
    wanted = 0.125 + 1 / (1 + numpy.exp(-1.0))
    numpy.testing.assert_allclose([float(item) for item in numbers.split()], [wanted] * 64, 1e-5)


def test_the_kernel_of_the_example_agrees_with_its_reference() -> None:
    """The others take kernels that ship, which tests/shipped_kernels compares with theirs."""
    assert main(["check", str(EXAMPLES / "own_kernel.py"), "--target", "cpu:host"]) == 0

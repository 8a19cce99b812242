"""Kernels compiled for 64-bit Arm: everywhere; and run, where there is such a Python.

`AARCH64_PYTHON` is a command that starts one, with iree-base-runtime and numpy, on such a machine
or under an emulator: see `benchmarks/cpu/aarch64.py`.
"""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
from pathlib import Path

import pytest
from corpus_cases import CORPUS, FILES
from cpu_harness import compile_cuda, compile_model, model_text
from test_corpus import include_paths

import custom_dispatch as cd
from benchmarks.cpu import aarch64 as cpu_aarch64
from cuda_kernels.norms import rms_norm
from cuda_kernels.norms.rows import RowForm
from cuda_kernels.simple_mul import simple_mul

PYTHON = shlex.split(os.environ.get("AARCH64_PYTHON", ""))
EM_AARCH64 = 183
"""In an ELF header, `e_machine` of 64-bit Arm (ELF for the Arm 64-bit Architecture, 5.1)."""


def machines(vmfb: bytes) -> set[int]:
    """The machines that the ELF files in a module are for."""
    starts = [i for i in range(len(vmfb)) if vmfb.startswith(b"\x7fELF\x02\x01\x01", i)]
    return {struct.unpack_from("<H", vmfb, start + 18)[0] for start in starts}


def test_kernels_of_the_library_compile_for_arm() -> None:
    small = rms_norm.declare(RowForm("f32", 64, 2))  # compiled in half the time
    module = cd.compile(None, [simple_mul, small], ["cpu:aarch64"])
    assert machines(module.bytes) == {EM_AARCH64}


def test_atomics_and_warps_compile_for_arm() -> None:
    ptx = compile_cuda((CORPUS / "atomics.cu").read_text(), "sm_80", include_paths())
    launches = [case.launch for case in FILES["atomics"]()]
    assert machines(compile_model(model_text(ptx, launches, "aarch64"))) == {EM_AARCH64}


@pytest.mark.skipif(not PYTHON, reason="no aarch64 Python: AARCH64_PYTHON is not set")
def test_what_was_compiled_for_arm_gives_what_numpy_gives(tmp_path: Path) -> None:
    cpu_aarch64.build(tmp_path, ("atomics", "warps"))
    command = [*PYTHON, str(cpu_aarch64.__file__), "run", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"machine": "aarch64"' in done.stdout

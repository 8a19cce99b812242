"""Every instruction of the CPU target's property tests on a GPU, with the same operands.

Two halves. `build DIRECTORY` on any machine runs the property tests and keeps their PTX, operands
and results. `run DIRECTORY` on a machine with a GPU of sm_90 and CuPy launches the same PTX through
the CUDA driver. It prints, for each instruction whose results are not the same bits, in how many
rows they differ, how far in units in the last place, and the first such row. NaNs count as equal.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.gpu_command import parser

ROOT = Path(__file__).resolve().parents[2]
_FRACTIONS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def build(directory: Path) -> int:
    """Run the property tests, and keep what the other half needs."""
    directory.mkdir(parents=True, exist_ok=True)
    tests = sorted((ROOT / "tests" / "cpu").glob("test_*_properties.py"))
    tests.append(ROOT / "tests" / "cpu" / "test_float_instructions.py")
    environment = {**os.environ, "PROPERTY_KEEP": str(directory.resolve())}
    command = [sys.executable, "-m", "pytest", "-q", "-k", "not generic", *map(str, tests)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    print(f"{len(list(directory.glob('*.ptx')))} modules")
    return done.returncode


def run(directory: Path) -> int:
    """Launch the same PTX on the GPU and compare."""
    import cupy

    rows, total = [], 0
    for path in sorted(directory.glob("*.pickle")):
        module = cupy.RawModule(path=str(path.with_suffix(".ptx")))
        for case in pickle.loads(path.read_bytes()):  # noqa: S301 - what `build` wrote
            arrays = [cupy.asarray(array) for array in case["arrays"]]
            module.get_function(case["entry"])(case["grid"], case["block"], tuple(arrays))
            cupy.cuda.runtime.deviceSynchronize()
            gpu = cupy.asnumpy(arrays[-1])
            for text, ours, theirs in zip(case["texts"], case["result"], gpu, strict=True):
                total += 1
                row = compare(text, ours, theirs, case["arrays"][:-1])
                if row:
                    rows.append(row)
                    print(json.dumps(row))
    print(f"{total - len(rows)} of {total} instructions give the same bits")
    return 0


def compare(
    text: str, ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], operands: list[Any]
) -> dict[str, Any] | None:
    """What there is to say of an instruction's results, or None when they are the same."""
    kind = _kind(text)
    left, right = (_elements(bits, kind) for bits in (ours, theirs))
    if kind is None:
        distance = (left != right).astype(int)
    else:
        sign, infinity = 1 << (_width(kind) - 1), _infinity(kind)
        ranks = [np.where(v >= sign, sign - v, v) for v in (left, right)]
        both_nan = ((left & (sign - 1)) > infinity) & ((right & (sign - 1)) > infinity)
        distance = np.where(both_nan, 0, abs(ranks[0] - ranks[1]))
    wrong = np.flatnonzero(distance)
    if not wrong.size:
        return None
    row = int(wrong[0]) % len(ours)
    return {
        "instruction": text,
        "rows": int(wrong.size),
        "ulp": int(distance.max()) if kind else None,
        "operands": [hex(operand[row]) for operand in operands],
        "cpu": hex(ours[row]),
        "gpu": hex(theirs[row]),
    }


def _kind(text: str) -> str | None:
    """The floating-point type of an instruction's result; None for an integer."""
    opcode = re.split(r"[ ;]", text)[0]
    parts = opcode.split(".")
    if parts[0] in ("setp", "set", "testp", "st", "and"):
        return None
    name = parts[-2] if parts[0] == "cvt" else parts[-1]
    return name if name.removesuffix("x2") in _FRACTIONS else None


def _width(kind: str) -> int:
    return {"f32": 32, "f64": 64}.get(kind, 16)


def _infinity(kind: str) -> int:
    fraction = _FRACTIONS[kind.removesuffix("x2")]
    return ((1 << (_width(kind) - 1)) - 1) >> fraction << fraction


def _elements(bits: np.ndarray[Any, Any], kind: str | None) -> np.ndarray[Any, Any]:
    """Results as Python integers; of pairs, the lower halves and then the upper ones."""
    values = bits.astype(object)
    if kind is None or not kind.endswith("x2"):
        return values & ((1 << _width(kind)) - 1) if kind else values
    return np.concatenate([values & 0xFFFF, values >> 16])


def main() -> int:
    """Build or run."""
    given = parser(__doc__).parse_args()
    return (build if given.what == "build" else run)(given.directory)

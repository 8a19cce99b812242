"""Every operation that front ends leave to IREE, compiled for the CPU and compared with PyTorch.

    python -m benchmarks cpu.iree_operations [--target cpu] [--only NAME] [--seed 0]
        [--again RESULTS]

Operations are put into modules by the hundred; of a module that does not compile, halves are tried.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch

import custom_dispatch as cd
from benchmarks.cases.iree_operations import GROUPS, Case, cases
from cuda_kernels.simple_mul import simple_mul

PASSENGER = torch.ones(4)
MODULE = 100
_TOLERANCES = {torch.float64: 1e-9, torch.float32: 3e-5, torch.float16: 4e-3, torch.bfloat16: 2e-2}


class _Model(torch.nn.Module):
    """Many operations, and the kernel without which a model is not linked."""

    def __init__(self, several: list[Case], kernel: Any) -> None:
        super().__init__()
        self.several, self.kernel = several, kernel

    def forward(self, passenger: torch.Tensor, arguments: Any) -> Any:
        results = [
            case.function(*given) for case, given in zip(self.several, arguments, strict=True)
        ]
        return self.kernel(passenger, passenger), results


def _wrong(found: torch.Tensor, expected: torch.Tensor) -> str:
    """What is wrong with a result; empty if nothing is."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype} {tuple(found.shape)}, not {expected.dtype} {tuple(expected.shape)}"
    if not expected.dtype.is_floating_point:
        bad = found != expected
    else:
        tolerance = _TOLERANCES[expected.dtype]
        a, b = found.double(), expected.double()
        least = torch.finfo(expected.dtype).tiny
        finite = b[b.isfinite()].abs()
        scale = min(float(finite.max()) if len(finite) else 1.0, 10.0)
        close = (a - b).abs() <= tolerance * (b.abs() + 0.1 * scale) + least
        bad = ~((a == b) | close | (a.isnan() & b.isnan()))
    if not bad.any():
        return ""
    where = bad.nonzero()[0].tolist()
    return (
        f"{int(bad.sum())} of {bad.numel()}: {found[bad][:4].tolist()}, "
        f"not {expected[bad][:4].tolist()}, first at {where}"
    )


def _run(several: list[Case], target: str, kernel: Any, failures: dict[str, str]) -> None:
    if len(several) > 1 and any(case.model for case in several):
        for case in several:
            _run([case], target, kernel, failures)
        return
    arguments = [list(case.arguments) for case in several]
    try:
        if several[0].model:
            module = cd.onnx.compile(several[0].model, [target], kernels=simple_mul, store=False)
        else:
            model = _Model(several, kernel).eval()
            module = cd.torch.compile(model, (PASSENGER, arguments), [target], store=False)
        flat = [item.clone() for case in several for item in case.arguments]
        found = cd.load(module, "cpu").main(PASSENGER, *flat)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        if len(several) == 1:
            text = str(error)
            failures[several[0].name] = "refused: " + " ".join(text.split())[:300]
            return
        middle = len(several) // 2
        _run(several[:middle], target, kernel, failures)
        _run(several[middle:], target, kernel, failures)
        return
    results, after = iter(found[1:]), iter(flat)
    for case in several:
        changed = [bool(_wrong(next(after), item)) for item in case.arguments]
        if any(changed):
            failures[case.name + " (argument)"] = "wrong: it changes an argument"
        expected = case.function(*case.arguments)
        several_results = isinstance(expected, tuple | list)
        for item in expected if several_results else (expected,):
            result = torch.from_dlpack(next(results))
            wrong = _wrong(result, item)
            if wrong:
                failures[case.name] = "wrong: " + wrong


def main() -> int:
    """Run the sweep; print what is wrong as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--group", action="append", choices=GROUPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="only what was wrong by these results")
    parser.add_argument("--module", type=int, default=MODULE)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    kernel = cd.torch.register(simple_mul, namespace="sweep")
    every = [case for case in cases(given.group) if given.only in case.name]
    if given.again:
        runs = json.loads(given.again.read_text())["runs"]
        found = {name: text for run in runs for name, text in run["findings"].items()}
        every = [case for case in every if found.get(case.name, "").startswith("wrong")]
    failures: dict[str, str] = {}
    begin = time.time()
    for first in range(0, len(every), given.module):
        batch = every[first : first + given.module]
        _run(batch, given.target, kernel, failures)
        print(f"{first + len(batch)}/{len(every)} {time.time() - begin:.0f} s", file=sys.stderr)
        for case in batch:
            for name in (case.name, case.name + " (argument)"):
                if name in failures:
                    print(name, failures[name][:250], file=sys.stderr)
    counts = Counter(text.partition(":")[0] for text in failures.values())
    print(json.dumps({"cases": len(every), "counts": counts, "failures": failures}, indent=1))
    return 0

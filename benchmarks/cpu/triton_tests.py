"""Suites of tests of Triton kernels, unmodified, on the CPU: what passes, and why what does not.

    python -m benchmarks cpu.triton_tests DIR --of "Triton 3.8" [--each 4] [--seed 0] [--save]
        [--only test_core.py] [-- OPTIONS OF THE SUITE]

DIR has the tests, and is where pytest is run: Triton's `python/test/unit/language` (with the option
`--device cpu` of its conftest), or Liger's `test/transformers`. Of each test so many cases are
drawn by the seed. What no CPU can pass is left out by the rules below, before anything runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.lib.drawn_tests import LIMIT_S
from benchmarks.lib.report import RESULTS, ROOT, about

RULES = {
    "for Hopper and later: its whole file is about warps that specialise": {
        "file": "^test_warp_specialization"
    },
    "compiles for other architectures and runs nothing": {"file": "^test_compile_only"},
    "of another compiler than Triton": {"file": "cute|cutile|flydsl|helion"},
    "runs in a process of its own, which has no plugin": {
        "source": r"\bsubprocess\.|\bmultiprocessing\.|mp\.spawn|torch\.multiprocessing"
    },
    "makes tensors on a GPU or for one, whatever device it is given": {
        "source": r"device ?= ?[\"']cuda|\.cuda\(|pin_memory"
    },
    "needs more of PyTorch's GPU than what it is called and what it has": {
        "source": r"torch\.cuda\.(?!get_device_|synchronize|device\(|is_available)"
    },
}
"""Reasons, and regular expressions for the name of the file or the source of the test."""
_OURS = re.compile(r"errors\.(\w+): (.*)")
_ERROR = re.compile(r"^E\s+(?:[\w.]+\.)?(\w+(?:Error|Exception|Failed))\b", re.MULTILINE)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _why(note: dict[str, Any]) -> str:
    """The reason of a failure, without what differs from case to case."""
    told = note["told"]
    if "crashed while running" in told:
        return f"takes over {LIMIT_S} s" if note["s"] >= LIMIT_S - 1 else "the process ended"
    ours = _OURS.search(told)
    if ours:
        text = re.sub(r"Kernel `[^`]*`|\(PTX line.*?\)|\d+", "...", ours[2])
        return f"{ours[1]}: {text}"
    if re.search(r"^E\s+(Mismatched elements|Scalars are not|Tensor-likes)", told, re.MULTILINE):
        return "other numbers than expected"
    found = _ERROR.findall(told)
    last = re.findall(r"^E\s+(.*)", told, re.MULTILINE)
    return f"{found[-1] if found else 'error'}: {last[0][:90] if last else told[-90:]}"


def _skipped(told: str) -> str:
    return told.removeprefix("Skipped: ").removeprefix("Skipped") or "no reason given"


def counted(notes: list[dict[str, Any]], tests: list[dict[str, Any]]) -> dict[str, Any]:
    """What came of the cases, by reason."""
    left: dict[str, Counter[str]] = defaultdict(Counter)
    for test in tests:
        if test["reason"]:
            left[test["reason"]][test["test"]] += test["cases"]
    outcomes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for note in {note["case"]: note for note in notes}.values():  # of one, what was said last
        outcomes[note["outcome"]].append(note)
    passed, failed = (len(outcomes[key]) for key in ("passed", "failed"))
    return {
        "tests": len(tests),
        "cases": sum(test["cases"] for test in tests),
        "left out": {reason: dict(names) for reason, names in left.items()},
        "passed": passed,
        "failed": failed,
        "passed of those that ran": round(passed / max(passed + failed, 1), 4),
        "skipped by the suite": dict(Counter(_skipped(n["told"]) for n in outcomes["skipped"])),
        "failures by reason": dict(Counter(_why(n) for n in outcomes["failed"])),
        "failures": {_short(n["case"]): _why(n) for n in outcomes["failed"]},
        "files that did not load": {_short(n["case"]): n["told"] for n in outcomes["not loaded"]},
        "by file": _by_file(outcomes),
    }


def _short(case: str) -> str:
    path, *rest = case.split("::", 1)
    return "::".join([Path(path).name, *rest])


def _by_file(outcomes: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, int]]:
    files: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in ("passed", "failed", "skipped"):
        for note in outcomes[outcome]:
            files[Path(note["case"].split("::")[0]).name][outcome] += 1
    return {name: dict(found) for name, found in sorted(files.items())}


def _run(given: argparse.Namespace, options: Iterable[str], scratch: Path) -> dict[str, Any]:
    rules, notes = scratch / "rules.json", scratch / "notes.jsonl"
    rules.write_text(json.dumps(RULES))
    plugins = ("custom_dispatch.testing.pytest_plugin", "benchmarks.lib.drawn_tests")
    command = [
        *(sys.executable, "-m", "pytest"),
        *(word for plugin in plugins for word in ("-p", plugin)),
        *("--triton-on-cpu", "--each", str(given.each), "--seed", str(given.seed)),
        *("--leave-out", str(rules), "--notes", str(notes)),
        *("-n", str(given.workers), "--max-worker-restart", "9999", "--tb", "short", "-q"),
        *("-p", "no:cacheprovider", "-W", "ignore", *options),
        *(str(path) for only in given.only or [""] for path in [given.directory / only]),
    ]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        command, cwd=given.directory, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    tests = _lines(notes.with_suffix(".tests"))
    drawn = sum(min(given.each, test["cases"]) for test in tests if not test["reason"])
    return {"drawn": drawn, **counted(_lines(notes), tests)}


def main() -> int:
    """Run the suite; print what came of it as JSON, and keep it with --save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=lambda text: Path(text).resolve())
    parser.add_argument("--of", required=True, help="whose tests these are, and of which version")
    parser.add_argument("--each", type=int, default=4, help="cases of each test, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", action="append", help="a file of the directory")
    parser.add_argument("--save", action="store_true")
    own, rest = sys.argv[1:], []
    if "--" in own:
        own, rest = own[: own.index("--")], own[own.index("--") + 1 :]
    given = parser.parse_args(own)
    with tempfile.TemporaryDirectory() as scratch:
        found = _run(given, rest, Path(scratch))
    packages = ("triton", "torch", "iree-base-compiler", "iree-base-runtime")
    head = {"of": given.of, "seed": given.seed, "each": given.each}
    said = about("triton_tests", packages)
    said["command"] = str(said["command"]).replace(own[0], "DIR")
    run = {**head, "about": said, **found}
    print(json.dumps(run, indent=1))
    if given.save:
        path = RESULTS / "triton_tests.json"
        runs = json.loads(path.read_text())["runs"] if path.exists() else []
        runs = [kept for kept in runs if any(kept[key] != head[key] for key in head)]
        path.write_text(json.dumps({"runs": [*runs, run]}, indent=1) + "\n")
    return 0 if found["passed of those that ran"] >= 0.9 else 1

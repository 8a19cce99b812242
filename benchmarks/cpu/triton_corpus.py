"""Kernels of Triton from public libraries: built for two GPUs, and run on the CPU beside PyTorch.

Each case calls an operation of a library on tensors of the CPU and compares what it gives, and
its gradients, with PyTorch in f64. Every Triton function that it launches is then declared with
the types, constants and facts of such a launch and built for sm_80 and sm_90a. A function runs
right if every case that launches it agrees.

    python -m benchmarks cpu.triton_corpus [LIBRARY ...] [--only CASE ...] [--checked] [--save]

Each case runs in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from triton.runtime.cache import triton_key

import custom_dispatch as cd
from benchmarks.cases.triton_corpus import LIBRARIES, checking
from benchmarks.lib.report import RESULTS, about
from benchmarks.lib.triton_launches import Recorded, looks_like_an_a100, recorded
from custom_dispatch.testing import triton_on_cpu

TARGETS = ("cuda:sm_80", "cuda:sm_90a")
BAR = 0.95
LONGEST_S = 900


def run_case(run: checking.Case, known: set[str], built: bool) -> dict[str, Any]:
    """What a case found, and how the functions built that no case before it launched."""
    start = time.perf_counter()
    checking.worst.clear()
    with recorded() as launches:
        error = _error_of(run)
    result: dict[str, Any] = {"seconds": round(time.perf_counter() - start, 1), "error": error}
    result["largest_difference"] = float(f"{max(checking.worst, default=0.0):.1e}")
    # Of several forms the last: what autotuning compiles first need not fit a GPU.
    functions = {each.name: each for each in launches}
    result["functions"] = sorted(functions)
    result["forms"] = len(launches)
    if built:
        new = [each for name, each in functions.items() if name not in known]
        result["built"] = {each.name: _built(each) for each in new}
    return result


def _built(launch: Recorded) -> dict[str, str]:
    """What building says for each target; empty where it builds."""
    said = {}
    for target in TARGETS:
        said[target] = _error_of(lambda target=target: cd.build(launch.kernel(), [target]))
    return said


def _error_of(run: Callable[[], Any]) -> str:
    try:
        run()
    except Exception as error:  # noqa: BLE001 - libraries raise many kinds
        if "CORPUS_TRACE" in os.environ:
            traceback.print_exc()
        return f"{type(error).__name__}: {str(error)[:1500]}"
    return ""


def _in_process(work: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """What work gives in a process of its own, or how that ended."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(work(*arguments)))
    process.start()
    sender.close()
    try:
        if not receiver.poll(LONGEST_S):
            process.kill()
            return _ended(f"took more than {LONGEST_S} s")
        return dict(receiver.recv())
    except EOFError:
        process.join()
        return _ended(f"the process ended with {process.exitcode}")
    finally:
        process.join()


def _ended(how: str) -> dict[str, Any]:
    return {"seconds": 0.0, "error": how, "functions": [], "forms": 0, "built": {}}


def _load_what_cases_share() -> None:
    """Load what every process of a case would load, before they are forked."""
    for name in ("custom_dispatch.compilation", "custom_dispatch.eager.call", "sympy"):
        importlib.import_module(name)
    triton_key()  # a digest of Triton itself, which it keeps


def library_cases(library: str) -> dict[str, checking.Case]:
    """The cases of a library, which is loaded as where an A100 is."""
    found: dict[str, checking.Case] = {}
    for name in LIBRARIES[library].files:
        found |= importlib.import_module(f"benchmarks.cases.triton_corpus.{name}").CASES
    return found


def main() -> int:
    """Run the cases that are asked for, or join what several runs found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("libraries", nargs="*", default=[])
    parser.add_argument("--only", nargs="+", default=[], metavar="CASE")
    parser.add_argument("--checked", action="store_true")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--out", type=Path, help="written after each case")
    parser.add_argument("--join", nargs="+", type=Path, default=[], metavar="OUT")
    given = parser.parse_args()
    cases: dict[str, dict[str, Any]] = {}
    for path in given.join:
        cases |= json.loads(path.read_text())["cases"]
    if not given.join:
        torch.set_num_threads(1)  # threads of PyTorch's would be missing in a forked process
        _load_what_cases_share()
        for library in given.libraries or LIBRARIES:
            _run_library(library, given, cases)
    summary = _keep(cases, given.out)
    print(json.dumps(summary, indent=1))
    if given.save:
        name = "triton_corpus_checked.json" if given.checked else "triton_corpus.json"
        _keep(cases, RESULTS / name)
    return 0 if all(each >= BAR for each in summary["shares"].values()) else 1


def _run_library(library: str, given: argparse.Namespace, cases: dict[str, Any]) -> None:
    known: set[str] = set()
    with triton_on_cpu(checked=given.checked), looks_like_an_a100():
        for name, run in library_cases(library).items():
            if given.only and name not in given.only:
                continue
            found = _in_process(run_case, run, known, not given.checked)
            known |= {*found["functions"]}
            cases[f"{library}.{name}"] = found
            say = found["error"] or f"agrees to {found['largest_difference']:.0e}"
            print(f"{library}.{name}: {found['functions']} {found['seconds']} s: {say}")
            for each, said in found.get("built", {}).items():
                if any(said.values()):
                    print("  not built:", each, said)
            sys.stdout.flush()
            _keep(cases, given.out)


def _keep(cases: dict[str, Any], path: Path | None) -> dict[str, Any]:
    """The summary, which a file has with all the rest."""
    summary = _summary(cases)
    said = about("triton_corpus", ("triton", "torch"))
    libraries = {key.partition(".")[0] for key in cases}
    packages = {each: version(LIBRARIES[each].distribution) for each in sorted(libraries)}
    content = {"about": {**said, "libraries": packages}, "summary": summary, "cases": cases}
    if path is not None:
        path.write_text(json.dumps(content, indent=1) + "\n")
    return summary


def _summary(cases: dict[str, dict[str, Any]]) -> dict[str, Any]:
    functions: dict[str, dict[str, Any]] = {}
    for case, found in cases.items():
        library = case.partition(".")[0]
        for name in found["functions"]:
            one = functions.setdefault(f"{library}.{name}", {"wrong": []})
            one["wrong"] += [case] * bool(found["error"])
        for name, said in found.get("built", {}).items():
            functions[f"{library}.{name}"]["built"] = [t for t in TARGETS if not said[t]]
    kernels = [*functions.values()]
    counts: dict[str, Any] = {"kernels": len(kernels), "cases": len(cases)}
    shares = {}
    for target in TARGETS:
        if any("built" in each for each in kernels):
            counts[target] = sum(target in each.get("built", ()) for each in kernels)
            shares[target] = counts[target] / max(len(kernels), 1)
    running = [each for each in kernels if TARGETS[0] in each.get("built", TARGETS)]
    counts["agree"] = sum(not each["wrong"] for each in running)
    shares["agree"] = counts["agree"] / max(len(running), 1)
    failed = {case: found["error"] for case, found in cases.items() if found["error"]}
    wrong = sorted(name for name, each in functions.items() if each["wrong"])
    libraries = {}
    for name in functions:
        library = name.partition(".")[0]
        libraries[library] = libraries.get(library, 0) + 1
    return {
        **counts,
        "shares": shares,
        "by_library": libraries,
        "not_right": wrong,
        "failed": failed,
    }


if __name__ == "__main__":
    sys.exit(main())

"""The one way to run a benchmark: `python -m benchmarks NAME`; without a name, what there is."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOMS = {
    "host": "",
    "cpu": "",
    "gpu": "a GPU and PyTorch, to run",
    "pages": "",
}
"""The folders that hold benchmarks, and what those of each need beside the test environment."""
NEEDS = {
    "cpu.against_gpu": "a GPU and CuPy, to run",
    "cpu.instructions_against_gpu": "a GPU and CuPy, to run",
    "cpu.triton_corpus": "PyTorch, Triton and the libraries",
    "cpu.triton_interpreter": "PyTorch, Triton and Liger",
    "cpu.triton_tests": "PyTorch, Triton and the suite",
    "gpu.between": "a GPU, PyTorch and transformers, to run",
    "gpu.calls": "a GPU, to run",
    "gpu.dispatch_chain": "a GPU, to run",
    "gpu.graphs": "a GPU and CuPy, to run",
    "gpu.languages": "a GPU and PyTorch, to run; the languages, to build",
    "gpu.limiters": "a GPU and ncu, to run",
    "gpu.sanitize": "a GPU and compute-sanitizer, to run",
    "gpu.scratch": "a GPU, to run",
    "gpu.tensor_maps": "a GPU and PyTorch, to run; TileLang, to build",
    "gpu.triton_kernels": "a GPU, PyTorch and Triton, to run",
    "pages.kernels": "matplotlib, for --pictures",
}
"""What others need than most of their folder."""


def names() -> dict[str, str]:
    """Every benchmark, and what it shows, in a line."""
    found = {}
    for room in ROOMS:
        for path in sorted((HERE / room).glob("[!_]*.py")):
            document = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found[f"{room}.{path.stem}"] = document.partition("\n")[0]
    return found


def needs(name: str) -> str:
    """What a benchmark needs beside the test environment; empty for nothing."""
    return NEEDS.get(name, ROOMS[name.partition(".")[0]])


def main() -> int:
    """Run the benchmark that is named, or list them."""
    known = names()
    _, *arguments = sys.argv
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [ARGUMENT ...]\n")
        for name, shows in known.items():
            print(f"{name:29} {shows}" + (f" ({needs(name)})" if needs(name) else ""))
        return 0
    name = arguments[0]
    if name not in known:
        print(f"There is no benchmark {name}; one of: {', '.join(known)}.", file=sys.stderr)
        return 2
    # Its usage and its results say how it is run.
    sys.argv = [f"python -m benchmarks {name}", *arguments[1:]]
    return int(importlib.import_module(f"benchmarks.{name}").main())


if __name__ == "__main__":
    sys.exit(main())

"""The commands of docs/profiling.md, run as they stand there.

    python tests/gpu/profiling_guide.py build DIRECTORY    # anywhere
    python tests/gpu/profiling_guide.py run DIRECTORY      # with a GPU and NVIDIA's tools

The second half needs iree-base-runtime and numpy. It prints every command, the beginning of its
output and its status, and returns 1 if a tool did not find what the guide says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "profiling.md"
_TIME_LIMIT_S = 120
_SHOWN_LINES = 40

# What each command's output must hold, by what the command begins with after its variables.
EXPECTED = (
    (r"^RUN=", "row 1: 128"),
    (r"^timeout 30 compute-sanitizer \$RUN", "Invalid __global__ read"),
    (r"--tool racecheck", "RACECHECK SUMMARY: 0 hazards"),
    (r"--tool synccheck", "ERROR SUMMARY: 0 errors"),
    (r"^ncu", "Memory Throughput"),
    (r"^cuda-gdb.*break row_sum", "row_sum"),
    (r"^cuda-gdb --batch -ex 'run' -ex 'backtrace'", "CUDA_EXCEPTION"),
    (r"python program\.py", "ERROR SUMMARY: 0 errors"),
    (r"device_profiling_mode", "UNIMPLEMENTED"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block of the guide and what it is: "file NAME", "build", "cpu" or "gpu"."""

    what: str
    text: str


def blocks() -> list[Block]:
    """Every block of the guide that has a remark before it."""
    found = re.finditer(
        r"<!-- guide: ([^>]+) -->\n```\w*\n(.*?)```\n", GUIDE.read_text(), re.DOTALL
    )
    return [Block(*match.groups()) for match in found]


def write_files(directory: Path) -> None:
    """Write the guide's files."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "mlir" / "mixed_invocation.mlir", directory)
    for block in blocks():
        if block.what.startswith("file "):
            (directory / block.what.removeprefix("file ")).write_text(block.text)


def _environment() -> dict[str, str]:
    """The package importable, and the programs beside this Python found first."""
    programs = Path(sys.executable).parent
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"
    places = filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))
    return os.environ | {"PYTHONPATH": os.pathsep.join(places), "PATH": path}


def play(what: str, directory: Path) -> None:
    """Run the commands of one kind, each of which must succeed."""
    environment = _environment()
    for block in blocks():
        if block.what == what:
            print(block.text, end="", flush=True)
            shell = ["bash", "-euo", "pipefail", "-c", block.text]
            subprocess.run(shell, cwd=directory, env=environment, check=True)


def run(directory: Path) -> list[str]:
    """Run the commands for a GPU; return those that did not find what the guide says."""
    missed = []
    setting = ""
    environment = _environment()
    for block in blocks():
        if block.what != "gpu":
            continue
        if block.text.startswith("RUN="):
            setting = block.text.splitlines()[0] + "\n"
        shell = [
            "bash",
            "-c",
            block.text if block.text.startswith("RUN=") else setting + block.text,
        ]
        print(f"$ {block.text}", end="", flush=True)
        try:
            done = subprocess.run(
                shell,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_TIME_LIMIT_S,
                check=False,
            )
            output, status = done.stdout.decode("utf-8", "replace"), str(done.returncode)
        except subprocess.TimeoutExpired as problem:
            output, status = (problem.stdout or b"").decode("utf-8", "replace"), "timed out"
        lines = output.splitlines()
        for line in lines[:_SHOWN_LINES]:
            print(f"    {line[:160]}")
        if len(lines) > _SHOWN_LINES:
            print(f"    ... {len(lines) - _SHOWN_LINES} more lines")
        (wanted,) = (text for form, text in EXPECTED if re.search(form, block.text, re.DOTALL))
        found = wanted in output
        print(
            f"    [status {status}; {wanted!r} {'found' if found else 'NOT FOUND'}]\n", flush=True
        )
        if not found:
            missed.append(block.text)
    return missed


def main() -> int:
    """Build or run."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("build", "run"):
        sys.exit("usage: python tests/gpu/profiling_guide.py build|run DIRECTORY")
    directory = Path(sys.argv[2])
    if sys.argv[1] == "build":
        write_files(directory)
        play("build", directory)
        return 0
    missed = run(directory)
    print(f"{len(missed)} commands did not show what the guide says")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

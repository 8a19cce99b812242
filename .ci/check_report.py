"""Judge a JUnit report: a run that collected little, or skipped what it should not, has failed.

It also says which tests took the most time.
"""

from __future__ import annotations

import heapq
import re
import sys
from xml.etree import ElementTree

# Raised as the suite grows; a run with fewer passes has lost tests on the way.
LEAST_PASSED = 3800

# Tests that are listed: the whole is to stay below 15 minutes on two cores.
SLOWEST = 20

# The only reasons for which a test may be skipped.
ALLOWED_SKIPS = (
    r"\bgcc\b|g\+\+|host compiler",  # nvcc preprocesses with gcc, which is no Python package
    r"\bmake\b|\bninja\b",  # CMake builds with one of them
    r"\bGPU\b|CUDA device|NVIDIA driver",
    r"\baarch64 Python\b",  # of another architecture
    # Each brings a compiler and CUDA of its own, and not the same one.
    r"^(Numba|Warp|CuTe DSL|CUDA Tile|TileLang) is not installed$",
)


def main(path: str) -> int:
    """Print what is wrong with the report; 0 if nothing is."""
    cases = list(ElementTree.parse(path).iter("testcase"))  # noqa: S314 - our own file
    skipped = [
        (f"{case.get('classname')}::{case.get('name')}", skip.get("message") or "no reason")
        for case in cases
        for skip in case.iter("skipped")
    ]
    failed = sum(
        case.find("failure") is not None or case.find("error") is not None for case in cases
    )
    passed = len(cases) - len(skipped) - failed
    problems = []
    if failed:
        problems.append(f"{failed} tests failed")
    if passed < LEAST_PASSED:
        problems.append(f"{passed} tests passed, expected at least {LEAST_PASSED}")
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
        if not any(re.search(pattern, reason) for pattern in ALLOWED_SKIPS):
            problems.append(f"{name} was skipped for another reason than those allowed: {reason}")
    print(f"{passed} passed, {len(skipped)} skipped")
    seconds = [(float(case.get("time") or 0), case) for case in cases]
    print(f"{sum(each for each, _ in seconds):.0f} s in all workers, of which the slowest take:")
    for each, case in heapq.nlargest(SLOWEST, seconds, key=lambda item: item[0]):
        print(f"{each:7.1f} s {case.get('classname')}::{case.get('name')}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

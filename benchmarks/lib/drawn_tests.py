"""A plugin of pytest that draws some of the cases of each test, and notes how they end.

    pytest -p benchmarks.lib.drawn_tests --each 4 --seed 7 --leave-out RULES.json --notes FILE

Tests that a rule names are left out by their source, before anything runs.
"""

from __future__ import annotations

import faulthandler
import inspect
import json
import random
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

LIMIT_S = 240
"""What a case may take. Then its process ends: code that runs natively cannot be interrupted."""


def pytest_addoption(parser: Any) -> None:
    """Add the options."""
    parser.addoption("--each", type=int, default=4, help="how many cases of each test, at most")
    parser.addoption("--seed", type=int, default=0)
    parser.addoption("--leave-out", type=Path, help="JSON: the rules, by reason")
    parser.addoption("--notes", type=Path, help="where a line of JSON goes for each case")


def pytest_configure(config: Any) -> None:
    """Note what happens where the reports arrive."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Notes(config.getoption("--notes")))


class _Notes:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.began: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.began[nodeid] = time.monotonic()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            seconds = time.monotonic() - self.began.get(report.nodeid, time.monotonic())
            self._write(report.nodeid, report.outcome, report.longrepr, seconds)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._write(report.nodeid, "not loaded", report.longrepr, 0.0)

    def _write(self, name: str, outcome: str, told: Any, seconds: float) -> None:
        told = told[2] if isinstance(told, tuple) else str(told or "")
        line = {"case": name, "outcome": outcome, "told": told[-6000:], "s": round(seconds, 2)}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the cases that are drawn, the same ones in each process."""
    rules = json.loads(config.getoption("--leave-out").read_text())
    notes = config.getoption("--notes")
    tests: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for item in items:
        tests[str(item.path), getattr(item, "originalname", item.name)].append(item)
    kept: list[Any] = []
    counts = []
    for (path, name), cases in tests.items():
        file = Path(path).name
        why = reason(rules, file, _source(cases[0]))
        counts.append({"test": f"{file}::{name}", "cases": len(cases), "reason": why})
        if not why:
            draw = random.Random(f"{config.getoption('--seed')} {file} {name}")  # noqa: S311
            kept += draw.sample(cases, min(config.getoption("--each"), len(cases)))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
    if not hasattr(config, "workerinput") or config.workerinput["workerid"] == "gw0":
        with notes.with_suffix(".tests").open("a") as file:
            file.writelines(json.dumps(count) + "\n" for count in counts)


def _source(item: Any) -> str:
    function = inspect.unwrap(item.function)
    return inspect.getsource(getattr(function, "fn", function))  # a function of Triton has it there


def reason(rules: dict[str, dict[str, str]], file: str, source: str) -> str:
    """The rule by which a test of a file is left out; empty for none."""
    for name, rule in rules.items():
        if re.search(rule.get("file", "(?!)"), file) or re.search(
            rule.get("source", "(?!)"), source
        ):
            return name
    return ""


def pytest_runtest_protocol(item: Any) -> None:  # noqa: ARG001 - pytest's name
    """Let a case take so long, and no longer."""
    faulthandler.dump_traceback_later(LIMIT_S, exit=True, file=sys.__stderr__)


def pytest_runtest_logfinish() -> None:
    """It has ended."""
    faulthandler.cancel_dump_traceback_later()

"""What `.ci/run` relies on: a report that shows too little is a failure, and so is an odd skip."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

CI = Path(__file__).parents[1] / ".ci"


@pytest.fixture
def check_report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_report", CI / "check_report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report(path: Path, passed: int, *others: str) -> str:
    cases = ['<testcase classname="c" name="passes"/>'] * passed
    cases += [f'<testcase classname="c" name="other">{other}</testcase>' for other in others]
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return str(path)


def test_enough_passes_and_known_skips_are_fine(check_report: ModuleType, tmp_path: Path) -> None:
    skip = '<skipped message="nvcc needs gcc to preprocess, and there is none"/>'
    path = report(tmp_path / "r.xml", check_report.LEAST_PASSED, skip)
    assert check_report.main(path) == 0


@pytest.mark.parametrize(
    ("missing", "others", "message"),
    [
        (1, (), "expected at least"),
        (None, (), "0 tests passed"),
        (None, ('<skipped message="needs a GPU"/>',) * 1000, "0 tests passed"),
        (0, ('<skipped message="flaky"/>',), "skipped for another reason"),
        (0, ("<skipped/>",), "skipped for another reason"),
        (0, ("<failure/>",), "1 tests failed"),
        (0, ("<error/>",), "1 tests failed"),
    ],
)
def test_everything_else_is_a_failure(
    missing: int | None,
    others: tuple[str, ...],
    message: str,
    check_report: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    passed = 0 if missing is None else check_report.LEAST_PASSED - missing
    assert check_report.main(report(tmp_path / "r.xml", passed, *others)) == 1
    assert message in capsys.readouterr().err


def test_the_script_parses_and_can_be_executed() -> None:
    assert (CI / "run").stat().st_mode & 0o111
    done = subprocess.run(["bash", "-n", CI / "run"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr


def test_thorough_tests_run_where_they_are_asked_for_alone(request: pytest.FixtureRequest) -> None:
    marked = [item for item in request.session.items if item.get_closest_marker("thorough")]
    assert request.config.getoption("thorough") or not marked


def test_the_slowest_tests_are_listed(
    check_report: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = "".join(f'<testcase classname="c" name="n{i}" time="{i}.04"/>' for i in range(40))
    (tmp_path / "r.xml").write_text(f"<testsuite>{cases}</testsuite>")
    check_report.main(str(tmp_path / "r.xml"))
    said = capsys.readouterr().out.splitlines()
    assert said[1] == "782 s in all workers, of which the slowest take:"
    assert said[2:] == [f"{39.04 - i:7.1f} s c::n{39 - i}" for i in range(check_report.SLOWEST)]

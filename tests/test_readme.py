"""README.md and docs/ are true: snippets run, the table of checks holds, links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import readme_graph_checks  # noqa: F401 - it adds rows
from readme_checks import ROWS, Bench

import custom_dispatch as cd

ROOT = Path(__file__).parents[1]
STORIES = {
    "README.md": {"command", "own-kernel", "model"},
    "docs/debugging.md": {"checked"},
    "docs/declaring.md": {"compiled-in"},
    "docs/functions.md": {"functions", "epilogues", "scores"},
    "docs/mlir.md": {"pattern"},
    "docs/profiling.md": {"bench"},
    "docs/stock-tools.md": {"stock-tools", "own-cmake"},
}
"""The pages that are played here, and what is told on each; others have tests of their own."""
PAGES = {name: (ROOT / name).read_text() for name in STORIES}


@dataclass(frozen=True)
class Snippet:
    """A fenced block and the comment before it: <!-- STORY: WHAT -->."""

    page: str
    story: str
    what: str
    text: str


SNIPPETS = [
    Snippet(page, *match.groups())
    for page, text in PAGES.items()
    for match in re.finditer(r"<!-- ([\w-]+): ([^>]+) -->\n```\w*\n(.*?)```\n", text, re.DOTALL)
    if match[1] in STORIES[page]
]


def play(story: str, directory: Path) -> None:
    """Write a story's files and run its commands, in order, comparing what they print."""
    printed = ""
    for snippet in SNIPPETS:
        if snippet.story != story:
            continue
        what, text = snippet.what, snippet.text
        if what.startswith("file "):
            (directory / what.removeprefix("file ")).write_text(text)
        if what == "prints":
            assert printed == text
        if what == "printed, run":
            assert shlex.split(printed) == shlex.split(text.replace("\\\n", " "))
        if what in ("run", "printed, run"):
            printed = run(text, directory)


def run(script: str, directory: Path) -> str:
    programs = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr
    return done.stdout


def skip_unless_cmake_can_build() -> None:
    """CMake needs make, and nvcc needs gcc: neither is a Python package."""
    for program in ("gcc", "make"):
        if shutil.which(program) is None:
            pytest.skip(f"building PTX with CMake needs {program}, and there is none")


def test_your_own_kernel_in_python(tmp_path: Path) -> None:
    play("own-kernel", tmp_path)


def test_the_kernels_that_ship_in_an_unchanged_model(tmp_path: Path) -> None:
    play("model", tmp_path)


def test_functions_inside_generated_code(tmp_path: Path) -> None:
    play("functions", tmp_path)


def test_functions_after_products(tmp_path: Path) -> None:
    play("epilogues", tmp_path)


def test_functions_of_scores(tmp_path: Path) -> None:
    play("scores", tmp_path)


def test_patterns_in_mlir(tmp_path: Path) -> None:
    play("pattern", tmp_path)


def test_arguments_that_are_compiled_in(tmp_path: Path) -> None:
    play("compiled-in", tmp_path)


def test_finding_mistakes_without_a_gpu(tmp_path: Path) -> None:
    play("checked", tmp_path)


def test_the_same_with_stock_tools(tmp_path: Path) -> None:
    skip_unless_cmake_can_build()
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    for name in ("cmake", "mlir"):
        shutil.copytree(ROOT / name, tmp_path / name)
    # The one source that the page goes on with: test_cmake.py builds every one.
    others = [
        path.name for path in (ROOT / "cuda_kernels").rglob("*.cu") if path.stem != "simple_mul"
    ]
    ignored = shutil.ignore_patterns("__pycache__", *others)
    shutil.copytree(ROOT / "cuda_kernels", tmp_path / "cuda_kernels", ignore=ignored)
    play("stock-tools", tmp_path)


def test_how_fast_it_is(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "mlir", tmp_path / "mlir")
    play("bench", tmp_path)
    assert '"copy": {' in (tmp_path / "simple_mul.json").read_text()


def test_cmake_in_your_own_project(tmp_path: Path) -> None:
    skip_unless_cmake_can_build()
    for snippet in SNIPPETS:
        if snippet.what == "file saxpy.cu":
            (tmp_path / "saxpy.cu").write_text(snippet.text)
    play("own-cmake", tmp_path)
    assert (tmp_path / "build/saxpy_sm_80.ptx").is_file()


def test_every_snippet_is_run() -> None:
    """A block of code without a comment before it would be shown and never run."""
    for page, stories in STORIES.items():
        told = [snippet for snippet in SNIPPETS if snippet.page == page]
        assert {snippet.story for snippet in told} == stories
        if page != "docs/profiling.md":  # most of which needs a GPU: `gpu/profiling_guide.py`
            assert PAGES[page].count("\n```") == 2 * len(told)


def test_the_readme_leads_to_every_page_once() -> None:
    links = re.findall(r"\]\((docs/[^)#]+)[^)]*\)", PAGES["README.md"])
    pages = [f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]
    assert sorted(links) == sorted(pages)


def test_both_commands_are_one_line_and_their_extras_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    commands = {snippet.what: snippet.text for snippet in SNIPPETS if snippet.story == "command"}
    assert set(commands) == {"demo", "tests"}
    for text in commands.values():
        assert text.count("\n") == 1
        extra = re.search(r"'\.\[(\w+)\]'", text)
        assert extra is not None
        assert extra[1] in extras


# -- the table of checks

TABLE = {
    cells[0]: cells[2]
    for line in (ROOT / "docs/checks.md").read_text().partition("| Mistake ")[2].splitlines()[2:]
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 3
}


def test_the_table_and_its_tests_have_the_same_rows() -> None:
    assert set(TABLE) == set(ROWS)


@pytest.mark.parametrize("mistake", ROWS)
def test_what_is_checked(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, monkeypatch)
    claim = TABLE[mistake]
    if not claim.startswith('"'):
        ROWS[mistake](bench)
        return
    with pytest.raises(cd.CustomDispatchError) as caught:
        ROWS[mistake](bench)
    assert claim.strip('"') in str(caught.value)


# -- the rest of the documentation


DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def headings(path: Path) -> set[str]:
    """What links call a page's headings: their words in lower case, with hyphens between."""
    lines = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if link.startswith("https://"):
            continue
        name, _, heading = link.partition("#")
        there = path.parent / name if name else path
        assert there.exists(), link
        assert not heading or heading in headings(there), link


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_are_named_are_there(path: Path) -> None:
    folders = "benchmarks|cmake|cuda_kernels|docs|examples|mlir|tests"
    for name in re.findall(rf"`((?:{folders})/[\w/.-]+\.\w+)`", path.read_text()):
        assert (ROOT / name).exists(), name


DESIGN = [ROOT / "docs/architecture.md", *sorted((ROOT / "docs/decisions").glob("*.md"))]


def test_the_architecture_names_every_room() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    rooms = {name for line in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
             for name in re.findall(r"`(\w+)`", line)}  # fmt: skip
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = " | ".join(contract["contracts"][0]["layers"]).split(" | ")
    assert rooms == set(layers)


@pytest.mark.parametrize("path", DESIGN, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_that_are_named_are_there(path: Path) -> None:
    for name in re.findall(r"`([\w/]+\.py)`", path.read_text()):
        of_package = (ROOT / "custom_dispatch" / name).is_file() or name == "compile.py"
        assert of_package or (ROOT / name).is_file() or name.startswith("benchmarks/"), name


def test_the_architecture_is_short_and_the_decisions_have_the_reasons() -> None:
    page, index, *decisions = DESIGN[:1] + DESIGN[-1:] + DESIGN[1:-1]
    assert len(page.read_text().split()) <= 2500
    listed = re.findall(
        r"^\| (\d+) \| \[(.*)\]\((.*)\) \| (.*) \|$", index.read_text(), re.MULTILINE
    )
    assert [name for _, _, name, _ in listed] == [path.name for path in decisions]
    for number, (told, title, name, date) in enumerate(listed, 1):
        text = (ROOT / "docs/decisions" / name).read_text()
        assert name.startswith(f"{number:04}-")
        assert told == str(number)
        assert text.startswith(f"# {number}. {title}\n\n*")
        assert date in text
        for part in ("**Decision.**", "**Code:**"):
            assert text.count(part) == 1, (name, part)
        assert len(text.split()) <= 600, name


def test_the_page_on_calls_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs/calling.md").read_text()
    code = re.findall(r"<!-- run -->\n```python\n(.*?)```", text, re.DOTALL)
    assert len(code) == 5
    exec(compile("\n".join(code), "docs/calling.md", "exec"), {"__name__": "calling"})  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == ["[ 0.  3.  6.  9. 12. 15. 18. 21.]"] * 2
    assert printed[2] == "DeviceArray(8xf32 on cpu) [ 0.  9. 18.]"
    assert printed[3] == "252.0"
    assert printed[-2] == printed[0]
    assert printed[-1] == "[ 1.  8. 27. 64.]"

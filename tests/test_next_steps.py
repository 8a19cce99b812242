"""What messages tell people to do is possible: commands, options, packages and names exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

import custom_dispatch as cd
from custom_dispatch import installation
from custom_dispatch.cli import command_of, group

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
SOURCES = sorted((ROOT / "custom_dispatch").rglob("*.py"))
TABLES = sorted((ROOT / "custom_dispatch").rglob("*.toml"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
HOLE = "\0"
"""What stands for a value in a text that is put together."""
# Of other programs, which messages name: nvcc's, pip's, ptxas' and iree-compile's.
OTHERS = {
    "--force-reinstall",
    "--compile-to",
    "--iree-hal-target-device",
    "--iree-opt-const-eval",
    "--list-gpu-arch",
    "--compiler-bindir",
    "--build",
}


def text_of(node: ast.expr) -> str:
    """The text of an expression: what is not known until it runs is a hole."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(text_of, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text_of(left) + text_of(right)
        case ast.IfExp(body=body, orelse=orelse):
            return f"{text_of(body)}\n{text_of(orelse)}"
    return HOLE


@cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text())


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a source, docstrings among them, with its line."""
    inside: set[ast.AST] = set()
    for node in ast.walk(parsed(path)):
        if node in inside or not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            continue
        inside.update(ast.walk(node))
        text = text_of(node)
        if text.strip(HOLE):
            yield node.lineno, text


@cache
def steps() -> list[tuple[Path, int, str]]:
    """Every next step of an error, a note that a command prints, and what helps build them."""
    found = [
        (path, node.value.lineno, text_of(node.value))
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.keyword) and node.arg == "next_step"
    ]
    for path in TABLES:
        entries = tomllib.loads(path.read_text()).values()
        told = [item["next_step"] for item in entries if "next_step" in item]
        found += [(path, 1, text) for text in told]
    return found


@cache
def texts() -> list[tuple[Path, int, str]]:
    """Every text of the sources, and every line of the tables and pages."""
    found = [(path, line, text) for path in SOURCES for line, text in texts_of(path)]
    return found + [
        (path, line, text)
        for path in (*TABLES, *PAGES, ROOT / "cmake" / "CustomDispatch.cmake")
        for line, text in enumerate(path.read_text().splitlines(), 1)
    ]


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def options_of(command: click.Command) -> set[str]:
    return {name for item in command.params for name in (*item.opts, *item.secondary_opts)}


def commands() -> dict[str, click.Command]:
    found = {name: command_of(name) for name in group.commands}
    return found | {f"store {k}": v for k, v in found["store"].commands.items()}


ALL_OPTIONS = {name for command in commands().values() for name in options_of(command)}


def test_there_are_next_steps_to_read() -> None:
    assert len(steps()) > 400
    assert sum(HOLE not in text for _, _, text in steps()) > 250


def test_no_text_installs_this_package_from_an_index() -> None:
    wrong = [
        where(path, line)
        for path, line, text in texts()
        if re.search(r"pip3? install [^\n;)`&]*custom-dispatch", text)
    ]
    assert wrong == []


def test_every_package_that_is_to_be_installed_is_one_of_this_projects() -> None:
    # What comes by an extra is installed by it, in the version that it names.
    known = {*PROJECT["dependencies"]}
    known |= {re.match(r"[\w.-]+", item)[0] for item in known}  # type: ignore[index]
    seen = 0
    for path, line, text in texts():
        for words in re.findall(r"pip install ([^\n`;)&]*)", text):
            for word in re.findall(r"'[^']*'|\S+", words):
                plain = word.strip("'\"").rstrip(",.")
                if plain.startswith("-") or HOLE in plain or "$" in plain:
                    continue
                if not re.match(r"\.|[A-Za-z][\w-]*(?:[<>=].*)?$", plain):
                    break
                seen += 1
                if plain.startswith("."):
                    assert set(plain[2:-1].split(",")) <= set(EXTRAS), where(path, line)
                else:
                    assert plain in known, f"{where(path, line)}: {plain}"
    assert seen > 5


def test_every_command_exists_and_has_the_options_that_are_named() -> None:
    known = commands()
    seen = 0
    for path, line, text in texts():
        for command, rest in re.findall(r"custom-dispatch ((?:store )?[a-z][\w-]*)([^`\n]*)", text):
            name = command if command in known else command.split()[0]
            if name not in known:
                # "custom-dispatch needs ...", in a sentence
                assert f"`custom-dispatch {name}" not in text, where(path, line)
                continue
            seen += 1
            rest = re.split(r"[|&;]| \(", rest)[0]
            for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", rest):
                assert option in options_of(known[name]), f"{where(path, line)}: {name} {option}"
    assert seen > 60


def test_every_option_in_a_next_step_exists() -> None:
    seen = 0
    for path, line, text in steps():
        if "toolchain/compiler_options.py" in str(path):
            continue
        own = commands().get(path.stem) if path.parent.name == "cli" else None
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", text):
            seen += 1
            allowed = OTHERS | (ALL_OPTIONS if own is None else options_of(own))
            assert option in allowed, f"{where(path, line)}: {option}"
    assert seen > 20


def test_every_name_of_this_package_exists() -> None:
    seen = 0
    for path, line, text in texts():
        for name in re.findall(r"(?<![\w./])cd((?:\.[A-Za-z_]\w*)+)(?!\w*\0)", text):
            value: object = cd
            for part in name[1:].split("."):
                if not hasattr(value, part):
                    pytest.fail(f"{where(path, line)}: cd{name}")
                value = getattr(value, part)
                if not isinstance(value, type | type(cd)):
                    break  # of an instance or a function, nothing more is known
            seen += 1
    assert seen > 300


def test_what_is_missing_is_installed_as_the_package_was(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installation.install_step("cuda") == "pip install -e '.[cuda]' (in the clone)."
    listed = [f"{item}; extra == '{extra}'" for extra, items in EXTRAS.items() for item in items]
    installed = SimpleNamespace(requires=listed, read_text=lambda _: '{"url": "file:///x.whl"}')
    monkeypatch.setattr(metadata, "distribution", lambda _: installed)
    wanted = [*EXTRAS["nvcc"], *(item for item in EXTRAS["cuda"] if item.startswith("nvidia"))]
    assert installation.install_step("cuda") == f"pip install {' '.join(map(repr, wanted))}."
    assert installation.install_step("torch") == f"pip install '{EXTRAS['torch'][0]}'."

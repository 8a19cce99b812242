"""Precompiled headers: the same PTX, sooner; and without them where anything is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_sources import Write

import custom_dispatch as cd
from custom_dispatch import process
from custom_dispatch.errors import SourceError
from custom_dispatch.process import Completed, Started
from custom_dispatch.toolchain import helper, helpers, nvrtc, nvrtc_helper, precompiled
from custom_dispatch.toolchain.precompiled import is_worthwhile, leading_directives

HEADERS = "#include <cuda/std/cstdint>\n"
BODY = """
template <int N> __global__ void spread(const float* x, float* y, int count) {
  for (cuda::std::int64_t i = 0; i < N; ++i) y[i] = x[N - 1 - i];
}
"""
Kernels = Callable[..., cd.Kernel]


@pytest.fixture
def kernel(write: Write) -> Kernels:
    def make(name: str, count: int, text: str = HEADERS + BODY, **more: object) -> cd.Kernel:
        n = cd.dim("n")
        operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("count", "i32", n)]
        return cd.Kernel(
            name,
            source=write(f"{name}.cu", text),
            operands=operands,
            block=1,
            grid=1,
            entry=f"spread<{count}>",
            **more,  # type: ignore[arg-type]
        )

    return make


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "store"
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(path))
    precompiled._impossible.clear()
    return path


def _can_place_memory() -> bool:
    code = (
        "import ctypes\n"
        "ask = ctypes.CDLL(None).personality\n"
        f"ask({nvrtc_helper.ADDR_NO_RANDOMIZE})\n"
        f"print(ask(0xffffffff) & {nvrtc_helper.ADDR_NO_RANDOMIZE})"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip() != "0"


# Some containers forbid it: then all of this is to work without precompiled headers.
POSSIBLE = _can_place_memory()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done: "create" or "use", or "plainly", without precompiled headers."""
    seen: list[str] = []
    real_ask, real_compile = Started.ask, nvrtc._compile

    def ask(self: Started, question: bytes, *, timeout_seconds: float) -> bytes | Completed:
        answer = real_ask(self, question, timeout_seconds=timeout_seconds)
        if not question:
            return answer  # about the library
        (word,) = re.findall(rb"--(create|use)-pch=", question) or [b""]
        if not word:
            seen.append("plainly")
            return answer
        # NVRTC says whether it did.
        did = {b"create": b"creating", b"use": b"using"}[word] + b" precompiled header file"
        is_done = isinstance(answer, bytes) and did in answer
        seen.append(word.decode() + ("" if is_done else " failed"))
        return answer

    def compile_here(asked: helper.Compilation) -> helper.Compiled:
        seen.append("plainly")
        return real_compile(asked)

    monkeypatch.setattr(Started, "ask", ask)
    monkeypatch.setattr(nvrtc, "_compile", compile_here)
    return seen


def build(kernel: cd.Kernel, **settings: object) -> cd.Library:
    return cd.build(kernel, "cuda:sm_90", **settings)  # type: ignore[arg-type]


def data(library: cd.Library) -> bytes:
    (item,) = library.objects
    return item.data


def test_another_kernel_with_the_same_headers_takes_them_and_gives_the_same(
    kernel: Kernels, runs: list[str], own_store: Path
) -> None:
    first, second = kernel("first", 4), kernel("second", 8)
    built = [build(first), build(second)]
    assert runs == (["create", "use"] if POSSIBLE else ["create failed", "plainly", "plainly"])
    assert [data(item) for item in built] == [
        data(build(item, store=False)) for item in (first, second)
    ]
    assert [item.log for library in built for item in library.objects] == ["", ""]
    files = list((own_store / "precompiled").iterdir())
    assert len(files) == POSSIBLE
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files)


@pytest.mark.parametrize(
    "change",
    [
        {"options": ["-DA"]},
        {"text": f"#define A\n{HEADERS}{BODY}"},
        {"text": f"{HEADERS}#include <cuda/std/version>\n{BODY}"},
    ],
)
def test_other_options_or_directives_take_another_file(
    kernel: Kernels, runs: list[str], change: dict[str, object]
) -> None:
    build(kernel("first", 4))
    build(kernel("second", 4, **change))
    assert runs == (["create", "create"] if POSSIBLE else ["create failed", "plainly", "plainly"])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _by_others(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize("damage", [_flip, _cut, _by_others, Path.unlink])
def test_a_file_that_is_not_as_it_was_is_not_relied_upon(
    kernel: Kernels, runs: list[str], own_store: Path, damage: Callable[[Path], None]
) -> None:
    first, second = kernel("first", 4), kernel("second", 8)
    build(first)
    for path in (own_store / "precompiled").iterdir():
        damage(path)
    assert data(build(second)) == data(build(second, store=False))
    if not POSSIBLE:
        return
    # It was used for nothing, or made anew.
    assert runs[1].startswith("use" if damage is _flip else "create")


def test_where_it_is_not_known_what_is_read_the_helper_is_ended(
    kernel: Kernels, runs: list[str]
) -> None:
    untold = kernel("untold", 4, f"{HEADERS}{BODY}// __DATE__")
    assert data(build(untold)) == data(build(untold, store=False))
    assert runs == ["plainly", "plainly"]
    assert not process._running


def test_where_memory_cannot_be_placed_it_compiles_without(
    kernel: Kernels, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "helper.py"
    script.write_text(f"import sys\nsys.exit({nvrtc_helper.EXIT_RANDOM})\n")
    monkeypatch.setattr(helper, "_HELPER", script)
    first, second = kernel("first", 4), kernel("second", 8)
    for item in (first, second):
        assert data(build(item)) == data(build(item, store=False))
    assert runs[:3] == ["create failed", "plainly", "plainly"]  # asked once


def test_a_helper_that_hangs_or_babbles_costs_only_time(
    kernel: Kernels, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "helper.py"
    monkeypatch.setattr(helper, "_HELPER", script)
    monkeypatch.setattr(precompiled, "_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(helpers, "_START_SECONDS", 0.5)
    for text in ("import time; time.sleep(60)", "print('what?' * 9)", "print(end='\\0\\0\\0\\0')"):
        precompiled._impossible.clear()
        script.write_text(text)
        built = build(kernel(f"k{len(runs)}", 4))
        assert data(built)
        assert runs[-1] == "plainly"


def test_a_mistake_in_the_source_is_told_as_without(kernel: Kernels) -> None:
    wrong = kernel("wrong", 4, f"{HEADERS}{BODY}\nint x = nothing;")
    texts = []
    for store in (True, False):
        with pytest.raises(SourceError) as caught:
            build(wrong, store=store)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert 'identifier "nothing" is undefined' in texts[0]


def test_small_headers_are_compiled_here(kernel: Kernels, runs: list[str], write: Write) -> None:
    plain = "#include <cuda_fp16.h>\ntemplate <int N> __global__ void spread(float* x) {}"
    n = cd.dim("n")
    kernel_ = cd.Kernel(
        "plain",
        source=write("plain.cu", plain),
        operands=[cd.InOut("x", "f32", [n])],
        block=1,
        grid=1,
        entry="spread<1>",
    )
    build(kernel_)
    assert runs == ["plainly"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("int x;", []),
        ("#include <a>\nint x;\n#include <b>", ["#include <a>"]),
        (
            "// c\n/* d\n */ #include <a>\n\n  #define B \\\n 1\nvoid f();",
            ["#include <a>", "#define B \\\n 1"],
        ),
        ("#pragma once\n#include <a>", ["#pragma once", "#include <a>"]),
        ("/* open", []),
    ],
)
def test_the_directives_that_a_source_begins_with(text: str, found: list[str]) -> None:
    assert leading_directives(text.encode()) == tuple(item.encode() for item in found)


@pytest.mark.parametrize("text", ["/" * 50_000, "// " * 20_000, "/*" * 20_000, "\\\n" * 20_000])
def test_no_text_makes_the_search_for_directives_slow(text: str) -> None:
    # A banner of slashes before code: each of them could end a comment and begin the next.
    started = time.monotonic()
    assert leading_directives(f"{text}\nvoid f();".encode()) == ()
    assert time.monotonic() - started < 5


def test_what_is_worth_a_file() -> None:
    for name in ("cub/cub.cuh", "thrust/sort.h", "cuda/std/array"):
        assert is_worthwhile((f"#include <{name}>".encode(),))
    for text in ('#include "cub/own.h"', "#include <cuda_fp16.h>", "#define A <cub/cub.cuh>"):
        assert not is_worthwhile((text.encode(),))


def test_the_helper_is_a_program_of_its_own() -> None:
    # It is started without site-packages: what it imports must come with Python.
    text = Path(nvrtc_helper.__file__).read_text()
    names = re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)
    assert set(names) <= set(sys.stdlib_module_names)

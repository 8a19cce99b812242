"""Building through the store: what is found is what would have been compiled, or is not found."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cuda_sources import SCALE, Write, skip_without_gcc

import custom_dispatch as cd
from custom_dispatch import process
from custom_dispatch.errors import SourceError, ToolTimeoutError
from custom_dispatch.files import SCRATCH_SUFFIX
from custom_dispatch.store import Closure, StoreWarning
from custom_dispatch.toolchain import nvrtc_process, ptxas, stored_build, validate
from custom_dispatch.toolchain.compiler import CompiledPtx, CompileRequest
from custom_dispatch.toolchain.nvcc import Nvcc
from custom_dispatch.toolchain.nvrtc import Nvrtc

Declare = Callable[..., cd.Kernel]
WITH_HEADER = '#include "factor.h"\n' + SCALE.replace("factor * in[i]", "factor * in[i] * TIMES")


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store for each test."""
    path = tmp_path / "store"
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(path))
    return path


Counts = dict[str, int]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """How often NVRTC or nvcc compiled and ptxas assembled."""
    found = {"compiled": 0, "assembled": 0}

    def counted(real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            found[name] += 1
            return real(*arguments, **keywords)

        return call

    monkeypatch.setattr(Nvrtc, "compile", counted(Nvrtc.compile, "compiled"))
    monkeypatch.setattr(Nvcc, "compile", counted(Nvcc.compile, "compiled"))
    monkeypatch.setattr(validate, "assemble", counted(validate.assemble, "assembled"))
    return found


def data(library: cd.Library) -> list[bytes]:
    return [item.data for item in library.objects]


def test_a_second_build_compiles_nothing_and_gives_the_same(
    declare: Declare, write: Write, counts: Counts
) -> None:
    kernel = declare(source=write("scale.cu"))
    first = cd.build(kernel, ["cuda:sm_80", "cuda:sm_90"])
    assert counts == {"compiled": 2, "assembled": 2}
    second = cd.build(kernel, ["cuda:sm_80", "cuda:sm_90"])
    assert counts == {"compiled": 2, "assembled": 2}
    assert list(first.objects) == list(second.objects)
    assert all(item.resources for item in second.objects)


def test_without_the_store_everything_is_done_again(
    declare: Declare, write: Write, counts: Counts, own_store: Path
) -> None:
    kernel = declare(source=write("scale.cu"))
    for _ in range(2):
        cd.build(kernel, "cuda:sm_80", store=False)
    assert counts == {"compiled": 2, "assembled": 2}
    assert not own_store.exists()


def test_a_warning_is_kept_with_its_object(declare: Declare, write: Write, counts: Counts) -> None:
    kernel = declare(source=write("scale.cu", SCALE.replace("int i =", "int unused; int i =")))
    logs = [next(cd.build(kernel, "cuda:sm_80").objects).log for _ in range(2)]
    assert counts["compiled"] == 1
    assert "unused" in logs[0]
    assert logs[0] == logs[1]


def test_another_block_takes_the_same_ptx_but_is_checked(
    declare: Declare, write: Write, counts: Counts
) -> None:
    source = write("scale.cu")
    for block in (64, 128):
        cd.build(declare(source=source, block=block), "cuda:sm_80")
    assert counts == {"compiled": 1, "assembled": 2}


def edit(name: str, text: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    def change(directory: Path, _: pytest.MonkeyPatch) -> None:
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    return change


def another_identity(of: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    def change(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real = getattr(stored_build, of)
        monkeypatch.setattr(stored_build, of, lambda *arguments: real(*arguments)[::-1])

    return change


def another_library(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nvrtc, "identity", lambda *_: b"another")


CHANGES: dict[str, Callable[[Path, pytest.MonkeyPatch], None]] = {
    "source": edit("scale.cu", WITH_HEADER + "\n"),
    "header": edit("include/factor.h", "#define TIMES 3"),
    "header of a header": edit("include/nested.h", "// nothing"),
    "header that was asked for and not there": edit("include/asked.h", ""),
    "header before the one that was found": edit("factor.h", "#define TIMES 5"),
    "header in a directory before": edit("early/factor.h", "#define TIMES 5"),
    "this package": another_identity("package_identity"),
    "NVRTC": another_library,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_changes_is_compiled_again(
    declare: Declare,
    write: Write,
    counts: Counts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path, pytest.MonkeyPatch], None],
) -> None:
    source = write("scale.cu", WITH_HEADER)
    write("include/factor.h", '#include "nested.h"\n#define TIMES 2')
    write("include/nested.h", "#if __has_include(<asked.h>)\n#endif")
    directories = [tmp_path / "early", tmp_path / "include"]
    directories[0].mkdir()
    kernel = declare(source=source)

    def build() -> list[bytes]:
        return data(cd.build(kernel, "cuda:sm_80", include_dirs=directories))

    build()
    build()
    assert counts["compiled"] == 1
    change(tmp_path, monkeypatch)
    found = build()
    assert counts["compiled"] == 2
    assert found == data(cd.build(kernel, "cuda:sm_80", include_dirs=directories, store=False))
    build()
    assert counts["compiled"] == 3  # the one without the store


def test_whatever_is_asked_for_differently_is_compiled(
    declare: Declare, write: Write, counts: Counts, tmp_path: Path
) -> None:
    source = write("scale.cu")
    more = write("include/unused.h").parent
    asked: list[Callable[[], object]] = [
        lambda: cd.build(declare(source=source), "cuda:sm_80"),
        lambda: cd.build(declare(source=source), "cuda:sm_90"),
        lambda: cd.build(declare(source=source), "cuda:sm_90a"),
        lambda: cd.build(declare(source=source, options=["-use_fast_math"]), "cuda:sm_80"),
        lambda: cd.build(declare(source=source, options=["-DA=1"]), "cuda:sm_80"),
        lambda: cd.build(declare(source=source, options=["-DA=2"]), "cuda:sm_80"),
        lambda: cd.build(declare(source=source, options=["-DA", "-D2"]), "cuda:sm_80"),
        lambda: cd.build(declare(source=source), "cuda:sm_80", include_dirs=[more]),
        lambda: cd.build(declare(source=write("copy/scale.cu")), "cuda:sm_80"),
    ]
    for number, ask in enumerate(asked, 1):
        if number != 7:  # -D2 is no macro: neither kept nor compiled
            ask()
        else:
            with pytest.raises(SourceError):
                ask()
        assert counts["compiled"] == number
    asked[0]()
    assert counts["compiled"] == len(asked)


def test_another_entry_or_another_name_of_a_field_is_compiled(
    declare: Declare, write: Write, counts: Counts
) -> None:
    function = 'extern "C" __global__ void %s(Pair p, float* y) { *y = 0; }\n'
    pair = f"struct Pair {{ float a, b; }};\n{function}"
    source = write("pair.cu", pair % "one" + (pair % "two").partition("\n")[2])

    def build(entry: str, *names: str) -> None:
        struct = cd.Struct("p", **dict.fromkeys(names, "f32"))
        operands = [struct, cd.Out("y", "f32", [8])]
        cd.build(declare(source=source, entry=entry, operands=operands, grid=1), "cuda:sm_80")

    for _ in range(2):
        for asked in (("one", "a", "b"), ("two", "a", "b"), ("one", "a", "c")):
            build(*asked)
    assert counts["compiled"] == 3


def test_another_ptxas_checks_again(
    declare: Declare, write: Write, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = declare(source=write("scale.cu"))
    cd.build(kernel, "cuda:sm_80")
    another_identity("file_identity")(Path(), monkeypatch)
    cd.build(kernel, "cuda:sm_80")
    assert counts == {"compiled": 1, "assembled": 2}


def test_a_header_that_goes_back_is_found_again(
    declare: Declare, write: Write, counts: Counts
) -> None:
    kernel = declare(source=write("scale.cu", WITH_HEADER))
    results = []
    for times in (2, 3, 2, 3):
        write("factor.h", f"#define TIMES {times}")
        results.append(data(cd.build(kernel, "cuda:sm_80")))
    assert counts["compiled"] == 2
    assert results[:2] == results[2:]
    assert results[0] != results[1]


def test_a_change_during_the_compilation_is_not_kept(
    declare: Declare, write: Write, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = declare(source=write("scale.cu", WITH_HEADER))
    write("factor.h", "#define TIMES 2")
    real = Nvrtc.compile

    def edited_meanwhile(self: Nvrtc, request: CompileRequest) -> CompiledPtx:
        compiled = real(self, request)
        write("factor.h", "#define TIMES 3")
        return compiled

    monkeypatch.setattr(Nvrtc, "compile", edited_meanwhile)
    stale = data(cd.build(kernel, "cuda:sm_80"))
    monkeypatch.setattr(Nvrtc, "compile", real)
    assert data(cd.build(kernel, "cuda:sm_80")) != stale


def test_a_change_after_that_is_no_part_of_what_is_kept(
    declare: Declare, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = declare(source=write("scale.cu", WITH_HEADER))
    write("factor.h", "#define TIMES 2")
    real = stored_build.is_older

    def edited_then(closure: Closure, time_ns: int) -> bool:
        found = real(closure, time_ns)
        write("factor.h", "#define TIMES 3")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(stored_build, "is_older", edited_then)
        stale = data(cd.build(kernel, "cuda:sm_80"))
    assert data(cd.build(kernel, "cuda:sm_80")) != stale


def test_a_header_that_appears_during_the_compilation_is_not_kept(
    declare: Declare, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = write("far/factor.h", "#define TIMES 2").parent
    near = write("near/other.h", "").parent
    source = write("scale.cu", f"#include <cuda_fp16.h>\n{WITH_HEADER}")
    kernel = declare(source=source, include_dirs=[near, far])
    real = Nvrtc.compile

    def passed_over(self: Nvrtc, request: CompileRequest) -> CompiledPtx:
        write("near/factor.h", "#define TIMES 3")
        return real(self, request)

    monkeypatch.setattr(Nvrtc, "compile", passed_over)
    stale = data(cd.build(kernel, "cuda:sm_80"))
    monkeypatch.setattr(Nvrtc, "compile", real)
    (near / "factor.h").unlink()
    assert data(cd.build(kernel, "cuda:sm_80")) != stale


def test_the_time_of_day_is_never_kept(declare: Declare, write: Write, counts: Counts) -> None:
    stamped = "__device__ const char when[] = __TIME__;\n" + SCALE
    kernel = declare(source=write("scale.cu", stamped))
    for _ in range(2):
        cd.build(kernel, "cuda:sm_80")
    assert counts["compiled"] == 2


def test_where_nvrtc_does_not_say_its_headers_nothing_is_kept(
    declare: Declare, write: Write, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = declare(source=write("scale.cu", WITH_HEADER))
    monkeypatch.setattr(nvrtc_process, "_TELL_HEADERS", ())
    results = []
    for times in (2, 2, 3):
        write("factor.h", f"#define TIMES {times}")
        results.append(data(cd.build(kernel, "cuda:sm_80")))
    assert counts["compiled"] == 3
    assert results[0] == results[1] != results[2]


def test_what_does_not_compile_is_not_kept(declare: Declare, write: Write, counts: Counts) -> None:
    kernel = declare(source=write("scale.cu", "oops"))
    for _ in range(2):
        with pytest.raises(SourceError):
            cd.build(kernel, "cuda:sm_80")
    assert counts["compiled"] == 4  # NVRTC and nvcc, which may know a macro `oops`


def test_what_nvcc_made_is_kept_by_the_headers_that_it_names(
    declare: Declare, write: Write, counts: Counts
) -> None:
    skip_without_gcc()
    kernel = declare(source=write("scale.cu", WITH_HEADER))
    include = write("include/other.h").parent
    results = []
    for times in (2, 2, 3, 2):
        write("factor.h", f"#define TIMES {times}")
        library = cd.build(kernel, "cuda:sm_80", compiler="nvcc", include_dirs=[include])
        results.append(data(library))
    assert counts["compiled"] == 2
    assert results[0] == results[1] == results[3] != results[2]
    write("include/stdio.h", "")  # cuda_runtime.h would take it
    cd.build(kernel, "cuda:sm_80", compiler="nvcc", include_dirs=[include])
    assert counts["compiled"] == 3


BUILD = """
import sys, threading
import custom_dispatch as cd
n = cd.dim("n")
def kernel(number):
    source = f"{sys.argv[1]}/k{number}.cu"
    operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("factor", "f32"),
                cd.Scalar("count", "i32", n)]
    return cd.Kernel("scale", source=source, block=64, grid=cd.ceildiv(n, 64), operands=operands)
results = {}
def build(thread):
    number = thread % 4
    library = cd.build(kernel(number), ["cuda:sm_80", "cuda:sm_90"])
    found = tuple(item.data for item in library.objects)
    assert results.setdefault(number, found) == found
threads = [threading.Thread(target=build, args=(thread,)) for thread in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
import hashlib
print([hashlib.sha256(b"".join(results[number])).hexdigest() for number in range(4)])
"""


def start(directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(directory)], stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def four_kernels(write: Write) -> Path:
    paths = [
        write(f"k{number}.cu", SCALE.replace("= factor", f"= {number} + factor"))
        for number in range(4)
    ]
    return paths[0].parent


def test_eight_threads_and_four_processes_build_the_same(four_kernels: Path) -> None:
    processes = [start(four_kernels) for _ in range(4)]
    answers = {process.communicate(timeout=120)[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * 4
    assert len(answers) == 1
    assert len(set(answers.pop().split(", "))) == 4


def test_after_a_kill_the_next_build_is_right(
    four_kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = start(four_kernels).communicate(timeout=120)[0]
    monkeypatch.setenv("TMPDIR", str(four_kernels))  # where a kill leaves files
    for delay in (0.3, 0.4, 0.5):
        monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(four_kernels / f"store-{delay}"))
        process = start(four_kernels)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert start(four_kernels).communicate(timeout=120)[0] == right


def test_a_program_that_hangs_is_ended_and_leaves_nothing_wrong(
    declare: Declare, write: Write, own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = declare(source=write("scale.cu"))

    def hang(arguments: Any, **keywords: Any) -> process.Completed:
        sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
        return process.run(sleeping, **(keywords | {"timeout_seconds": 0.3}))

    with monkeypatch.context() as patched:
        patched.setattr(ptxas, "run", hang)
        with pytest.raises(ToolTimeoutError, match="did not finish within"):
            cd.build(kernel, "cuda:sm_80")
    assert not list(own_store.rglob(f"*{SCRATCH_SUFFIX}"))
    assert data(cd.build(kernel, "cuda:sm_80")) == data(cd.build(kernel, "cuda:sm_80", store=False))


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null/store"])
def test_without_a_place_for_the_store_it_builds_and_warns(
    declare: Declare, write: Write, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", place)
    with pytest.warns(StoreWarning, match=f"The store at `{place}` is not used: "):
        library = cd.build(declare(source=write("scale.cu")), "cuda:sm_80")
    assert data(library)

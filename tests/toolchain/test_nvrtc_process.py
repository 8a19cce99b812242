"""Compilations in processes of their own: the same objects, and nothing left behind."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cuda_sources import SCALE, Write
from processes import wait_until, wait_until_ended

import custom_dispatch as cd
from custom_dispatch import process
from custom_dispatch.errors import (
    DeclarationError,
    SourceError,
    ToolNotFoundError,
    ToolTimeoutError,
)
from custom_dispatch.toolchain import nvrtc_process, nvrtc_program
from custom_dispatch.toolchain.nvrtc_process import NvrtcProcess

Declare = Callable[..., cd.Kernel]
TARGETS = ["cuda:sm_80", "cuda:sm_90"]
# The compiler waits for ever for somebody to write its header, which is a pipe.
ENDLESS = f'#include "endless.h"\n{SCALE}'
# What the helper says of itself, and then whatever follows.
ANSWERS_ONCE = """
import marshal, os, signal, struct, subprocess, sys, time
sys.stdin.buffer.read(8)
answer = marshal.dumps(("13.0", [80, 90]))
sys.stdout.buffer.write(struct.pack("<Q", len(answer)) + answer)
sys.stdout.flush()
"""


@pytest.fixture
def endless(declare: Declare, write: Write) -> cd.Kernel:
    path = write("endless.cu", ENDLESS)
    os.mkfifo(path.parent / "endless.h")
    return declare(source=path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[nvrtc_process.Compilation]:
    """What was compiled."""
    seen: list[nvrtc_process.Compilation] = []
    real = NvrtcProcess.compile

    def ask(self: NvrtcProcess, what: nvrtc_process.Compilation) -> nvrtc_process.Compiled:
        seen.append(what)
        return real(self, what)

    monkeypatch.setattr(NvrtcProcess, "compile", ask)
    return seen


@pytest.fixture
def as_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a program of a test in the helper's place."""

    def put(code: str) -> None:
        script = tmp_path / "as_helper.py"
        script.write_text(code)
        monkeypatch.setattr(nvrtc_process, "_PROGRAM", script)

    return put


def build(kernel: cd.Kernel, jobs: int = 2, **settings: object) -> list[tuple[bytes, str, str]]:
    library = cd.build(kernel, TARGETS, store=False, jobs=jobs, **settings)  # type: ignore[arg-type]
    return [(item.data, item.log, item.origin) for item in library.objects]


def test_several_are_compiled_and_no_process_is_left(declare: Declare, write: Write) -> None:
    text = f'#warning "mind the step"\n{SCALE}template <int N> __global__ void fill(float* y) {{}}'
    n = cd.dim("n")
    kernels = [
        declare(source=write("scale.cu", text)),
        declare(
            "fill", source=write("scale.cu", text), operands=[cd.InOut("y", "f32", [n])],
            entry="fill<3>",
        ),
    ]  # fmt: skip
    for kernel in kernels:
        found = build(kernel)
        assert not process._running
        assert len(found) == 2
        assert "mind the step" in found[0][1]


class _Action(ctypes.Structure):
    """Linux's `struct sigaction` on 64-bit machines, as the C library has it."""

    _fields_: ClassVar = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]


def restarts(number: signal.Signals) -> bool:
    """Whether a thread that waits in the kernel goes on to wait after this signal."""
    action = _Action()
    assert ctypes.CDLL(None).sigaction(number, None, ctypes.byref(action)) == 0
    return bool(action.flags & 0x10000000)  # SA_RESTART


def test_compiling_leaves_signals_as_they_are(declare: Declare, write: Write) -> None:
    # What ran in this process before, NVRTC itself in other tests too, may have changed it.
    signal.siginterrupt(signal.SIGINT, True)
    assert not restarts(signal.SIGINT)
    cd.build(declare(source=write("scale.cu")), ["cuda:sm_90"], store=False)
    assert not restarts(signal.SIGINT)


def compiling(building: subprocess.Popen[Any]) -> list[int]:
    """The processes in which NVRTC compiles for a build."""
    ours = Path(nvrtc_program.__file__).name.encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == building.pid and ours in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def is_waiting(pid: int) -> bool:
    """Whether it has loaded NVRTC and takes no time: it opens the pipe, which nobody writes."""
    try:
        if b"libnvrtc" not in Path(f"/proc/{pid}/maps").read_bytes():
            return False
        before = Path(f"/proc/{pid}/stat").read_text().split()[13:15]
        time.sleep(0.2)
        return Path(f"/proc/{pid}/stat").read_text().split()[13:15] == before
    except OSError:
        return False


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
@pytest.mark.parametrize(
    ("in_thread", "hears"),
    [(False, "main"), (False, "another"), (True, "main")],
    ids=["main", "signal in another", "compiled in another"],
)
def test_interrupting_the_compiler_is_answered_at_once(
    in_thread: bool, hears: str, compiler: str, endless: cd.Kernel
) -> None:
    """Also where the system gives the signal to another thread, which does not wake this one."""
    if compiler == "nvcc" and shutil.which("gcc") is None:
        pytest.skip("nvcc needs gcc to preprocess, and there is none")
    program = f"""
import os, signal, sys, threading, custom_dispatch as cd
# What runs the tests in the background may ignore it, and programs inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
def hear():
    sys.stdin.readline()
    main, here = threading.main_thread().ident, threading.get_ident()
    signal.pthread_kill(here if {hears!r} == "another" else main, signal.SIGINT)
threading.Thread(target=hear, daemon=True).start()
out = cd.Out("out", "f32", [4])
kernel = cd.Kernel("scale", source={str(endless.source)!r}, operands=[out], block=1, grid=1)
work = lambda: cd.build(kernel, ["cuda:sm_90"], compiler={compiler!r}, store=False)
try:
    if {in_thread}:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join()
    work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    os._exit(0) if {in_thread} else None  # at the exit Python waits for threads
"""
    header = endless.source.parent / "endless.h"
    command = [sys.executable, "-c", program]
    with ExitStack() as stack:
        running = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        if compiler == "nvcc":
            # Opening waits for the compiler, and then that for what is never written.
            stack.enter_context(header.open("w"))
        else:  # which refuses a pipe as soon as that is open
            wait_until(lambda: any(map(is_waiting, compiling(running))))
        asked = time.monotonic()
        try:
            said, _ = running.communicate("now\n", timeout=20)
        finally:
            running.kill()
    assert (running.returncode, said) == (0, "interrupted\n")
    assert time.monotonic() - asked < 5  # a busy machine's; a quiet one's is 0.1


def test_what_is_kept_starts_no_process(
    declare: Declare,
    write: Write,
    asked: list[nvrtc_process.Compilation],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[object] = []
    real = nvrtc_process.start
    monkeypatch.setattr(nvrtc_process, "start", lambda *a, **k: started.append(a) or real(*a, **k))
    kernel = declare(source=write("scale.cu", f"// {time.time_ns()}\n{SCALE}"))
    cd.build(kernel, TARGETS, jobs=2)
    assert len(asked) == len(started) == 2
    started.clear()
    cd.build(kernel.with_launch(block=32, grid=1), TARGETS, jobs=2)  # only checked anew
    assert len(asked) == 2
    assert not started


def test_an_architecture_that_it_does_not_know_is_refused(declare: Declare, write: Write) -> None:
    with pytest.raises(DeclarationError, match=r"NVRTC 13\.0 does not compile for sm_70\."):
        cd.build(declare(source=write("scale.cu")), ["cuda:sm_70", "cuda:sm_90"], store=False)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys; sys.exit(1)", "ended with status 1"),
        ("print('what?' * 9)", "ended with status 0"),
        ("import sys; sys.exit('no room')", "no room"),
        ("import time; time.sleep(60)", r"no answer in 0\.5 seconds"),
    ],
)
def test_a_process_that_does_not_start_is_an_error(
    declare: Declare,
    write: Write,
    as_helper: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    why: str,
) -> None:
    as_helper(code)
    monkeypatch.setattr(nvrtc_process, "_START_SECONDS", 0.5)
    with pytest.raises(ToolNotFoundError, match=rf"^NVRTC at `.*` cannot be loaded: {why}"):
        build(declare(source=write("scale.cu")), compiler="nvrtc")
    assert not process._running


@pytest.mark.parametrize(("name", "value"), [("executable", ""), ("frozen", True)])
def test_without_a_python_to_start_there_is_no_nvrtc(
    declare: Declare,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: object,
) -> None:
    monkeypatch.setattr(sys, name, value, raising=False)
    with pytest.raises(ToolNotFoundError, match="and there is none to start"):
        build(declare(source=write("scale.cu")), compiler="nvrtc")


def test_a_process_that_dies_is_an_error(
    declare: Declare, write: Write, as_helper: Callable[[str], None]
) -> None:
    source = write("scale.cu")
    as_helper(f"{ANSWERS_ONCE}print('oh', file=sys.stderr)\nos.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(SourceError) as caught:
        build(declare(source=source))
    assert str(caught.value) == (
        f"NVRTC was ended by SIGSEGV while it compiled `{source}`, without an answer.\n"
        "  next step: try again; if it ends so each time, compile with nvcc.\n"
        "oh"
    )
    as_helper(f"{ANSWERS_ONCE}os._exit(7)")
    with pytest.raises(SourceError, match=r"NVRTC ended with status 7 while it compiled"):
        build(declare(source=source))
    assert not process._running


def test_one_that_is_ended_while_it_starts_is_an_error(
    declare: Declare, write: Write, as_helper: Callable[[str], None]
) -> None:
    as_helper("import time; time.sleep(60)")

    done = threading.Event()

    def end_them() -> None:
        while not done.wait(0.05):
            process.end_all()

    ending = threading.Thread(target=end_them)
    ending.start()
    try:
        with pytest.raises(SourceError, match=r"^NVRTC was ended while it started\."):
            build(declare(source=write("scale.cu")))
    finally:
        done.set()
        ending.join()


def test_one_that_hangs_is_ended_at_the_time_limit(
    endless: cd.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvrtc_process, "_TIMEOUT_SECONDS", 1.0)
    with pytest.raises(ToolTimeoutError) as caught:
        build(endless)
    assert str(caught.value) == (
        f"NVRTC did not compile `{endless.source}` within 1 seconds and was ended.\n"
        "  next step: try a smaller source."
    )
    assert not process._running


def test_it_is_ended_with_what_it_started(
    declare: Declare,
    write: Write,
    as_helper: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "pids"
    as_helper(
        f"{ANSWERS_ONCE}child = subprocess.Popen(['sleep', '60'])\n"
        f"with open({str(file)!r}, 'a') as file: file.write(f'{{os.getpid()}} {{child.pid}} ')\n"
        "time.sleep(60)"
    )
    monkeypatch.setattr(nvrtc_process, "_TIMEOUT_SECONDS", 1.0)
    with pytest.raises(ToolTimeoutError):
        build(declare(source=write("scale.cu")))
    pids = [int(pid) for pid in file.read_text().split()]
    assert len(pids) >= 2
    wait_until_ended(pids)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_it_does_not_outlive_the_build(endless: cd.Kernel, how: signal.Signals) -> None:
    code = (
        "import custom_dispatch as cd\n"
        'x, y = cd.In("x", "f32", [cd.dim("n")]), cd.Out("y", "f32", [cd.dim("n")])\n'
        f'kernel = cd.Kernel("k", source={str(endless.source)!r}, operands=[x, y], block=1,'
        ' grid=1, entry="scale")\n'
        f"cd.build(kernel, {TARGETS}, jobs=2)"
    )
    command = [sys.executable, "-c", code]
    building = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )

    try:
        wait_until(
            lambda: len(compiling(building)) == 2 and all(map(is_waiting, compiling(building)))
        )
        pids = compiling(building)
        building.send_signal(how)
        _, err = building.communicate(timeout=20)
    finally:
        building.kill()
    assert pids
    wait_until_ended(pids)
    if how == signal.SIGINT:
        assert err.strip().endswith(b"KeyboardInterrupt")


def test_the_program_takes_only_what_comes_with_python() -> None:
    """It is started without site-packages."""
    text = Path(nvrtc_program.__file__).read_text()
    names = re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)
    assert names
    assert set(names) <= set(sys.stdlib_module_names)

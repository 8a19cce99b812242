"""The command line as a process: its exit status, its streams, and signals."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import wait_until

import custom_dispatch as cd
from custom_dispatch.cli.options import progress
from custom_dispatch.cli.report import show_table
from custom_dispatch.phases import say

COMMAND = [sys.executable, "-m", "custom_dispatch"]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "words", [["--verbose", "run", "no.vmfb"], ["run", "no.vmfb", "--verbose"]]
)
def test_verbose_shows_a_traceback(work: Path, words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert "error: The module `no.vmfb` does not exist." in done.stderr


def test_an_error_is_all_that_is_printed(work: Path) -> None:
    done = run("run", "no.vmfb")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "error: The module `no.vmfb` does not exist.\n"
        f"  next step: correct the path (it is looked up from `{work}`).\n"
    )


def _on_a_terminal(words: list[str], **environment: str) -> str:
    """What a command prints where standard error is a terminal, which adds a return to lines."""
    controller, terminal = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        [*COMMAND, *words],
        stdin=terminal,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env={**kept, "TERM": "xterm", **environment},
    ) as process:
        os.close(terminal)
        text = b""
        with contextlib.suppress(OSError):  # the terminal's other end is gone
            while part := os.read(controller, 65536):
                text += part
        os.close(controller)
    assert process.returncode == 2
    return text.decode().replace("\r\n", "\n")


RED, PLAIN = "\x1b[31m", "\x1b[0m"


def test_errors_are_red_on_a_terminal(work: Path) -> None:
    next_step = f"\n  next step: correct the path (it is looked up from `{work}`).\n"
    sentence = "error: The module `no.vmfb` does not exist."
    assert _on_a_terminal(["run", "no.vmfb"]) == f"{RED}{sentence}{PLAIN}{next_step}"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        assert _on_a_terminal(["run", "no.vmfb"], **{name: value}) == sentence + next_step
    verbose = _on_a_terminal(["run", "no.vmfb", "--verbose"])
    assert verbose.startswith("Traceback (most recent call last):")
    assert verbose.endswith(f"{RED}{sentence}{PLAIN}{next_step}")
    usage = _on_a_terminal(["run", "--devise", "Error: "])
    assert usage.startswith("Usage: custom-dispatch run")
    assert f"\n{RED}Error: No such option" in usage
    assert PLAIN in usage.splitlines()[-1]
    assert "\x1b" not in run("run", "--devise").stderr


def test_the_program_is_installed() -> None:
    program = Path(sys.executable).parent / "custom-dispatch"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("custom-dispatch")


def test_a_closed_pipe_is_no_error(work: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "inspect", "model.mlir"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 141  # what a shell says of a program that SIGPIPE ended


def test_closed_streams_are_no_error(work: Path) -> None:
    for streams in (">&-", "<&- >&- 2>&-"):
        command = shlex.join([*COMMAND, "build", "simple_mul.py", "-t", "cuda:sm_90", "--out", "o"])
        done = subprocess.run(["sh", "-c", f"{command} {streams}"], stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (0, b"")
        assert (work / "o/simple_mul_sm_90.ptx").read_text().startswith("//")
        shutil.rmtree(work / "o")


def test_a_full_disk_behind_the_output_is_named(work: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "inspect", "model.mlir"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "error: Standard output cannot be written: No space left on device.\n"
        "  next step: make room where it goes to.\n"
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended"), (signal.SIGHUP, "ended")],
)
def test_interrupting_leaves_nothing(
    number: signal.Signals, said: str, work: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("nvcc needs gcc to preprocess, and there is none")
    temporary = tmp_path_factory.mktemp("temporary")
    # The compiler waits for ever for somebody to write its header.
    slow = 'extern "C" __global__ void kernel(float* out) {}\n#include "endless.h"\n'
    (work / "my.cu").write_text(slow)
    os.mkfifo(work / "endless.h")
    (work / "my.py").write_text(
        "import custom_dispatch as cd\n"
        'kernel = cd.Kernel("kernel", source="my.cu", operands=[cd.Out("out", "f32", [4])], '
        "block=1, grid=1)\n"
    )
    before = set(work.iterdir())
    words = ["build", "my.py", "-t", "cuda:sm_90", "--out", "o", "--compiler", "nvcc"]
    process = subprocess.Popen(
        [*COMMAND, *words],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"},
        # What a shell starts in the background ignores SIGINT, and hands that on.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 30
        while not any(temporary.iterdir()) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 128 + number, err
    assert err.strip() == said
    assert set(work.iterdir()) == before
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_thread_that_hears_nothing_is_not_waited_for(number: signal.Signals, work: Path) -> None:
    (work / "busy.py").write_text(
        "import time\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as pool:\n"
        "    waiting = pool.submit(time.sleep, 60)\n"
        "    open('begun', 'w')\n    waiting.result()\n"
    )
    with subprocess.Popen(
        [*COMMAND, "build", "busy.py", "-t", "cpu", "--out", "o"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        wait_until((work / "begun").exists, 60)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert err.strip() == {signal.SIGINT: "interrupted", signal.SIGTERM: "ended"}[number]


def test_an_interrupt_while_the_program_loads_shows_no_trace() -> None:
    program = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "custom_dispatch.cli.report":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from custom_dispatch.__main__ import script
script()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_an_interrupt_is_not_raised_through_what_a_module_begins_with(work: Path) -> None:
    """IREE's extension modules abort the process if Python raises something while they begin."""
    (work / "begins.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "except BaseException:\n    os.abort()\n"
    )
    done = subprocess.run(
        [*COMMAND, "build", "begins.py", "-t", "cpu", "--out", "o"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_what_takes_long_is_told_in_a_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("custom_dispatch.cli.options._LONG_S", 0.2)
    with progress("building"):
        say("an object that is soon there")
        say("an object that takes long")
        time.sleep(1)
    with progress("building"):
        say("an object that was kept")
    time.sleep(0.4)
    assert capsys.readouterr().err == "building: an object that takes long (since 0 s)\n"


def test_a_terminal_shows_the_phase_and_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress("building"):
        say("waiting for iree-compile")
        time.sleep(0.5)
    assert "building: waiting for iree-compile" in terminal.getvalue()
    assert "0:00:00" in terminal.getvalue()


def test_a_compilation_logs_what_it_is_at(work: Path, caplog: pytest.LogCaptureFixture) -> None:
    from custom_dispatch.cli.kernels import load_members

    caplog.set_level("INFO", "custom_dispatch")
    kernels = load_members(("simple_mul.py",))
    cd.compile(work / "model.mlir", kernels, ["cuda:sm_80", "cpu"], store=False)
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "object for cuda:sm_80 of simple_mul, simple_mul_inplace",
        "linking kernels into the model",
        "waiting for iree-compile",
    ]


def test_a_table_without_rows_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(("kernel", "arch"), [])
    assert capsys.readouterr().out == ""


def test_a_narrow_terminal_shows_long_cells_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    path = "/a/path/that/is/much/longer/than/half/of/this/terminal"
    show_table(("what", "found", "note"), [("ptxas", path, "checks every object that is built")])
    lines = re.sub(r"\x1b\[\d*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= 40
    assert path in "".join(line[9:].partition(" ")[0] for line in lines)


def test_a_command_is_loaded_when_it_is_asked_for() -> None:
    """And machines that only run, time and tune kernels need no IREE compiler."""
    program = """
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == "iree.compiler":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Finder())
from custom_dispatch.cli import command_of, group, main
assert main(["--help"]) == 0
assert not {"numpy", "iree", "rich", "custom_dispatch.toolchain"} & {*sys.modules}
command_of("build")
assert "iree" not in sys.modules
for name in group.commands:
    command_of(name)
"""
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)

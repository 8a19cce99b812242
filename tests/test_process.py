"""Other programs: started without a shell, ended with all they started, and named in errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from processes import is_running, wait_until, wait_until_ended

from custom_dispatch import process
from custom_dispatch.errors import ToolNotFoundError, ToolTimeoutError
from custom_dispatch.process import end_all, run, start

# Starts a grandchild that outlives it, writes both ids, and waits.
FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(60)
"""


def test_what_a_program_prints_and_its_status_come_back() -> None:
    script = "import sys; print('out'); print('err\\xff', file=sys.stderr); sys.exit(3)"
    done = run([sys.executable, "-c", script], environment={"PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", "err\ufffd\n")


def test_standard_input_is_what_is_given_or_empty() -> None:
    echo = [sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read().upper())"]
    assert run(echo, stdin=b"ptx" * 100_000).stdout == b"PTX" * 100_000
    assert run(echo).stdout == b""


def test_a_program_that_does_not_read_its_input_is_no_error() -> None:
    assert run([sys.executable, "-c", ""], stdin=b"x" * 1_000_000).returncode == 0


def test_one_that_has_ended_is_not_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program may have its number by then."""
    ended: list[int] = []
    monkeypatch.setattr("custom_dispatch.process.os.killpg", lambda pid, _: ended.append(pid))
    started = start([sys.executable, "-c", ""])
    end_all()
    assert len(ended) == 1
    assert started._process.wait() == 0
    end_all()
    assert len(ended) == 1
    started.end()


def test_arguments_go_through_no_shell(tmp_path: Path) -> None:
    words = ["$(touch made)", "; touch made", "a b", "`touch made`", "*"]
    script = "import sys; print(sys.argv[1:])"
    done = run([sys.executable, "-c", script, *words], cwd=tmp_path)
    assert done.stdout.decode().strip() == repr(words)
    assert list(tmp_path.iterdir()) == []


def test_a_time_limit_ends_a_program_and_what_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    started = time.monotonic()
    with pytest.raises(ToolTimeoutError) as caught:
        run([sys.executable, "-c", FAMILY, str(pids)], timeout_seconds=1.5)
    assert time.monotonic() - started < 10
    assert caught.value.found == (
        f"`{Path(sys.executable).name}` did not finish within 1.5 seconds and was ended, with "
        "everything it had started."
    )
    assert caught.value.next_step
    wait_until_ended([int(pid) for pid in pids.read_text().split()])


# Leaves a server behind, in a session of its own, which holds the pipes that it was given.
SERVER = """
import subprocess, sys, time
server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"],
                          start_new_session=True)
print(server.pid, flush=True)
sys.stderr.write("started")
sys.stderr.flush()
time.sleep(float(sys.argv[1]))
"""


def test_what_a_program_leaves_behind_is_not_waited_for() -> None:
    started = time.monotonic()
    done = run([sys.executable, "-c", SERVER, "0"])
    assert time.monotonic() - started < 20
    assert (done.returncode, done.stderr) == (0, "started")
    os.kill(int(done.stdout), signal.SIGKILL)


def test_nor_where_the_program_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custom_dispatch.process._KILLED_SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(ToolTimeoutError):
        run([sys.executable, "-c", SERVER, "60"], timeout_seconds=1)
    with start([sys.executable, "-c", SERVER, "60"]) as program:
        assert program._process.stdout is not None
        server = int(program._process.stdout.readline())
    assert program._process.returncode == -signal.SIGKILL  # it is asked how it ended: no zombie
    assert time.monotonic() - started < 20
    os.kill(server, signal.SIGKILL)


def test_every_running_program_can_be_ended_at_once(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    statuses: list[int] = []

    def work(file: Path) -> None:
        statuses.append(run([sys.executable, "-c", FAMILY, str(file)]).returncode)

    threads = [threading.Thread(target=work, args=[file]) for file in files]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 20
    while not all(file.exists() for file in files) and time.monotonic() < deadline:
        time.sleep(0.02)
    end_all()
    for thread in threads:
        thread.join(10)
    assert statuses == [-9, -9]
    wait_until_ended([int(pid) for file in files for pid in file.read_text().split()])
    assert not process._running


def test_a_program_is_started_before_its_input_is_there() -> None:
    code = "import sys; print('ready', flush=True); print(sys.stdin.read().upper())"
    with start([sys.executable, "-c", code]) as started:
        done = started.finish(b"late")
    assert (done.returncode, done.stdout) == (0, b"ready\nLATE\n")
    assert not process._running


def test_a_started_program_that_gets_no_input_is_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with start([sys.executable, "-c", FAMILY, str(pids)]):
        deadline = time.monotonic() + 20
        while not pids.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
    wait_until_ended([int(pid) for pid in pids.read_text().split()])
    assert not process._running


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("no-such-program", "No such file or directory"),
        ("./directory", "Permission denied"),
        ("./text", "Permission denied"),
        ("./broken", "Exec format error"),
    ],
)
def test_a_program_that_does_not_start_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "directory").mkdir()
    (tmp_path / "text").write_text("not executable")
    (tmp_path / "broken").write_bytes(b"\x7fELF not a program")
    (tmp_path / "broken").chmod(0o700)
    with pytest.raises(ToolNotFoundError) as caught:
        run([program])
    assert caught.value.found == f"`{program}` could not be started: {reason}."
    assert "custom-dispatch doctor" in caught.value.next_step


def test_an_argument_that_no_program_can_be_given_is_an_error_of_ours() -> None:
    with pytest.raises(ToolNotFoundError, match="could not be started"):
        run(["true", "a\0b"])


# Says each message again, in capitals, with something on stderr; ends at the word "end".
ECHO = """
import struct, sys
while head := sys.stdin.buffer.read(8):
    text = sys.stdin.buffer.read(*struct.unpack("<Q", head))
    sys.stderr.write("x" * 100_000)
    sys.stderr.flush()
    if text == b"end":
        sys.exit(4)
    sys.stdout.buffer.write(head + text.upper())
    sys.stdout.flush()
"""


def test_a_program_is_asked_again_and_again_until_it_ends() -> None:
    with start([sys.executable, "-c", ECHO]) as started:
        for question in (b"ptx", b"", b"ptx" * 500_000):
            assert started.ask(question, timeout_seconds=60) == question.upper()
        ended = started.ask(b"end", timeout_seconds=60)
        assert isinstance(ended, process.Completed)
        assert (ended.returncode, ended.stdout, ended.stderr) == (4, b"", "x" * 400_000)
    assert not process._running


def test_a_program_that_ends_slowly_says_how() -> None:
    code = "import os, sys, time; os.close(1); time.sleep(0.3); sys.exit('no module')"
    with start([sys.executable, "-c", code]) as started:
        ended = started.ask(b"ptx", timeout_seconds=60)
    assert isinstance(ended, process.Completed)
    assert (ended.returncode, ended.stderr) == (1, "no module\n")


def test_a_program_that_does_not_answer_is_ended() -> None:
    with (
        pytest.raises(ToolTimeoutError, match=r"`NVRTC` did not finish within 0\.5 seconds"),
        start([sys.executable, "-c", "import time; time.sleep(60)"], name="NVRTC") as started,
    ):
        started.ask(b"ptx" * 500_000, timeout_seconds=0.5)
    assert not process._running


def test_a_program_that_is_gone_is_no_error() -> None:
    with start([sys.executable, "-c", "print('what?')"]) as started:
        ended = started.ask(b"ptx" * 500_000, timeout_seconds=60)
    assert isinstance(ended, process.Completed)
    assert ended.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_programs_end_with_the_process_that_started_them(
    number: signal.Signals, tmp_path: Path
) -> None:
    """It has no handler, and hears of no SIGKILL."""
    note = tmp_path / "pids"
    inner = f"sleep 60 & echo $$ $! > {note}; wait"
    code = f"from custom_dispatch.process import run; run(['sh', '-c', {inner!r}])"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        wait_until(lambda: note.exists() and len(note.read_text().split()) == 2)
        pids = [int(word) for word in note.read_text().split()]
        assert all(map(is_running, pids))
        time.sleep(0.5)  # it may not have told its watcher yet
        process.send_signal(number)
    wait_until_ended(pids)


def test_a_forked_process_leaves_the_programs_of_its_parent_alone() -> None:
    code = (
        "import os\nfrom custom_dispatch.process import start\n"
        "with start(['cat']) as cat:\n"
        "    if os.fork() == 0:\n        os._exit(0)\n"
        "    os.wait()\n    assert cat.finish(b'still here').stdout == b'still here'\n"
    )
    done = run([sys.executable, "-X", "dev", "-c", code])
    assert (done.returncode, done.stderr) == (0, "")

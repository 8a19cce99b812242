"""cpu:checked: notes, several findings of one call, and shuffles of lanes that are not there."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import KernelError, KernelWarning

SOURCE = Path(__file__).parent / "checked_on.cu"
GOES_ON = cd.Kernel(
    "goes_on",
    source=SOURCE,
    operands=[cd.In("how", "i32", [1]), cd.InOut("x", "f32", [64])],
    block=64,
    grid=1,
)


def lanes(threads: int) -> cd.Kernel:
    operands = [cd.In("how", "i32", [1]), cd.InOut("x", "i32", [threads])]
    return cd.Kernel("lanes", source=SOURCE, operands=operands, block=threads, grid=1)


def goes_on(how: int) -> np.ndarray:
    return GOES_ON.on("cpu:checked")(np.array([how], np.int32), np.ones(64, np.float32))


NOTE = """\
kernel `goes_on`: two threads write one value to byte 0 of `partial` in shared memory: thread \
({}, 0, 0) at checked_on.cu:{} (`st.shared.{}32`), and thread (0, 0, 0) at checked_on.cu:{} \
(`st.shared.{}32`), in no order, block (0, 0, 0).
  expected: one thread that writes it.
  next step: let one thread write it, such as lane 0; results do not depend on it."""


@pytest.mark.parametrize(
    ("how", "thread", "line", "kind"), [(0, 1, 11, "f"), (3, 32, 25, "u")], ids=["lanes", "warps"]
)
def test_one_value_of_several_threads_is_a_note(
    how: int, thread: int, line: int, kind: str
) -> None:
    with pytest.warns(KernelWarning) as caught:
        found = goes_on(how)
    assert (found == (64 if how == 0 else 1)).all()
    assert [str(item.message) for item in caught] == [NOTE.format(thread, line, kind, line, kind)]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (6, "byte 4 of `tile` in shared memory: thread (32, 0, 0) writes it at checked_on.cu:49 "
         "(`st.shared.f32`), and thread (31, 0, 0) reads it at checked_on.cu:51 "
         "(`ld.volatile.shared.f32`)"),
        (8, "byte 156 of operand `x`: thread (40, 0, 0) reads it at checked_on.cu:64 "
         "(`ld.volatile.global.f32`), and thread (39, 0, 0) writes it at checked_on.cu:65 "
         "(`st.global.f32`)"),
        (10, "byte 0 of `tile` in shared memory: thread (32, 0, 0) reads it at checked_on.cu:73 "
         "(`ld.volatile.shared.f32`), and thread (0, 0, 0) writes it at checked_on.cu:74 "
         "(`st.shared.f32`)"),
    ],
    ids=["unused", "branch", "select"],
)  # fmt: skip
def test_a_race_of_a_read_that_is_dropped_is_a_note(how: int, said: str) -> None:
    with pytest.warns(KernelWarning) as caught:
        goes_on(how)
    assert [str(item.message) for item in caught] == [
        f"kernel `goes_on`: a thread drops what it reads of {said}, in no order, block (0, 0, 0).\n"
        "  expected: a read whose value is used.\n"
        "  next step: leave the read out; results do not depend on it."
    ]


# The last three: what is read tells which way to go, is stored, and is selected by one thread.
@pytest.mark.parametrize(
    ("how", "lines"),
    [(1, {"16", "17"}), (2, {"20"}), (7, {"58", "59"}), (9, {"64", "65"}), (11, {"73", "74"})],
)
def test_a_race_is_not_hidden_by_a_note(how: int, lines: set[str]) -> None:
    with pytest.raises(KernelError) as caught:
        goes_on(how)
    races = [line for line in str(caught.value).splitlines() if "has a race for byte" in line]
    assert races
    assert all(set(re.findall(r"checked_on\.cu:(\d+)", race)) == lines for race in races)


def test_a_call_tells_of_several_mistakes() -> None:
    with pytest.raises(KernelError) as caught:
        goes_on(4)
    text = str(caught.value)
    assert text.startswith("Kernel `goes_on` reads byte 252 of `tile` in shared memory before")
    first, rest = text.split("\nWhat else was found:\n")
    assert first.count("next step:") == 1
    assert "Kernel `goes_on` has a race for byte 128 of `tile` in shared memory: " in rest
    assert "reads byte 12 of `partial` in shared memory before anyone wrote it" in rest
    assert "4 bytes at byte 256 of operand `x`, which has 256 bytes" in rest
    assert rest.count("next step:") == 3


def test_a_note_does_not_hide_barriers_in_branches() -> None:
    with pytest.raises(
        KernelError, match="threads of one warp come to different barriers"
    ) as error:
        goes_on(5)
    assert "note: kernel `goes_on`: two threads write one value" in error.value.log


@pytest.mark.parametrize(
    ("how", "threads", "lane"),
    [(0, 32, 20), (1, 16, 16), (2, 16, 16)],
    ids=["ended", "absent", "vote"],
)
def test_a_shuffle_or_vote_of_lanes_that_are_not_there_is_found(
    how: int, threads: int, lane: int
) -> None:
    kernel = lanes(threads).on("cpu:checked")
    with pytest.raises(
        KernelError, match=f"names lane {lane} of its warp, which has ended or"
    ) as e:
        kernel(np.array([how], np.int32), np.zeros(threads, np.int32))
    assert e.value.expected == (
        "a mask of lanes that execute the instruction: another lane's value is undefined on a GPU"
    )
    assert e.value.next_step == (
        "launch blocks of whole warps, and let all lanes of the mask come there."
    )


@pytest.mark.parametrize(("how", "threads"), [(3, 16), (4, 32), (5, 16), (6, 16)])
def test_lanes_that_are_there_cause_no_alarm(how: int, threads: int) -> None:
    x = np.zeros(threads, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lanes(threads).on("cpu:checked")(np.array([how], np.int32), x)


def test_stock_tools_show_notes_and_the_call_goes_well(tmp_path: Path) -> None:
    module = cd.compile(None, [GOES_ON], ["cpu:checked"]).save(tmp_path / "on.vmfb")
    tool = Path(sys.executable).parent / "iree-run-module"
    command = [tool, f"--module={module}", "--function=goes_on", "--device=local-task"]
    done = subprocess.run(
        [*command, "--input=1xi32=0", "--input=64xf32=1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr.count("note: kernel `goes_on`: two threads write one value") == 1

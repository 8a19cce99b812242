"""cpu:checked: every kind of mistake with its whole message, and kernels without any."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, KernelError

SOURCE = Path(__file__).parent / "checked.cu"
N = 64
MISTAKES = cd.Kernel(
    "mistakes",
    source=SOURCE,
    operands=[
        cd.In("how", "i32", [1]),
        cd.InOut("x", "f32", [N]),
        cd.InOut("count", "i32", [3]),
        cd.Scalar("size", "i32", N),
    ],
    block=N,
    grid=1,
    dynamic_shared_memory=4 * N,
)
PRINTS = cd.Kernel(
    "prints",
    source=SOURCE,
    operands=[cd.In("x", "f32", [1]), cd.Out("counts", "i32", [2])],
    block=32,
    grid=1,
)


def call(how: int) -> None:
    x, count = numpy.zeros(N, numpy.float32), numpy.zeros(3, numpy.int32)
    MISTAKES.on("cpu:checked")(numpy.array([how], numpy.int32), x, count)


INSIDE = ("an access inside of it", "compare the index with the size before the access")
BARRIER = (
    "a barrier between accesses of different threads if one of them writes",
    "put __syncthreads() between them (__syncwarp() for lanes of a warp), or use atomics",
)
DIVISOR = (
    "a divisor that is not zero: the result is undefined on a GPU",
    "check the divisor first",
)
APART = (
    "every thread to come to the same barrier, and every lane of a mask to the same operation",
    "take the barrier out of the branch that not all of them take",
)


def at(line: int, opcode: str, thread: int) -> str:
    return f"at checked.cu:{line} (`{opcode}`), thread ({thread}, 0, 0), block (0, 0, 0)"


def race(byte: int, what: str, *accesses: tuple[int, str, int, str]) -> str:
    (x, verb_x, line_x, opcode_x), (y, verb_y, line_y, opcode_y) = accesses
    return (
        f"has a race for byte {byte} of {what}: thread ({x}, 0, 0) {verb_x} it at "
        f"checked.cu:{line_x} (`{opcode_x}`), and thread ({y}, 0, 0) {verb_y} it at "
        f"checked.cu:{line_y} (`{opcode_y}`), in no order, block (0, 0, 0)"
    )


TILE, DYNAMIC = "`tile` in shared memory", "`dynamic` in shared memory"
LOAD, STORE = "ld.shared.f32", "st.shared.f32"
FOUND = {
    1: (
        "writes 4 bytes at byte 256 of operand `x`, which has 256 bytes, "
        + at(13, "st.global.u32", 0),
        *INSIDE,
    ),
    2: (
        "reads 4 bytes at byte -4 of operand `x`, which has 256 bytes, "
        + at(14, "ld.global.f32", 0),
        *INSIDE,
    ),
    3: (
        f"writes 4 bytes at byte 256 of {TILE}, which has 256 bytes, "
        + at(15, "st.shared.u32", 63),
        *INSIDE,
    ),
    4: (
        f"writes 4 bytes at byte 1024 of {DYNAMIC}, which has 256 bytes, "
        + at(16, "st.shared.u32", 0),
        *INSIDE,
    ),
    5: (
        "writes 4 bytes at byte 16 of variable `counters`, which has 16 bytes, "
        + at(17, "st.global.u32", 4),
        *INSIDE,
    ),
    6: (
        "reads 4 bytes at byte 16 of variable `table`, which has 16 bytes, "
        + at(18, "ld.const.u32", 4),
        *INSIDE,
    ),
    7: (
        "writes 8 bytes at byte 4 of operand `x`, " + at(19, "st.global.v2.f32", 0),
        "a byte that is a multiple of 8: a GPU refuses other addresses",
        "access smaller elements, or begin at a multiple of the vector's size",
    ),
    8: (
        "writes 4 bytes at byte 0 of operand `how`, which it must not write, "
        + at(20, "st.global.u32", 0),
        "a write to an operand that is declared cd.Out or cd.InOut, or to a variable that is no "
        "constant",
        "declare the operand as cd.InOut if the kernel is to update it",
    ),
    9: (
        "reads 4 bytes at address 0x0, which is in none of its operands and variables, "
        + at(21, "ld.f32", 0),
        "an address that was computed from an operand or a variable",
        "look for a null pointer, or one that was read from uninitialised memory",
    ),
    10: (
        f"reads byte 0 of {TILE} before anyone wrote it, " + at(22, LOAD, 0),
        "a write by the same thread, or by another one before a barrier that both come to",
        "write the element first, or put __syncthreads() between the write and the read",
    ),
    11: (race(0, TILE, (1, "reads", 23, LOAD), (0, "writes", 23, STORE)), *BARRIER),
    12: (race(124, TILE, (32, "reads", 27, LOAD), (31, "writes", 25, STORE)), *BARRIER),
    13: (race(128, TILE, (32, "reads", 32, LOAD), (31, "writes", 33, "st.shared.u32")), *BARRIER),
    14: (
        race(0, "operand `x`", *((i, "writes", 35, "st.global.f32") for i in (1, 0))),
        *BARRIER,
    ),
    15: (
        race(
            0,
            "operand `count`",
            (1, "writes", 36, "st.global.u32"),
            (0, "atomically updates", 36, "atom.global.add.u32"),
        ),
        *BARRIER,
    ),
    16: ("divides an integer by zero " + at(37, "div.s32", 3), *DIVISOR),
    17: ("divides an integer by zero " + at(38, "rem.s32", 3), *DIVISOR),
    18: (
        "executes a trap " + at(39, "trap", 0),
        "no trap",
        "correct what the kernel checks there",
    ),
    19: (
        "the assertion `i < 5` does not hold in void mistakes(const int *, float *, int *, int), "
        f"{SOURCE}:40, thread (5, 0, 0), block (0, 0, 0)",
        "a condition that holds",
        "correct the kernel, or what it is called with",
    ),
    20: (
        "the threads of block (0, 0, 0) wait for each other at different places: thread (0, 0, 0) "
        "at checked.cu:42 (`bar.sync 1`), thread (32, 0, 0) at checked.cu:43 (`bar.sync 2`)",
        *APART,
    ),
    21: (
        "thread (0, 0, 0) of block (0, 0, 0) waits at checked.cu:45 (`bar.sync 3`) for threads "
        "that never come",
        "as many threads as the barrier counts, or all lanes of the mask",
        "correct the count or the mask, or let the other threads come there",
    ),
    22: (
        "the threads of block (0, 0, 0) wait for each other at different places: thread (0, 0, 0) "
        "at checked.cu:48 (`shfl.sync.idx.b32`), thread (3, 0, 0) at checked.cu:47 (`bar.sync 1`)",
        *APART,
    ),
    24: (
        "writes 16 bytes at byte 32 of the thread's local memory, which has 32 bytes, "
        + at(70, "st.local.v4.u32", 0),
        *INSIDE,
    ),
    25: (
        "thread (0, 0, 0) of block (0, 0, 0) waits in a loop at checked.cu:73 "
        "(`ld.volatile.global.u32`) for another thread to write memory",
        "barriers: on the CPU a thread runs until it waits at one, and so the loop never ends",
        "wait at a barrier if the threads are of one block; else test the kernel on a GPU",
    ),
    26: (
        "threads of one warp come to different barriers: thread (0, 0, 0) to checked.cu:76 "
        "(`bar.sync 0`), thread (1, 0, 0) to checked.cu:75 (`bar.sync 0`), block (0, 0, 0)",
        "the same __syncthreads() for all threads of a warp: anything else is undefined on a GPU",
        "take the barrier out of the branch that not all of them take",
    ),
}


@pytest.mark.parametrize("how", FOUND)
def test_every_kind_of_mistake_is_found_and_named(how: int) -> None:
    with pytest.raises(KernelError) as caught:
        call(how)
    found, expected, next_step = FOUND[how]
    colon = ":" if how in (19, 20, 21, 22, 25, 26) else ""
    # Where memory is still sound, the block goes on and may find more.
    assert str(caught.value).partition("\nWhat else was found:")[0] == (
        f"Kernel `mistakes`{colon} {found}.\n  expected: {expected}\n  next step: {next_step}."
    )


@pytest.mark.parametrize("how", [0, 23])
def test_a_kernel_without_a_mistake_runs_and_nothing_is_said(
    how: int, capfd: pytest.CaptureFixture[str]
) -> None:
    call(how)
    assert capfd.readouterr().err == ""


def test_printf_prints_as_c_does_and_returns_how_many_arguments(
    capfd: pytest.CaptureFixture[str],
) -> None:
    counts = PRINTS.on("cpu:checked")(numpy.array([1.5], numpy.float32))
    assert capfd.readouterr().err == (
        "-1|   42|42   |00042|+42|-7|4000000000|ff|0XFF|10|A|%|text|     right|le    |\n"
        "1.500000|1.50|   1.500|1.500000e+00|1.5|1E-10|0x1p+0|2.2|     7|\n"
        "-1099511627776|18446744073709551615|1000000000|-5|4|-3|-4|0x1234|(null)|\n"
        "no arguments\n1 2\n"
    )
    numpy.testing.assert_array_equal(counts, [0, 2])


FILL = """
extern "C" __global__ void fill(float* x, int n) {
  int i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 24;
  i += (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = i;
}
"""


def declare_fill(directory: Path) -> cd.Kernel:
    (directory / "fill.cu").write_text(FILL)
    rows, n = cd.dim("rows"), cd.dim("n")
    return cd.Kernel(
        "fill",
        source=directory / "fill.cu",
        operands=[cd.InOut("x", "f32", [rows, n]), cd.Scalar("n", "i32", rows * n)],
        block=(4, 3, 2),
        grid=(2, 2, 2),
    )


MODEL = """
func.func private @fill(tensor<?x?xf32>) -> tensor<?x?xf32>
func.func @twice(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = call @fill(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %z = arith.addf %y, %y : tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
"""


def test_a_model_is_checked_too_by_stock_tools_too(tmp_path: Path) -> None:
    module = cd.compile(MODEL, [declare_fill(tmp_path)], ["cpu:checked"])
    program = cd.load(module)
    assert list(program.functions) == ["twice"]
    said = (
        "ernel `fill` writes 4 bytes at byte 736 of operand `x`, which has 736 bytes, at "
        "fill.cu:5 (`st.global.f32`), thread (0, 1, 1), block (1, 1, 1).\n"
        "  expected: an access inside of it"
    )
    for _ in range(2):  # what was found once is found again
        with pytest.raises(KernelError) as caught:
            program.twice(numpy.zeros((23, 8), numpy.float32))
        assert str(caught.value).startswith("K" + said)
    result = program.twice(numpy.zeros((25, 8), numpy.float32))
    numpy.testing.assert_array_equal(result.ravel()[:192], 2.0 * numpy.arange(192))

    path = module.save(tmp_path / "checked.vmfb")
    tool = Path(sys.executable).parent / "iree-run-module"
    done = subprocess.run(
        [tool, f"--module={path}", "--device=local-task", "--function=twice", "--input=23x8xf32"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "k" + said in done.stderr
    assert "dispatch kernel returned non-zero (4)" in done.stderr


def test_a_kernel_given_as_ptx_is_named_by_its_ptx_lines(tmp_path: Path) -> None:
    kernel = declare_fill(tmp_path)
    cd.build(kernel, ["cuda:sm_80"]).write(tmp_path)
    module = cd.compile(None, cd.build(kernel, ["cpu:checked"], objects=tmp_path))
    with pytest.raises(KernelError, match=r"at PTX line \d+ \(`st\.global\.f32`\), thread \(0, 1"):
        cd.load(module).fill(numpy.zeros((23, 8), numpy.float32))


def test_checked_code_is_not_mixed_with_code_for_use(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.build(declare_fill(tmp_path), ["cuda:sm_90", "cpu:checked"])
    assert str(caught.value) == (
        "The target cpu:checked is given with others: cuda:sm_90, cpu:checked.\n"
        "  expected: cpu:checked by itself: what it compiles is for finding mistakes, not for use\n"
        "  next step: compile a file of its own for cpu:checked."
    )


def test_a_mistake_in_an_inlined_function_is_named_with_the_call(tmp_path: Path) -> None:
    (tmp_path / "get.cuh").write_text(
        "template <typename T> __device__ T get(const T* x, int i) { return x[i]; }\n"
    )
    (tmp_path / "shift.cu").write_text(
        '#include "get.cuh"\nextern "C" __global__ void shift(const int* x, int* y) {\n'
        "  y[threadIdx.x] = get(x, threadIdx.x + 1);\n}\n"
    )
    n = cd.dim("n")
    operands = [cd.In("x", "i32", [n]), cd.Out("y", "i32", [n])]
    kernel = cd.Kernel("shift", source=tmp_path / "shift.cu", operands=operands, block=32, grid=1)
    with pytest.raises(KernelError) as caught:
        kernel.on("cpu:checked")(numpy.zeros(32, numpy.int32))
    assert "at get.cuh:1, called at shift.cu:3 (`ld.global.u32`), thread (31, 0" in str(
        caught.value
    )

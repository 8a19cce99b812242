"""What an object is checked for before anything is built on it: PTX, cubins and fatbins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cuda_sources import SCALE, Write

import custom_dispatch as cd
from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.ptxas import assemble, make_fatbin

Declare = Callable[..., cd.Kernel]
Objects = Callable[..., Path]

BOUNDED = SCALE.replace("__global__ void", "__global__ void __launch_bounds__(32)")
SHARED = """\
extern "C" __global__ void scale(const float *in, float *out, float factor, int count) {
  __shared__ float tile[10000];
  extern __shared__ float more[];
  tile[threadIdx.x] = in[threadIdx.x];
  more[threadIdx.x] = in[count];
  __syncthreads();
  out[0] = tile[count] * more[count + 1] * factor;
}
"""


@pytest.fixture
def made(write: Write) -> Objects:
    """An object file of a kind, made here."""

    def made(kind: str, arch: str = "sm_80", source: str = SCALE) -> Path:
        path, built = write("made.cu", source), Arch.parse(arch)
        ptx = find_compiler("nvrtc").compile(CompileRequest(path, built)).ptx
        if kind == "ptx":
            return write(f"made_{arch}.ptx", ptx)
        cubin = assemble(ptx, built).cubin
        return write(f"made_{arch}.cubin", cubin)

    return made


@pytest.fixture
def refusal(declare: Declare) -> Callable[..., PtxError]:
    """The error of a kernel with one object, built for a target."""

    def refusal(path: Path, target: str = "cuda:sm_80", **changes: Any) -> PtxError:
        kernel = declare(source=None, objects={target: path}, **changes)
        with pytest.raises(PtxError) as caught:
            cd.build(kernel, [target])
        assert "scale" in caught.value.found
        assert path.name in caught.value.found
        return caught.value

    return refusal


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_an_object_that_is_as_declared_is_accepted(
    declare: Declare, made: Objects, kind: str
) -> None:
    path = made(kind)
    library = cd.build(declare(source=None, objects={"cuda:sm_80": path}), "cuda:sm_80")
    (item,) = library.objects
    assert (item.kind, item.origin, item.data) == (kind, str(path), path.read_bytes())


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_an_object_without_the_entry_is_refused(
    refusal: Callable[..., PtxError], made: Objects, kind: str
) -> None:
    plain = SCALE.replace('extern "C" ', "")
    overloaded = plain + plain.replace("float factor", "double factor")
    error = refusal(made(kind, source=overloaded))
    assert error.found.endswith("has no entry `scale`.")
    assert error.expected.startswith("one of the entries it has: _Z5scalePKfPf")
    assert error.next_step.startswith(
        'declare the function `extern "C"`, or give entry="_Z5scalePKfPf'
    )


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_an_object_with_other_parameters_is_refused(
    refusal: Callable[..., PtxError], made: Objects, kind: str
) -> None:
    swapped = SCALE.replace("float *out, float factor", "float factor, float *out")
    error = refusal(made(kind, source=swapped))
    assert "parameter 1 in" in error.found
    assert "where operand `y` is declared" in error.found
    assert error.expected == "a pointer of 8 bytes"
    fewer = SCALE.replace(", int count", "").replace("count", "64")
    assert "takes 3 parameters" in refusal(made(kind, source=fewer)).found


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_a_block_over_the_objects_limit_is_refused(
    refusal: Callable[..., PtxError], made: Objects, kind: str
) -> None:
    error = refusal(made(kind, source=BOUNDED))
    assert "block (64, 1, 1) has 64 threads" in error.found
    assert "compiled for at most 32" in error.found
    required = SCALE.replace("__global__ void", "__global__ void __block_size__((32, 2, 1))")
    error = refusal(made(kind, "sm_90", required), "cuda:sm_90")
    assert "compiled for exactly (32, 2, 1)" in error.found


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_shared_memory_over_the_architectures_limit_is_refused(
    declare: Declare, made: Objects, kind: str
) -> None:
    path = made(kind, source=SHARED)
    parts = {"source": None, "objects": {"cuda:sm_80": path}}
    assert cd.build(declare(**parts, dynamic_shared_memory=120_000), "cuda:sm_80")
    with pytest.raises(PtxError) as caught:
        cd.build(declare(**parts, dynamic_shared_memory=130_000), "cuda:sm_80")
    assert caught.value.found == (
        "Kernel `scale` uses 170000 bytes of shared memory a block for sm_80: 40000 static and "
        "130000 dynamic."
    )
    assert caught.value.expected == "at most 166912 bytes, the limit of sm_80"


def test_static_shared_memory_over_48_kib_does_not_assemble(declare: Declare, write: Write) -> None:
    source = write("big.cu", SHARED.replace("10000", "20000"))
    with pytest.raises(PtxError) as caught:
        cd.build(declare(source=source, dynamic_shared_memory=4096), "cuda:sm_80")
    assert caught.value.found.startswith("Kernel `scale`: `big.cu`: The PTX does not assemble")
    assert "too much shared data" in caught.value.log


def test_a_block_that_needs_more_registers_than_there_are_is_refused(
    declare: Declare, write: Write
) -> None:
    text = """\
extern "C" __global__ void BOUNDS scale(const float *in, float *out, float factor, int count) {
  float v[96];
  #pragma unroll
  for (int i = 0; i < 96; i++) v[i] = in[i * count];
  float total = 0;
  #pragma unroll
  for (int i = 0; i < 96; i++) total = total * factor + v[95 - i] * v[i];
  for (int k = 0; k < count; k++) {
    #pragma unroll
    for (int i = 0; i < 96; i++) { v[i] = v[i] * total + v[(i + 7) % 96]; total += v[i]; }
  }
  out[threadIdx.x] = total;
}
"""
    kernel = declare(source=write("wide.cu", text.replace("BOUNDS", "")), block=1024)
    with pytest.raises(PtxError) as caught:
        cd.build(kernel, "cuda:sm_80")
    assert "block (1024, 1, 1) needs" in caught.value.found
    assert "registers for sm_80" in caught.value.found
    assert caught.value.expected == "at most 65536, what a block of sm_80 may use"
    assert "__launch_bounds__(1024)" in caught.value.next_step
    bounded = write("bounded.cu", text.replace("BOUNDS", "__launch_bounds__(1024)"))
    assert cd.build(declare(source=bounded, block=1024), "cuda:sm_80")
    assert cd.build(declare(source=kernel.source, block=256), "cuda:sm_80")
    # The CPU has no such limit.
    assert cd.build(kernel, "cpu")


def test_ptx_that_was_tampered_with_is_refused(
    refusal: Callable[..., PtxError], made: Objects, write: Write
) -> None:
    text = made("ptx").read_text()
    for broken in (
        text.replace("mul.f32", "mul.f31"),
        text.replace("ret;", "bra NOWHERE;"),
        text.replace(".reg .pred", ".reg .pref"),
        text[: len(text) // 2],
        text.replace("mul.f32", "mul.f32\x00"),
        text + "}",
    ):
        error = refusal(write("broken.ptx", broken))
        assert error.found.startswith("Kernel `scale`: `broken.ptx`")
        assert error.next_step
    assembled = refusal(write("broken.ptx", text.replace("mul.f32", "mul.f31")))
    assert "does not assemble for sm_80: kernel `scale`, line" in assembled.found
    assert "ptxas" in assembled.log


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not device code: it is empty"),
        (b"hello", "is not device code: its first bytes are b'hello'"),
        (b"\x7fELF", "The cubin is damaged or cut short"),
        (b"\x50\xed\x55\xba", "The fatbin is damaged or cut short"),
        (b".version 9.0\n.target sm_80\n\xff\xfe", "is not PTX: it is not UTF-8 text"),
        (b".version 9.0\n.target x86\n", "The PTX's `.target` is `x86`"),
        (b".version 99.0\n.target sm_80\n.address_size 64\n", "has no entry"),
    ],
)
def test_a_file_that_is_no_object_is_refused(
    refusal: Callable[..., PtxError], write: Write, content: bytes, said: str
) -> None:
    assert said in refusal(write("object_of_scale", content)).found


@pytest.mark.parametrize("name", ["missing_scale.ptx", "directory_scale"])
def test_a_file_that_is_not_there_is_refused(
    refusal: Callable[..., PtxError], tmp_path: Path, name: str
) -> None:
    (tmp_path / "directory_scale").mkdir()
    error = refusal(tmp_path / name)
    assert f"The object `{tmp_path / name}`" in error.found


@pytest.mark.parametrize(
    ("kind", "built", "target"),
    [
        ("ptx", "sm_90", "sm_80"),
        ("ptx", "sm_90a", "sm_100"),
        ("cubin", "sm_80", "sm_90"),
        ("cubin", "sm_90", "sm_80"),
        ("cubin", "sm_86", "sm_80"),
        ("cubin", "sm_86", "sm_87"),
        ("cubin", "sm_90a", "sm_90"),
    ],
)
def test_an_object_of_another_architecture_is_refused(
    refusal: Callable[..., PtxError], made: Objects, kind: str, built: str, target: str
) -> None:
    error = refusal(made(kind, built), f"cuda:{target}")
    assert f"for {built}, but is given for {target}." in error.found
    assert f"-arch={target}" in error.next_step


@pytest.mark.parametrize(("built", "target"), [("sm_80", "sm_86"), ("sm_90a", "sm_90a")])
def test_a_cubin_runs_on_a_later_minor_version(
    declare: Declare, made: Objects, built: str, target: str
) -> None:
    kernel = declare(source=None, objects={f"cuda:{target}": made("cubin", built)})
    assert cd.build(kernel, f"cuda:{target}").units


def test_of_a_fatbin_the_parts_that_run_there_count(
    refusal: Callable[..., PtxError], declare: Declare, made: Objects, write: Write
) -> None:
    cubin = made("cubin", "sm_80").read_bytes()
    ptx = made("ptx", "sm_80").read_bytes()
    only_cubin = write("scale.fatbin", make_fatbin([(Arch(80), cubin)]))
    error = refusal(only_cubin, "cuda:sm_90")
    assert "is a fatbin for sm_80 (cubin), but is given for sm_90" in error.found
    both = write("both.fatbin", make_fatbin([(Arch(80), ptx)]))
    library = cd.build(declare(source=None, objects={"cuda:sm_90": both}), "cuda:sm_90")
    assert [item.kind for item in library.objects] == ["fatbin"]

"""Objects of kernels whose C signature is not IREE's: what is written, what is read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cuda_sources import SCALE, Write, skip_without_gcc

import custom_dispatch as cd
from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.ptxas import assemble, make_fatbin

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")
X, Y, COUNT = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("count", "i64", n)
PAIR = cd.Struct("pair", factor="f64", shift="i16")
OPERANDS = [Y, PAIR, COUNT, X]
SOURCE = """\
struct Pair { double factor; short shift; };
extern "C" __global__ void scale(float* y, Pair pair, long long count, const float* x) {
  long long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = pair.factor * x[i] + pair.shift;
}
"""


@pytest.fixture
def kernel(declare: Declare, write: Write) -> Callable[..., cd.Kernel]:
    def kernel(source: str | None = SOURCE, **changes: Any) -> cd.Kernel:
        path = None if source is None else write("scale.cu", source)
        return declare(**({"source": path, "operands": OPERANDS} | changes))

    return kernel


def data_of(library: cd.Library) -> bytes:
    (item,) = library.objects
    return item.data


def compiled(kernel: cd.Kernel, compiler: str = "nvrtc", arch: str = "sm_90") -> bytes:
    """The compiler's PTX, with the C signature."""
    assert kernel.source is not None
    request = CompileRequest(kernel.source, Arch.parse(arch))
    return find_compiler(compiler).compile(request).ptx


def test_what_is_written_is_what_is_linked_and_is_found_again(
    kernel: Callable[..., cd.Kernel], tmp_path: Path
) -> None:
    library = cd.build(kernel(), ["cuda:sm_90"])
    (path,) = library.write(tmp_path / "objects")
    assert path.read_bytes() == data_of(library)
    entry = read_module(path.read_text()).entry("scale")
    assert entry is not None
    assert [p.size_bytes for p in entry.parameters] == [8, 8, *[4] * 6]
    again = cd.build(kernel(), ["cuda:sm_90", "cpu"], objects=tmp_path / "objects")
    assert data_of(again) == data_of(library)
    assert again.units[0].cpu_ptx is not None
    assert again.units[0].cpu_ptx.data == data_of(library)


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
def test_objects_with_the_c_signature_are_adapted(
    kernel: Callable[..., cd.Kernel], write: Write, compiler: str
) -> None:
    if compiler == "nvcc":
        skip_without_gcc()
    original = compiled(kernel(), compiler)
    directory = write("objects/scale_sm_90.ptx", original).parent
    found = data_of(cd.build(kernel(), ["cuda:sm_90"], objects=directory))
    assert found == data_of(cd.build(kernel(), ["cuda:sm_90"], compiler=compiler))
    assert found != original
    given = {"cuda:sm_90": directory / "scale_sm_90.ptx"}
    assert data_of(cd.build(kernel(None, objects=given), ["cuda:sm_90"])) == found


def test_a_file_of_another_declaration_is_refused(
    kernel: Callable[..., cd.Kernel], tmp_path: Path
) -> None:
    cd.build(kernel(), ["cuda:sm_90"]).write(tmp_path / "objects")
    swapped = kernel(operands=[X, PAIR, COUNT, Y])
    with pytest.raises(PtxError) as caught:
        cd.build(swapped, ["cuda:sm_90"], objects=tmp_path / "objects")
    assert caught.value.found == (
        "Kernel `scale`: `scale_sm_90.ptx` was adapted to IREE for another declaration."
    )


def test_irees_own_signature_keeps_its_object(
    kernel: Callable[..., cd.Kernel], declare: Declare, write: Write
) -> None:
    native = declare(source=write("native.cu", SCALE))
    assert data_of(cd.build(native, ["cuda:sm_90"])) == compiled(native).rstrip(b"\0")


@pytest.mark.parametrize("image", ["cubin", "fatbin"])
@pytest.mark.parametrize("entry", ["scale", "ns::scale<double>"])
def test_machine_code_that_was_written_is_found_again(
    kernel: Callable[..., cd.Kernel], tmp_path: Path, image: str, entry: str
) -> None:
    source = SOURCE
    if entry != "scale":
        struct, function = SOURCE.replace('extern "C"', "template <class T>").split("\n", 1)
        source = f"{struct}\nnamespace ns {{\n{function}}}\n"
    targets = ["cuda:sm_90", "cuda:sm_80"]
    built = cd.build(kernel(source, entry=entry), targets, image=image)
    paths = built.write(tmp_path / "objects")
    again = cd.build(kernel(source, entry=entry), targets, objects=tmp_path / "objects")
    assert {item.data for item in again.objects} == {item.data for item in built.objects}
    assert {item.kind for item in again.objects} == {image}
    for path, item in zip(paths, built.objects, strict=True):
        content = path.read_bytes()
        assert content.startswith(item.data)
        note = (
            f"// custom-dispatch: {item.symbol(entry)} takes {item.symbol(entry)}_iree_binding_3 "
        )
        assert note.encode() in content[len(item.data) :]
    # Written once more it is the same file.
    written = {path.read_bytes() for path in again.write(tmp_path / "more")}
    assert written == {path.read_bytes() for path in paths}
    swapped = kernel(source, entry=entry, operands=[X, PAIR, COUNT, Y])
    with pytest.raises(PtxError, match="was adapted to IREE for another declaration"):
        cd.build(swapped, targets, objects=tmp_path / "objects")


def test_remarks_that_belong_to_other_machine_code_are_refused(
    kernel: Callable[..., cd.Kernel], tmp_path: Path
) -> None:
    (path,) = cd.build(kernel(), ["cuda:sm_90"], image="cubin").write(tmp_path / "objects")
    remarks = path.read_bytes().partition(b"\n// custom-dispatch: ")
    plain = assemble(compiled(kernel()), Arch.parse("sm_90")).cubin
    path.write_bytes(plain + remarks[1] + remarks[2])
    with pytest.raises(PtxError) as caught:
        cd.build(kernel(), ["cuda:sm_90"], objects=tmp_path / "objects")
    assert str(caught.value) == (
        "Kernel `scale`: `scale_sm_90.cubin` has parameters of 8, 16, 8, 8 bytes, and remarks "
        "behind it that tell of others.\n"
        "  expected: parameters of 8, 8, 4, 4, 4, 4, 4, 4 bytes, as IREE passes them\n"
        "  next step: build it again from the source."
    )


def test_irees_own_signature_has_no_remarks(declare: Declare, write: Write, tmp_path: Path) -> None:
    built = cd.build(declare(source=write("native.cu", SCALE)), ["cuda:sm_90"], image="cubin")
    (path,) = built.write(tmp_path)
    assert path.read_bytes() == data_of(built)


@pytest.mark.parametrize("kind", ["cubin", "fatbin"])
def test_machine_code_with_the_c_signature_cannot_be_adapted(
    kernel: Callable[..., cd.Kernel], write: Write, kind: str
) -> None:
    arch = Arch.parse("sm_90")
    cubin = assemble(compiled(kernel()), arch).cubin
    image = cubin if kind == "cubin" else make_fatbin([(arch, cubin)])
    path = write(f"scale.{kind}", image)
    with pytest.raises(PtxError) as caught:
        cd.build(kernel(None, objects={"cuda:sm_90": path}), ["cuda:sm_90"])
    assert caught.value.found == (
        f"Kernel `scale`: `scale.{kind}` is a {kind}, and the C signature has another form than "
        "IREE's calls."
    )
    assert caught.value.expected.startswith("PTX, which can be adapted")
    assert "nvcc -ptx" in caught.value.next_step


@pytest.mark.parametrize(
    ("operands", "found", "expected"),
    [
        ([PAIR, Y, COUNT, X], "parameter 0", "a struct of 16 bytes"),
        ([Y, cd.Struct("pair", a="f32"), COUNT, X], "is .b8[16], 16 bytes", "a struct of 4 bytes"),
        (
            [Y, cd.Struct("pair", a=("f32", 4)), COUNT, X],
            "is aligned to 8 bytes, where the struct `pair` is declared",
            "an alignment of 4 bytes",
        ),
        ([Y, PAIR, cd.Scalar("count", "f64"), X], "is .u64, where", "a scalar f64"),
        ([Y, PAIR, cd.Struct("count", a="i64"), X], "is .u64, where", "a struct"),
        ([Y, PAIR, X], "takes 4 parameters", "3, as declared: y, pair, x"),
    ],
)
def test_the_c_signature_is_compared_with_the_declaration(
    kernel: Callable[..., cd.Kernel], operands: list[Any], found: str, expected: str
) -> None:
    with pytest.raises(PtxError) as caught:
        cd.build(kernel(operands=operands), ["cuda:sm_90"])
    assert found in caught.value.found
    assert expected in caught.value.expected


def test_a_pointer_is_no_64_bit_scalar(kernel: Callable[..., cd.Kernel]) -> None:
    # Compilers mark pointers for sm_100 and later.
    operands = [Y, PAIR, COUNT, cd.Scalar("x", "u64"), cd.In("like", "f32", [n])]
    source = SOURCE.replace("const float* x)", "const float* x, const float* like)")
    with pytest.raises(PtxError) as caught:
        cd.build(kernel(source, operands=operands), ["cuda:sm_100"])
    assert "where operand `x` is declared" in caught.value.found
    assert caught.value.expected == "a scalar u64"


def test_a_struct_of_a_larger_alignment_says_how_to_declare_it(
    kernel: Callable[..., cd.Kernel],
) -> None:
    source = SOURCE.replace("Pair pair", "float4 pair").replace("pair.factor", "pair.x")
    source = source.replace("pair.shift", "pair.y")
    fields = {"x": "f32", "y": "f32", "z": "f32", "w": "f32"}
    operands = [Y, cd.Struct("pair", **fields), COUNT, X]
    with pytest.raises(PtxError) as caught:
        cd.build(kernel(source, operands=operands), ["cuda:sm_90"])
    assert 'cd.Struct("pair", 16, ...)' in caught.value.next_step
    operands[1] = cd.Struct("pair", 16, **fields)
    assert data_of(cd.build(kernel(source, operands=operands), ["cuda:sm_90"]))

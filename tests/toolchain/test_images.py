"""PTX, cubins and fatbins from one source; older PTX versions; what runs where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_sources import SCALE, Write

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.ir.executable import embedded
from custom_dispatch.ir.library_module import write_library_module
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.images import describe_image, fatbin_parts
from custom_dispatch.toolchain.ptxas import assemble

Declare = Callable[..., cd.Kernel]
TARGETS = ["cuda:sm_80", "cuda:sm_90", "cuda:sm_90a", "cpu"]


@pytest.fixture
def kernel(declare: Declare, write: Write) -> cd.Kernel:
    return declare(source=write("scale.cu"))


def conditions(library: Any) -> list[str]:
    """Every variant's condition, as IR."""
    text = write_library_module(library, embedded, "executable")
    parts = text.split("hal.executable.condition(")[1:]
    return [part.partition("hal.return")[0] for part in parts]


def test_machine_code_for_each_target(kernel: cd.Kernel, tmp_path: Path) -> None:
    library = cd.build(kernel, TARGETS, image="cubin")
    files = [path.name for path in library.write(tmp_path)]
    assert files == ["scale_sm_90a.cubin", "scale_sm_90.cubin", "scale_sm_80.cubin"]
    for item in library.objects:
        assert describe_image(item.data).archs == (item.target.arch,)
        assert item.ptx is not None
        assert assemble(item.ptx.data, item.target.cuda_arch).cubin == item.data
        assert item.resources
    (unit,) = library.units
    assert unit.cpu_ptx is not None
    assert (unit.cpu_ptx.kind, str(unit.cpu_ptx.target)) == ("ptx", "cuda:sm_80")
    assert library.report() == cd.build(kernel, TARGETS).report()
    specific, hopper, ampere = conditions(library)
    assert specific.count("cmpi") == 1
    assert "slt" in hopper  # nothing from 10.0 on
    assert "slt" in ampere
    assert "constant 87 " in ampere.replace("_i32", "")  # an embedded GPU has code of its own


def test_one_object_for_all_targets(kernel: cd.Kernel, tmp_path: Path) -> None:
    library = cd.build(kernel, TARGETS, image="fatbin")
    (item,) = library.objects
    assert [path.name for path in library.write(tmp_path)] == ["scale_sm_80.fatbin"]
    assert set(describe_image(item.data).members) == {
        (kind, Arch.parse(arch))
        for kind in ("ptx", "cubin")
        for arch in ("sm_80", "sm_90", "sm_90a")
    }
    assert library.units[0].cpu_ptx is not None
    assert library.report() == cd.build(kernel, TARGETS).report()
    (condition,) = conditions(library)
    assert condition.count("cmpi") == 3
    given = cd.build(kernel, ["cuda:sm_80", "cuda:sm_90"], objects=tmp_path)
    assert [found.data for found in given.objects] == [item.data] * 2


def test_a_fatbin_of_single_chips_runs_on_each_of_them(kernel: cd.Kernel) -> None:
    library = cd.build(kernel, ["cuda:sm_90a", "cuda:sm_100a"], image="fatbin")
    (condition,) = conditions(library)
    assert condition.count("cmpi eq") == 2


@pytest.mark.parametrize("image", ["cubin", "fatbin"])
def test_every_image_runs_on_the_cpu_and_says_what_it_is_for(kernel: cd.Kernel, image: str) -> None:
    module = cd.compile(None, kernel, ["cuda:sm_80", "cuda:sm_90", "cpu"], image=image)
    program = cd.load(module.bytes, "cpu")
    x = np.arange(100, dtype=np.float32)
    assert np.array_equal(program.scale(x, 2.0), 2 * x)
    manifest = program.manifest
    assert manifest is not None
    best = [manifest.best_for(capability) for capability in (75, 80, 86, 87, 90, 100)]
    if image == "fatbin":
        assert [str(target) for target in best] == [
            "None", "cuda:sm_80", "cuda:sm_80", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90",
        ]  # fmt: skip
    else:
        assert [str(target) for target in best] == [
            "None", "cuda:sm_80", "cuda:sm_80", "None", "cuda:sm_90", "None",
        ]  # fmt: skip


@pytest.mark.parametrize("image", ["cubin", "fatbin"])
def test_any_signature_and_name_in_any_image(declare: Declare, write: Write, image: str) -> None:
    source = SCALE.replace('extern "C"', "template <class T>").replace("float", "T")
    kernel = declare(
        source=write("scale.cu", source.replace("int count", "long long count")),
        entry="scale<double>",
        operands=[
            cd.In("x", "f64", [cd.dim("n")]),
            cd.Out("y", "f64", [cd.dim("n")]),
            cd.Scalar("factor", "f64"),
            cd.Scalar("count", "i64", cd.dim("n")),
        ],
    )
    program = cd.load(cd.compile(None, kernel, ["cuda:sm_90", "cpu"], image=image).bytes, "cpu")
    x = np.arange(100.0)
    assert np.array_equal(program.scale(x, 3.0), 3 * x)


def test_given_objects_become_what_is_asked_for_where_they_can(
    declare: Declare, kernel: cd.Kernel, tmp_path: Path
) -> None:
    cd.build(kernel, ["cuda:sm_80", "cuda:sm_90"]).write(tmp_path)
    from_ptx = cd.build(kernel, ["cuda:sm_80", "cuda:sm_90"], objects=tmp_path, image="cubin")
    assert [item.kind for item in from_ptx.objects] == ["cubin", "cubin"]
    cd.build(kernel, ["cuda:sm_90"], image="cubin").write(tmp_path / "code")
    code = declare(source=None, objects={"cuda:sm_90": tmp_path / "code" / "scale_sm_90.cubin"})
    for image, kind in (("ptx", "cubin"), ("cubin", "cubin"), ("fatbin", "fatbin")):
        (item,) = cd.build(code, ["cuda:sm_90"], image=image).objects
        assert item.kind == kind
    cd.build(kernel, ["cuda:sm_90"], image="fatbin").write(tmp_path / "fat")
    fat = declare(source=None, objects={"cuda:sm_90": tmp_path / "fat" / "scale_sm_90.fatbin"})
    with pytest.raises(PtxError, match="The image for sm_90 is itself a fatbin"):
        cd.build(fat, ["cuda:sm_90"], image="fatbin")


@pytest.mark.parametrize("image", ["ptx", "cubin", "fatbin"])
@pytest.mark.parametrize("version", ["8.0", "7.8", "9.0"])
def test_an_older_ptx_version_is_stated_where_ptxas_agrees(
    kernel: cd.Kernel, version: str, image: str
) -> None:
    library = cd.build(kernel, ["cuda:sm_80", "cuda:sm_90"], ptx_version=version, image=image)
    for whole in library.objects:
        for item in whole.parts if image == "fatbin" else (whole,):
            assert item.ptx is not None
            assert f".version {version}\n".encode() in item.ptx.data
    with_cpu = cd.build(kernel, ["cuda:sm_80", "cpu"], ptx_version=version)
    assert with_cpu.units[0].cpu_ptx is not None


def test_a_version_that_is_too_old_says_what_ptxas_does(kernel: cd.Kernel) -> None:
    with pytest.raises(PtxError) as caught:
        cd.build(kernel, ["cuda:sm_100"], ptx_version="8.0")
    assert caught.value.found == (
        'Kernel `scale`: `scale.cu`: The PTX does not assemble for sm_100 as ptx_version="8.0".'
    )
    assert caught.value.expected == "a version that has every instruction and the architecture"
    assert caught.value.next_step == "raise ptx_version, or leave it out; ptxas says:"
    assert "sm_100" in caught.value.log


def test_a_version_above_the_compilers_is_refused(kernel: cd.Kernel) -> None:
    with pytest.raises(PtxError) as caught:
        cd.build(kernel, ["cuda:sm_80"], ptx_version="9.9")
    assert caught.value.found.endswith('The PTX is of version 9.0, below ptx_version="9.9".')
    assert "lower ptx_version" in caught.value.next_step


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"image": "elf"}, "image is given as 'elf'."),
        ({"image": None}, "image is given as None."),
        ({"ptx_version": 8.0}, "ptx_version is given as 8.0."),
        ({"ptx_version": "8"}, "ptx_version is given as '8'."),
        ({"ptx_version": "8.0\n"}, r"ptx_version is given as '8.0\n'."),
    ],
)
def test_other_images_and_versions_are_refused(
    kernel: cd.Kernel, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.build(kernel, ["cuda:sm_80"], **options)
    assert caught.value.found == said
    assert caught.value.next_step


def test_the_parts_of_a_given_fatbin_are_checked(
    declare: Declare, kernel: cd.Kernel, tmp_path: Path
) -> None:
    library = cd.build(kernel, ["cuda:sm_80", "cuda:sm_90"], image="fatbin")
    (path,) = library.write(tmp_path)
    assert [(kind, str(arch)) for kind, arch, _ in fatbin_parts(path.read_bytes())] == [
        ("cubin", "sm_90"), ("ptx", "sm_90"), ("cubin", "sm_80"), ("ptx", "sm_80"),
    ]  # fmt: skip
    given = {"cuda:sm_80": path}
    with pytest.raises(PtxError, match=r"`scale_sm_80.fatbin` has no entry `other`"):
        cd.build(declare("other", source=None, objects=given), ["cuda:sm_80"])
    n = cd.dim("n")
    fewer = declare(
        source=None, objects=given, operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])]
    )
    with pytest.raises(PtxError, match="takes 4 parameters"):
        cd.build(fewer, ["cuda:sm_80"])
    data = bytearray(path.read_bytes())
    data[data.index(b".version")] = ord("x")  # as if compressed: nothing to be read
    path.write_bytes(data)
    assert len(fatbin_parts(bytes(data))) == 3

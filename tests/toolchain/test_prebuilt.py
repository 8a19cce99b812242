"""Objects built elsewhere: found by their names, known by their bytes, checked like any other."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_sources import SCALE, Write

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.ptxas import assemble

Declare = Callable[..., cd.Kernel]
ScalePtx = Callable[[str], bytes]


@pytest.fixture
def cubin(scale_ptx: ScalePtx) -> Callable[[str], bytes]:
    return lambda arch: assemble(scale_ptx(arch), Arch.parse(arch)).cubin


@pytest.fixture
def directory(write: Write, scale_ptx: ScalePtx, tmp_path: Path) -> Path:
    """As CMake writes it: two architectures, and files that are none of ours."""
    write("objects/scale_sm_80.ptx", scale_ptx("sm_80"))
    write("objects/scale_sm_90a.ptx", scale_ptx("sm_90a"))
    for name in ("scale_sm_99x.ptx", "other_scale_sm_86.ptx", "scale.ptx", "scale_sm_86.txt"):
        write(f"objects/{name}", "not an object")
    return tmp_path / "objects"


def kinds(library: cd.Library) -> dict[str, str]:
    return {str(item.target): item.kind for item in library.objects}


def test_a_directory_gives_objects_by_name_and_nothing_is_compiled(
    declare: Declare, directory: Path
) -> None:
    kernel = declare(source="no/such/scale.cu")
    library = cd.build(kernel, ["cuda:sm_80", "cuda:sm_90a", "cpu"], objects=directory)
    assert kinds(library) == {"cuda:sm_90a": "ptx", "cuda:sm_80": "ptx"}
    assert [Path(item.origin).name for item in library.objects] == [
        "scale_sm_90a.ptx", "scale_sm_80.ptx",
    ]  # fmt: skip


def test_the_kind_that_is_asked_for_is_taken_where_there_are_several(
    declare: Declare, directory: Path
) -> None:
    cubin = cd.build(declare(), "cuda:sm_80", objects=directory, image="cubin")
    cubin.write(directory)
    for image, targets, taken in (
        ("cubin", ["cuda:sm_80"], "scale_sm_80.cubin"),
        ("cubin", ["cuda:sm_80", "cpu"], "scale_sm_80.ptx"),
        ("ptx", ["cuda:sm_80"], "scale_sm_80.ptx"),
    ):
        library = cd.build(declare(), targets, objects=directory, image=image)
        assert [Path(item.origin).name for item in library.objects] == [taken]


def test_the_cpu_takes_plain_ptx_of_a_target_that_is_not_asked_for(
    declare: Declare, directory: Path
) -> None:
    library = cd.build(declare(), ["cuda:sm_90a", "cpu"], objects=str(directory))
    ptx = library.units[0].cpu_ptx
    assert ptx is not None
    assert str(ptx.target) == "cuda:sm_80"
    assert kinds(library) == {"cuda:sm_90a": "ptx"}


def test_a_missing_object_lists_those_there_are(declare: Declare, directory: Path) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.build(declare(), ["cuda:sm_80", "cuda:sm_86"], objects=directory)
    assert caught.value.found == (
        f"Kernel `scale`: `{directory}` holds no object of `scale` for target cuda:sm_86."
    )
    assert caught.value.expected == (
        "`scale_sm_86.ptx`; there is scale_sm_80.ptx for cuda:sm_80, scale_sm_90a.ptx for "
        "cuda:sm_90a"
    )
    with pytest.raises(DeclarationError) as caught:
        cd.build(declare(source="other.cu"), "cuda:sm_80", objects=directory)
    assert caught.value.expected == "`other_sm_80.ptx`; there is none of this name"


def test_a_directory_without_plain_ptx_has_nothing_for_the_cpu(
    declare: Declare, directory: Path
) -> None:
    (directory / "scale_sm_80.ptx").unlink()
    with pytest.raises(DeclarationError) as caught:
        cd.build(declare(), ["cuda:sm_90a", "cpu"], objects=directory)
    assert caught.value.found == (
        f"Kernel `scale`: `{directory}` holds no PTX of `scale` for the target cpu."
    )
    assert "`scale_sm_80.ptx`" in caught.value.expected
    assert caught.value.next_step == (
        'add it, or name the targets that there are: targets=["cuda:sm_90a"] '
        "(--target cuda:sm_90a)."
    )


def named(error: cd.CustomDispatchError) -> list[str]:
    """The targets that a next step names."""
    return re.findall(r'"([^"]+)"', error.next_step.partition("targets=[")[2].partition("]")[0])


def test_with_targets_left_out_the_next_step_names_those_that_there_are(
    declare: Declare, directory: Path
) -> None:
    (directory / "scale_sm_90a.ptx").unlink()
    own = declare(source=None, objects={"cuda:sm_80": directory / "scale_sm_80.ptx"})
    for kernel, options in ((declare(), {"objects": directory}), (own, {})):
        with pytest.raises(DeclarationError) as caught:
            cd.build(kernel, **options)
        assert caught.value.next_step == (
            'add that object, or name the targets that there are: targets=["cuda:sm_80", "cpu"] '
            "(--target cuda:sm_80,cpu)."
        )
        built = cd.build(kernel, named(caught.value), **options)
        assert list(map(str, built.targets)) == ["cuda:sm_80", "cpu"]


def test_the_form_source_and_fatbins_name_targets_that_they_can_hold(
    declare: Declare, write: Write, tmp_path: Path
) -> None:
    source = write("scale.cu", SCALE)
    output = tmp_path / "kernel.mlir"
    plain = declare(source=source)
    special = declare(
        source=source, implementations={"cuda:sm_90a": cd.Implementation(block=64, grid=1)}
    )
    for attempt in (
        lambda *targets: cd.emit(plain, *targets, output=output, form="source"),
        lambda *targets: cd.emit(special, *targets, output=output, form="source"),
        lambda *targets: cd.build(special, *targets, image="fatbin"),
    ):
        with pytest.raises(DeclarationError) as caught:
            attempt()
        assert named(caught.value) == ["cuda:sm_80"]
        attempt(named(caught.value))


def test_a_directory_that_is_none_is_refused(declare: Declare, directory: Path) -> None:
    for path, said in (
        (directory / "missing", "does not exist"),
        (directory / "scale_sm_80.ptx", "is a file"),
    ):
        with pytest.raises(DeclarationError) as caught:
            cd.build(declare(), "cuda:sm_80", objects=path)
        assert caught.value.found == f"The objects' directory `{path}` {said}."
        assert "cmake --build" in caught.value.next_step


def test_an_object_of_a_directory_is_checked_too(
    declare: Declare, directory: Path, scale_ptx: ScalePtx
) -> None:
    (directory / "scale_sm_80.ptx").write_bytes(scale_ptx("sm_90"))
    with pytest.raises(PtxError, match="is PTX for sm_90, but is given for sm_80"):
        cd.build(declare(), "cuda:sm_80", objects=directory)
    (directory / "scale_sm_80.ptx").write_text("not an object")
    with pytest.raises(PtxError) as caught:
        cd.build(declare(), "cuda:sm_80", objects=directory)
    assert f"`{directory / 'scale_sm_80.ptx'}`" in caught.value.found


def test_ptx_comes_before_a_cubin_of_the_same_target(
    declare: Declare, directory: Path, cubin: Callable[[str], bytes]
) -> None:
    (directory / "scale_sm_80.cubin").write_bytes(cubin("sm_80"))
    (directory / "scale_sm_86.cubin").write_bytes(cubin("sm_86"))
    library = cd.build(declare(), ["cuda:sm_80", "cuda:sm_86", "cpu"], objects=directory)
    assert kinds(library) == {"cuda:sm_86": "cubin", "cuda:sm_80": "ptx"}


def test_an_object_is_known_by_its_bytes_and_not_by_its_name(
    declare: Declare, directory: Path, cubin: Callable[[str], bytes]
) -> None:
    (directory / "scale_sm_80.ptx").write_bytes(cubin("sm_80"))
    assert kinds(cd.build(declare(), "cuda:sm_80", objects=directory)) == {"cuda:sm_80": "cubin"}
    with pytest.raises(DeclarationError, match="holds no PTX of `scale` for the target cpu"):
        cd.build(declare(), ["cuda:sm_80", "cpu"], objects=directory)


def test_the_cpu_takes_a_kernels_own_ptx_beside_a_cubin(
    declare: Declare, write: Write, scale_ptx: ScalePtx, cubin: Callable[[str], bytes]
) -> None:
    objects = {
        "cuda:sm_80": write("old.bin", cubin("sm_80")),
        "cuda:sm_90": write("new.bin", scale_ptx("sm_90") + b"\0"),
        "cuda:sm_90a": write("hopper.bin", scale_ptx("sm_90a")),
    }
    kernel = declare(source=None, objects=objects)
    for targets in (["cuda:sm_80", "cpu"], ["cuda:sm_90a", "cuda:sm_90", "cpu"], ["cpu"]):
        ptx = cd.build(kernel, targets).units[0].cpu_ptx
        assert ptx is not None
        assert str(ptx.target) == "cuda:sm_90"
        assert not ptx.data.endswith(b"\0")


def test_a_kernel_that_declares_no_object_for_a_target_is_refused(
    declare: Declare, write: Write, cubin: Callable[[str], bytes]
) -> None:
    kernel = declare(source=None, objects={"cuda:sm_80": write("s.cubin", cubin("sm_80"))})
    with pytest.raises(DeclarationError) as caught:
        cd.build(kernel, ["cuda:sm_80", "cuda:sm_90"])
    assert caught.value.found == "Kernel `scale` declares no object for target cuda:sm_90."
    assert caught.value.expected == ('objects={"cuda:sm_90": ...}; there is s.cubin for cuda:sm_80')
    with pytest.raises(DeclarationError, match="Kernel `scale` declares no PTX for the target cpu"):
        cd.build(kernel, ["cuda:sm_80", "cpu"])


def test_a_kernels_own_objects_are_used_beside_a_directory(
    declare: Declare, directory: Path, write: Write, scale_ptx: ScalePtx
) -> None:
    mine = write("mine.ptx", scale_ptx("sm_80"))
    own = declare("own", entry="scale", source=None, objects={"cuda:sm_80": mine})
    library = cd.build([declare(), own], "cuda:sm_80", objects=directory)
    assert {item.name: Path(item.origin).name for item in library.objects} == {
        "scale": "scale_sm_80.ptx",
        "own": "mine.ptx",
    }


def test_what_a_build_writes_the_next_one_finds(
    declare: Declare, write: Write, tmp_path: Path
) -> None:
    kernels = [
        declare(source=write("one/k-1.cu")),
        declare(
            "negative", entry="scale", source=write("two/k-1.cu", SCALE.replace("= f", "= -f"))
        ),
        declare("fast", entry="scale", source=tmp_path / "one/k-1.cu", options=["-ftz=true"]),
        declare("large", source=write("my kernel.cu"), entry="scale", block=128),
    ]
    targets = ["cuda:sm_80", "cuda:sm_90", "cpu"]
    built = cd.build(kernels, targets)
    built.write(tmp_path / "out")
    shutil.rmtree(tmp_path / "one")
    shutil.rmtree(tmp_path / "two")
    again = cd.build(kernels[::-1], targets, objects=tmp_path / "out")
    data = {(unit.kernels, item.target): item.data for unit in built.units for item in unit.objects}
    assert data == {
        (unit.kernels, item.target): item.data for unit in again.units for item in unit.objects
    }

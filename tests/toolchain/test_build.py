"""Building: sources and targets in, checked objects out, on a machine without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cuda_sources import SCALE, Write

import custom_dispatch as cd
from custom_dispatch.errors import (
    DeclarationError,
    OutputError,
    PtxError,
    SourceError,
    ToolNotFoundError,
)
from custom_dispatch.toolchain import compiler as compilers
from custom_dispatch.toolchain.choose_compiler import find_compiler

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")
TWICE = SCALE + SCALE.replace("scale", "again")
HOPPER = SCALE.replace(
    "int i =", '#ifndef __CUDA_ARCH_FEAT_SM90_ALL\n#error "for Hopper"\n#endif\n  int i ='
)


@pytest.fixture
def source(write: Write) -> Path:
    return write("scale.cu")


def names(library: cd.Library) -> list[str]:
    return [item.file_name for item in library.objects]


def test_every_target_gets_its_object_the_best_first(declare: Declare, source: Path) -> None:
    targets = ["cpu", "cuda:sm_80", "cuda:sm_90a", "cuda:sm_90", "cuda:sm_80"]
    library = cd.build(declare(source=source), targets)
    assert [str(target) for target in library.targets] == [
        "cuda:sm_90a", "cuda:sm_90", "cuda:sm_80", "cpu",
    ]  # fmt: skip
    assert names(library) == ["scale_sm_90a.ptx", "scale_sm_90.ptx", "scale_sm_80.ptx"]
    assert str(library.cpu_target) == "cpu"
    (unit,) = library.units
    assert unit.cpu_ptx is not None
    assert str(unit.cpu_ptx.target) == "cuda:sm_80"
    for item in library.objects:
        assert f".target {item.target.symbol}".encode() in item.data
        assert item.origin.startswith("NVRTC 13.0")
        assert item.resources[0].registers > 0


def test_many_architectures_are_built_at_once(declare: Declare, source: Path) -> None:
    archs = ("75", "80", "86", "89", "90", "90a", "100", "100a", "103", "120", "121a")
    targets = [f"cuda:sm_{arch}" for arch in archs]
    for jobs in (None, 1, 100):
        library = cd.build(declare(source=source), targets, jobs=jobs)
        assert len(names(library)) == len(set(names(library))) == len(archs)


@pytest.mark.parametrize("targets", ["cpu", ["cpu:host"], ("cuda:sm_90a", "cpu")])
def test_the_cpu_gets_the_ptx_of_a_plain_architecture(
    declare: Declare, source: Path, targets: Any
) -> None:
    library = cd.build(declare(source=source), targets)
    ptx = library.units[0].cpu_ptx
    assert ptx is not None
    assert ptx.file_name == "scale_sm_80.ptx"
    assert len(names(library)) == len(library.cuda_targets)


def test_a_source_for_one_chip_says_that_the_cpu_cannot_have_it(
    declare: Declare, write: Write
) -> None:
    kernel = declare(source=write("hopper.cu", HOPPER))
    assert names(cd.build(kernel, "cuda:sm_90a")) == ["hopper_sm_90a.ptx"]
    with pytest.raises(SourceError) as caught:
        cd.build(kernel, ["cuda:sm_90a", "cpu"])
    assert "does not compile for sm_80" in caught.value.found
    assert "whose PTX the target cpu runs" in caught.value.found
    assert "a plain CUDA target besides cpu that has it, such as cuda:sm_90" in str(caught.value)
    assert caught.value.next_step == "correct the source where the compiler's message points:"
    assert "for Hopper" in caught.value.log


def test_next_steps_are_the_same_for_the_cpu(declare: Declare, write: Write) -> None:
    header = declare(source=write("header.cu", "#include <absent.h>\n" + HOPPER))
    name = declare(source=write("name.cu", SCALE), entry="absent<1>")
    for kernel, said in ((header, "give its directory: include_dirs="), (name, "correct entry=")):
        errors = []
        for target in ("cuda:sm_80", "cpu"):
            with pytest.raises(SourceError) as caught:
                cd.build(kernel, target)
            errors.append(str(caught.value))
        assert said in errors[0]
        assert errors[0] == errors[1]


def count_compilations(monkeypatch: pytest.MonkeyPatch) -> list[compilers.CompileRequest]:
    real = find_compiler()
    seen: list[compilers.CompileRequest] = []

    class Counting:
        name, version = real.name, real.version

        begin, end = real.begin, real.end

        def compile(self, request: compilers.CompileRequest) -> compilers.CompiledPtx:
            seen.append(request)
            return real.compile(request)

    monkeypatch.setattr(
        "custom_dispatch.toolchain.object_sources.find_compiler", lambda _: Counting()
    )
    return seen


def test_kernels_of_one_source_are_compiled_once(
    declare: Declare, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = count_compilations(monkeypatch)
    source = write("both.cu", TWICE)
    kernels = [declare(source=source), declare("again", source=source)]
    library = cd.build([*kernels, kernels[0]], ["cuda:sm_80", "cpu"], store=False)
    assert names(library) == ["both_sm_80.ptx"]
    assert library.kernels == tuple(kernels)
    assert len(seen) == 1


def test_kernels_that_differ_in_options_or_block_get_objects_of_their_own(
    declare: Declare, source: Path
) -> None:
    fast = declare("fast", source=source, entry="scale", options=["-use_fast_math"])
    large = declare("large", source=source, entry="scale", block=256)
    kernels = [fast, declare(source=source), large]
    library = cd.build(kernels, "cuda:sm_80")
    found = {unit.kernels[0].name: unit.name for unit in library.units}
    assert found == {"fast": "scale_fast", "scale": "scale_scale", "large": "scale_large"}
    # The order does not matter: objects that were written are found again under their names.
    again = cd.build(kernels[::-1], "cuda:sm_80")
    assert {unit.kernels[0].name: unit.name for unit in again.units} == found


def test_sources_of_one_name_get_distinct_names(declare: Declare, write: Write) -> None:
    kernels = [
        declare(source=write("one/k.cu")),
        declare("again", source=write("two/k.cu", TWICE)),
        declare("third", entry="scale", source=write("k_again.cu")),
        declare("fourth", entry="scale", source=write("k again.cu")),
    ]
    library = cd.build(kernels, "cuda:sm_80")
    assert len(set(names(library))) == 4
    assert names(library)[:2] == ["k_scale_sm_80.ptx", "k_again_sm_80.ptx"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my-kernel v2.cu", "my_kernel_v2"),
        ("2d.cu", "2d"),
        ("ядро.cu", "____"),
        ('a"b\n{c}.cu', "a_b__c_"),
        ("-O3.cu", "_O3"),
        (".cu", "_cu"),
        ("k" * 240 + ".cu", "k" * 200),
        ("noend", "noend"),
    ],
)
def test_a_source_of_any_name_is_built(
    declare: Declare, write: Write, tmp_path: Path, file: str, name: str
) -> None:
    library = cd.build(declare(source=write(file)), "cuda:sm_80")
    assert library.units[0].name == name
    (path,) = library.write(tmp_path / "out")
    assert path.name == f"{name}_sm_80.ptx"
    assert cd.build(library.kernels, "cuda:sm_80", objects=tmp_path / "out").units


@pytest.mark.parametrize(
    ("changed", "said", "expected"),
    [
        (
            SCALE.replace("float *out, float factor", "float factor, float *out"),
            "parameter 1 in `scale.cu` is .f32, 4 bytes, where operand `y` is declared",
            "a pointer of 8 bytes",
        ),
        (
            SCALE.replace("float factor", "double factor"),
            "parameter 2 in `scale.cu` is .f64, 8 bytes, where operand `factor` is declared",
            "a scalar f32 of 4 bytes",
        ),
        (
            SCALE.replace("float factor, int count", "int count, float factor"),
            "parameter 2 in `scale.cu` is .u32, where operand `factor` is declared",
            "a scalar f32",
        ),
        (
            SCALE.replace("int count", "long long count"),
            "parameter 3 in `scale.cu` is .u64, 8 bytes, where operand `count` is declared",
            "a scalar i32 of 4 bytes",
        ),
        (
            SCALE.replace("int count", "int count, int more"),
            "its entry in `scale.cu` takes 5 parameters",
            "4, as declared: x, y, factor, count",
        ),
        (
            SCALE.replace(" scale(", " scale2("),
            "`scale.cu` has no entry `scale`",
            "one of the entries it has: scale2",
        ),
        (
            SCALE.replace("__global__ void", "__global__ void __launch_bounds__(32)"),
            "block (64, 1, 1) has 64 threads, but `scale.cu` was compiled for at most 32",
            "a block of at most 32 threads",
        ),
    ],
)  # fmt: skip
def test_a_source_that_is_not_as_declared_is_refused(
    declare: Declare, write: Write, changed: str, said: str, expected: str
) -> None:
    assert changed != SCALE
    with pytest.raises(PtxError) as caught:
        cd.build(declare(source=write("scale.cu", changed)), ["cuda:sm_80"])
    assert caught.value.found.startswith(f"Kernel `scale`: {said}")
    assert caught.value.expected == expected
    assert caught.value.next_step


def test_a_long_long_in_a_pointers_place_is_seen_where_ptx_marks_pointers(
    declare: Declare, write: Write
) -> None:
    number = SCALE.replace("float *out", "long long out").replace("out[i]", "((float *)out)[i]")
    kernel = declare(source=write("scale.cu", number))
    with pytest.raises(PtxError) as caught:
        cd.build(kernel, "cuda:sm_100")
    assert "parameter 1 in `scale.cu` is .u64, where operand `y` is declared" in caught.value.found


@pytest.mark.parametrize("name", ["missing.cu", "directory.cu", "broken.cu", "binary.cu"])
def test_a_source_that_cannot_be_compiled_is_a_sentence(
    declare: Declare, write: Write, tmp_path: Path, name: str
) -> None:
    (tmp_path / "directory.cu").mkdir()
    write("broken.cu", SCALE.replace("factor *", "factr *"))
    write("binary.cu", b"\x7fELF\xff\xfe\0")
    with pytest.raises(SourceError) as caught:
        cd.build(declare(source=tmp_path / name), "cuda:sm_80")
    assert name in caught.value.found
    assert caught.value.next_step
    assert ('"factr" is undefined' in caught.value.log) == (name == "broken.cu")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kernels": []}, "No kernel is given."),
        ({"kernels": None}, "None is not a kernel."),
        ({"kernels": "scale"}, "'scale' is not a kernel."),
        ({"kernels": 5}, "5 is not a kernel."),
        ({"kernels": [os]}, "is not a kernel."),
        ({"kernels": {"scale": 1}}, "'scale' is not a kernel."),
        ({"targets": []}, "No target is given."),
        ({"targets": 90}, "targets is given as 90."),
        ({"targets": b"cpu"}, "targets is given as b'cpu'."),
        ({"targets": [90]}, "A target is given as 90."),
        ({"targets": ["cuda:sm_1"]}, "'sm_1' is not a CUDA architecture."),
        ({"targets": ["cpu", "cpu:host"]}, "2 CPU targets are given: cpu, cpu:host."),
        ({"targets": ["cuda:sm_52"]}, "NVRTC 13.0 does not compile for sm_52."),
        ({"compiler": "gcc"}, "'gcc' is not a compiler."),
        ({"compiler": None}, "None is not a compiler."),
        ({"objects": 5}, "objects is given as 5."),
        ({"objects": ""}, "objects is given as ''."),
        ({"objects": {"cuda:sm_80": "a.ptx"}}, "objects is given as {'cuda:sm_80': 'a.ptx'}."),
        ({"include_dirs": "include"}, "include_dirs is given as 'include'."),
        ({"include_dirs": [5]}, "An include directory is given as 5."),
        ({"include_dirs": ["no/such"]}, "The include directory `no/such` of `scale.cu`"),
        ({"jobs": 0}, "jobs is given as 0."),
        ({"jobs": -1}, "jobs is given as -1."),
        ({"jobs": "2"}, "jobs is given as '2'."),
        ({"jobs": 1.5}, "jobs is given as 1.5."),
        ({"jobs": True}, "jobs is given as True."),
    ],
)
def test_what_is_asked_for_wrongly_is_a_sentence(
    declare: Declare, source: Path, arguments: dict[str, Any], said: str
) -> None:
    asked = {"kernels": declare(source=source), "targets": "cuda:sm_80"} | arguments
    with pytest.raises(cd.CustomDispatchError) as caught:
        cd.build(**asked)
    assert isinstance(caught.value, DeclarationError | SourceError)
    assert said in caught.value.found
    assert caught.value.next_step


def test_a_kernel_that_is_declared_anew_is_built_once(declare: Declare, source: Path) -> None:
    twice = [declare(source=source), declare(source=source)]
    assert names(cd.build(twice, "cuda:sm_80")) == ["scale_sm_80.ptx"]
    choice = cd.Choice("several", [twice[0], twice[0].with_launch(name="other")])
    assert names(cd.build([choice, twice[1]], "cuda:sm_80"))


def test_kernels_and_targets_may_be_any_iterable(declare: Declare, source: Path) -> None:
    kernel = declare(source=source)
    target = cd.Target.parse("cuda:sm_80")
    assert names(cd.build((k for k in [kernel]), (t for t in [target]))) == ["scale_sm_80.ptx"]
    assert names(cd.build({kernel}, target)) == ["scale_sm_80.ptx"]


def test_a_failing_build_leaves_nothing_behind(
    declare: Declare, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    bad = SCALE.replace("int i", 'asm("nonsense;"); int i')
    kernels = [
        declare(source=write("src/scale.cu")),
        declare("bad", entry="scale", source=write("src/bad.cu", bad)),
    ]
    monkeypatch.chdir(scratch)
    with pytest.raises(PtxError) as caught:
        cd.build(kernels, ["cuda:sm_80", "cuda:sm_90"])
    assert caught.value.found.startswith("Kernel `bad`: `bad.cu`: The PTX does not assemble")
    assert list(scratch.iterdir()) == []
    assert sorted(path.name for path in (tmp_path / "src").iterdir()) == ["bad.cu", "scale.cu"]


def test_objects_are_not_written_into_what_is_no_directory(declare: Declare, source: Path) -> None:
    library = cd.build(declare(source=source), "cuda:sm_80")
    with pytest.raises(OutputError, match="is a file"):
        library.write(source)
    for wrong in (5, None, "a\0b"):
        with pytest.raises(OutputError, match="Objects cannot be written into "):
            library.write(wrong)  # type: ignore[arg-type]


def test_no_compiler_is_needed_where_nothing_is_compiled(
    declare: Declare, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = declare(source=source)
    cd.build(kernel, "cuda:sm_80").write(tmp_path)

    def missing(_: str) -> None:
        raise ToolNotFoundError("none")

    monkeypatch.setattr("custom_dispatch.toolchain.object_sources.find_compiler", missing)
    assert cd.build(kernel, ["cuda:sm_80", "cpu"], objects=tmp_path).units
    with pytest.raises(ToolNotFoundError):
        cd.build(kernel, "cuda:sm_80")


def test_building_loads_no_iree_and_no_driver(source: Path) -> None:
    script = f"""
import sys
import custom_dispatch as cd
n = cd.dim("n")
k = cd.Kernel("scale", source={str(source)!r}, block=64, grid=cd.ceildiv(n, 64), operands=[
    cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("factor", "f32"),
    cd.Scalar("count", "i32", n)])
cd.build(k, ["cuda:sm_90", "cpu"])
loaded = {{name.partition(".")[0] for name in sys.modules}} & {{"iree", "torch", "numpy"}}
with open("/proc/self/maps") as maps:
    print(sorted(loaded), "libcuda.so" in maps.read())
"""
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "[] False\n", done.stdout + done.stderr


def test_a_missing_source_is_just_missing_whatever_the_target(
    declare: Declare, tmp_path: Path
) -> None:
    kernel = declare(source=tmp_path / "nothing.cu")
    with pytest.raises(SourceError) as caught:
        cd.build(kernel, ["cpu"])
    assert caught.value.found == f"The CUDA source `{kernel.source}` does not exist."


SPILLS = """\
extern "C" __global__ void __launch_bounds__(256, 8)
scale(const float* x, float* y, float a, int n) {
  float v[64];
  for (int i = 0; i < 64; i++) v[i] = x[i * n + threadIdx.x];
  float total = 0;
  for (int i = 0; i < 64; i++) total += v[i] * v[(i * 7 + n) & 63] * a;
  y[threadIdx.x] = total;
}
"""  # 64 values alive under a limit of 32 registers


def test_the_report_tells_what_each_kernel_takes(declare: Declare, write: Write) -> None:
    kernel = declare(source=write("spills.cu", SPILLS), dynamic_shared_memory=2048)
    library = cd.build(kernel, ["cuda:sm_90", "cuda:sm_80", "cpu"])
    hopper, ampere = library.report()
    assert (hopper.kernel, str(hopper.target), str(ampere.target)) == (
        "scale", "cuda:sm_90", "cuda:sm_80",
    )  # fmt: skip
    assert hopper.resources.registers == 32
    assert hopper.resources.spill_stores_bytes
    assert hopper.resources.constant_bytes > 24
    assert (hopper.block, hopper.dynamic_shared_bytes) == ((64, 1, 1), 2048)
    assert hopper.occupancy is not None
    assert hopper.occupancy.limited_by == "warps"
    again = cd.build(kernel, ["cuda:sm_90", "cuda:sm_80", "cpu"])  # from the store
    assert again.report() == library.report()


def test_spills_can_be_refused(declare: Declare, source: Path, write: Write) -> None:
    assert cd.build(declare(source=source), ["cuda:sm_90", "cpu"], fail_on_spill=True).units
    spilling = declare(source=write("spills.cu", SPILLS))
    for _ in range(2):  # compiled, and from the store
        with pytest.raises(PtxError) as caught:
            cd.build(spilling, ["cuda:sm_90"], fail_on_spill=True)
        assert caught.value.found.startswith(
            "Kernel `scale` spills registers for sm_90: each thread stores "
        )
        assert caught.value.found.endswith("with 32 registers.")
        assert "fail_on_spill" in caught.value.expected
        assert "__launch_bounds__(64)" in caught.value.next_step
    assert cd.build(spilling, ["cpu"], fail_on_spill=True).units  # the CPU has no registers to want


def test_a_kernel_brings_its_include_directories(declare: Declare, write: Write) -> None:
    directory = write("shared/factor.cuh", "#define FACTOR 2.0f\n").parent
    text = "#include <factor.cuh>\n" + SCALE.replace("factor *", "FACTOR *")
    source = write("scale.cu", text)
    assert cd.build(declare(source=source, include_dirs=[directory]), ["cuda:sm_80"]).units
    with pytest.raises(SourceError, match=r"includes `factor.cuh`, which was not found"):
        cd.build(declare(source=source), ["cuda:sm_80"])

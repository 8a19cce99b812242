"""Tables of choices, where what they were measured of is not here, or they cannot be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, TuningWarning
from custom_dispatch.host_cpu import host_cpu
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result
from custom_dispatch.kernel.tuning_table import TuningTable
from custom_dispatch.toolchain.tuned import digest_of, tuned

n = cd.dim("n")
SOURCE = """
extern "C" __global__ void doubled(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
"""


def choice(directory: Path, tuning: object = "doubled.tuning.json") -> cd.Choice:
    kernels = [
        cd.Kernel(
            f"by_{threads}",
            entry="doubled",
            source=directory / "doubled.cu",
            operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)],
            block=threads,
            grid=cd.ceildiv(n, threads),
        )
        for threads in (64, 128)
    ]
    path = directory / tuning if isinstance(tuning, str) else tuning
    return cd.Choice("doubled", kernels, tuning=path)  # type: ignore[arg-type]


def measured(directory: Path, *sizes: MeasuredSizes) -> Measured:
    """What was measured of the kernels as they are."""
    target = Target.parse("cuda:sm_80")
    digests = {item.name: digest_of(item, target) for item in choice(directory).kernels}
    return Measured(target, "GPU", "NVRTC", "2026-11-21", digests, sizes)


def write(directory: Path, *found: Measured) -> None:
    (directory / "doubled.tuning.json").write_text(TuningTable("doubled", found).text())


def test_a_table_holds_where_only_objects_are_here(tmp_path: Path) -> None:
    """What ships objects without sources ships its table for a reason."""
    (tmp_path / "doubled.cu").write_text(SOURCE)
    made = choice(tmp_path)
    built = cd.build(made.kernels[1], ["cuda:sm_80"])
    (written,) = built.write(tmp_path / "objects")
    written.rename(tmp_path / "objects" / "doubled_sm_80.ptx")
    (tmp_path / "doubled.cu").unlink()
    sizes = MeasuredSizes({"n": 64}, (Result("by_64", 2e-6), Result("by_128", 1e-6)))
    target = Target.parse("cuda:sm_80")
    measured = Measured(
        target, "GPU", "NVRTC", "2026-11-21", {"by_64": "0", "by_128": "0"}, (sizes,)
    )
    (tmp_path / "doubled.tuning.json").write_text(TuningTable("doubled", (measured,)).text())
    library = cd.build(made, ["cuda:sm_80"], objects=tmp_path / "objects")
    assert [kernel.name for kernel in library.kernels] == ["by_128"]


def test_tables_that_cannot_be_read_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError) as caught:
        choice(tmp_path, 3)
    assert str(caught.value) == (
        "Choice `doubled`: tuning is given as 3.\n"
        "  expected: a file's path, as text or a pathlib.Path\n"
        "  next step: name the file, relative to the one that declares the choice."
    )
    with pytest.raises(DeclarationError, match=r"The table .* cannot be read: File name too long"):
        cd.build(choice(tmp_path, "x" * 300), ["cuda:sm_80"])
    with pytest.raises(DeclarationError, match=r"The table .* is a directory"):
        cd.build(choice(tmp_path, "."), ["cuda:sm_80"])


def test_a_table_of_sizes_that_the_kernels_do_not_have_is_explained(tmp_path: Path) -> None:
    (tmp_path / "doubled.cu").write_text(SOURCE)
    sizes = MeasuredSizes({"rows": 64}, (Result("by_64", 2e-6), Result("by_128", 1e-6)))
    write(tmp_path, measured(tmp_path, sizes))
    with pytest.raises(DeclarationError) as caught:
        cd.build(choice(tmp_path), ["cuda:sm_80"])
    assert str(caught.value) == (
        "Choice `doubled`: its table `doubled.tuning.json` is for sizes `rows`, which its kernels "
        "do not have.\n"
        "  expected: sizes of n\n"
        "  next step: measure again, or remove the file: the kernels are then taken in order."
    )


def test_results_of_kernels_that_are_gone_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "doubled.cu").write_text(SOURCE)
    sizes = MeasuredSizes(
        {"n": 64}, (Result("by_32", 1e-9), Result("by_64", 2e-6), Result("by_128", 1e-6))
    )
    found = measured(tmp_path, sizes)
    write(tmp_path, replace(found, digests={**found.digests, "by_32": "0"}))
    with pytest.warns(TuningWarning) as caught:
        best = tuned(choice(tmp_path), [found.target])
    assert str(caught[0].message) == (
        f"choice `doubled`: the table `{tmp_path / 'doubled.tuning.json'}` times `by_32` for "
        "cuda:sm_80, and it has no such kernel; its kernels are by_64, by_128."
    )
    assert [item.name for item in best.taken_on([found.target]).kernels] == ["by_128"]


def test_a_table_in_which_a_kernel_is_another_now_does_not_count(tmp_path: Path) -> None:
    """Without that kernel's times, the first of the others might be one for other sizes."""
    (tmp_path / "doubled.cu").write_text(SOURCE)
    sizes = MeasuredSizes({"n": 64}, (Result("by_64", 1e-6), Result("by_128", 2e-6)))
    found = measured(tmp_path, sizes)
    write(tmp_path, replace(found, digests={**found.digests, "by_64": "0"}))
    made = choice(tmp_path)
    with pytest.warns(TuningWarning) as caught:
        assert tuned(made, [found.target]) is made
    assert str(caught[0].message) == (
        f"choice `doubled`: `by_64` changed after the table `{tmp_path / 'doubled.tuning.json'}` "
        "was measured for cuda:sm_80. So it does not count there, and kernels are taken in the "
        "declared order; `custom-dispatch tune` measures again."
    )


def test_of_several_devices_that_of_a_call_counts_alone(tmp_path: Path) -> None:
    (tmp_path / "doubled.cu").write_text(SOURCE)
    made = choice(tmp_path)
    first = measured(
        tmp_path, MeasuredSizes({"n": 64}, (Result("by_64", 1e-6), Result("by_128", 9e-6)))
    )
    other = MeasuredSizes({"n": 64}, (Result("by_64", 5e-6), Result("by_128", 4e-6)))
    write(tmp_path, first, replace(first, device="another", sizes=(other,)))
    for device, name in (
        ("GPU", "by_64"),
        ("another", "by_128"),
        ("a third", "by_64"),
        ("", "by_64"),
    ):
        found = tuned(made, [first.target], device)
        assert found.ordered({"n": 64}, first.target)[0].name == name


@pytest.mark.parametrize(
    ("of", "target"),
    [("cuda:sm_80", "cuda:sm_86"), ("cuda:sm_90", "cuda:sm_90a"), ("cuda:sm_80", "cuda:sm_120")],
)
def test_a_table_counts_on_gpus_where_nothing_was_measured_if_code_is_the_same(
    tmp_path: Path, of: str, target: str
) -> None:
    (tmp_path / "doubled.cu").write_text(SOURCE)
    made, wanted = choice(tmp_path), Target.parse(target)
    found = measured(tmp_path, MeasuredSizes({"n": 64}, (Result("by_128", 1e-6),)))
    write(tmp_path, replace(found, target=Target.parse(of)))
    assert tuned(made, [wanted]).ordered({"n": 64}, wanted)[0].name == "by_128"
    # What has room for as many blocks counts before it.
    other = (MeasuredSizes({"n": 64}, (Result("by_64", 1e-6),)),)
    near = replace(found, target=Target.parse("cuda:sm_90"), sizes=other)
    write(tmp_path, found, near)
    name = "by_64" if target == "cuda:sm_90a" else "by_128"
    assert tuned(made, [wanted]).ordered({"n": 64}, wanted)[0].name == name
    # One kernel with other code there is enough: no time is known of it.
    others = {target: cd.Implementation(block=32)}
    first = cd.Kernel(
        "by_64",
        entry="doubled",
        source=tmp_path / "doubled.cu",
        operands=made.kernels[0].operands,
        block=64,
        grid=cd.ceildiv(n, 64),
        implementations=others,
    )
    differs = cd.Choice("doubled", [first, made.kernels[1]], tuning=made.tuning)
    assert tuned(differs, [wanted]) is differs


def test_a_table_of_another_cpu_does_not_count_for_the_one_that_is_here(tmp_path: Path) -> None:
    (tmp_path / "doubled.cu").write_text(SOURCE)
    here = host_cpu()
    target = Target.parse("cpu:host")
    digests = {item.name: digest_of(item, target) for item in choice(tmp_path).kernels}
    results = (Result("by_64", 2e-6), Result("by_128", 1e-6))
    sizes = (MeasuredSizes({"n": 1000}, results),)

    def best() -> str:
        found = tuned(choice(tmp_path), [target])
        return found.ordered({"n": 1000}, target)[0].name

    # How many cores a process may use differs from run to run.
    same = str(replace(here, cores=here.cores + 1))
    write(tmp_path, Measured(target, same, "NVRTC", "2026-11-21", digests, sizes))
    assert best() == "by_128"
    write(tmp_path, Measured(target, "Another CPU, 2 cores", "NVRTC", "2026-11-21", digests, sizes))
    with pytest.warns(TuningWarning) as caught:
        assert best() == "by_64"
    (warning,) = caught
    assert str(warning.message) == (
        f"choice `doubled`: the table `{tmp_path / 'doubled.tuning.json'}` was measured for "
        f"cpu:host on Another CPU, 2 cores, and this machine's CPU is {here}. So it does not count "
        "here, and kernels are taken in the declared order; `custom-dispatch tune --device cpu` "
        "measures on this one, in the place of the other."
    )


@pytest.mark.parametrize(
    ("of", "target"),
    [("cpu:host", "cpu"), ("cpu:host", "cpu:x86-64-v3")],
)
def test_a_table_counts_for_other_names_of_the_same_cpu(
    tmp_path: Path, of: str, target: str
) -> None:
    (tmp_path / "doubled.cu").write_text(SOURCE)
    given, wanted = Target.parse(of), Target.parse(target)
    if wanted.cpu_architecture != given.cpu_architecture:
        pytest.skip("code for another CPU than that of this machine")
    digests = {item.name: digest_of(item, given) for item in choice(tmp_path).kernels}
    results = (Result("by_64", 2e-6), Result("by_128", 1e-6))
    sizes = (MeasuredSizes({"n": 1000}, results),)
    write(tmp_path, Measured(given, "A device", "NVRTC", "2026-11-21", digests, sizes))
    with pytest.warns(TuningWarning) as caught:
        library = cd.build(choice(tmp_path), [wanted])
    assert [str(item.message) for item in caught] == [
        f"choice `doubled`: nothing was measured for {target}, so what the table "
        f"`{tmp_path / 'doubled.tuning.json'}` has of {of}, on A device, counts for it."
    ]
    assert [kernel.name for kernel in library.kernels] == ["by_128"]
    # Of other code it does not, which is said.
    write(
        tmp_path,
        Measured(given, "A device", "NVRTC", "2026-11-21", dict.fromkeys(digests, "0"), sizes),
    )
    with pytest.warns(TuningWarning, match="changed after the table"):
        assert tuned(choice(tmp_path), [wanted]).ordered({"n": 1000}, wanted)[0].name == "by_64"


def test_a_table_of_cpus_does_not_count_for_another_architecture_or_for_gpus(
    tmp_path: Path,
) -> None:
    (tmp_path / "doubled.cu").write_text(SOURCE)
    host = Target.parse("cpu:host")
    other = "cpu:aarch64" if host.cpu_architecture == "x86_64" else "cpu:x86-64"
    digests = {item.name: digest_of(item, host) for item in choice(tmp_path).kernels}
    sizes = (MeasuredSizes({"n": 1000}, (Result("by_128", 1e-6),)),)
    write(tmp_path, Measured(host, "A device", "NVRTC", "2026-11-21", digests, sizes))
    made = choice(tmp_path)
    targets = [Target.parse(name) for name in (other, "cpu:checked", "cuda:sm_90")]
    assert tuned(made, targets) is made

"""The corpus: kernels as they are written for GPUs, on both CPU drivers against numpy."""

from __future__ import annotations

import pytest
from corpus_cases import CORPUS, FILES, check
from cpu_harness import Runner, compile_cuda


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", FILES)
def test_every_kernel_of_the_corpus_gives_what_numpy_gives(
    run_ptx: Runner, name: str, arch: str
) -> None:
    ptx = compile_cuda((CORPUS / f"{name}.cu").read_text(), arch, include_paths())
    cases = FILES[name]()
    results = run_ptx(ptx, [case.launch for case in cases], "x86-64-v3")
    for case, got in zip(cases, results, strict=True):
        check(case, got)


def include_paths() -> list[str]:
    """Where the headers that come with the compiler are."""
    import nvidia.cu13

    root = f"{next(iter(nvidia.cu13.__path__))}/include"
    return ["--std=c++17", "-default-device", f"-I{root}", f"-I{root}/cccl"]

"""NVRTC alone compiles what ships: nvcc, which takes what it refuses, needs a host compiler."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import cuda_kernels
import custom_dispatch as cd
from cuda_kernels import attention, quantised

on_each_gpu = pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])


def of_each_function(kernels: Iterator[cd.Kernel]) -> list[cd.Kernel]:
    """A kernel for each `__global__` function and number of arguments of its template."""
    found: dict[object, cd.Kernel] = {}
    for kernel in kernels:
        for form in kernel.forms:
            name, _, arguments = form.entry.partition("<")
            found.setdefault((form.source.name, name, arguments.count(",")), kernel)
    return list({id(kernel): kernel for kernel in found.values()}.values())


def compile_all(kernels: list[cd.Kernel], target: str) -> None:
    report = cd.build(kernels, [target], compiler="nvrtc").report()
    assert {item.kernel for item in report} == {kernel.name for kernel in kernels}


@pytest.mark.parametrize(
    "target", ["cuda:sm_90a", pytest.param("cuda:sm_80", marks=pytest.mark.thorough)]
)
def test_nvrtc_compiles_kernels_of_some_choices(target: str) -> None:
    choices = (attention.cached_attention_f16_64, quantised.int4_f16, quantised.fp8_blocks_f16)
    some = (
        each for choice in choices for each in choice.kernels if re.search("r64|many", each.name)
    )
    compile_all(of_each_function(some), target)


@pytest.mark.thorough
@on_each_gpu
def test_nvrtc_compiles_every_function(target: str) -> None:
    def every() -> Iterator[cd.Kernel]:
        for package in pkgutil.iter_modules(cuda_kernels.__path__):
            if package.name not in ("patterns", "shared"):
                module = importlib.import_module(f"cuda_kernels.{package.name}")
                for item in (getattr(module, name) for name in module.__dir__()):
                    if isinstance(item, cd.Choice):
                        yield from item.kernels
                    elif isinstance(item, cd.Kernel):
                        yield item

    kernels = of_each_function(every())
    assert len(kernels) > 80
    compile_all(kernels, target)

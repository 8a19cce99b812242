"""What is read from IREE's description of a CPU."""

from __future__ import annotations

import platform

import pytest

from custom_dispatch.cpu import Processor
from custom_dispatch.ir.cpu_target import cpu_executable_target, processor_of
from custom_dispatch.kernel.target import Target


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names CPUs of x86-64")
@pytest.mark.parametrize(("name", "modern"), [("cpu", False), ("cpu:x86-64-v3", True)])
def test_a_target_says_what_its_processor_can_do(name: str, modern: bool) -> None:
    described = cpu_executable_target(Target.parse(name))
    wanted = Processor("x86_64", fused=modern, wide_atomics=modern, halves=modern)
    assert processor_of(described) == wanted


def test_every_arm_processor_fuses_and_exchanges_128_bits() -> None:
    described = '#hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {cpu_features = ""}>'
    wanted = Processor("arm_64", fused=True, wide_atomics=True, halves=True)
    assert processor_of(described) == wanted


def test_of_another_kind_of_target_nothing_is_known() -> None:
    assert processor_of('#hal.executable.target<"llvm-cpu", "system-elf">') == Processor()

"""What is read from IREE's description of a CPU."""

from __future__ import annotations

import platform

import pytest

from custom_dispatch.cpu.cpu_kernel import Processor
from custom_dispatch.ir.compiler_tool import cpu_executable_target, cpu_flags, processor_of
from custom_dispatch.kernel.target import Target, host_architecture


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names CPUs of x86-64")
@pytest.mark.parametrize(("name", "modern"), [("cpu", False), ("cpu:x86-64-v3", True)])
def test_a_target_says_what_its_processor_can_do(name: str, modern: bool) -> None:
    described = cpu_executable_target(Target.parse(name))
    wanted = Processor("x86_64", fused=modern, wide_atomics=modern, halves=modern)
    assert processor_of(described) == wanted


def test_a_cpu_of_another_architecture_is_named_with_its_triple() -> None:
    for name, architecture in (("cpu:aarch64", "aarch64"), ("cpu:x86-64", "x86_64")):
        target = Target.parse(name)
        triple = f"--iree-llvmcpu-target-triple={architecture}-unknown-linux-gnu"
        assert target.cpu_architecture == architecture
        assert (triple in cpu_flags(target)) is (architecture != host_architecture())
        described = cpu_executable_target(target)
        assert f'target_triple = "{architecture}-unknown-unknown-eabi-elf"' in described


def test_arm64_is_aarch64(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, meant in (("arm64", "aarch64"), ("AMD64", "x86_64"), ("riscv64", "riscv64")):
        monkeypatch.setattr(platform, "machine", lambda said=said: said)
        assert host_architecture() == meant
        assert Target.parse("cpu").cpu_architecture == meant
        assert Target.parse("cpu:aarch64").cpu_architecture == "aarch64"


def test_every_arm_processor_fuses_and_exchanges_128_bits() -> None:
    described = '#hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {cpu_features = ""}>'
    wanted = Processor("arm_64", fused=True, wide_atomics=True, halves=True)
    assert processor_of(described) == wanted
    assert processor_of(cpu_executable_target(Target.parse("cpu:aarch64"))) == wanted


def test_of_another_kind_of_target_nothing_is_known() -> None:
    assert processor_of('#hal.executable.target<"llvm-cpu", "system-elf">') == Processor()

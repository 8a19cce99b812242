"""What ships runs on GPUs after Hopper: on those of data centres (sm_100) and on others (sm_120).

They have none of Hopper's own code (sm_90a), so they take what any GPU from sm_80 on does: its PTX,
which the driver assembles there, or code that is compiled for them.
"""

from __future__ import annotations

import pytest

import custom_dispatch as cd
from benchmarks.lib.bare_launch import declared
from cuda_kernels import elementwise, gemm
from cuda_kernels.shared.hopper import LEAST_SHARED_BYTES
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.toolchain.ptxas import assemble

PORTABLE = "cuda:sm_80"
LATER = ("sm_100", "sm_120")


def check(kernel: cd.Kernel) -> None:
    """Build it for later GPUs, and assemble for them what is built for sm_80."""
    form = kernel.for_target(Target.parse(PORTABLE))
    library = cd.build(form, [PORTABLE, *(f"cuda:{name}" for name in LATER)])
    objects = [item for unit in library.units for item in unit.objects]
    assert len(objects) == 1 + len(LATER)
    (portable,) = (item.data for item in objects if str(item.target) == PORTABLE)
    for name in ("sm_90", *LATER):
        for each in assemble(portable, Arch.parse(name)).resources:
            assert each.static_shared_bytes + shared_bytes(form) <= LEAST_SHARED_BYTES


def shared_bytes(form: cd.Kernel) -> int:
    return int(str(form.dynamic_shared_memory))


def test_a_kernel_assembles_for_later_gpus() -> None:
    check(elementwise.swiglu_f32)


@pytest.mark.thorough
def test_one_kernel_of_every_source_does() -> None:
    """The one with the most shared memory; and one that has more than some GPUs is of no other
    source than products with weights of 4 bits, which docs/deploying.md says.
    """
    found: dict[str, list[cd.Kernel]] = {}
    too_large = set()
    for _, kernel in declared():
        form = kernel.for_target(Target.parse(PORTABLE))
        assert form.source is not None
        if shared_bytes(form) > LEAST_SHARED_BYTES:
            too_large.add(form.source.name)
        else:
            found.setdefault(form.source.name, []).append(form)
    assert too_large == {"quantised_4bit.cu"}
    assert len(found) > 30
    for kernels in found.values():
        check(max(kernels, key=shared_bytes))


def test_a_later_gpu_takes_the_code_of_sm_80_and_not_that_of_hopper() -> None:
    kernel = gemm.linear_bf16.kernels[1]
    own, plain = (kernel.for_target(Target.parse(f"cuda:{name}")) for name in ("sm_90a", "sm_80"))
    assert own.source != plain.source
    for name in LATER:
        assert kernel.for_target(Target.parse(f"cuda:{name}")).source == plain.source
        capability = Arch.parse(name).compute_capability
        targets = [Target.parse(each) for each in cd.DEFAULT_TARGETS]
        runs = [each.arch for each in targets if each.arch and each.arch.runs_on(capability)]
        assert max(runs) == Arch.parse("sm_80")

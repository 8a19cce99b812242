"""Targets and architectures: any text is one or is refused, and better ones sort first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hostile_values import NOT_TEXT
from hypothesis import example, given
from hypothesis import strategies as st

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.target import KNOWN_COMPUTE_CAPABILITIES, Arch, Target

TARGET_LIKE = st.one_of(
    st.text(),
    st.from_regex(r"cuda:sm_\d{1,4}[a-z]?"),
    st.from_regex(r"cpu:.*"),
    st.sampled_from(["cuda", "cpu", "cuda:", "cpu:", "sm_90", "CUDA:sm_90", "vulkan"]),
)
SYMBOL = re.compile(r"[A-Za-z0-9_]{1,70}")


@given(TARGET_LIKE)
@example("cuda:sm_\uff180")
@example("cuda:sm_080")
@example("cuda:sm_90 ")
@example("cuda:sm_90\n")
@example("cpu:x86-64-v3\n")
@example("cpu:" + "x" * 1000)
@example("cpu:../../x")
@example("cpu:checked")
def test_any_text_is_a_target_or_refused(text: str) -> None:
    refusal = None
    try:
        target = Target.parse(text)
    except DeclarationError as error:
        refusal = error
    if refusal is not None:
        assert all((refusal.found, refusal.expected, refusal.next_step))
        assert len(str(refusal)) < 700
        return
    assert Target.parse(str(target)) == target
    assert SYMBOL.fullmatch(target.symbol)
    assert str(target) == ("cpu" if text == "cpu:generic" else text)
    if target.is_cuda:
        assert target.cuda_arch.compute_capability in KNOWN_COMPUTE_CAPABILITIES


@pytest.mark.parametrize("text", NOT_TEXT)
def test_a_target_that_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(DeclarationError, match="A target is given as "):
        Target.parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sm_90", "next step: did you mean 'cuda:sm_90'?"),
        ("cuda", "expected: cuda:sm_XX"),
        ("cuda:90", "'90' is not a CUDA architecture."),
        ("cuda:sm_85", "CUDA architecture 'sm_85' is unknown."),
        ("cuda:sm_80a", "`a` features begin with sm_90a.\n  expected: sm_80"),
        ("cuda:sm_90f", "`f` features begin with sm_100f.\n  expected: sm_90"),
        ("gpu", "'gpu' is not a target."),
        ("gpu", "next step: name the GPU's architecture: `custom-dispatch doctor` shows that"),
        ("tpu", "next step: correct the target's name."),
        ("cpu:foo", "CPU 'foo' is unknown.\n  expected: the name that LLVM has for a CPU"),
        ("cpu:foo", "next step: `cpu` is for every CPU of this architecture, `cpu:host` for the"),
        ("cpu:Haswel", "next step: did you mean 'cpu:haswell'? `cpu` is for"),
        ("cpu:x86_64-v3", "did you mean 'cpu:x86-64-v3'?"),
        ("cpu:arm64", "did you mean 'cpu:aarch64'?"),
        ("cpu:native", "did you mean 'cpu:host'?"),
        ("cpu:i686", "CPU 'i686' is unknown."),
    ],
)
def test_the_error_of_a_target_says_what_was_meant(text: str, said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Target.parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "architecture"),
    [("haswell", "x86_64"), ("x86-64-v4", "x86_64"), ("neoverse-v2", "aarch64")],
)
def test_the_name_of_a_cpu_says_its_architecture(name: str, architecture: str) -> None:
    assert Target.parse(f"cpu:{name}").cpu_architecture == architecture


@pytest.mark.parametrize("name", ["foo", "checked", "native"])
def test_a_target_is_made_of_no_unknown_cpu(name: str) -> None:
    with pytest.raises(DeclarationError, match=f"CPU '{name}' is unknown."):
        Target("cpu", cpu=name)


@pytest.mark.parametrize(
    "arguments",
    [
        ("cuda:sm_80",),
        ("cuda",),
        ("cpu",),
        ("cuda", "sm_80"),
        ("cpu", Arch(80)),
        ("cpu", None, "a/b"),
        ("cpu", None, "generic", True),
        ("cuda", Arch(80), "", True),
    ],
)
def test_a_target_put_together_wrongly_is_refused(arguments: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.Target(*arguments)
    assert "cd.Target.parse('cuda:sm_90')" in caught.value.next_step


def test_better_architectures_sort_first() -> None:
    names = ["sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_120"]
    archs = [Arch.parse(name) for name in names]
    assert sorted(archs) == archs
    assert [str(arch) for arch in sorted(archs, reverse=True)] == names[::-1]


@pytest.mark.parametrize(
    ("built", "gpu", "runs"),
    [
        ("sm_80", 80, True),
        ("sm_80", 120, True),
        ("sm_90", 80, False),
        ("sm_90a", 90, True),
        ("sm_90a", 100, False),
        ("sm_100f", 103, True),
        ("sm_100f", 110, False),
        ("sm_103f", 100, False),
    ],
)
def test_ptx_runs_where_the_isa_says(built: str, gpu: int, runs: bool) -> None:
    assert Arch.parse(built).runs_on(gpu) is runs


@pytest.mark.parametrize(
    ("built", "given", "fits"),
    [
        ("sm_80", "sm_90", True),
        ("sm_80", "sm_90a", True),
        ("sm_90a", "sm_90", False),
        ("sm_90a", "sm_90a", True),
        ("sm_100f", "sm_100", False),
        ("sm_100f", "sm_103a", True),
        ("sm_90", "sm_80", False),
    ],
)
def test_ptx_fits_a_target_where_it_runs_on_all_that_choose_it(
    built: str, given: str, fits: bool
) -> None:
    assert Arch.parse(built).runs_on_target(Arch.parse(given)) is fits

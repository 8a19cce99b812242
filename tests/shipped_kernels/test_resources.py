"""What the kernels take of GPUs."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import cuda_kernels
import custom_dispatch as cd

LARGE = ("attention", "convolution", "channels_last", "norms")
MODULES = [
    pytest.param(item.name, marks=[pytest.mark.thorough] * (item.name in LARGE))
    for item in pkgutil.iter_modules(cuda_kernels.__path__)
    if item.name
    not in ("patterns", "shared", "quantised", "moe", "recurrence")  # the last three: below
]


on_each_gpu = pytest.mark.parametrize(
    "arch", ["sm_80", pytest.param("sm_90", marks=pytest.mark.thorough)]
)


@on_each_gpu
@pytest.mark.parametrize("name", MODULES)
def test_no_kernel_spills(name: str, arch: str) -> None:
    """Nor lies any of their arrays in memory, where an index that is not known would put it."""
    module = importlib.import_module(f"cuda_kernels.{name}")
    # Flat attention has the code of the others: below.
    items = [getattr(module, name) for name in module.__dir__() if not name.startswith("flat_")]
    if name in (
        "convolution",
        "channels_last",
        "norms",
    ):  # other packages' choices are large: below
        choices = [item for item in items if isinstance(item, cd.Choice)]
        items += [kernel for choice in choices for kernel in choice.kernels]
    found = {item.entry: item for item in items if isinstance(item, cd.Kernel)}
    assert found
    library = cd.build(list(found.values()), [f"cuda:{arch}"], fail_on_spill=True)
    # nvcc, which takes what NVRTC does not, needs a host compiler, and several times as long.
    assert {item.origin.split()[0] for unit in library.units for item in unit.objects} == {"NVRTC"}
    report = library.report()
    assert len(report) == len(found)
    assert [item.kernel for item in report if item.resources.stack_bytes] == []


def test_flat_attention_is_the_code_of_the_others() -> None:
    from cuda_kernels.attention import choices, flat

    def code_of(module: object) -> set[tuple[object, str]]:
        items = [getattr(module, name) for name in dir(module)]
        kernels = [item for item in items if isinstance(item, cd.Kernel)]
        kernels += [one for item in items if isinstance(item, cd.Choice) for one in item.kernels]
        return {(form.source, form.entry) for kernel in kernels for form in kernel.forms}

    assert len(code_of(flat)) > 10
    assert code_of(flat) <= code_of(choices)


@pytest.mark.thorough
def test_no_product_spills() -> None:
    """The largest of each layout, and one of few rows; all of TF32, whose registers are scarce."""
    from cuda_kernels import gemm, moe

    kernels = [
        kernel
        for choice in (gemm.linear_gelu_erf_bf16, gemm.matmul_f16, moe.grouped_linear_bf16)
        for kernel in choice.kernels
        if "_skinny_t16x32" in kernel.name
        or "_t128x256_s4_c2" in kernel.name
        or kernel.name.endswith(("bf16_t16x32_s4", "bf16_t128x256_s4"))
    ]
    assert len(kernels) == 6
    kernels += [*gemm.linear_tf32.kernels, *gemm.matmul_tf32.kernels]
    report = cd.build(kernels, ["cuda:sm_80"], fail_on_spill=True).report()
    assert [item.kernel for item in report if item.resources.stack_bytes] == []


@pytest.mark.thorough
def test_scans_spill_a_few_sizes_at_most() -> None:
    """None of their states: numbers that the whole loop has and reads once for several steps."""
    from cuda_kernels import recurrence

    kernels = [*recurrence.selective_scan_bf16.kernels, *recurrence.delta_scan_bf16.kernels]
    report = cd.build(kernels, ["cuda:sm_80"]).report()
    assert all(item.resources.spill_loads_bytes <= 32 for item in report)


@pytest.mark.parametrize(
    ("dim", "arch"),
    [
        (128, "sm_80"),
        *(
            pytest.param(dim, arch, marks=pytest.mark.thorough)
            for dim, arch in (
                *((dim, "sm_90a") for dim in (32, 64, 128)),
                (32, "sm_80"),
                (64, "sm_80"),
            )
        ),
    ],
)
def test_no_attention_on_tensor_cores_spills(dim: int, arch: str) -> None:
    from cuda_kernels import attention

    kernels = getattr(attention, f"attention_f16_{dim}").kernels
    many = [each for each in kernels if "prefill" in each.name]
    report = cd.build(many, [f"cuda:{arch}"], fail_on_spill=True).report()
    assert [item.kernel for item in report if item.resources.stack_bytes] == []


@pytest.mark.thorough
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_no_attention_of_any_head_spills(arch: str) -> None:
    """One of few queries and one of many for each of the largest sizes, and those of f32."""
    from cuda_kernels import attention

    kernels = [
        *(each for each in attention.attention_bf16.kernels if not re.search("_c[12]_", each.name)),
        *attention.attention_f32.kernels,
    ]
    report = cd.build(kernels, [f"cuda:{arch}"], fail_on_spill=True).report()
    assert [item.kernel for item in report if item.resources.stack_bytes] == []


def test_attention_fits_into_the_least_shared_memory() -> None:
    """A kernel that a table takes for one target is built for all, so it has to fit on all from
    sm_80 on; blocks have least memory on sm_86 and sm_89.
    """
    from cuda_kernels import attention

    plain = ("attention_f16_64", "attention_f16_128", "attention_f16", "attention_f32")
    of_numbers = ("masked_attention_f16_64", "masked_attention_f16_128", "masked_attention_f16")
    for name in (*plain, *of_numbers, "masked_capped_attention_bf16"):
        for kernel in getattr(attention, name).kernels:
            assert kernel.dynamic_shared_memory <= 99 * 1024


@on_each_gpu
def test_no_quantised_product_spills(arch: str) -> None:
    """One of each layout, and of each number of rows."""
    from cuda_kernels import quantised

    kernels = [
        quantised.q4_0_f16.kernels[0],
        quantised.q4_1_bf16.kernels[1],
        quantised.int4_zeros_f16.kernels[0],
        quantised.int4_bf16.kernels[1],
        quantised.int4_bf16.kernels[3],
        quantised.fp8_f16.kernels[1],
        *(kernel for kernel in quantised.fp8_bf16.kernels if "many" not in kernel.name),
        *(quantised.int8_groups_bf16.kernels[at] for at in (1, 5, -1)),
        quantised.int4_zeros_bf16.kernels[-1],
    ]
    report = cd.build(kernels, [f"cuda:{arch}"], fail_on_spill=True).report()
    assert [item.kernel for item in report if item.resources.stack_bytes] == []


def test_two_blocks_of_attention_lie_in_a_multiprocessor() -> None:
    """So that one computes while the other waits; of small heads in an A100, too."""
    from cuda_kernels.attention import simt

    for dim, tile in simt.TILE_KEYS.items():
        available = (227 if dim == 128 else 163) * 1024
        assert 2 * (simt.shared_bytes(dim, tile) + 1024) <= available

"""Kernels and patterns are declared when their name is first used, and not before."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import cuda_kernels
import custom_dispatch as cd
from cuda_kernels import attention, gemm

PACKAGES = (
    "attention",
    "convolution",
    "elementwise",
    "gemm",
    "moe",
    "norms",
    "quantised",
    "recurrence",
)
COUNT = """
import gc
def made():
    gc.collect()
    every = [type(item) for item in gc.get_objects()]
    return sum(every.count(kind) for kind in (cd.Kernel, cd.Choice)), sum(
        (str(kind.__module__).partition(".")[0], kind.__name__) == ("custom_dispatch", "Pattern")
        for kind in every
    )
"""


def told(code: str) -> list[str]:
    """What a Python of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_packages_load_no_module_until_a_name_is_used() -> None:
    """Neither their own modules, nor custom_dispatch."""
    packages = ", ".join(f"cuda_kernels.{name}" for name in PACKAGES)
    loaded = told(
        f"import sys\nbefore = set(sys.modules)\nimport {packages}\n"
        "for name in sorted(set(sys.modules) - before):\n"
        "    if 'Moved' not in type(sys.modules[name]).__name__:\n"
        "        print(name)"
    )
    assert not any(name.startswith("custom_dispatch") for name in loaded)
    own = [name for name in loaded if name.startswith("cuda_kernels")]
    assert set(own) == {
        "cuda_kernels",
        "cuda_kernels.shared",
        "cuda_kernels.shared.lazily",
        "cuda_kernels.attention.names",
        "cuda_kernels.gemm.names",
        *(f"cuda_kernels.{name}" for name in PACKAGES),
    }


def test_modules_declare_nothing_until_a_name_is_used() -> None:
    modules = [
        item.name
        for item in pkgutil.walk_packages(cuda_kernels.__path__, "cuda_kernels.")
        if "patterns" not in item.name and item.name != "cuda_kernels.simple_mul"
    ]
    counts = told(
        f"import custom_dispatch as cd\nimport {', '.join(modules)}\n{COUNT}print(*made())\n"
        "from cuda_kernels.gemm import linear_bf16\nprint(*made())"
    )
    # Each form of the choice is a kernel for a GPU, one for Hopper and one for CPUs.
    assert counts[:2] == ["0", "0"]
    assert 1 + len(gemm.linear_bf16.kernels) <= int(counts[2])
    assert int(counts[2]) <= 1 + 4 * len(gemm.linear_bf16.kernels)


@pytest.mark.parametrize("name", ["torch", "onnx", "mlir", "stablehlo"])
def test_patterns_are_made_when_their_name_is_used(name: str) -> None:
    pytest.importorskip({"mlir": "custom_dispatch", "stablehlo": "jax"}.get(name, name))
    counts = told(
        f"import custom_dispatch as cd\nimport cuda_kernels.patterns.{name} as patterns\n{COUNT}"
        "print(*made())\npatterns.softmax\nprint(*made(), len(patterns.softmax))"
    )
    assert counts[:2] == ["0", "0"]
    # Those of MLIR are the ones of PyTorch, and of an operation that only MLIR has.
    assert counts[3] == counts[4] == ("6" if name == "mlir" else "3")


def test_all_patterns_of_a_module_are_everything() -> None:
    patterns = importlib.import_module("cuda_kernels.patterns.mlir")
    every = [patterns.__dict__[name] for name in dir(patterns) if getattr(patterns, name)]
    named = [item for group in every if type(group) is tuple for item in group]
    assert {(item.item.name, item.computes) for item in patterns.everything} == {
        (item.item.name, item.computes) for item in named if isinstance(item, cd.Pattern)
    }


def test_a_name_is_declared_once_and_listed() -> None:
    assert gemm.linear_bf16 is gemm.linear_bf16
    assert gemm.linear_bf16 is importlib.import_module("cuda_kernels.gemm.choices").linear_bf16
    assert "matmul_gelu_erf_f32" in dir(gemm)
    assert attention.attention_f32_32.name == "attention_f32_32"


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_that_a_package_lists_is_there(name: str) -> None:
    """By the name of the kernel, too."""
    package = importlib.import_module(f"cuda_kernels.{name}")
    found = [(item, getattr(package, item)) for item in dir(package)]
    kernels = [(item, each) for item, each in found if isinstance(each, cd.Kernel | cd.Choice)]
    assert len(kernels) >= 6
    assert all(item == each.name for item, each in kernels)


def test_a_name_that_is_none_is_refused_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match=r"'cuda_kernels.gemm' has no attribute 'linear_f8'"):
        _ = gemm.linear_f8
    with pytest.raises(ImportError, match="cannot import name 'linear_f8'"):
        from cuda_kernels.gemm import linear_f8  # noqa: F401


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("rms_norm", "norms.rms_norm", "rms_norm_f32"),
        ("gelu", "elementwise.gelu", "gelu_erf_f16"),
        ("write_cache", "attention.write_cache", "write_cache_bf16"),
        ("gated", "gemm.gated", "linear_swiglu_f16"),
        ("mlir_patterns", "patterns.mlir", "softmax"),
    ],
)
def test_modules_are_found_where_they_were_with_a_warning(old: str, new: str, name: str) -> None:
    there = importlib.import_module(f"cuda_kernels.{new}")
    with pytest.warns(DeprecationWarning, match=f"cuda_kernels.{old} is cuda_kernels.{new} now"):
        assert getattr(importlib.import_module(f"cuda_kernels.{old}"), name) is getattr(there, name)
    with pytest.warns(DeprecationWarning, match=f"cuda_kernels.{old} is"):
        assert getattr(getattr(cuda_kernels, old), name) is getattr(there, name)
    assert name in dir(importlib.import_module(f"cuda_kernels.{old}"))
    assert f"cuda_kernels.{old}" in told(
        f"import sys, cuda_kernels.{old}, inspect\nprint(inspect.getmodule(object()))\n"
        f"print(*[name for name in sys.modules if name in ('cuda_kernels.{old}', 'torch', 'jax')])"
    )

"""Launches of Triton recorded as they happen, and declared again as kernels of `cd.triton`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

import custom_dispatch as cd

_DIVISIBLE = ["tt.divisibility", 16]
_DTYPES = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64", "i1": "bool", "u1": "bool"}
_DTYPES |= {"fp8e4nv": "f8E4M3FN", "fp8e5": "f8E5M2"}
_DTYPES |= {f"{sign}{bits}": f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class Recorded:
    """A function that was compiled for a launch: its types, constants and what it knows of them."""

    name: str
    function: Any
    types: dict[str, Any]
    constants: dict[tuple[int, ...], Any]
    divisible: frozenset[str]
    options: dict[str, Any] = field(default_factory=dict)

    def kernel(self) -> Any:
        """The same as a declaration: pointers to so many elements, and numbers.

        Raises `ValueError`: a parameter is one that declarations do not have.
        """
        names = list(self.types)
        flat = {names[path[0]]: value for path, value in self.constants.items() if len(path) == 1}
        operands: list[Any] = []
        size = cd.dim("n")
        for name, kind in self.types.items():
            if kind == "constexpr":
                continue
            if not isinstance(kind, str) or kind.startswith("tensordesc"):
                raise ValueError(f"parameter {name} is a {_plain(kind)}")
            if kind[0] == "*":
                kind = kind.replace("*k", "*")  # a pointer to what is only read
                operands.append(cd.InOut(name, _DTYPES[kind[1:]], [size]))
                continue
            # Of a number with no value nothing is known; 16 * n is a multiple of 16.
            value = 16 * size if name in self.divisible else None
            operands.append(cd.Scalar(name, _DTYPES[kind], value))
        options = {key: self.options[key] for key in ("num_ctas", "maxnreg") if key in self.options}
        return cd.triton.kernel(
            self.function,
            operands=operands,
            constexprs=flat,
            grid=1,
            num_warps=self.options["num_warps"],
            num_stages=self.options["num_stages"],
            options={key: value for key, value in options.items() if value not in (None, 1)},
        )


def _plain(kind: Any) -> str:
    return kind.partition("<")[0] if isinstance(kind, str) else "tuple"


@contextmanager
def recorded() -> Iterator[list[Recorded]]:
    """Functions that Triton compiles within the block, each form once, in a list that grows."""
    from triton.runtime.jit import JITFunction

    found: list[Recorded] = []

    def compiled(
        self: Any, key: Any, signature: Any, device: Any, constants: Any, *rest: Any
    ) -> Any:
        options, attributes = rest[0], rest[1]
        names = list(signature)
        divisible = {names[path[0]] for path, facts in attributes.items() if _DIVISIBLE in facts}
        said = {each: getattr(options, each, None) for each in _OPTIONS}
        found.append(
            Recorded(
                f"{self.fn.__module__}.{self.fn.__qualname__}",
                self,
                dict(signature),
                dict(constants),
                frozenset(divisible),
                said,
            )
        )
        return before(self, key, signature, device, constants, *rest)

    before = JITFunction._do_compile
    with mock.patch.object(JITFunction, "_do_compile", compiled):
        yield found


def _no_stream(*_: Any) -> int:
    return 0


_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


@contextmanager
def looks_like_an_a100() -> Iterator[None]:
    """Let PyTorch say within the block that there is an A100, for libraries ask it at import.

    It goes inside `triton_on_cpu`, which answers less: not that there is a GPU at all.
    """
    import torch

    properties = SimpleNamespace(
        name="NVIDIA A100", multi_processor_count=8, major=8, minor=0,
        shared_memory_per_multiprocessor=164 * 1024, shared_memory_per_block_optin=163 * 1024,
        total_memory=80 << 30, warp_size=32, L2_cache_size=40 << 20,
        max_threads_per_multi_processor=2048,
    )  # fmt: skip
    said = {
        "get_device_properties": lambda *_: properties,
        "is_available": lambda: True,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "set_device": lambda *_: None,
    }
    accelerator = {"current_accelerator": lambda *_, **__: torch.device("cuda")}
    with (
        mock.patch.multiple(torch.cuda, **said),
        mock.patch.multiple(torch.accelerator, **accelerator),
        mock.patch.object(torch.Tensor, "is_cuda", new=True),
        mock.patch.object(torch._C, "_cuda_getCurrentRawStream", _no_stream, create=True),
    ):
        yield

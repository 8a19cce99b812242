"""Triton functions compiled to PTX for an architecture, on a machine that need not have a GPU."""

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.cache import get_cache_manager

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError, SourceError, excerpt
from custom_dispatch.kernel.sources import Produced
from custom_dispatch.kernel.target import Target
from custom_dispatch.store import key_of, open_store, remember
from custom_dispatch.toolchain.produced import file_of

WARP = 32
"""Threads."""
_AMPERE = 80
_ONE_CHIP = re.compile(r"\b(?:wgmma|setmaxnreg|tcgen05)\.")
"""Instructions that plain architectures lack."""


@dataclass(frozen=True, slots=True)
class Code:
    """What Triton made of a function."""

    ptx: str
    entry: str
    arch: int
    warps: int
    shared: int
    """Bytes of dynamic shared memory."""
    scratch: int
    """Bytes of global memory that each block works in."""
    launch: str
    """What it needs of a launch that a dispatch does not have; empty for nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A Triton function for certain types, constants and facts: what its code follows from."""

    function: Any = field(metadata={"not_in_keys": True})
    """None where another package made Triton's IR of it."""
    title: str
    """What errors call it."""
    source: str
    """Triton's digest of its code, and of all that this calls; or the IR."""
    types: tuple[tuple[str, str], ...]
    """Triton's type of each parameter: "*fp16", "i32" or "constexpr"."""
    constants: tuple[tuple[str, str], ...]
    """Each `constexpr` as text, which is what keys can hold."""
    values: tuple[tuple[str, Any], ...] = field(metadata={"not_in_keys": True})
    """The same as what they are."""
    divisible: tuple[str, ...]
    """Parameters that are multiples of 16: addresses in bytes, and integers."""
    options: tuple[tuple[str, Any], ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.key(_AMPERE) == other.key(_AMPERE)

    def __hash__(self) -> int:
        return hash(self.key(_AMPERE))

    def key(self, arch: int) -> bytes:
        """What the code for an architecture is kept by."""
        told = {key: os.environ[key] for key in os.environ if key.startswith("TRITON_")}
        told.pop("TRITON_CACHE_DIR", None)
        return key_of("triton", triton.__version__, arch, told, self)

    def produce(self, kernel: str, target: Target) -> Produced:
        """See `Producer.produce`."""
        if self.function is not None:
            self._check_unchanged(kernel)
        capability = target.cuda_arch.compute_capability
        code = self._kept(kernel, capability)
        is_for_one = _ONE_CHIP.search(code.ptx) and not target.cuda_arch.suffix
        if capability > _AMPERE and (code.scratch or code.launch or is_for_one):
            # Code for Ampere runs there too, without tensor maps and what goes with them.
            code = self._kept(kernel, _AMPERE)
        if code.scratch or code.launch:
            what = code.launch or f"{code.scratch} bytes of global memory for each block"
            raise SourceError(
                f"Kernel `{kernel}`: as Triton compiles `{self.title}` for {target}, "
                f"it needs {what}.",
                expected="a kernel that needs its arguments and shared memory alone",
                next_step="leave out what needs it, such as num_ctas or tensor descriptors.",
            )
        ptx = re.sub(r"^\.target\s+\w+", f".target {target.symbol}", code.ptx, flags=re.MULTILINE)
        return Produced(file_of(ptx), code.entry, code.warps * WARP, code.shared)

    def _check_unchanged(self, kernel: str) -> None:
        for (name, _), (before, scope) in self.function.used_global_vals.items():
            now = scope.get(name)
            if now is not before and now != before:
                raise DeclarationError(
                    f"Kernel `{kernel}`: `{name}`, which `{self.function.__name__}` reads, was "
                    f"{before!r} when it was declared and is {now!r} now.",
                    expected="what its code was declared with",
                    next_step="make it a parameter of type tl.constexpr, or declare the kernel "
                    "again.",
                )

    def _kept(self, kernel: str, arch: int) -> Code:
        return remember(
            open_store(), Code, lambda: self.key(arch), lambda: self._compile(kernel, arch)
        )

    def _compile(self, kernel: str, arch: int) -> Code:
        names = [name for name, _ in self.types]
        attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in self.divisible}
        if self.function is None:
            source: Any = str(file_of(self.source, ".ttir"))
        else:
            source = ASTSource(self.function, dict(self.types), dict(self.values), attributes)
        target = GPUTarget("cuda", arch, WARP)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*FP_FUSION.*")
                made = triton.compile(source, target=target, options=dict(self.options))
        except Exception as error:  # Triton raises many kinds, and the user's own code runs in it
            raise SourceError(
                f"Kernel `{kernel}`: Triton {triton.__version__} does not compile "
                f"`{self.title}` for sm_{arch}.",
                next_step="correct what it says:",
                log=excerpt(str(error) or type(error).__name__),
            ) from error
        return code_of(made.metadata, made.asm["ptx"])


def kept_code(metadata: Any) -> Code:
    """What Triton compiled for a launch, from its own cache: it shows a driver no PTX."""
    files = get_cache_manager(metadata.hash).get_group(f"{metadata.name[:150]}.json") or {}
    path = next((Path(path) for name, path in files.items() if name.endswith(".ptx")), None)
    if path is None:
        raise SourceError(
            f"Triton keeps no PTX of `{metadata.name}`.",
            expected="its cache with everything that it makes",
            next_step="unset TRITON_STORE_BINARY_ONLY, and make its cache writable.",
        )
    return code_of(metadata, path.read_text())


def code_of(meta: Any, ptx: str) -> Code:
    """What Triton compiled."""
    needs = {
        f"clusters of {meta.num_ctas} blocks": meta.num_ctas > 1,
        "all blocks of a grid at once": getattr(meta, "launch_cooperative_grid", False),
        "tensor maps from the host": bool(getattr(meta, "tensordesc_meta", None)),
        "memory for its profiler": getattr(meta, "profile_scratch_size", 0) > 0,
    }
    launch = ", ".join(what for what, needed in needs.items() if needed)
    scratch = getattr(meta, "global_scratch_size", 0)
    threads = re.search(r"\.reqntid\s+(\d+)", ptx)  # more than asked for where warps specialise
    warps = int(threads[1]) // WARP if threads else meta.num_warps
    # LLVM counts lines within inline assembly on from the one in Python, since Triton 3.8.
    ptx = re.sub(
        "// begin inline asm.*?// end inline asm",
        lambda found: re.sub(r"\n\s*\.loc\b.*", "", found[0]),
        ptx,
        flags=re.DOTALL,
    )
    return Code(ptx, meta.name, meta.target.arch, warps, meta.shared, scratch, launch)


def constant_texts(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Constants as keys hold them; of a function, the digest of its code."""
    return tuple((name, f"{type(v).__name__} {_text(v)}") for name, v in sorted(values.items()))


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return str(getattr(value, "cache_key", None) or repr(value))

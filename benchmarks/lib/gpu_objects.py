"""A benchmark's objects: written where the compilers are, launched where the GPU is.

They are the bytes that modules hold, launched through the CUDA driver on tensors of PyTorch.
"""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    import torch

    import custom_dispatch as cd
    from custom_dispatch.measure.native_launch import NativeLaunch

GUARD = 64
"""Elements behind every result that must stay as they were."""


def write(directory: Path, libraries: Iterable[cd.Library]) -> None:
    """Write every object of libraries, and which kernel is which symbol of which file."""
    directory.mkdir(parents=True, exist_ok=True)
    index: dict[str, dict[str, dict[str, str]]] = {}
    for number, library in enumerate(libraries):
        for unit in library.units:
            for item in unit.objects:
                file = f"{number}_{unit.name}_{item.target.symbol}.object"
                (directory / file).write_bytes(item.data)
                for kernel in unit.kernels:
                    symbol = item.symbol(kernel.for_target(item.target).entry)
                    entry = {"file": file, "symbol": symbol}
                    index.setdefault(str(item.target), {})[kernel.name] = entry
    (directory / "index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")


def kernel_for(item: cd.Kernel | cd.Choice, dims: Mapping[str, int], target: Target) -> cd.Kernel:
    """The kernel that calls of these sizes get, by the tables and rules of a choice."""
    from custom_dispatch.kernel.choice import Choice
    from custom_dispatch.kernel.evaluation import holds
    from custom_dispatch.toolchain.tuned import tuned

    if not isinstance(item, Choice):
        return item
    ordered = tuned(item, [target]).ordered(dims, target)
    return item.own(next(each for each in ordered if all(holds(c, dims) for c in each.requires)))


@dataclass(frozen=True)
class Launch:
    """A kernel that is ready to run, and where its results will be."""

    native: NativeLaunch
    results: list[torch.Tensor]
    """Poisoned, in the order of the declaration."""
    guards: list[torch.Tensor]
    """What lies behind each of them: NaN as long as nothing is written there."""
    scratches: list[torch.Tensor]
    """Its own memory, poisoned."""


class Objects:
    """What `write` wrote, on this process's GPU."""

    def __init__(self, directory: Path) -> None:
        import torch

        from custom_dispatch.measure.native_launch import NativeContext

        torch.cuda.init()
        torch.zeros(1, device="cuda")  # so that the context is PyTorch's, too
        major, minor = torch.cuda.get_device_capability()
        self.capability = 10 * major + minor
        self.context = NativeContext().__enter__()  # until the process ends
        self._image = functools.cache(lambda file: (directory / file).read_bytes())
        self._index = json.loads((directory / "index.json").read_text(encoding="utf-8"))

    def best(self, targets: Mapping[int, str]) -> str:
        """Of targets by their architectures' numbers, the last that this GPU runs."""
        return targets[max(number for number in targets if number <= self.capability)]

    def has(self, target: str, kernel: str) -> bool:
        """Whether a kernel was built for a target."""
        return kernel in self._index.get(target, {})

    def code(self, target: str, kernel: str) -> tuple[bytes, str]:
        """The object that has a kernel, and its symbol there."""
        found = self._index[target][kernel]
        return self._image(found["file"]), found["symbol"]

    def launch(
        self,
        kernel: cd.Kernel,
        target: str,
        arguments: Sequence[Any] | Mapping[str, Any],
        offset: int = 0,
        into: Sequence[torch.Tensor] | None = None,
    ) -> Launch:
        """A launch of a kernel.

        Parameters
        ----------
        arguments
            Tensors on the GPU, numbers, and None for what is absent: one for each input. By name,
            what is absent may be left out.
        offset
            How many elements behind an aligned address the results begin.
        into
            Where the results go, instead of fresh memory.
        """
        import torch

        from custom_dispatch.kernel.abi import constants_of
        from custom_dispatch.kernel.binding import bind_dims, grid_for, output_shapes
        from custom_dispatch.kernel.evaluation import evaluate
        from custom_dispatch.kernel.operand import Buffer
        from custom_dispatch.measure.native_launch import NativeLaunch

        form = kernel.for_target(Target.parse(target))
        names = [item.name for item in form.inputs]
        given = (
            arguments
            if isinstance(arguments, Mapping)
            else dict(zip(names, arguments, strict=True))
        )
        tensors = {name: given[name] for name in names if isinstance(given.get(name), torch.Tensor)}
        like = next(iter(tensors.values()))
        shapes = {
            item.name: tuple(tensors[item.name].shape) if item.name in tensors else (0,) * item.rank
            for item in form.inputs
            if isinstance(item, Buffer)
        }
        dims = bind_dims(form, shapes)
        # An absent operand has an address, as any other; its number says that it is absent.
        addresses = {name: like.data_ptr() for name in shapes}
        addresses |= {name: tensor.data_ptr() for name, tensor in tensors.items()}
        numbers = {name: given[name] for name in names if name not in shapes}
        numbers |= {name: int(name in tensors) for name in shapes}
        results, guards = [], []
        for number, (name, shape) in enumerate(output_shapes(form, dims).items()):
            if into is not None:
                results.append(into[number])
                addresses[name] = into[number].data_ptr()
                continue
            size = torch.Size(shape).numel()
            memory = torch.full(
                (offset + size + GUARD,), torch.nan, dtype=like.dtype, device="cuda"
            )
            results.append(memory[offset : offset + size].view(shape))
            guards.append(memory[offset + size :])
            addresses[name] = results[-1].data_ptr()
        kept = []
        for item in form.scratches:
            size = int(evaluate(item.size_bytes, dims))
            kept.append(torch.full((size,), 0xFF, dtype=torch.uint8, device="cuda"))
            addresses[item.name] = kept[-1].data_ptr()
        image, symbol = self.code(target, kernel.name)
        torch.cuda.synchronize()
        native = NativeLaunch(
            self.context,
            image,
            symbol,
            grid=grid_for(form, dims, capability=self.capability),
            block=form.block,
            shared_bytes=form.dynamic_shared_memory,
            bindings=[ctypes.c_uint64(addresses[item.name]) for item in form.abi.bindings],
            constants=constants_of(form.abi, dims, numbers),
        )
        return Launch(native, results, guards, kept)

"""Keys and values as the caches of `gpu/attention_decode.py` have them: in pages, or in 8 bits."""

from __future__ import annotations

from typing import Any

import custom_dispatch as cd
from benchmarks.cases.attention import Inputs

EIGHT_BITS = {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2"}
"""PyTorch's names of the types of 8 bits."""


class Cached:
    """A call's keys and values as a kernel's cache has them: in pages, or in 8 bits."""

    def __init__(self, given: Inputs, lengths: Any, kernel: cd.Kernel, page_size: int) -> None:
        import torch

        self.is_bshd = "_bshd_" in kernel.name
        self.others: dict[str, Any] = {"lengths": lengths}
        stored = [name for name in EIGHT_BITS if name.lower() in kernel.name]
        both, self.wide, q = [], [], given.q
        for name, x in (("key", given.k), ("value", given.v)):
            kept, wide = x, x.double()
            if stored:
                scales = torch.rand(x.shape[1], device="cuda") + 0.5
                self.others[f"{name}_scales"] = scales
                kept = (x / scales[:, None, None]).to(getattr(torch, EIGHT_BITS[stored[0]]))
                wide = kept.double() * scales[:, None, None].double()
            both.append(kept)
            self.wide.append(wide)
        if kernel.name.startswith("paged"):
            both, self.others["table"] = self._in_pages(both, lengths.tolist(), page_size)
        if self.is_bshd:
            q, *both = (x.transpose(1, 2).contiguous() for x in (q, *both))
        self.inputs = Inputs(q, *both, None, given.scale, False)

    def _in_pages(self, both: list[Any], lengths: list[int], size: int) -> tuple[list[Any], Any]:
        """Each in a page of anywhere; behind a sequence's keys the table is nonsense."""
        import torch

        batch, kv_heads, keys, _ = both[0].shape
        width = -(-keys // size)
        table = torch.randperm(batch * width + 2, dtype=torch.int32, device="cuda")
        table = table[: batch * width].view(batch, width)
        found = []
        for x in both:
            padded = x.new_zeros(batch, kv_heads, width * size, x.shape[-1])
            padded[:, :, :keys] = x
            pages = padded.view(batch, kv_heads, width, size, -1).transpose(1, 2).flatten(0, 1)
            kept = x.new_zeros(batch * width + 2, *pages.shape[1:])
            kept.view(torch.uint8)[table.flatten().long()] = pages.contiguous().view(torch.uint8)
            found.append(kept)
        for number, length in enumerate(lengths):
            table[number, -(-length // size) :] = -7
        return found, table

"""Where a GPU's time goes in a call: kernels that IREE generated, and hand-written ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

GENERATED = "_dispatch_"
"""What the names of the kernels that IREE generates have in them: `main$async_dispatch_3_...`."""
_CALLS, _LISTED = 5, 12


def busy(call: Callable[[], Any]) -> Counter[str]:
    """The GPU time of a call in us by the name of the kernel or copy, by CUPTI.

    Parameters
    ----------
    call
        Returns when its work is done.
    """
    call()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(_CALLS):
            call()
        torch.cuda.synchronize()
    times: Counter[str] = Counter()
    for event in profile.key_averages():
        times[event.key] += event.self_device_time_total / _CALLS  # type: ignore[assignment]
    return times


def generated_share(times: Counter[str]) -> dict[str, Any]:
    """What part of the GPU time of a call generated kernels and copies take.

    Parameters
    ----------
    times
        Of `busy`.

    Returns
    -------
    dict
        The GPU time of a call in us, the share of generated kernels and of copies in it, and what
        takes most, generated and at all, with its time a call in us.
    """
    whole = sum(times.values())
    generated = Counter(
        {name: time for name, time in times.items() if GENERATED in name or "Mem" in name[:3]}
    )
    return {
        "us on the GPU": round(whole, 1),
        "generated share": round(generated.total() / whole, 3) if whole else None,
        "generated": _largest(generated),
        "largest": _largest(times),
    }


def _largest(times: Counter[str]) -> list[str]:
    return [f"{name} {time:.1f} us" for name, time in times.most_common(_LISTED)]

"""Where a GPU's time goes in a call: kernels that IREE generated, and hand-written ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

GENERATED = "_dispatch_"
"""What the names of the kernels that IREE generates have in them: `main$async_dispatch_3_...`."""
_CALLS = 5


def generated_share(call: Callable[[], Any]) -> dict[str, Any]:
    """What part of the GPU time of a call generated kernels take, by CUPTI.

    Parameters
    ----------
    call
        Returns when its work is done.

    Returns
    -------
    dict
        The GPU time of a call in us, the share of generated kernels and of copies in it, and the
        generated kernel that takes most, with its time a call in us.
    """
    call()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(_CALLS):
            call()
        torch.cuda.synchronize()
    times: Counter[str] = Counter()
    for event in profile.key_averages():
        times[event.key] += event.self_device_time_total / _CALLS
    whole = sum(times.values())
    generated = Counter(
        {name: time for name, time in times.items() if GENERATED in name or "Mem" in name[:3]}
    )
    name, time = generated.most_common(1)[0] if generated else ("", 0.0)
    return {
        "us on the GPU": round(whole, 1),
        "generated share": round(generated.total() / whole, 3) if whole else None,
        "largest generated": f"{name} {time:.1f} us" if name else "",
    }

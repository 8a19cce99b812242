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
    times: Counter[str] = Counter()
    for event in _profile(call).key_averages():
        times[event.key] += event.self_device_time_total / _CALLS  # type: ignore[assignment]
    return times


def launches(call: Callable[[], Any]) -> Counter[str]:
    """How often a call launches each kernel or copy, as `busy` names them."""
    found: Counter[str] = Counter()
    for event in _profile(call).key_averages():
        if event.self_device_time_total:
            found[event.key] += round(event.count / _CALLS)
    return found


def timeline(call: Callable[[], Any]) -> list[tuple[str, float, float]]:
    """What the GPU does in a call: each kernel or copy with when it begins and ends, in us.

    Times count from the first's beginning. Those of the call are taken that has the median length.
    """
    events = [
        (each.name, each.time_range.start, each.time_range.end)
        for each in _profile(call).events()
        if each.device_type == torch.autograd.DeviceType.CUDA
    ]
    events.sort(key=lambda each: each[1])
    size = len(events) // _CALLS
    if size * _CALLS != len(events):
        raise RuntimeError(f"{len(events)} kernels and copies in {_CALLS} calls")
    calls = [events[size * turn :][:size] for turn in range(_CALLS)]
    calls.sort(key=lambda one: max(end for _, _, end in one) - one[0][1])
    chosen = calls[_CALLS // 2]
    return [(name, start - chosen[0][1], end - chosen[0][1]) for name, start, end in chosen]


def spans(events: list[tuple[str, float, float]]) -> dict[str, float]:
    """How long a call's work on the GPU takes in us: by itself, from first to last, and the gaps.

    A CUDA graph that is profiled may begin with its second kernel 90 us late, which a gap shows.

    Parameters
    ----------
    events
        Of `timeline`.
    """
    covered = last = 0.0
    for _, start, end in events:
        covered += max(0.0, end - max(start, last))
        last = max(last, end)
    return {
        "launches": len(events),
        "us from first to last": round(last, 1),
        "us that one or more run": round(covered, 1),
        "us that none runs": round(last - covered, 1),
    }


def _profile(call: Callable[[], Any]) -> Any:
    call()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(_CALLS):
            call()
        torch.cuda.synchronize()
    return profile


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

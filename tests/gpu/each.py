"""Running cases one after the other, and telling of each whether it held."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def run_each(
    cases: Sequence[Callable[..., None]], arguments: Callable[[], tuple[object, ...]]
) -> int:
    """Run every case with arguments made for it; 1 if any failed."""
    failed = 0
    for case in cases:
        try:
            case(*arguments())
        except Exception as error:  # noqa: BLE001 - the rest is to run too
            failed += 1
            print(f"FAILED {case.__name__}: {type(error).__name__}: {error}"[:1500])
        else:
            print(f"ok {case.__name__}")
    print(f"{len(cases) - failed} of {len(cases)} ok")
    return int(failed > 0)

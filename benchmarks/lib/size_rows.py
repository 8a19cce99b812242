"""What `gpu.sizes` finds at each size, and the tables of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

RANGES = ((1, 1), (2, 16), (17, 64), (65, 256), (257, 1024), (1025, 6000))
"""Rows, first and last."""
UNALIGNED = "unaligned"
"""Sizes of which a row of an operand is not whole 16 bytes."""
ALIGNED = "all but unaligned"
MEAN_BAR, EACH_BAR, UNALIGNED_BAR, OWN_BAR = 1.0, 0.8, 0.8, 0.98


@dataclass(frozen=True)
class Row:
    """One figure."""

    choice: str
    m: int
    n: int
    k: int
    of: str
    kernel: str
    """What the choice takes."""
    us: float
    torch_us: float
    off: float
    """The norm of the error as a part of the result's, ours and cuBLAS's."""
    torch_off: float
    best: str = ""
    """The fastest of all kernels, and its time in turn with the chosen one's."""
    best_us: float = 0.0
    every_us: dict[str, float] = field(default_factory=dict)

    @property
    def of_torch(self) -> float:
        """The time of cuBLAS over ours."""
        return self.torch_us / self.us

    @property
    def of_best(self) -> float:
        """The best form's time over that of the chosen one, which may be the same."""
        return min(self.best_us / self.us, 1.0)

    @property
    def range(self) -> str:
        """The rows' range, or that it is unaligned."""
        is_unaligned = self.k % 8 or (self.n % 8 and not self.choice.startswith("linear"))
        found = next(each for each in RANGES if each[0] <= self.m <= each[1])
        return UNALIGNED if is_unaligned else _named(*found)


def _named(first: int, last: int) -> str:
    return f"{first} to {last} rows" if first < last else "1 row"


def summary(rows: Sequence[Row], every_form: bool) -> list[dict[str, Any]]:
    """Means, the worst and how many are below the bars, by choice and range of rows."""
    found = []
    names = [*(_named(*each) for each in RANGES), UNALIGNED, ALIGNED]
    choices = [*dict.fromkeys(row.choice for row in rows)]
    for choice, name in [(choice, name) for choice in (*choices, "") for name in names]:
        some = [
            row
            for row in rows
            if choice in ("", row.choice)
            and (row.range != UNALIGNED if name == ALIGNED else row.range == name)
        ]
        if not some:
            continue
        ratios = [row.of_torch for row in some]
        line: dict[str, Any] = {
            "choice": choice or "all",
            "rows": name,
            "sizes": len(some),
            "of_cublas": statistics.geometric_mean(ratios),
            "worst": min(ratios),
            "below_0.8": sum(ratio < EACH_BAR for ratio in ratios),
            "below_0.9": sum(ratio < 0.9 for ratio in ratios),
            "off": statistics.median(row.off for row in some),
            "cublas_off": statistics.median(row.torch_off for row in some),
        }
        if every_form:
            line["of_best_form"] = statistics.geometric_mean(row.of_best for row in some)
            best = [row.torch_us / min(row.best_us, row.us) for row in some]
            line["best_of_cublas"] = statistics.geometric_mean(best)
        found.append(line)
    return found


def print_table(lines: Iterable[dict[str, Any]]) -> None:
    """Print the summary."""
    print(
        "choice, rows, sizes; of cuBLAS's speed: mean, worst, how many below 0.8, below 0.9; "
        "errors: ours, cuBLAS's; with every form: of the best's speed, that of cuBLAS's"
    )
    for line in lines:
        more = [f"{line[key]:6.3f}" for key in ("of_best_form", "best_of_cublas") if key in line]
        print(
            f"{line['choice']:12} {line['rows']:18} {line['sizes']:4} {line['of_cublas']:6.3f} "
            f"{line['worst']:6.3f} {line['below_0.8']:4} {line['below_0.9']:4} "
            f"{line['off']:8.1e} {line['cublas_off']:8.1e}",
            *more,
        )


def met(lines: Iterable[dict[str, Any]]) -> bool:
    """Whether the bars are met; prints each."""
    whole = {line["rows"]: line for line in lines if line["choice"] == "all"}
    figures = []
    if ALIGNED in whole:
        figures += [
            ("mean of cuBLAS's speed", whole[ALIGNED]["of_cublas"], MEAN_BAR),
            ("the worst", whole[ALIGNED]["worst"], EACH_BAR),
        ]
    if UNALIGNED in whole:
        figures.append(("the worst unaligned", whole[UNALIGNED]["worst"], UNALIGNED_BAR))
    if "of_best_form" in whole.get(ALIGNED, {}):
        figures.append(("mean of the best form's", whole[ALIGNED]["of_best_form"], OWN_BAR))
    for what, ratio, bar in figures:
        print(f"{what:24} {ratio:6.3f} (bar {bar}) {'ok' if ratio >= bar else 'NOT MET'}")
    return all(ratio >= bar for _, ratio, bar in figures)

"""Tables as plain text: one line a row, columns of equal width."""

from collections.abc import Sequence

_GAP = "  "


def plain_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table's lines, its heading first. A cell of several lines is put on one."""
    table = [columns, *(["\\n".join(cell.splitlines()) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(_GAP.join(cells).rstrip())
    return lines


def bytes_text(count: int) -> str:
    """A number of bytes in the unit that suits it: 512 B, 12.3 KiB."""
    if count < 1024:
        return f"{count} B"
    size = float(count)
    for unit in ("KiB", "MiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} GiB"


def seconds_text(value: float) -> str:
    """A time in the unit that suits it: 12.34 ms."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value / 1e-6:.4g} us"


def rate_text(value: float | None, unit: str) -> str:
    """A rate with the prefix that suits it: 3.35 TB/s; "-" for None."""
    if value is None:
        return "-"
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= scale:
            return f"{value / scale:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"

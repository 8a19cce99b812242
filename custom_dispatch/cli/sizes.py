"""Sizes on the command line: n=1024, and a range of them, n=1024:268435456:x4."""

from __future__ import annotations

import re

from custom_dispatch.errors import CallError

MAX_SIZES = 64
_FORM = re.compile(
    r"(?P<name>[A-Za-z_]\w*)=(?P<first>\d+)(?::(?P<last>\d+)(?::(?P<times>x?)(?P<step>\d+))?)?"
)


def parse_sizes(words: tuple[str, ...]) -> list[dict[str, int]]:
    """Every combination of sizes that is asked for: one, or as many as a range has.

    Parameters
    ----------
    words
        NAME=SIZE, NAME=FIRST:LAST:xFACTOR or NAME=FIRST:LAST:STEP; several in one, with commas.

    Raises
    ------
    CallError
        One has another form, two are ranges, a dim is given twice, or a range has too many sizes.
    """
    fixed: dict[str, int] = {}
    swept: dict[str, list[int]] = {}
    order: list[str] = []
    for word in (part for words_of in words for part in words_of.replace(",", " ").split()):
        match = _FORM.fullmatch(word)
        if match is None or len(word) > 200:
            raise _wrong(f"{word[:60]!r} is no size.")
        name = match["name"]
        if name in fixed or name in swept:
            raise _wrong(f"`{name}` is given twice.")
        order.append(name)
        if match["last"] is None:
            fixed[name] = int(match["first"])
        else:
            swept[name] = _range(word, match)
    if len(swept) > 1:
        raise _wrong(f"`{'` and `'.join(swept)}` are both ranges.", "a range for one dim at most")
    if not swept:
        return [fixed]
    (values,) = swept.values()
    return [{item: fixed.get(item, value) for item in order} for value in values]


def _range(word: str, match: re.Match[str]) -> list[int]:
    first, last = int(match["first"]), int(match["last"])
    times, step = match["times"] != "", int(match["step"] or 2)
    if match["step"] is None:
        times = True
    values = [first]
    while len(values) <= MAX_SIZES:
        value = values[-1] * step if times else values[-1] + step
        if value > last:
            break
        if value == values[-1]:
            raise _wrong(f"{word!r} never comes to its end.")
        values.append(value)
    if first > last or len(values) > MAX_SIZES:
        found = "begins above its end" if first > last else f"has more than {MAX_SIZES} sizes"
        raise _wrong(f"{word!r} {found}.")
    return values


def _wrong(found: str, expected: str = "") -> CallError:
    return CallError(
        found,
        expected=expected
        or f"NAME=SIZE, or NAME=FIRST:LAST:xFACTOR (or a step) for at most {MAX_SIZES} sizes",
        next_step="write n=1024 or n=1024:1048576:x4.",
    )

"""Sizes, inputs and results on the command line.

Sizes are n=1024, or a range of them, n=1024:268435456:x4. Inputs have the form that iree-run-module
takes: 8xf32=2, 2x3xi32=1 2 3 4 5 6, @file.npy; and scalars: f32=1.5, or 3.
"""

import math
import os
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.errors import CallError
from custom_dispatch.files import check_ends
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, from_named_bits, of_numpy
from custom_dispatch.measure.inputs import random_array

_FORM = re.compile(r"(?P<sizes>(?:\d+x)*)(?P<dtype>[A-Za-z]\w*)(?:=(?P<values>.*))?", re.DOTALL)
_OTHER_NAMES = {"i1": "bool"}
MAX_SIZES = 64
_SIZE = re.compile(
    r"(?P<name>[A-Za-z_]\w*)=(?P<first>\d+)(?::(?P<last>\d+)(?::(?P<times>x?)(?P<step>\d+(?:\.\d+)?))?)?"
)


def parse_sizes(words: tuple[str, ...], most: int = MAX_SIZES) -> list[dict[str, int]]:
    """Every combination of sizes that is asked for: one, or as many as ranges have together.

    - `words`: NAME=SIZE, NAME=FIRST:LAST:xFACTOR or NAME=FIRST:LAST:STEP; several in one, with
      commas.
    - `most`: how many combinations there may be.
    """
    values: dict[str, list[int]] = {}
    for word in (part for words_of in words for part in words_of.replace(",", " ").split()):
        match = _SIZE.fullmatch(word)
        if match is None or len(word) > 200:
            raise _wrong(f"{word[:60]!r} is no size.")
        name = match["name"]
        if name in values:
            raise _wrong(f"`{name}` is given twice.")
        values[name] = [int(match["first"])] if match["last"] is None else _range(word, match)
    if math.prod(map(len, values.values())) > most:
        raise _wrong(f"The ranges of `{'` and `'.join(values)}` have over {most} sizes together.")
    return [dict(zip(values, each, strict=True)) for each in product(*values.values())]


def _range(word: str, match: re.Match[str]) -> list[int]:
    first, last, step = int(match["first"]), int(match["last"]), float(match["step"] or 2)
    times = match["step"] is None or match["times"] != ""
    if not (times or step.is_integer()):
        raise _wrong(f"{word!r} has steps that are no whole numbers.")
    values, exact = [first], float(first)
    while len(values) <= MAX_SIZES:
        exact = exact * step if times else exact + step
        value = round(exact) if step.is_integer() else _of_three_digits(exact)
        if value > last:
            break
        if exact <= values[-1] < max(value, 2):
            raise _wrong(f"{word!r} never comes to its end.")
        values += [value] if value > values[-1] else []
    if first > last or len(values) > MAX_SIZES:
        found = "begins above its end" if first > last else f"has more than {MAX_SIZES} sizes"
        raise _wrong(f"{word!r} {found}.")
    return values


def _of_three_digits(value: float) -> int:
    """The nearest size of three binary digits, and then zeros, as sizes of models mostly are."""
    unit: int = 2 ** max(math.frexp(value)[1] - 3, 0)
    return round(value / unit) * unit


def _wrong(found: str) -> CallError:
    return CallError(
        found,
        expected=f"NAME=SIZE, or NAME=FIRST:LAST:xFACTOR (or a step) for at most {MAX_SIZES} sizes",
        next_step="write n=1024 or n=1024:1048576:x4.",
    )


def parse_input_or_draw(text: str, generator: numpy.random.Generator) -> Any:
    """As `parse_input`; an array without values is random."""
    found = parse_input(text)
    kind = of_numpy(found.dtype) if isinstance(found, numpy.ndarray) else None
    if kind is None or "=" in text or text.startswith("@"):
        return found
    return random_array(kind, found.shape, generator)


def parse_input(text: str) -> Any:
    """Read one input: an array, or a number."""
    if text.startswith("@"):
        return _read_file(Path(text[1:]))
    number = read_number(text)
    if number is not None:
        return number
    match = _FORM.fullmatch(text)
    kind = ELEMENT_TYPES.get(_OTHER_NAMES.get(match["dtype"], match["dtype"])) if match else None
    if match is None or kind is None:
        raise CallError(
            f"{text!r} is not an input.",
            expected="sizes, dtype and values, such as 8xf32=2 or 2x2xi32=1 2 3 4; a number; or "
            "@file.npy",
            next_step=f"use one of the dtypes {', '.join(ELEMENT_TYPES)}.",
        )
    sizes = tuple(int(size) for size in match["sizes"].split("x")[:-1])
    dtype = kind.to_numpy()
    count = math.prod(sizes)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if count * kind.bytes > memory:
        raise CallError(
            f"The input {text[:60]!r} takes {count * kind.bytes} bytes.",
            expected=f"at most the {memory} bytes of memory of this machine",
            next_step="correct the sizes.",
        )
    words = re.split(r"[\s,\[\]]+", match["values"] or "0")
    values = [_value(word, kind.is_float, text) for word in words if word]
    if len(values) not in (1, count):
        raise CallError(
            f"The input {text[:60]!r} has {len(values)} values.",
            expected=f"one for all, or {count}",
            next_step="correct the sizes or the values.",
        )
    try:
        with numpy.errstate(over="raise"):
            if len(values) == 1:
                return numpy.full(sizes, values[0], dtype)
            return numpy.array(values, dtype).reshape(sizes)
    except (OverflowError, ValueError, FloatingPointError, MemoryError) as error:
        raise CallError(
            f"The input {text[:60]!r} has a value that {kind} does not hold: {error}.",
            next_step="correct the value or the dtype.",
        ) from None


def format_result(array: numpy.ndarray[Any, Any]) -> str:
    """A result in the form of an input: 8xf32=[96. 96. ...]; long ones are shortened."""
    sizes = "".join(f"{size}x" for size in array.shape)
    dtype = of_numpy(array.dtype) or array.dtype
    return f"{sizes}{dtype}={numpy.array2string(array, threshold=1000)}"


def read_number(text: str) -> float | int | None:
    """An integer, or another number; None for what is neither."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _value(word: str, is_float: bool, text: str) -> float | int:
    value = read_number(word)
    if value is None or (not is_float and not isinstance(value, int)):
        raise CallError(
            f"The input {text[:60]!r} has the value {word!r}.",
            expected="a number" if is_float else "an integer",
            next_step="correct the value.",
        )
    return value


def _read_file(path: Path) -> Any:
    check_ends(path, "The input", CallError)
    try:
        loaded = numpy.load(path, allow_pickle=False)
        problem = "it holds several arrays"
        if isinstance(loaded, numpy.ndarray):
            loaded = from_named_bits(loaded)
            known = loaded.dtype.str != "|V1" or of_numpy(loaded.dtype)  # ml_dtypes' 8-bit floats
            problem = "" if known else "it does not name its type"
    except (OSError, ValueError, EOFError, MemoryError) as error:
        problem = (isinstance(error, OSError) and error.strerror) or str(error)
    if problem:
        raise CallError(
            f"The input `@{path}` cannot be read: {problem.rstrip('.')}.",
            expected="a .npy file with one array",
            next_step="write it with numpy.save: of a type that numpy lacks, "
            'array.view([("f8E5M2", "u1")]).',
        )
    return loaded

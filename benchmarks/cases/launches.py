"""What `gpu/sanitize.py` launches: kernels, sizes, and how they are shared out to processes.

Matrix products, attention and quantised weights differ in element types, layouts, epilogues and the
numbers of their tiles; of each code and numbers one instance is taken, of another type each time.
Of everything else all instances are. Sizes are small and odd, and half of the launches begin one
element beside an aligned address. What there are no sizes for, benchmarks of its own launch.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.lib.bare_launch import PORTABLE, Subject, declared, subjects
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.evaluation import holds
from custom_dispatch.kernel.expr import Condition, Dim
from custom_dispatch.kernel.target import Target

LAUNCHES, SLOW = 100, {"gemm_sm90a": 32, "attention": 30, "attention_decode": 22}
"""Of one process, about, to which beginning takes seconds; and of sources whose launches take long
under racecheck: 2 s of clusters of 8 blocks."""


def _dims(names: str, *rows: tuple[int, ...]) -> list[dict[str, int]]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


TYPES = re.compile(r"__half|__nv_\w+|\bfloat\b|cuda_kernels::(Identity|Gelu\w*|Silu|Relu)\b")
MANY_TYPES = ("gemm", "scaled", "attention", "quantised")
"""Modules of which there are many instances that differ in types alone."""
SAME_CODE = ("flat",)
"""Modules that declare instances of others once more, for operands of other ranks."""
SMALL_MODULES = (
    "softmax",
    "layer_norm",
    "rms_norm",
    "gelu",
    "swiglu",
    "rotary",
    "write_cache",
    "simple_mul",
)
ROWS_GROUP = "softmax, norms, GELU, SwiGLU, rotary, write_cache, simple_mul"
ROWS = _dims("batch columns", (3, 7), (37, 63), (5, 384), (2, 4095), (1, 8200), (1, 20001))
SIZES = {
    **dict.fromkeys(("softmax", "layer_norm", "rms_norm", "gelu", "swiglu"), ROWS),
    "glu": [
        {"columns": columns, "width": 2 * columns, "batch": batch}
        for batch, columns in ((3, 7), (37, 63), (5, 384), (1, 8200))
    ],
    **dict.fromkeys(
        ("group_norm", "group_norm_last"),
        _dims(
            "images channels groups height width",
            *((2, 6, 3, 5, 7), (1, 64, 2, 8, 8), (2, 9, 9, 33, 13), (3, 40, 5, 1, 40)),
            (1, 4, 1, 64, 65),
        ),
    ),
    "images": [
        row | {"wide": row["rows"] + 3, "padding_h": 1, "dilation_h": 1, "dilation_w": 2}
        for row in _dims(
            "images channels height width rows columns stride_h stride_w padding_w",
            *((2, 7, 9, 11, 3, 2, 2, 1, 0), (1, 64, 13, 8, 2, 3, 1, 2, 1)),
        )
    ],
    "rotary": _dims("batch heads length dim tables", (2, 3, 5, 128, 1), (3, 5, 7, 10, 3)),
    "write_cache": _dims(
        "batch heads keys count dim pages page_size scales",
        *((2, 3, 65, 7, 128, 5, 16, 3), (1, 2, 7, 9, 10, 4, 3, 1), (3, 1, 300, 33, 64, 9, 5, 1)),
    ),
    "latent": _dims(
        "batch heads queries keys pages page_size table_width",
        *((2, 3, 5, 70, 9, 16, 4), (1, 128, 1, 300, 40, 5, 33), (3, 16, 1, 129, 7, 64, 2)),
    ),
    "simple_mul": _dims("n", (1,), (1000,)),
    "gemm": _dims(
        "batch m n k",
        (1, 7, 65, 200),
        (1, 16, 63, 13),
        (2, 130, 264, 72),
        (1, 65, 72, 200),
        (1, 4, 9, 8),
        (1, 300, 520, 64),
    ),
    "scaled": _dims(
        "batch n k x_parts parts",
        (7, 65, 200, 7, 1),
        (16, 63, 13, 1, 63),
        (130, 264, 144, 130, 264),
        (300, 520, 64, 1, 1),
    ),
    "gated": _dims("batch n k", (1, 40, 96), (16, 17, 33), (3, 65, 72), (7, 1, 1)),
    "attention": [
        row | {"mask_batches": row["batch"], "mask_heads": 1, "mask_rows": row["queries"]}
        for row in _dims(
            "batch heads kv_heads queries keys dim value_dim scales pages page_size table_width",
            (1, 1, 1, 1, 1, 32, 32, 1, 3, 16, 2),
            (2, 4, 2, 65, 64, 64, 64, 1, 7, 16, 5),
            (1, 8, 2, 1, 100, 40, 40, 2, 9, 16, 7),
            (1, 3, 1, 130, 257, 64, 24, 1, 20, 16, 17),
            (1, 2, 1, 7, 300, 24, 64, 1, 5, 64, 5),
            (2, 4, 1, 1, 63, 8, 8, 1, 9, 16, 4),
        )
    ],
    "convolution": _dims(
        "images channels height width filters of_group rows columns stride_h stride_w padding_h "
        "padding_w dilation_h dilation_w",
        (1, 8, 9, 13, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1),
        (2, 6, 7, 20, 6, 1, 3, 5, 2, 1, 1, 2, 1, 1),
        (1, 16, 5, 40, 24, 8, 1, 2, 1, 3, 0, 0, 1, 1),
    ),
    "sort": _dims("batch n", (3, 7), (2, 300), (1, 1000)),
    "grouped": _dims("rows groups n k", (7, 3, 65, 200), (130, 4, 72, 64), (33, 1, 40, 72)),
    "selective_scan": _dims(
        "batch length heads elements rates groups states",
        (1, 5, 2, 16, 16, 1, 16),
        (2, 70, 4, 24, 1, 2, 16),
        (1, 33, 2, 40, 1, 1, 128),
    ),
    "quantised": [
        row
        | {"halves": row["k"] // 2, "blocks": row["k"] // 32, "groups": row["k"] // row["group"]}
        for row in _dims(
            "batch n k group parts",
            (1, 7, 32, 32, 1),
            (1, 65, 288, 96, 5),
            (7, 33, 1024, 64, 1),
            (8, 65, 512, 32, 65),
            (17, 7, 256, 64, 7),
            (1, 40, 4352, 256, 1),
            (40, 33, 1792, 256, 1),  # whose stages stream-K shares out
            (20, 40, 0, 32, 1),  # without anything to add up
        )
    ],
}
"""By the module that declares the kernels; each takes those that it can compute."""


@dataclass(frozen=True)
class Case:
    """One launch."""

    subject: Subject
    dims: dict[str, int]
    offset: int
    """Elements from an aligned address to the beginning of each operand."""
    causal: bool
    all_there: bool
    """Whether optional operands are."""


def _is_needed(condition: Condition, module: str) -> bool:
    """Whether a kernel is wrong without it; the others say where a choice finds it fast, most of
    them with a number: a size that is at least another one is needed.
    """
    if module == "gemm" or condition.operator == "<=":
        return isinstance(condition.left, Dim) and condition.operator == "<="
    return condition.operator not in (">", ">=") or isinstance(condition.right, Dim)


def fits(subject: Subject, rows: Iterable[dict[str, int]]) -> Iterator[dict[str, int]]:
    """Of sizes, those that a kernel can compute, as its dims."""
    names = {dim.name for dim in subject.form.dims}
    needed = [item for item in subject.form.requires if _is_needed(item, subject.module)]
    for row in rows:
        dims = dict(row)
        if "m" in dims and "m" not in names:  # a product of leading dims and weights
            dims["batch"] *= dims["m"]
        dims = {name: size for name, size in dims.items() if name in names}
        if {*dims} == names and _holds(needed, dims):
            yield dims


def _holds(conditions: Iterable[Condition], dims: dict[str, int]) -> bool:
    try:
        return all(holds(item, dims) for item in conditions)
    except DeclarationError:  # a difference below zero
        return False


def cases(subject: Subject) -> list[Case]:
    """The launches of a kernel, aligned and not, causal and not, with and without what may lack."""
    return [
        Case(subject, dims, count & 1, bool(count & 2), count % 3 != 1)
        for count, dims in enumerate(fits(subject, SIZES.get(subject.module, [])))
    ]


def chosen() -> list[Subject]:
    """What is launched, where there are sizes for it."""
    found: dict[tuple[str, ...], list[Subject]] = {}
    for subject in subjects():
        if subject.module in MANY_TYPES:
            entry = TYPES.sub("", subject.form.entry)
            key: tuple[str, ...] = (subject.source, subject.target, entry)
        else:
            key = subject.code
        if subject.module not in SAME_CODE:
            found.setdefault(key, []).append(subject)
    return [
        same[7 * turn % len(same)] if same[0].module in MANY_TYPES else same[0]
        for turn, same in enumerate(found.values())
    ]


def elsewhere() -> list[Subject]:
    """Of what is launched as code for Hopper, what GPUs from sm_80 on take, too."""
    kernels = {kernel.name: kernel for _, kernel in declared()}
    found: dict[tuple[str, ...], Subject] = {}
    for item in chosen():
        form = kernels[item.form.name].for_target(Target.parse(PORTABLE))
        subject = Subject(item.module, form, PORTABLE)
        if item.target != PORTABLE and subject.code == item.code:
            found[item.source, form.entry] = subject
    return list(found.values())


def group(subject: Subject) -> str:
    """What is summed up in one line: a source, or all those of rows and of single elements."""
    if subject.module in SMALL_MODULES:
        return ROWS_GROUP
    calls = any("CUDA_KERNELS_FUNCTION" in each for each in subject.form.options)
    return f"{subject.source}.cu{', with a function' if calls else ''}"


@functools.cache
def launches(only: str = "") -> dict[str, list[Case]]:
    """By group, of those that a regular expression finds; neighbours have the same code."""
    found: dict[str, list[Case]] = {}
    for subject in chosen():
        if re.search(only, group(subject)) and (of_subject := cases(subject)):
            found.setdefault(group(subject), []).extend(of_subject)
    return found


def parts(only: str, tool: str = "") -> list[str]:
    """What a process each does under a tool: "GROUP:NUMBER/COUNT"."""
    found = []
    for name, items in launches(only).items():
        most = SLOW.get(items[0].subject.source, LAUNCHES) if tool == "racecheck" else LAUNCHES
        count = -(-len(items) // most)
        found += [f"{name}:{number}/{count}" for number in range(count)]
    return found


def members(part: str) -> list[Case]:
    """The launches of one."""
    name, _, turn = part.rpartition(":")
    number, count = map(int, turn.split("/"))
    items = launches(f"^{re.escape(name)}$")[name]
    return items[len(items) * number // count : len(items) * (number + 1) // count]

"""Every shipped pattern of MLIR that is one of PyTorch, looked for in a model of what it says.

The models are in linalg, as IREE converts them. What it writes in another way than before is lost
here.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections import Counter
from typing import Any

import pytest
import torch

from cuda_kernels.patterns import generate, written_out
from cuda_kernels.patterns import mlir as mlir_patterns
from custom_dispatch.frontends.mlir import place
from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.pattern import sizes_of, variants
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.link.dialects.torch_dialect import convert_torch, tidy_converted
from custom_dispatch.link.model import parse_content, parse_model

Case = tuple[str, Any, list[tuple[tuple[int, ...], Any]]]
"""A kernel's name, a function of tensors, and their sizes and types."""
SOME = ("_f32", "_f32_64", "cached_attention_bf16_64", "attention_by_position_bf16_64", "glu_bf16")
"""Kernels that are looked for; those of the other types and sizes are written by the same lines."""
ONE_MASK = {"mask_heads": 1}
"""For all heads; masks of each are those of flat attention, once they are converted."""
OF_MASK = {"mask_batches": 2, "queries": 14, "mask_rows": 14}
SOME_HEADS = {"batch": 2, "heads": 6, "kv_heads": 6, **OF_MASK}
"""Others than patterns are written with, for which these stand."""
NAMES = {
    "linear": "linear_of_torch",
    "linear_swiglu": "linear_of_torch",
    "matmul": "matmul_of_torch",
}
"""What `cuda_kernels.patterns.mlir` calls groups that have other names there."""

OWN = [
    pattern
    for pattern in mlir_patterns.everything
    if not any("torch." in text for text in pattern.computes)
]
"""Those that are written in linalg."""


def cases(group: str) -> list[Case]:
    found = []
    for pattern in generate.patterns_of(group):
        name = pattern.item.name
        if not name.endswith(SOME):
            continue
        sizes = SOME_HEADS if pattern.sizes == written_out.OF_ANY else pattern.sizes
        pattern = copy.copy(pattern)  # other tests have the one that ships
        pattern._keep(sizes={**sizes, **ONE_MASK, "dim": generate.HEAD})
        arguments = pattern.arguments
        for function, names in variants(pattern):
            tensors = [each for each in names if isinstance(arguments[each], Buffer)]
            numbers = [each for each in names if each not in tensors]
            bools = [each for each in numbers if str(arguments[each].dtype) == "bool"]
            # `torch.mm` takes no more dims, and the kernel of two products no more rows.
            few = "mm" in getattr(function, "__name__", "") or name.startswith("linear_swiglu")
            given = [
                (sizes_of(pattern, arguments[each], 1 if few else 2), arguments[each].dtype)
                for each in tensors
            ]
            for values in itertools.product((False, True), repeat=len(bools)):
                scalars = dict.fromkeys(numbers, 0.25) | dict(zip(bools, values, strict=True))
                found.append((name, called(function, tensors, scalars), given))
    return found


def called(function: Any, names: list[str], scalars: dict[str, Any]) -> Any:
    return lambda *given: function(**dict(zip(names, given, strict=True)), **scalars)


class Model(torch.nn.Module):
    """All of them, each of tensors of its own."""

    def __init__(self, every: list[Case]) -> None:
        super().__init__()
        self.every = every

    def forward(self, *given: Any) -> tuple[Any, ...]:
        results, rest = [], list(given)
        for _, function, tensors in self.every:
            found = function(*rest[: len(tensors)])
            results += found if isinstance(found, tuple) else [found]
            del rest[: len(tensors)]
        return tuple(results)


def in_linalg(every: list[Case]) -> str:
    from iree.compiler.extras.fx_importer import FxImporter

    given = (each for _, _, tensors in every for each in tensors)
    tensors = tuple(torch.zeros(sizes, dtype=torch_dtype(dtype)) for sizes, dtype in given)
    importer = FxImporter()
    importer.import_program(torch.export.export(Model(every), tensors), func_name="main")
    content, _ = convert_torch(parse_model(str(importer.module)), {}, has_patterns=True)
    model = parse_content(content, "The model")
    tidy_converted(model)
    return str(model)


@pytest.mark.parametrize("group", [*generate.GROUPS])
def test_each_is_found_in_linalg(group: str) -> None:
    every = cases(group)
    text = in_linalg(every)
    assert "torch.aten" not in text
    report = place(text, [], getattr(mlir_patterns, NAMES.get(group, group))).replaced
    assert report is not None
    assert every
    assert not Counter(name for name, *_ in every) - Counter(item.kernel for item in report)


def test_no_kernel_is_left_out() -> None:
    written = {item.item.name for item in mlir_patterns.everything if item not in OWN}
    made = {item.item.name for group in generate.GROUPS for item in generate.patterns_of(group)}
    assert {name for name in written if name.endswith(SOME)} == {
        name for name in made if name.endswith(SOME)
    }


# -- those in linalg

_FUNCTION = re.compile(r"func\.func @\w+\((.*)\) -> (\S+) \{")
_COMMUTATIVE = re.compile(r"(arith\.(?:mulf|addf)) (%\w+), (%\w+)")


def model_of(text: str) -> str:
    """A pattern's function of tensors of known sizes; and written otherwise, of open ones."""
    found = _FUNCTION.search(text)
    assert found is not None
    parameters, result = found.groups()
    kinds = [each.partition(": ")[2] for each in parameters.split(", %")]
    known = [kind.replace("?", "8") for kind in kinds]
    casts = [
        f"%cast{index} = tensor.cast %known{index} : {mine} to {kind}"
        if mine != kind
        else f"%cast{index} = arith.constant 0.25 : {kind}"
        for index, (mine, kind) in enumerate(zip(known, kinds, strict=True))
    ]
    given = [f"%known{index}: {kind}" for index, kind in enumerate(known)]
    given += [f"%open{index}: {kind}" for index, kind in enumerate(kinds)]
    lines = [f"func.func @main({', '.join(given)}) -> ({result}, {result}) {{", *casts]
    functions = []
    for name, its in (("cast", text), ("open", _COMMUTATIVE.sub(r"\1 \3, \2", text))):
        head = f"func.func private @of_{name}({parameters}) -> {result} {{"
        functions.append(its.replace(found[0], head, 1))
        taken = ", ".join(f"%{name}{index}" for index in range(len(kinds)))
        lines.append(f"%{name} = call @of_{name}({taken}) : ({', '.join(kinds)}) -> {result}")
    return "\n".join([*functions, *lines, f"return %cast, %open : {result}, {result}", "}"])


@pytest.mark.parametrize("dtype", ["f32", "bf16", pytest.param("f16", marks=pytest.mark.thorough)])
def test_each_of_linalg_is_found(dtype: str) -> None:
    for pattern in (each for each in OWN if each.kernel.inputs[0].dtype.name == dtype):
        for text in pattern.computes:
            report = place(model_of(text), [], [pattern]).replaced
            assert report is not None
            assert len(report) == 2, (text, report)


def test_what_is_written_down_is_what_pytorch_has() -> None:
    """After a change, run `python -m cuda_kernels.patterns.generate`."""
    assert (mlir_patterns.FOLDER / generate.SOURCES).read_text() == generate.digest()
    for group in ("softmax", "gelu", "linear_swiglu"):
        assert (mlir_patterns.FOLDER / f"{group}.mlir").read_text() == generate.text_of(group)
    names = {path.name for path in mlir_patterns.FOLDER.iterdir()}
    assert names == {generate.SOURCES, *(f"{group}.mlir" for group in generate.GROUPS)}

"""Writes what `cuda_kernels.patterns.mlir` reads: patterns of PyTorch as text of the torch dialect.

    python -m cuda_kernels.patterns.generate

So users of plain MLIR need no PyTorch. To be run when one of its patterns changes, or PyTorch does.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from iree.compiler import ir, passmanager
from iree.compiler.extras.fx_importer import FxImporter
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)

import custom_dispatch as cd
from cuda_kernels.patterns import torch as of_torch
from cuda_kernels.patterns import torch_attention, torch_products, written_out
from cuda_kernels.patterns.mlir import (
    FOLDER,
    HEAD,
    NARROW,
    SEPARATOR,
    TYPES,
    WRITTEN,
    kernel_of,
    like,
)
from custom_dispatch.files import write_atomically
from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.pattern import sizes_of, variants
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.match.converted_examples import convert_examples
from custom_dispatch.match.sizes import ANY_SIZES, any_sizes

GROUPS = (
    *("add_rms_norm", "rms_norm", "layer_norm", "attention", "softmax", "gelu"),
    *("linear_swiglu", "swiglu", "rotary", "linear", "matmul"),
)
"""All but writes into a cache, which IREE 3.13 does not convert where sizes are open."""
_RANKS = (1, 2, 3)
"""How many leading dims there may be."""
_OPEN = (4, 8, 12)
_OF_PRODUCT = re.compile(r"linear|matmul|batch_matmul")
_SAID = f"{ANY_SIZES} = array<i64: {', '.join(map(str, written_out.ANY))}>"
_ANY = any_sizes(_SAID)
SOURCES = "sources.sha256"
"""The file that says what the others were made of."""
_NUMBER = 0.4375
"""Stands for a kernel's scalar while a function is traced; no pattern has it otherwise."""


def patterns_of(group: str) -> list[cd.torch.Pattern]:
    """The patterns of a group that are written down; the others follow from them."""
    every = (*getattr(written_out, group, ()), *getattr(of_torch, group))
    return [pattern for pattern in every if WRITTEN.search(pattern.item.name)]


def text_of(group: str) -> str:
    """The file of a group of patterns: those of 16 bits, and those of f32 that are others."""
    found: dict[str, tuple[str, ...]] = {}
    for pattern in patterns_of(group):
        for fixed, text in _texts_of(_with_known_sizes(pattern)):
            said = {"kernel": pattern.item.name, "fixed": fixed, "axes": pattern.axes}
            found[f"// {json.dumps(said)}\n{text}"] = ("f32",)
    for section in [section for section in found if NARROW in section]:
        in_f32 = _tidy(like(section, "f32"))
        found[section] = ("f16", NARROW) if found.pop(in_f32, None) is None else TYPES
    narrow, wide = _converted(found, NARROW), _converted(found, "f32")
    for section, types in found.items():
        found[section] = tuple(
            each for each in types if section in (wide if each == "f32" else narrow)
        )
    # Without casts, places of 16 bits are some of f32.
    ordered = sorted(found, key=lambda section: NARROW not in section)
    return SEPARATOR.join(
        f"// {json.dumps(found[each])}\n{each}" for each in ordered if found[each]
    )


def _converted(sections: Mapping[str, Collection[str]], dtype: str) -> set[str]:
    """The sections that IREE converts for a type, each to something else."""
    by_text: dict[str, list[str]] = {}
    with ir.Context(), ir.Location.unknown():
        texts = {}
        for section in (section for section in sections if dtype in sections[section]):
            said, _, text = like(section, dtype).partition("\n")
            kernel = kernel_of(json.loads(said.removeprefix("// "))["kernel"])
            assert kernel is not None  # noqa: S101 - it has a pattern of PyTorch
            pattern = cd.Pattern(kernel, text, required=False)
            texts[text] = (pattern, ir.Module.parse(text))
            by_text.setdefault(text, []).append(section)
        done = convert_examples(texts) if texts else {}
        found: dict[str, str] = {}
        for text, module in done.items():
            one = re.sub(r"@pattern_\d+", "", str(module))
            for section in by_text[text]:
                found.setdefault(like(section, dtype).partition("\n")[0] + one, section)
    return set(found.values())


def _with_known_sizes(pattern: cd.torch.Pattern) -> cd.torch.Pattern:
    """A pattern that is traced with one size of heads, and with numbers of them that are any."""
    dims = {dim.name for dim in pattern.kernel.dims}
    known = {"dim": HEAD} if "dim" in dims else {}
    if "kv_heads" in pattern.sizes:
        is_grouped = pattern.sizes["heads"] != pattern.sizes["kv_heads"]
        known |= written_out.OF_ANY_GROUPS if is_grouped else written_out.OF_ANY
    if "mask_heads" in dims:
        known |= {"mask_batches": known["batch"], "mask_heads": 1, "queries": 14, "mask_rows": 14}
    one = copy.copy(pattern)
    object.__setattr__(one, "sizes", {**pattern.sizes, **known})
    return one


def _texts_of(pattern: cd.torch.Pattern) -> Iterator[tuple[dict[str, Any], str]]:
    """A pattern's functions as texts, for each value of bools, which decide what is computed."""
    arguments = pattern.arguments
    optional = [name for name in arguments if getattr(arguments[name], "optional", False)]
    for function, names in variants(pattern):
        given = [name in names for name in optional]
        if given != sorted(given, reverse=True):
            continue  # a text can only leave out the last operands
        tensors = [name for name in names if isinstance(arguments[name], Buffer)]
        numbers = [name for name in names if name not in tensors]
        bools = [name for name in numbers if str(arguments[name].dtype) == "bool"]
        scalars = [name for name in numbers if name not in bools]
        in_order = [name for name in arguments if name in tensors]
        for values in itertools.product((False, True), repeat=len(bools)):
            fixed = dict(zip(bools, values, strict=True))
            of = partial(_called, function, in_order, fixed | dict.fromkeys(scalars, _NUMBER))
            for leading in _leading_of(pattern):
                try:
                    text = _traced(pattern, of, in_order, leading, scalars)
                except RuntimeError:  # `torch.mm` has no leading dims
                    continue
                yield {**pattern.fixed, **fixed}, text


def _leading_of(pattern: cd.torch.Pattern) -> list[tuple[int, ...]]:
    """The leading dims to trace with: open ones, and some that stand for any.

    Of those that are known IREE makes one dim in products, unless only one side has few.
    """
    if not pattern.kernel.has_leading_dims:
        return [()]
    name = pattern.item.name
    least = 1 if name.startswith("batch_matmul") else 3
    known = [rank for rank in _RANKS if rank >= least] if _OF_PRODUCT.match(name) else []
    return [*(_OPEN[:rank] for rank in _RANKS), *(written_out.ANY[:rank] for rank in known)]


def _called(
    function: Callable[..., Any], names: list[str], numbers: dict[str, Any], *tensors: Any
) -> Any:
    return function(**dict(zip(names, tensors, strict=True)), **numbers)


def _traced(
    pattern: cd.torch.Pattern,
    function: Callable[..., Any],
    names: list[str],
    leading: tuple[int, ...],
    scalars: list[str],
) -> str:
    """A function as text, with parameters for tensors and numbers in the kernel's order."""
    mode = FakeTensorMode(shape_env=ShapeEnv(duck_shape=False))
    tensors = []
    for name in names:
        operand = pattern.arguments[name]
        assert isinstance(operand, Buffer)  # noqa: S101 - `_texts_of` has seen to it
        sizes = sizes_of(pattern, operand, 0)
        sizes = (*leading, *sizes) if operand.batched else sizes
        known = [size in (1, HEAD, *_ANY) for size in sizes]
        context = StatelessSymbolicContext(
            dynamic_sizes=[DimDynamic.STATIC if each else DimDynamic.DYNAMIC for each in known]
        )
        tensor = torch.zeros(sizes, dtype=torch_dtype(operand.dtype))
        tensors.append(mode.from_tensor(tensor, symbolic_context=context))
    with torch.no_grad(), mode:
        graph = make_fx(function, pre_dispatch=True)(*tensors).graph
    importer = FxImporter(context=ir.Context())
    importer.import_stateless_graph(graph, func_name="pattern")
    return _tidy(_with_numbers(str(importer.module), scalars))


def _tidy(section: str) -> str:
    """A text, after comments, with each constant once and the names that MLIR gives."""
    at = section.index("module {")
    with ir.Context():
        module = ir.Module.parse(section[at:])
        passmanager.PassManager.parse("builtin.module(cse)").run(module.operation)
        return section[:at] + str(module)


def _with_numbers(text: str, scalars: list[str]) -> str:
    """A text whose function takes the kernel's numbers, and says which sizes may be any."""
    for name in scalars:
        line = rf" *(%\S+) = torch.constant.float {re.escape(f'{_NUMBER:e}')}\n"
        values = re.findall(line, text)
        if not values:
            raise ValueError(f"`{name}` is not passed on as it is:\n{text}")
        text = re.sub(line, "", text)
        for value in values:
            text = re.sub(rf"{re.escape(value)}(?![\w.])", f"%{name}", text)
        text = text.replace(") -> ", f", %{name}: !torch.float) -> ", 1)
    if re.search(rf"<\[({'|'.join(map(str, _ANY))}),", text):
        text = text.replace(" {\n    ", f" attributes {{{_SAID}}} {{\n    ", 1)
    return text


def digest() -> str:
    """What the files are made of: the statements of PyTorch's patterns and of this module."""
    modules = (of_torch, torch_attention, torch_products, written_out)
    sources = (*(module.__file__ for module in modules), __file__)
    trees = [ast.dump(ast.parse(Path(str(source)).read_text())) for source in sources]
    return hashlib.sha256("".join(trees).encode()).hexdigest() + "\n"


def main() -> None:
    """Write the files."""
    write_atomically(FOLDER / SOURCES, digest().encode())
    for group in GROUPS:
        write_atomically(FOLDER / f"{group}.mlir", text_of(group).encode())


if __name__ == "__main__":
    main()

"""What lies between our kernels in a model: by IREE, and by the kernels that Inductor makes of it.

`build DIRECTORY` without a GPU, where transformers is; then `run DIRECTORY [--save FILE]` where
there are a GPU, PyTorch and transformers, too. `--model NAME` takes one.

A model of `gpu.models` is imported with kernels in its places. What is left is written as a
program of PyTorch's operators, in which our kernels are operators that nothing can see into: they
take dense tensors, and give memory that nobody wrote. What depends on weights alone is computed
before, as IREE does it. `torch.compile` makes kernels of that program, and CUPTI says how long they
take in a call, and how long those that IREE generates in our module. Both are the same operations,
between the same kernels. Inductor's are timed as it compiles by default; `launches` counts kernels.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.cases import model_weights, whole_models
from benchmarks.gpu import models
from benchmarks.lib import gpu_command
from benchmarks.lib.gpu_profile import GENERATED, busy, launches

TARGETS = ("cuda:sm_90a",)
NAMES = ("convnext", "mixtral", "clip-vision", "t5-encoder", "llama-1b", "gemma2", "mamba")
"""Those of which generated code takes most."""
DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "si64": torch.int64,
    "si32": torch.int32,
    "si8": torch.int8,
    "ui8": torch.uint8,
    "i1": torch.bool,
}
"""As the torch dialect calls them."""
OPEN = 1024
"""A size that only a call tells: of what tells one of our kernels which tiles to skip."""
_TENSOR = re.compile(r"!torch\.vtensor<\[([^\]]*)\],(\w+)>")


# -- the first half: a program of PyTorch's operators


def build(directory: Path, names: Sequence[str]) -> None:
    """Compile each model, and write what lies between the kernels in it."""
    models.build(directory, list(names), TARGETS, alone=False)
    for name in names:
        imported = _imported(whole_models.CASES[name], directory)
        written, arrays = _Program(imported).written()
        (directory / f"{name}_between.json").write_text(json.dumps(written))
        np.savez(directory / f"{name}_between.npz", **arrays)
        lines = written["lines"]
        print(f"{name}: {len(lines)} lines, {len(written['kernels'])} calls of kernels", flush=True)


def _imported(case: Any, directory: Path) -> Any:
    from cuda_kernels.patterns import torch as torch_patterns
    from custom_dispatch.frontends.torch import importer, replacing

    arguments = next(iter(case.calls(directory).values()))
    program = importer.export_model(case.make(directory), arguments, None)
    found = replacing.import_with_kernels({"main": program}, 0, torch_patterns.everything, [])
    return found[0]


class _Program:
    """The lines of a program, each a target, an operator and what it takes."""

    def __init__(self, imported: Any) -> None:
        self._imported = imported
        self._names: dict[Any, Any] = {}
        self._constant: set[str] = set()
        self._lines: list[list[Any]] = []
        self._kernels: list[dict[str, Any]] = []
        self._weights: dict[str, Any] = {}

    def written(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The program as plain data, and the arrays of integers that it holds."""
        from custom_dispatch.link.operations import operations_of

        (main,) = operations_of(self._imported.module, "func.func")
        block = main.regions[0].blocks[0]
        arguments = [self._new(each) for each in block.arguments]
        results: list[Any] = []
        for op in block.operations:
            results = self._take(op.operation) or results
        read = {each.name: each for each in self._imported.parameters.entries}
        arrays = {}
        for name, (parameter, _, dtype) in self._weights.items():
            if dtype in ("si64", "si32", "i1"):
                data = np.frombuffer(read[parameter].read(), np.uint8)
                arrays[name] = data.copy()
        said = {
            "arguments": arguments,
            "weights": self._weights,
            "lines": self._lines,
            "constant": sorted(self._constant),
            "kernels": self._kernels,
            "results": results,
        }
        return said, arrays

    def _new(self, value: Any) -> str:
        name = f"v{len(self._names)}"
        self._names[value] = name
        return name

    def _of(self, value: Any) -> Any:
        """A name, or a number or list as `["=", value]`."""
        return self._names[value]

    def _take(self, op: Any) -> list[Any]:
        kind = op.name
        attributes = dict(op.attributes.items())
        if kind == "func.return":
            return [self._of(each) for each in op.operands]
        if kind.startswith("torch.constant."):
            self._names[op.results[0]] = ["=", _constant(kind, attributes)]
        elif kind == "util.global.load":
            global_name = str(attributes["global"]).lstrip("@").strip('"')
            self._names[op.results[0]] = ["global", global_name]
        elif kind == "torch_c.from_builtin_tensor":
            given = self._of(op.operands[0])
            shape, dtype = _described(str(op.results[0].type))
            name = self._new(op.results[0])
            self._weights[name] = [_parameter(self._imported.module, given[1]), shape, dtype]
            self._constant.add(name)
        elif kind == "torch.vtensor.literal":
            shape, dtype = _described(str(op.results[0].type))
            from iree.compiler import ir

            values = np.array(ir.DenseElementsAttr(attributes["value"])).reshape(shape)
            name = self._new(op.results[0])
            self._line(name, "literal", [["=", [values.tolist(), dtype]]], constant=True)
        elif kind == "torch.prim.ListConstruct":
            self._names[op.results[0]] = ["list", [self._of(each) for each in op.operands]]
        else:
            self._operator(op, kind, attributes)
        return []

    def _operator(self, op: Any, kind: str, attributes: dict[str, Any]) -> None:
        given = [self._of(each) for each in op.operands]
        if kind == "torch.operator":
            kind = str(attributes["name"]).strip('"')
        if kind.startswith("torch.custom_dispatch."):
            described = [_described(str(each.type)) for each in op.results]
            names = [self._new(each) for each in op.results]
            self._lines.append([names, "kernel", [["=", len(self._kernels)], *given]])
            self._kernels.append({"name": kind.rpartition(".")[2], "results": described})
            return
        constant = all(self._is_constant(each) for each in given)
        names = [self._new(each) for each in op.results]
        self._line(names[0] if len(names) == 1 else names, kind, given, constant=constant)

    def _is_constant(self, given: Any) -> bool:
        if isinstance(given, str):
            return given in self._constant
        return given[0] == "=" or all(map(self._is_constant, given[1]))

    def _line(self, to: Any, kind: str, given: list[Any], *, constant: bool) -> None:
        self._lines.append([to, kind, given])
        if constant:
            self._constant.update([to] if isinstance(to, str) else to)


def _described(type_: str) -> tuple[list[int], str]:
    found = _TENSOR.match(type_)
    assert found is not None, type_
    sizes = [OPEN if each == "?" else int(each) for each in found[1].split(",") if each]
    return sizes, found[2]


def _constant(kind: str, attributes: dict[str, Any]) -> Any:
    if kind.endswith(".none"):
        return None
    value = attributes["value"].value
    return value if not isinstance(value, float) or math.isfinite(value) else repr(value)


def _parameter(module: Any, global_name: str) -> str:
    from custom_dispatch.link.operations import operations_of

    for each in operations_of(module, "util.global"):
        named = dict(each.attributes.items())
        if str(named["sym_name"]).strip('"') == global_name:
            found = re.search(r'::"((?:[^"\\]|\\.)*)"', str(named["initial_value"]))
            assert found is not None
            return found[1]
    raise KeyError(global_name)


# -- the second half


@torch.library.custom_op("between::kernel", mutates_args=())
def _kernel(taken: list[torch.Tensor], results: list[int], dtypes: list[int]) -> list[torch.Tensor]:
    return _empty(taken, results, dtypes)


@_kernel.register_fake
def _(taken: list[torch.Tensor], results: list[int], dtypes: list[int]) -> list[torch.Tensor]:
    return _empty(taken, results, dtypes)


def _empty(taken: list[torch.Tensor], results: list[int], dtypes: list[int]) -> list[torch.Tensor]:
    """Memory for results; `results` has a rank and sizes of each."""
    found, at = [], 0
    for dtype in dtypes:
        rank = results[at]
        shape = results[at + 1 : at + 1 + rank]
        kind = [*DTYPES.values()][dtype]
        if kind.is_floating_point:
            found.append(torch.empty(shape, dtype=kind, device=taken[0].device))
        else:  # they may say places, each once
            count = torch.arange(math.prod(shape), device=taken[0].device)
            found.append(count.to(kind).reshape(shape))
        at += 1 + rank
    return found


class Between:
    """What `build` wrote: a function of a call, `main`, and what else it takes, `constants`."""

    def __init__(self, directory: Path, name: str, device: str) -> None:
        self._said = json.loads((directory / f"{name}_between.json").read_text())
        arrays = np.load(directory / f"{name}_between.npz")
        self._device = device
        values: dict[str, Any] = {}
        for each, (_, shape, dtype) in self._said["weights"].items():
            if each in arrays.files:
                tensor = torch.from_numpy(arrays[each]).view(DTYPES[dtype]).reshape(shape)
                values[each] = tensor.to(device)
            else:
                wide = torch.rand(shape, dtype=torch.float32, device=device)
                values[each] = wide.to(DTYPES[dtype])
        constant = set(self._said["constant"])
        before = [each for each in self._said["lines"] if _targets(each) <= constant]
        after = [each for each in self._said["lines"] if not _targets(each) <= constant]
        made = self._function([*values], before, sorted(constant))(*values.values())
        known = dict(zip(sorted(constant), made, strict=True))
        used = sorted({name for line in after for name in _read(line[2])} & constant)
        self.constants = [known[each] for each in used]
        self.main = self._function([*self._said["arguments"], *used], after, self._said["results"])

    def _function(self, taken: list[str], lines: list[Any], results: list[str]) -> Any:
        """A function that Python compiles, so that `torch.compile` sees nothing but operators."""
        text = [f"def between({', '.join(taken)}):"]
        for to, kind, given in lines:
            target = to if isinstance(to, str) else f"[{', '.join(to)}]"
            text.append(f"    {target} = {self._call(kind, given)}")
        text.append(f"    return [{', '.join(results)}]")
        names: dict[str, Any] = {"torch": torch, "inf": math.inf, "nan": math.nan}
        exec("\n".join(text), names)  # noqa: S102 - of what `build` wrote
        return names["between"]

    def _call(self, kind: str, given: list[Any]) -> str:
        if kind == "literal":
            numbers, dtype = given[0][1]
            return f"torch.tensor({numbers}, dtype={DTYPES[dtype]}, device='{self._device}')"
        if kind == "kernel":
            (_, index), *rest = given
            results = self._said["kernels"][index]["results"]
            shapes = [number for shape, _ in results for number in (len(shape), *shape)]
            dtypes = [[*DTYPES].index(dtype) for _, dtype in results]
            dense = [f"{each}.contiguous()" for each in rest if isinstance(each, str)]
            return f"torch.ops.between.kernel([{', '.join(dense)}], {shapes}, {dtypes})"
        if kind == "torch.prim.ListUnpack":
            return _text(given[0])
        operator = _operator(kind)
        found = []
        for argument, value in zip(operator._schema.arguments, given, strict=True):
            text = _text(value)
            if argument.name == "dtype" and text != "None":
                text = str(_OF_PYTORCH[int(text)])
            if argument.name == "device":
                text = f"'{self._device}'"
            if argument.name == "memory_format" and text != "None":
                text = "torch.contiguous_format"
            if argument.name in ("layout", "pin_memory"):
                continue
            found.append(f"{argument.name}={text}" if argument.kwarg_only else text)
        return f"torch.ops.{kind_of_pytorch(kind)}({', '.join(found)})"


_OF_PYTORCH = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    11: torch.bool,
    15: torch.bfloat16,
}
"""Its numbers of types."""


def _targets(line: list[Any]) -> set[str]:
    return {line[0]} if isinstance(line[0], str) else set(line[0])


def _read(given: Any) -> set[str]:
    """The names in what an operator takes."""
    if isinstance(given, str):
        return {given}
    if not isinstance(given, list) or given[:1] == ["="]:
        return set()
    parts = given[1] if given[:1] == ["list"] else given
    return set().union(*map(_read, parts))


def _text(given: Any) -> str:
    if isinstance(given, str):
        return given
    what, value = given
    if what == "list":
        return f"[{', '.join(map(_text, value))}]"
    return value if value in ("inf", "-inf", "nan") else repr(value)


def kind_of_pytorch(kind: str) -> str:
    """An operator of the torch dialect, `torch.aten.add.Tensor`, as PyTorch calls it."""
    _, room, name, *overload = kind.split(".")
    return f"{room}.{name}.{overload[0] if overload else 'default'}"


@functools.cache
def _operator(kind: str) -> Any:
    return functools.reduce(getattr, kind_of_pytorch(kind).split("."), torch.ops)


def weights(directory: Path, name: str) -> Path:
    """The archive of a model's weights, written where it is not there."""
    file = directory / f"{name}.irpa"
    if not file.exists():
        about = json.loads((directory / f"{name}.json").read_text())
        model_weights.write(file, about["weights"], whole_models.CASES[name].make(directory))
    return file


def by_inductor(directory: Path, name: str) -> functools.partial[Any]:
    """A call of what lies between the kernels, compiled by Inductor."""
    given = next(iter(whole_models.CASES[name].calls(directory).values()))
    between = Between(directory, name, "cuda")
    torch._dynamo.reset()
    compiled = torch.compile(between.main, dynamic=False)
    call = functools.partial(compiled, *(each.cuda() for each in given), *between.constants)
    with torch.no_grad():
        for _ in range(3):
            call()
    return call


@torch.no_grad()
def run(directory: Path, name: str) -> dict[str, Any]:
    """Time both of a model."""
    import custom_dispatch as cd

    given = next(iter(whole_models.CASES[name].calls(directory).values()))
    path = weights(directory, name)
    program = cd.load(directory / f"{name}.vmfb", "cuda", parameters=path)
    ours = functools.partial(program.main, *map(program.to_device, given))
    times = busy(ours)
    generated = _where(is_between, times)
    count = _where(is_between, launches(ours)).total()
    del program, ours
    call = by_inductor(directory, name)
    of_inductor = _where(_is_no_stub, busy(call))
    return {
        "model": name,
        "whole us": times.total(),
        "IREE us": generated.total(),
        "IREE launches": count,
        "Inductor us": of_inductor.total(),
        "Inductor launches": _where(_is_no_stub, launches(call)).total(),
        "IREE": _listed(generated),
        "Inductor": _listed(of_inductor),
    }


def _where(is_one: Callable[[str], bool], found: Counter[str]) -> Counter[str]:
    return Counter({name: each for name, each in found.items() if each and is_one(name)})


_OF_STUBS = ("arange", "elementwise_kernel_with_index", "direct_copy_kernel")
"""What makes the integers that kernels would give."""


def _is_no_stub(name: str) -> bool:
    return not any(each in name for each in _OF_STUBS)


def is_between(name: str) -> bool:
    """Whether IREE made a kernel, or it is a copy."""
    return GENERATED in name or name.startswith("Mem")


def _listed(times: Counter[str]) -> list[str]:
    return [f"{name} {us:.1f} us" for name, us in times.most_common(12)]


def main() -> int:
    """Build or run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("build", "run"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--model", action="append")
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    names = given.model or NAMES
    if given.what == "build":
        build(given.directory, names)
        return 0
    rows = []
    for name in names:
        try:
            row = run(given.directory, name)
        except Exception as error:  # noqa: BLE001 - the others are to run, too
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            continue
        rows.append(row)
        whole, iree, inductor = (row[f"{each} us"] for each in ("whole", "IREE", "Inductor"))
        counts = [row[f"{each} launches"] for each in ("IREE", "Inductor")]
        print(
            f"{name:12} {whole:8.1f} us, between kernels: IREE {iree:7.1f} ({counts[0]} launches), "
            f"Inductor {inductor:7.1f} ({counts[1]}): {(iree - inductor) / whole:+.1%} of all",
            flush=True,
        )
        if given.save:
            gpu_command.save(given.save, "gpu.between run", rows=rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The `__device__` functions of a tree of CUDA sources, as `cd.Function`: how many translate.

    python -m benchmarks cpu.device_functions DIRECTORY [--compare N] [--save]

Those count that take and return numbers, or vectors such as `float2`, by value, that ask for no
thread, and whose file compiles when it is included alone and has all that they call. Bar: 95 % of
the scalar ones translate.

With `--compare` so many of these, drawn at random, are computed inside generated code on the CPU
and in their kernel form, on random operands with NaN, infinities and extremes.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import custom_dispatch as cd
from benchmarks.lib.report import RESULTS
from custom_dispatch.scalar.translate import translate
from custom_dispatch.toolchain.function_source import function_ptx
from tests.functions.conformance import (
    as_kernels,
    both,
    differing,
    in_generated_code,
    operands,
)

BAR = 0.95
SCALARS = {
    "float": "f32",
    "double": "f64",
    "__half": "f16",
    "half": "f16",
    "__nv_bfloat16": "bf16",
    "bool": "bool",
    "char": "i8",
    "signed char": "i8",
    "unsigned char": "u8",
    "uchar": "u8",
    "uint8_t": "u8",
    "int8_t": "i8",
    "short": "i16",
    "unsigned short": "u16",
    "uint16_t": "u16",
    "int16_t": "i16",
    "int": "i32",
    "int32_t": "i32",
    "unsigned": "u32",
    "unsigned int": "u32",
    "uint": "u32",
    "uint32_t": "u32",
    "long": "i64",
    "long long": "i64",
    "int64_t": "i64",
    "unsigned long": "u64",
    "unsigned long long": "u64",
    "uint64_t": "u64",
    "size_t": "u64",
}
VECTORS = {
    f"{name}{count}": (kind, count)
    for name, kind in (("float", "f32"), ("double", "f64"), ("int", "i32"), ("uint", "u32"))
    for count in (2, 3, 4)
}
_HEAD = re.compile(
    r"(?P<before>(?:template\s*<[^{};]*>\s*)?)"
    r"(?P<words>(?:\b(?:static|inline|constexpr|extern|__inline__|__forceinline__|__noinline__|"
    r"__host__|__device__)\b\s*)*\b__device__\b[\w\s:<>,*&]*?)"
    r"\b(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>[^(){};]*)\)\s*(?:const\s*)?(?:noexcept\s*)?\{"
)
_QUALIFIERS = re.compile(
    r"\b(static|inline|constexpr|extern|const|volatile|__inline__|__forceinline__|__noinline__|"
    r"__host__|__device__|__restrict__|register)\b"
)


def kind_of(text: str) -> cd.Struct | str | None:
    """A C type as an operand's: an element type, or a vector's name; None for any other."""
    plain = " ".join(_QUALIFIERS.sub(" ", text).split())
    return SCALARS.get(plain, plain if plain in VECTORS else None)


def functions_in(path: Path) -> Iterator[tuple[str, str | None, list[str | None]]]:
    """The name of each device function of a file, and the types of its result and parameters."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", path.read_text("utf-8", "replace"), flags=re.DOTALL)
    text = re.sub(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", " ", text, flags=re.MULTILINE)
    for match in _HEAD.finditer(text):
        parameters = []
        for part in filter(None, map(str.strip, match["parameters"].split(","))):
            found = re.fullmatch(r"(.*?)\b([A-Za-z_]\w*)\s*(=.*)?", part, re.DOTALL)
            whole = kind_of(part)
            parameters.append(whole or (kind_of(found[1]) if found else None))
        is_template = bool(match["before"].strip())
        yield match["name"], None if is_template else kind_of(match["words"]), parameters


def declared(
    path: Path, root: Path, name: str, result: str, parameters: list[str], library: str
) -> cd.Function:
    def struct(label: str, kind: str) -> cd.Struct:
        element, count = VECTORS[kind]
        return cd.Struct(label, **dict.fromkeys("xyzw"[:count], element))

    return cd.Function(
        name,
        source=path,
        operands=[
            struct(f"p{index}", kind) if kind in VECTORS else cd.Scalar(f"p{index}", kind)
            for index, kind in enumerate(parameters)
        ],
        result=struct("r", result) if result in VECTORS else result,
        library=library,
        include_dirs=[path.parent, root, *filter(Path.is_dir, root.glob("Common"))],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, nargs="+")
    parser.add_argument("--library", choices=["mlir", "cuda"], default="mlir")
    parser.add_argument("--compare", type=int, default=0)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    refused: list[str] = []
    translated: list[cd.Function] = []
    for root in given.directory:
        for path in sorted(root.rglob("*.c*")) + sorted(root.rglob("*.h*")):
            if "-hip" in str(path) or "-sycl" in str(path) or "-omp" in str(path):
                continue
            seen = set()
            for name, result, parameters in functions_in(path):
                counts["device functions"] += 1
                if (
                    result is None
                    or None in parameters
                    or not parameters
                    or (name, *parameters) in seen
                ):
                    continue
                seen.add((name, *parameters))
                group = "vector" if {result, *parameters} & VECTORS.keys() else "scalar"
                counts[f"{group}: by value"] += 1
                function = declared(path, root, name, result, parameters, given.library)
                try:
                    text = function_ptx(function)
                except cd.CustomDispatchError:
                    continue
                counts[f"{group}: compile alone"] += 1
                try:
                    translate(text, function)
                except cd.CustomDispatchError as error:
                    apart = {
                        "each element is computed by itself": "of threads",
                        "is not in the PTX": "call what another file has",
                    }
                    why = next((apart[each] for each in apart if each in error.found), None)
                    if why is not None:
                        counts[f"{group}: compile alone"] -= 1
                        counts[f"{group}: {why}"] += 1
                        continue
                    refused.append(f"{path.relative_to(root)}: {error.found}")
                    reasons[error.found.rpartition("): ")[2] or error.found] += 1
                    continue
                counts[f"{group}: translate"] += 1
                translated.append(function)
    for what, count in counts.items():
        print(f"{count:6} {what}")
    print("\n".join(refused))
    print(reasons.most_common())
    compared = compare(translated, given.compare)
    every = (counts["scalar: translate"] + counts["vector: translate"]) / counts["device functions"]
    print(f"{every:.3f} of all device functions translate, those of threads and memory among them")
    share = counts["scalar: translate"] / max(counts["scalar: compile alone"], 1)
    print(f"{share:.3f} of the scalar ones that compile alone translate (bar {BAR})")
    if given.save:
        content = {"counts": counts, "refused": reasons, "compared": compared}
        path = RESULTS / f"device_functions_{given.library}.json"
        path.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if share >= BAR else 1


def compare(functions: list[cd.Function], count: int) -> dict[str, int]:
    found: collections.Counter[str] = collections.Counter()
    for function in random.Random(0).sample(  # noqa: S311
        functions, min(count, len(functions))
    ):
        # Numbers of turns come from integers: small ones, so that loops end soon.
        bounds = {
            item.name: (-100.0, 100.0) for item in function.arguments if not item.dtype.is_float
        }
        values = operands(function, 0, bounds)
        try:
            generated, kernels = in_generated_code([function]), as_kernels([function])
            pairs = both(generated, kernels, function, values)
        except cd.CustomDispatchError as error:
            found[f"not run: {error.found[:80]}"] += 1
            print(function.name, function.source, error)
            continue
        worst = 0.0
        for left, right in pairs:
            places = differing(values, left, right)
            if places.any():
                a, b = left[places].astype(float), right[places].astype(float)
                with np.errstate(all="ignore"):
                    relative = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
                worst = max(worst, float(np.nan_to_num(relative, nan=np.inf).max()))
        near = "the same" if worst == 0 else "within 1e-5" if worst < 1e-5 else "different"
        found[near] += 1
        if near == "different":
            print(f"{function.name} of {function.source}: {worst}")
    print(dict(found))
    return dict(found)


if __name__ == "__main__":
    raise SystemExit(main())

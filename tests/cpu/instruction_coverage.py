"""Which share of the PTX that compilers emit the CPU target lowers, and what it does not.

``python tests/cpu/instruction_coverage.py`` prints it for the corpus of this directory, the
kernels of the package and of the other tests, and a kernel for each device function that the CUDA
headers declare, each compiled for sm_80 and sm_90. An instruction counts once for each place where
it stands in a kernel, calls put in place.
"""

from __future__ import annotations

import functools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import every_intrinsic
import nvidia.cu13
from cpu_harness import CudaError, compile_cuda

from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.lower import lower
from custom_dispatch.errors import UnsupportedInstructionError
from custom_dispatch.ptx import Entry, Instruction, Module, read_module
from custom_dispatch.toolchain.nvrtc import C_HEADERS, PRE_INCLUDED

ROOT = Path(__file__).parents[2]
INCLUDE = Path(next(iter(nvidia.cu13.__path__))) / "include"
PATHS = (INCLUDE, INCLUDE / "cccl", C_HEADERS, ROOT / "cuda_kernels/include")
OPTIONS = (
    "--std=c++17",
    "-default-device",
    f"--pre-include={PRE_INCLUDED}",
    *(f"-I{path}" for path in PATHS),
)
CORPUS, SHIPPED = ROOT / "tests/cpu/corpus", ROOT / "cuda_kernels"
SAMPLES = ROOT / "tests/sample_kernels/samples.cu"
ARCHS = ("sm_80", "sm_90")
_FUNCTIONS = re.compile(r"(?m)^(?=[.\w ]*\.(?:entry|func)\b)")
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_ASIDE = re.compile(r"(?m)//.*$|^[\w$]+:|^\s*\{")
_REGISTER = re.compile(r"(%(?:p|rs|r|rd|f|fd|h|hh|b))\d+\b")
_NUMBER = re.compile(r"\b0[fFdDxX][0-9A-Fa-f]+U?\b|(?<![\w.%$])-?\d+\b")
_NAME = re.compile(r"(?<=[\s\[,{(])[A-Za-z_$][\w$]*(?=[\s\],+})]|$)")
_REFUSED = re.compile(r"uses `(?P<opcode>[^`]+)` \(PTX line (?P<line>\d+)")


@dataclass
class Coverage:
    """Counts of instructions."""

    total: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """By the opcode."""
    where: dict[str, str] = field(default_factory=dict)
    """An entry that has it, by the opcode."""

    @property
    def share(self) -> float:
        return 1 - sum(self.refused.values()) / max(self.total, 1)

    def add(self, other: Coverage) -> None:
        self.total += other.total
        self.refused += other.refused
        self.where = other.where | self.where


def measure(ptx: str, measured: dict[str, Coverage]) -> Coverage:
    """Lower every entry, leaving out what is refused until nothing is.

    Those that have the same text for another architecture, by `measured`, are not lowered again.
    """
    module, total = read_module(ptx), Coverage()
    texts = {name: text for text in _FUNCTIONS.split(ptx) for name in _ENTRY.findall(text)[:1]}
    called = "".join(text for text in _FUNCTIONS.split(ptx) if ".func" in text[:60])
    for entry in module.entries:
        text = texts[entry.name] + called
        if text not in measured:
            measured[text] = _measure(module, entry)
        total.add(measured[text])
    return total


def each_form_once(ptx: str, seen: set[str]) -> str:
    """PTX without the entries whose instructions all have a form that is among those seen.

    A form is an instruction's text but for the names and numbers in it; new ones are put there.
    """
    kept = []
    # The small ones first: then the large ones, which take long, have little that is new.
    for index, text in sorted(enumerate(_FUNCTIONS.split(ptx)), key=lambda part: len(part[1])):
        forms = set(map(_form, text.partition("{")[2].split(";")))
        if not _ENTRY.search(text) or forms - seen:
            kept.append((index, text))
            seen |= forms
    return "".join(text for _, text in sorted(kept))


def _form(statement: str) -> str:
    named = _NUMBER.sub("1", _REGISTER.sub(r"\1", _ASIDE.sub("", statement).strip()))
    return "".join(_NAME.sub("name", named).split())


def _measure(module: Module, entry: Entry) -> Coverage:
    found = Coverage()
    while True:
        try:
            lower(replace(module, entries=(entry,)), [_kernel(entry)])
        except UnsupportedInstructionError as error:
            named = _REFUSED.search(str(error))
            if named is None:
                raise
            module, entry = _without(module, entry, named["opcode"], int(named["line"]))
            found.refused[named["opcode"]] += 1
            found.total += 1
            found.where.setdefault(named["opcode"], entry.name)
        else:
            break
    found.total += sum(isinstance(s, Instruction) for s in entry.body)
    return found


def _kernel(entry: Entry) -> CpuKernel:
    bindings = sum(p.type in ("u64", "b64") for p in entry.parameters)
    constants = len(entry.parameters) - bindings
    return CpuKernel(entry.name, "k", (32, 1, 1), bindings, constants)


def _without(module: Module, entry: Entry, opcode: str, line: int) -> tuple[Module, Entry]:
    def is_it(statement: object) -> bool:
        return (
            isinstance(statement, Instruction)
            and statement.line == line
            and statement.opcode == opcode
        )

    body = tuple(s for s in entry.body if not is_it(s))
    functions = tuple(
        replace(f, body=tuple(s for s in f.body if not is_it(s))) for f in module.functions
    )
    assert body != entry.body or functions != module.functions, (opcode, line)
    return replace(module, functions=functions), replace(entry, body=body)


compiled = functools.cache(compile_cuda)
"""`known` ends with a compilation that `builds` begins with."""


def kernels() -> Iterator[tuple[str, str]]:
    """Names of files with kernels, and their text."""
    yield from ((path.name, path.read_text()) for path in sorted(CORPUS.glob("*.cu")))
    yield SAMPLES.name, SAMPLES.read_text()
    yield from ((path.name, path.read_text()) for path in sorted(SHIPPED.rglob("*.cu")))


def functions(groups: Sequence[str] = every_intrinsic.GROUPS) -> Iterator[tuple[str, str]]:
    """Groups of the headers' functions, and kernels that call those that NVRTC knows."""
    return ((group, every_intrinsic.source(known(group))) for group in groups)


def builds(
    sources: Iterable[tuple[str, str]], archs: Sequence[str] = ARCHS
) -> Iterator[tuple[str, str, str]]:
    """What is measured: a name, an architecture, and PTX."""
    for name, text in sources:
        for arch in archs:
            yield name, arch, compiled(text, arch, OPTIONS)
        if name in ("math", "intrinsics") and ARCHS[1] in archs:
            fast = (*OPTIONS, "--use_fast_math")
            yield f"{name}, fast", ARCHS[1], compiled(text, ARCHS[1], fast)


def known(group: str) -> list[str]:
    """The kernels of a group that compile for every architecture."""
    lines = every_intrinsic.kernels(INCLUDE, group)
    while True:
        try:
            compiled(every_intrinsic.source(lines), ARCHS[0], OPTIONS)
        except CudaError as error:
            found = re.findall(r"kernel\.cu\((\d+)\): (?:catastrophic )?error", str(error))
            wrong = {int(number) - every_intrinsic.first_line() for number in found}
            if not wrong:
                raise
            lines = [line for i, line in enumerate(lines) if i not in wrong]
        else:
            return lines


def report(sources: Iterable[tuple[str, str]]) -> Coverage:
    """Measure sources, and print a line for each and for each opcode not lowered."""
    total, measured = Coverage(), dict[str, Coverage]()
    for name, arch, ptx in builds(sources):
        found, kernels = measure(ptx, measured), ptx.count(".entry")
        refused = sum(found.refused.values())
        print(
            f"{name:24} {arch}  {kernels:4} kernels  {found.total:7} instructions"
            f"  {100 * found.share:7.3f} %  {refused} not lowered"
        )
        total.add(found)
    for opcode, count in total.refused.most_common():
        print(f"  {count:5}  {opcode:44}  {total.where[opcode]}")
    print(f"{total.total} instructions, {100 * total.share:.3f} % lowered")
    return total


if __name__ == "__main__":
    sys.exit(report(chain(kernels(), functions())).total == 0)

"""PTX of other compilers: what they add that neither ptxas nor IREE's calls have a place for.

Seen of Triton 3.9, CUDA Tile 1.7 and Warp 1.19: parameters that no code reads (Triton's two
pointers to scratch memory), the architecture sm_90a where nothing needs it, directives for
debuggers that ptxas 13.0 does not know, and more static shared memory than a block may have.
"""

import re
from dataclasses import replace

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx.edits import Edit
from custom_dispatch.ptx.module import Entry, Instruction, Module, Parameter, Span, named_by
from custom_dispatch.ptx.rewrite import is_rewritten
from custom_dispatch.ptx.stream import FOR_DEBUGGERS

_FOR_DEBUGGERS = re.compile(rf"^[ \t]*{FOR_DEBUGGERS}", re.MULTILINE)
_TARGET = re.compile(r"^([ \t]*\.target[ \t]+sm_(\d+))[af]\b", re.MULTILINE)


def ported(text: str, arch: Arch) -> str:
    """PTX for an architecture, without directives for debuggers; every line stays where it is.

    PTX for `sm_90a` becomes PTX for a plain `sm_90` that is asked for. Whether it is, ptxas says.
    """
    text = _FOR_DEBUGGERS.sub("", text)
    match = _TARGET.search(text)
    if match is None or arch.suffix or int(match[2]) != arch.compute_capability:
        return text
    return text[: match.end(1)] + text[match.end() :]


def unread(entry: Entry) -> tuple[Parameter, ...]:
    """The parameters of an entry that no instruction names."""
    named = {
        name for item in entry.body if isinstance(item, Instruction) for name in named_by(item)
    }
    return tuple(parameter for parameter in entry.parameters if parameter.name not in named)


def drop_unread(text: str, module: Module, name: str, count: int) -> tuple[Module, list[Edit]]:
    """Leave out parameters of an entry that nothing reads, where it has more than are declared.

    They are those behind the `count` that are declared, or all. Where neither is possible, nothing
    is left out.
    """
    entry = module.entry(name)
    if entry is None or is_rewritten(entry) or len(entry.parameters) <= count:
        return module, []
    idle = unread(entry)
    behind = entry.parameters[count:]
    read = tuple(parameter for parameter in entry.parameters if parameter not in idle)
    kept = entry.parameters[:count] if set(behind) <= set(idle) else read
    if len(kept) != count:
        return module, []
    entries = (replace(each, parameters=kept) if each is entry else each for each in module.entries)
    declarations = ",\n\t".join(text[item.span.start : item.span.end].strip() for item in kept)
    return replace(module, entries=tuple(entries)), [
        (entry.parameters_span, f"\n\t{declarations}\n")
    ]


_MOST_STATIC_BYTES = 48 << 10
"""Of shared memory, on every GPU; more has to be dynamic (CUDA C++ Programming Guide, 16.7.3)."""


def make_shared_dynamic(text: str, module: Module, entry: Entry, kernel: Kernel) -> list[Edit]:
    """Declare the largest array of shared memory as dynamic, where all are too much to be static.

    Raises `PtxError`: the kernel does not declare as much dynamic shared memory.
    """
    known = (*module.variables, *entry.variables)
    shared = [variable for variable in known if variable.space == "shared"]
    total = sum(variable.size_bytes for variable in shared)
    if total <= _MOST_STATIC_BYTES or any(variable.is_extern for variable in shared):
        return []
    largest = max(shared, key=lambda variable: variable.size_bytes)
    if kernel.dynamic_shared_memory < largest.size_bytes:
        raise PtxError(
            f"It has {total} bytes of static shared memory, and {kernel.dynamic_shared_memory} "
            "bytes of dynamic shared memory are declared.",
            expected=f"at most {_MOST_STATIC_BYTES} bytes of static shared memory; more has to be "
            "dynamic",
            next_step=f"declare dynamic_shared_memory={largest.size_bytes}: `{largest.name}` then "
            "becomes dynamic.",
        )
    statement = rf"^[^\n;]*\.shared\b[^;]*?(?<![\w$]){re.escape(largest.name)}(?![\w$])[^;]*;"
    scope = Span(0, len(text)) if largest in module.variables else entry.body_span
    found = re.compile(statement, re.MULTILINE).search(text, scope.start, scope.end)
    if found is None:
        return []
    new = f".extern .shared .align {largest.align} .b8 {largest.name}[];"
    place = Span(found.start(), found.end())
    if largest in module.variables:
        return [(place, new)]
    # No extern variable is declared in an entry.
    return [(Span(entry.span.start, entry.span.start), f"{new} "), (place, "")]

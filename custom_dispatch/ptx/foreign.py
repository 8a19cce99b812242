"""PTX of other compilers: what they add that neither ptxas nor IREE's calls have a place for.

Seen of Triton 3.9, CUDA Tile 1.7 and Warp 1.19: parameters that no code reads (Triton's two
pointers to scratch memory), the architecture sm_90a where nothing needs it, and directives for
debuggers that ptxas 13.0 does not know.
"""

from __future__ import annotations

import re
from dataclasses import replace

from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx.edits import Edit
from custom_dispatch.ptx.module import Entry, Instruction, Module, Parameter, named_by
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

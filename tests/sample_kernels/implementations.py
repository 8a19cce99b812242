"""The declarations for `implementations.cu` and, on sm_90a alone, `implementations_sm90a.cu`."""

from __future__ import annotations

import custom_dispatch as cd

n = cd.dim("n")
PERSISTENT = cd.minimum(cd.ceildiv(n, 128), 5)


def _kernel(name: str, result: cd.Out, on_hopper: cd.Implementation) -> cd.Kernel:
    return cd.Kernel(
        name,
        source="implementations.cu",
        operands=[cd.In("x", "f32", [n]), result, cd.Scalar("count", "i32", n)],
        block=64,
        grid=cd.ceildiv(n, 64),
        implementations={"cuda:sm_90a": on_hopper},
    )


ALL = [
    _kernel(
        "geometry",
        cd.Out("out", "i32", [n, 4]),
        cd.Implementation(
            source="implementations_sm90a.cu",
            entry="geometry_persistent",
            block=128,
            grid=PERSISTENT,
            dynamic_shared_memory=96 * 1024,
        ),
    ),
    _kernel(
        "doubled",
        cd.Out("y", "f32", [n]),
        cd.Implementation(source="implementations_sm90a.cu", block=96, grid=PERSISTENT),
    ),
]

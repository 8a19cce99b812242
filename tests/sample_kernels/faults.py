"""A kernel that goes wrong as it is told to. On the CPU only mistakes 0, 3 and 4 are for it."""

import custom_dispatch as cd

n = cd.dim("n")

fault = cd.Kernel(
    "fault",
    source="faults.cu",
    operands=[
        cd.In("x", "f32", [n]),
        cd.Out("y", "f32", [n]),
        cd.Scalar("mistake", "i32"),
        cd.Scalar("count", "i32", n),
    ],
    block=64,
    grid=cd.ceildiv(n, 64),
)

MISTAKES = {"none": 0, "address": 1, "misaligned": 2, "trap": 3, "assert": 4}

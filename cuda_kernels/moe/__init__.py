"""Mixtures of experts: products whose rows have a matrix for each group.

`grouped_linear_bf16` has weights [groups, n, k], `grouped_matmul_bf16` matrices [groups, k, n]; the
element type follows: `grouped_linear_f32`. `sort_f32` and `sort_i64` sort rows, as those of what a
router chooses from, and of what it chose. Each is a `cd.Choice` (`grouped.py`, `sort.py`).
"""

from cuda_kernels.shared.lazily import TYPES, each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "grouped": [*each_type("grouped_linear", "grouped_matmul"), "declare"],
            "sort": each_type("sort", types=(*TYPES, "i32", "i64")),
        },
    ),
)

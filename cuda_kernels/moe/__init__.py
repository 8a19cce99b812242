"""Mixtures of experts: products whose rows have a matrix for each group.

`grouped_linear_bf16` has weights [groups, n, k], `grouped_matmul_bf16` matrices [groups, k, n]; the
element type follows: `grouped_linear_f32`. Each is a `cd.Choice` (`grouped.py`).
"""

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__, {"grouped": [*each_type("grouped_linear", "grouped_matmul"), "declare"]}
    ),
)

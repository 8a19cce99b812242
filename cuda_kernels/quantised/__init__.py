"""Products with quantised weights, y = x W^T: of 4 bits, integers of 8, and fp8.

`q4_0_f16`, `q4_1_bf16`, `int4_f16`, `int4_zeros_bf16`, `int8_f16`, ...: for x of f16 or bf16, of
any leading dims, fastest for few rows of it. Each is a `cd.Choice` (`four_bit.py`, `eight_bit.py`,
`many.py`), declared when its name is first used.
`quantise_q4_0`, `quantise_q4_1`, `quantise_int4`, `quantise_int8` and `quantise_fp8` pack weights
for them; `groups_of_q4_0` and `groups_of_q8_0` make groups of GGUF's blocks. An infinity in x makes
NaN or an infinity of a result; which one may differ from the reference.
"""

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

_HALVES = ("f16", "bf16")

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "four_bit": each_type("q4_0", "q4_1", "int4", "int4_zeros", types=_HALVES),
            "eight_bit": each_type("fp8", "int8", "int8_groups", types=_HALVES),
            "many": each_type("q8_0", "q4_k", "fp8_blocks", types=_HALVES),
            "loading": ["fp8_blocks", "gguf_blocks", "int4_of_awq", "int4_of_gptq"],
            "packing": [
                "groups_of_q4_0",
                "groups_of_q8_0",
                "quantise_fp8",
                "quantise_int4",
                "quantise_int8",
                "quantise_q4_0",
                "quantise_q4_1",
                "quantise_q8_0",
            ],
        },
    ),
)

"""Products with quantised weights, y = x W^T: 4 bits as GGUF or as groups have them, and fp8.

`q4_0_f16`, `q4_1_bf16`, `int4_f16`, `int4_zeros_bf16`, `fp8_f16`, ...: for x of f16 or bf16, of any
leading dims, fastest for few rows of it. Each is a `cd.Choice` (`four_bit.py`, `fp8.py`), declared
when its name is first used.
`quantise_q4_0`, `quantise_q4_1`, `quantise_int4` and `quantise_fp8` pack weights for them, and
`groups_of_q4_0` makes groups of GGUF's blocks. An infinity in x makes NaN or an infinity of a
result; which one may differ from the reference.
"""

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

_HALVES = ("f16", "bf16")

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "four_bit": each_type("q4_0", "q4_1", "int4", "int4_zeros", types=_HALVES),
            "fp8": each_type("fp8", types=_HALVES),
            "many": each_type("q8_0", "q4_k", "fp8_blocks", types=_HALVES),
            "loading": ["fp8_blocks", "gguf_blocks", "int4_of_awq", "int4_of_gptq"],
            "packing": [
                "groups_of_q4_0",
                "quantise_fp8",
                "quantise_int4",
                "quantise_q4_0",
                "quantise_q4_1",
                "quantise_q8_0",
            ],
        },
    ),
)

"""Activations, element by element: GELU (of erf and of tanh), SwiGLU and other gated linear units.

`gelu_erf_f32`, `gelu_tanh_bf16`, `swiglu_f16`, `geglu_erf_f32`, `geglu_tanh_bf16`, ...: for f32,
f16 and bf16. `glu_of_halves_f32`, ... gate one half of each row with the other, by any of
`glu.ACTIVATIONS`. A kernel is declared when its name is first used.
"""

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "gelu": each_type("gelu_erf", "gelu_tanh"),
            "swiglu": each_type("swiglu"),
            "glu": each_type("geglu_erf", "geglu_tanh", "glu_of_halves"),
        },
    ),
)

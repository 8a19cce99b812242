"""Activations, element by element: GELU (of erf and of tanh) and SwiGLU.

`gelu_erf_f32`, `gelu_tanh_bf16`, `swiglu_f16`, ...: for f32, f16 and bf16. A kernel is declared
when its name is first used.
"""

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {"gelu": each_type("gelu_erf", "gelu_tanh"), "swiglu": each_type("swiglu")},
    ),
)

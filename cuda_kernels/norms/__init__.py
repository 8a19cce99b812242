"""Norms and softmax of rows: RMS norm, alone and of a sum with a residual, layer norm, softmax.

`rms_norm_f32`, `add_rms_norm_bf16`, `layer_norm_f16`, `softmax_f32`, ...: for f32, f16 and bf16.
`group_norm_2d_f16` is of images [n, c, h, w] and `group_norm_1d_f16` of [n, c, w]. A kernel is
declared when its name is first used.
"""

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "rms_norm": each_type(
                *("rms_norm", "add_rms_norm", "rms_norm_from", "add_rms_norm_from")
            ),
            "layer_norm": each_type("layer_norm"),
            "group_norm": each_type("group_norm_1d", "group_norm_2d"),
            "softmax": each_type("softmax"),
        },
    ),
)

"""Images [n, h, w, c], whose channels lie side by side: convolutions, group norms, pooling.

`convolution_last_f16` computes act(convolution(x, weight) * factor + summand + residual) for
weights [filters, rows, columns, c / groups], `depthwise_last_f16` the same for weights [rows,
columns, filters], each of which has one channel; any strides, paddings, dilations and groups.
Factor and summand are of f32, a number for each filter: a bias, a batch norm with known statistics.
`pooling_last_f16` gives the largest numbers or the means of windows, `group_norm_last_f16` group
norms, and `turning_f16` transposes: channels first to channels last, and back.

Strides, paddings and dilations are the shape of an array that has no elements, as for
`cuda_kernels.convolution`. The rule in `patterns/rewriting/channels_last.py` writes models so.
"""

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "convolution": each_type("convolution_last", "depthwise_last"),
            "images": each_type("pooling_last", "turning"),
            "group_norm": each_type("group_norm_last"),
        },
    ),
)

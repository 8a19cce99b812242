"""Convolutions, and what follows them: act(norm(convolution(x, weight) + bias) + residual).

`convolution_2d_f16` is of images [n, c, h, w] and weights [k, c / groups, r, s], as PyTorch has
them; `convolution_1d_f16` is the same along one axis. Any strides, paddings, dilations and groups.
The norm is a batch norm with known statistics. Bias, norm and residual may be absent. Each is a
`cd.Choice` of kernels for depthwise convolutions, many tiles and few.

A result's size follows from the shapes of a call's arrays alone, as everywhere in this package. So
strides, paddings and dilations are the shape of an array that has no elements, `window`:
[0, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w], and [0, stride, padding,
dilation] along one axis.
"""

from cuda_kernels.shared.lazily import each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "convolution": [*each_type("convolution_1d", "convolution_2d"), "choice", "declare"],
            "activations": ["ACTIVATIONS"],
        },
    ),
)

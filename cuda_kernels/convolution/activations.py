"""The activations that may follow a convolution, in the order of `include/activations.cuh`."""

from __future__ import annotations

ACTIVATIONS = (
    *("", "relu", "silu", "gelu_erf", "gelu_tanh"),
    *("relu6", "hardswish", "hardsigmoid", "sigmoid", "leaky_relu"),
)
"""A kernel's scalar `activation` is the position of one of these."""

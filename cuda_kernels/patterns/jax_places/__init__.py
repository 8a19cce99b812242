"""Places for the shipped kernels in functions of JAX, found by what they compute.

A function is traced and read as a graph (`graph.py`). A place is recognised from its result
backwards: dims are followed through every view (`axes.py`), so that transposed, merged and mapped
dims are the same as plain ones, and constants and activations are compared by value. Then the
kernel is called in its place. Sizes may be symbols.
"""

"""The CPU target: a kernel's PTX as MLIR that IREE compiles for a CPU.

``lower(module, kernels)`` in `lower.py` is the way in. It loads neither IREE nor CUDA.
"""

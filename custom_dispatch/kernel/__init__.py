"""Declarations: kernels, operands, dims, element types and targets, as pure data.

This room imports neither IREE nor CUDA nor numpy, and reads no file.
"""

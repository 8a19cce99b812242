"""Patterns over MLIR: kernels put wherever a model computes what an example does."""

"""Kernels in a model's MLIR: what it calls, checked and declared, and the IR that calls need."""

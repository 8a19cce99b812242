"""Kernels of Triton. Triton is no dependency: `cd.triton` loads these files when it is touched."""

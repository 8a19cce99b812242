"""Kernels compared with their references, timed and tuned."""

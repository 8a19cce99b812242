"""Kernels of Triton. Triton is no dependency: `cd.triton` loads these files when it is touched."""

RELEASES = "3.6", "3.10"
"""The first that was tried, and the first that was not."""

"""Kernels in PyTorch. PyTorch is no dependency: `cd.torch` loads these files when it is touched."""

"""Kernels in PyTorch. PyTorch is no dependency: `cd.torch` loads these files when it is touched."""

from custom_dispatch.installation import require_framework

require_framework("torch", "PyTorch")

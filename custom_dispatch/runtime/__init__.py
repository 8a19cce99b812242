"""Devices, loading and calling: the IREE runtime as users see it."""

# Whoever opens CUDA through this room has what a fork and the exit need.
from custom_dispatch.runtime import access as access

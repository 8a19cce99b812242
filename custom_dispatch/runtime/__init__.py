"""Devices, loading and calling: the IREE runtime as users see it."""

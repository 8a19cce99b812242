"""Kernels called on arrays: built when first called, then run as modules are."""

"""Kernels in functions of JAX, and functions of JAX as models. Needs JAX."""

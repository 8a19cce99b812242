"""Kernels in functions of JAX, and functions of JAX as models. Needs JAX."""

from custom_dispatch.installation import require_framework

require_framework("jax", "JAX")

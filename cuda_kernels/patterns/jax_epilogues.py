"""Products in functions of JAX with the operations that follow them, each pair as one kernel.

`patterns.jax` has products with the activations that they ship with. What else follows a product,
and works on single elements, becomes a function here, which the product calls before it stores; so
do functions of the user's (`cd.jax.call`):

    cd.jax.compile(function, (x,), replace=jax_epilogues.everything)

Rules see the function that is compiled, so that these need not be given it.
"""

from __future__ import annotations

import custom_dispatch as cd
from cuda_kernels.patterns import jax as of_jax
from cuda_kernels.patterns.jax_places.rewriting import put_kernels
from cuda_kernels.shared.lazily import lazily

_EPILOGUES = (cd.jax.Rule(put_kernels, ("epilogues",)),)

__getattr__, __dir__ = lazily(
    globals(),
    {"epilogues": lambda: _EPILOGUES, "everything": lambda: (*of_jax.everything, *_EPILOGUES)},
)
"""`epilogues`: products with what follows them alone; `everything`: with the rules of `jax`."""

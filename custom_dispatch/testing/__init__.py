"""Help for tests: kernels of Triton on machines without a GPU."""

from contextlib import AbstractContextManager


def triton_on_cpu(*, checked: bool = False, capability: int = 80) -> AbstractContextManager[None]:
    """Let launches of Triton run on the CPU within a `with` block.

    Functions of Triton, what launches them and tests stay as they are. Triton compiles for a GPU of
    the given generation, and the CPU runs that code, on tensors in its memory. Autotuning takes the
    first configuration.

    - `checked`: whether accesses out of bounds, races and reads of shared memory that was never
      written are errors, which name the line. It takes more time.
    - `capability`: 10 times the compute capability: 80, or 89 for products of f8E4M3FN.

    Raises `ToolNotFoundError`: Triton is not installed, or is a release that this package does not
    know.
    """
    from custom_dispatch import triton  # noqa: F401 - it says what is missing
    from custom_dispatch.frontends.triton.on_cpu import launches_on_cpu

    return launches_on_cpu(checked=checked, capability=capability)

"""What a kernel takes of a GPU."""

from custom_dispatch.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What one kernel takes of the GPU, as ptxas or a cubin says."""

    kernel: str
    """Its name in the object."""
    registers: int = 0
    """For each thread."""
    spill_stores_bytes: int | None = 0
    """Bytes of registers that each thread puts into local memory for want of registers; None where
    only a cubin was read, which does not tell."""
    spill_loads_bytes: int | None = 0
    stack_bytes: int = 0
    """Local memory of each thread, with that of the functions it calls where that is known."""
    static_shared_bytes: int = 0
    """For each block; dynamic shared memory comes on top at the launch."""
    constant_bytes: int = 0
    """Over all constant banks: the parameters, what the driver passes beside them, and constants
    of the code."""
    barriers: int = 0

    @property
    def spills(self) -> bool:
        """Whether it is known to spill registers."""
        return bool(self.spill_stores_bytes or self.spill_loads_bytes)

"""The CPU target: a kernel's PTX as MLIR that IREE compiles for a CPU.

``lower(module, kernels)`` is the way in. It loads neither IREE nor CUDA.
"""

from custom_dispatch.cpu.cpu_kernel import CpuCode, CpuKernel
from custom_dispatch.cpu.findings import REPORT_BYTES
from custom_dispatch.cpu.findings_entry import FINDINGS_ENTRY
from custom_dispatch.cpu.lower import lower
from custom_dispatch.cpu.processor import Processor

__all__ = [
    "FINDINGS_ENTRY",
    "REPORT_BYTES",
    "CpuCode",
    "CpuKernel",
    "Processor",
    "lower",
]

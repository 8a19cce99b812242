"""Operations of public libraries that launch kernels of Triton: a file or two for each library."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """A library, as the package index has it."""

    distribution: str
    version: str
    """The release that its cases were written for, before any of them had been run."""
    files: tuple[str, ...]
    """Modules of this package that hold its cases."""


LIBRARIES = {
    "liger": Library("liger-kernel", "0.8.5", ("liger_kernel", "liger_losses")),
    "flag_gems": Library("flag-gems", "5.0.2", ("flag_gems",)),
    "fla": Library("fla-core", "0.6.0", ("fla", "fla_recurrences")),
    "conch": Library("conch-triton-kernels", "1.3", ("conch",)),
    "bitsandbytes": Library("bitsandbytes", "0.50.2", ("bitsandbytes",)),
    "sageattention": Library("sageattention", "1.0.6", ("sageattention",)),
    "cut_cross_entropy": Library("cut-cross-entropy", "25.1.1", ("cut_cross_entropy",)),
    "lion_pytorch": Library("lion-pytorch", "0.2.5", ("lion_pytorch",)),
}

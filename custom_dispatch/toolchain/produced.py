"""Kernels whose code the compiler of another language makes when they are built."""

import atexit
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from custom_dispatch.files import replace_file, temporary_directory
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.phases import say
from custom_dispatch.store import open_store
from custom_dispatch.toolchain.object_sources import CPU_PTX_ARCH, is_plain


def produced(kernel: Kernel, targets: Sequence[Target]) -> Kernel:
    """A kernel with the code that its producer makes for targets; any other stays as it is.

    The CPU runs the PTX of a plain architecture: the lowest that is asked for, or else the one that
    it takes of sources.
    """
    if kernel.producer is None:
        return kernel
    wanted = sorted((t for t in targets if t.is_cuda), key=lambda each: each.cuda_arch)
    if len(wanted) < len(targets) and not any(map(is_plain, wanted)):
        wanted = [Target("cuda", CPU_PTX_ARCH), *wanted]
    wanted.sort(key=is_plain, reverse=True)
    say(f"code of {kernel.name}")
    return kernel.with_code({each: kernel.producer.produce(kernel.name, each) for each in wanted})


@cache
def _directory() -> Path:
    whole = ExitStack()
    atexit.register(whole.close)
    return whole.enter_context(temporary_directory())


def file_of(text: str, suffix: str = ".ptx") -> Path:
    """A file with code: kernels have paths. Of the store's, so that it has the same each time."""
    data = text.encode()
    store = open_store()
    with suppress(OSError):
        if store is not None:
            return store.file(data, suffix)
    path = _directory() / f"{sha256(data).hexdigest()}{suffix}"
    if not path.exists():
        replace_file(path, data)
    return path

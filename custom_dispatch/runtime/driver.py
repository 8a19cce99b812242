"""The CUDA driver, asked directly: which GPUs are here, and if none, why; contexts, and order.

The driver library is loaded when first asked, never at import; its absence is an answer and no
error. Only functions of the stable driver API are used (CUDA Driver API, "Initialization",
"Version Management", "Device Management" and "Error Handling"), through ctypes: what is deployed
next to IREE must not need a CUDA package.

The GPUs' primary contexts are shared by IREE, the CUDA runtime and this package. IREE takes that of
a GPU when it opens the device (iree/hal/drivers/cuda/cuda_device.c), and PyTorch and CuPy work in
it. Whoever asks the driver about memory, streams or launches of the same buffers works in it, too.
Each is retained once a process, and kept (CUDA Driver API, "Primary Context Management").

IREE works on a stream of its own, which it tells nobody, and its Python calls take no events. So
what other libraries have under way is waited for on the host, here:

- Before an array of theirs is read, the stream on which it becomes ready is waited for.
- After an array of ours was given away: its memory is used again as soon as nobody holds it, and
  the other library may still read it by then (PyTorch lets go of a tensor when its work is queued,
  not when it is done). From then on, calls wait for the stream that asked for the array.
"""

import ctypes
import functools
import os
import re
import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeviceError
from custom_dispatch.kernel.target import gpu_name

LIBRARY = "libcuda.so.1"
_lock = threading.Lock()
_bindings: dict[int, tuple[Callable[[], int], Callable[[], int]]] = {}
"""For each GPU whose context is retained, what makes that the calling thread's, and undoes it."""
_popped = ctypes.byref(ctypes.c_void_p())
"""Where the driver writes what was popped, which nobody reads."""
_AT_ONCE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
"""A function that returns at once: it keeps Python's lock, and takes half the time."""


@functools.cache
def cuda_library() -> Any:
    """The driver's library.

    Raises `OSError`: it is not here, or cannot be loaded.
    """
    return ctypes.CDLL(LIBRARY)


def _retain(gpu: int) -> int:
    """Retain a GPU's context, once; the driver's status."""
    with _lock:
        if gpu in _bindings:
            return 0
        library, device, context = cuda_library(), ctypes.c_int(), ctypes.c_void_p()
        status: int = library.cuInit(0)
        status = status or library.cuDeviceGet(ctypes.byref(device), gpu)
        status = status or library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        if status == 0:
            push_it, pop_it = (
                _AT_ONCE((f"cuCtx{name}Current_v2", library)) for name in ("Push", "Pop")
            )
            _bindings[gpu] = functools.partial(push_it, context), functools.partial(pop_it, _popped)
        return status


def push(gpu: int) -> int:
    """Make a GPU's context the calling thread's until `pop`; the driver's status.

    After that the thread has again what it had, or none: PyTorch's and CuPy's current device is
    that of the thread's context (CUDA Driver API, "Context Management").
    """
    return _retain(gpu) or _bindings[gpu][0]()


def pop() -> None:
    """Undo the last `push`."""
    next(iter(_bindings.values()))[1]()


def binding(gpu: int) -> tuple[Callable[[], int], Callable[[], int]]:
    """What `push` and `pop` come to, when `push` has succeeded once."""
    return _bindings[gpu]


_NVML = "libnvidia-ml.so.1"
_PROC = Path("/proc/driver/nvidia")
_VERSION = r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s"
_LONGEST_TEXT = 96
"""NVML_DEVICE_NAME_V2_BUFFER_SIZE, which is more than the 80 of a driver version."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The machine's GPUs and driver, whether or not this process may use them.

    The CUDA driver tells only what it shows to this process. What it hides is told by NVML (NVML
    API Reference, "Initialization and Cleanup", "System Queries", "Device Queries"), which knows
    nothing of CUDA_VISIBLE_DEVICES, and by the kernel module under /proc/driver/nvidia (NVIDIA
    Accelerated Linux Graphics Driver README, "proc Interface").
    """

    driver_version: str
    """Such as "580.159.04"; empty where nothing tells it."""
    gpu_names: tuple[str, ...]
    """One for each GPU that is here. A container may see fewer, or more than it may open."""


@functools.cache
def hardware() -> Hardware:
    """Ask NVML, and where it is not here, the kernel module; once a process."""
    return _from_nvml() or _from_kernel_module(_PROC)


def _from_nvml() -> Hardware | None:
    try:
        library = ctypes.CDLL(_NVML)
        if library.nvmlInit_v2() != 0:
            return None
    except (OSError, AttributeError):
        return None
    try:
        text = ctypes.create_string_buffer(_LONGEST_TEXT)
        known = library.nvmlSystemGetDriverVersion(text, _LONGEST_TEXT) == 0
        version = text.value.decode("ascii", "replace") if known else ""
        count = ctypes.c_uint()
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        names = []
        for index in range(count.value):
            device = ctypes.c_void_p()
            found = library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0
            named = found and library.nvmlDeviceGetName(device, text, _LONGEST_TEXT) == 0
            names.append(text.value.decode("utf-8", "replace") if named else "a GPU")
    finally:
        library.nvmlShutdown()
    return Hardware(version, tuple(names))


def _from_kernel_module(directory: Path) -> Hardware:
    try:
        match = re.search(
            _VERSION, (directory / "version").read_text(errors="replace"), re.MULTILINE
        )
    except OSError:
        match = None
    names = []
    try:
        for path in sorted((directory / "gpus").iterdir()):
            lines = (path / "information").read_text(errors="replace").splitlines()
            model = (line.partition(":")[2].strip() for line in lines if line.startswith("Model"))
            names.append(next(model, "a GPU"))
    except OSError:
        pass
    return Hardware("" if match is None else match[1], tuple(names))


_COMPUTE_CAPABILITY_MAJOR = 75
_COMPUTE_CAPABILITY_MINOR = 76
VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
_NO_DEVICE = "CUDA_ERROR_NO_DEVICE"

_initialised = False

_OTHERWISE = "Check it with nvidia-smi; a restart is needed after the driver was updated."


@functools.cache
def cuda_errors() -> Mapping[str, Mapping[str, str]]:
    """What lost a GPU (`lost`) and what helps against cuInit's answers (`next_steps`), by error."""
    return tomllib.loads(Path(__file__).with_name("cuda_errors.toml").read_text())


@dataclass(frozen=True, slots=True)
class Device:
    """Something that modules can run on."""

    kind: str
    """"cuda" or "cpu"."""
    name: str
    """The product's name, as its driver or the kernel tells it."""
    compute_capability: int | None = None
    """A GPU's, as major * 10 + minor."""
    memory_bytes: int | None = None
    """A GPU's memory."""
    index: int = 0
    """A GPU's number: its place among those that the driver shows to this process, from 0."""

    @property
    def argument(self) -> str:
        """What `device=` is called with: "cuda" for the first GPU, then "cuda:1"; or "cpu"."""
        return gpu_name(self.index) if self.kind == "cuda" else self.kind

    def __str__(self) -> str:
        if self.compute_capability is None:
            return f"cpu ({self.name})"
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 2**30:.0f} GiB"
        return f"{self.argument} ({self.name}, sm_{self.compute_capability}{memory})"


@dataclass(frozen=True, slots=True)
class DriverState:
    """What the CUDA driver answered."""

    gpus: tuple[Device, ...]
    """Those that it shows to this process."""
    cuda_version: tuple[int, int] | None
    """The newest CUDA version that the driver supports; None without a driver."""
    problem: str
    """Why no GPU can be used, as a sentence with the next step; empty when one can."""
    driver_version: str = ""
    """The driver's own version, such as "580.159.04"; empty where nothing tells it."""

    @property
    def description(self) -> str:
        """The driver in a message: "580.159.04, CUDA 13.0"."""
        cuda = "" if self.cuda_version is None else "CUDA {}.{}".format(*self.cuda_version)
        return ", ".join(filter(None, (self.driver_version, cuda)))


@functools.cache
def driver_state() -> DriverState:
    """Ask the driver, once a process."""
    global _initialised
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return DriverState((), None, _no_library(), hardware().driver_version)
    status = library.cuInit(0)
    cuda, version = _version(library), hardware().driver_version
    if status != 0:
        return DriverState((), cuda, _not_initialised(error_name(library, status)), version)
    _initialised = True
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    gpus = tuple(_gpu(library, index) for index in range(count.value))
    return DriverState(gpus, cuda, "" if gpus else _not_initialised(_NO_DEVICE), version)


def has_initialised() -> bool:
    """Whether CUDA was initialised here; a process that is forked then cannot use it."""
    return _initialised


def context_error(gpu: int) -> str:
    """What CUDA says of the context that IREE shares with others; empty while it works.

    The question is the cheapest that is answered with the error of an earlier, asynchronous launch
    (CUDA Driver API, cuMemGetInfo).
    """
    if not _initialised:
        return ""
    library = cuda_library()
    status = push(gpu)
    if status == 0:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        status = library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        pop()
    return error_name(library, status) if status else ""


def _no_library() -> str:
    version = hardware().driver_version
    if version:
        return (
            f"The NVIDIA driver {version} is loaded on this machine, but its library {LIBRARY} "
            "was not found. Start a container with `--gpus all` (NVIDIA Container Toolkit), or "
            "install the driver's libraries; or use the CPU."
        )
    return (
        f"No NVIDIA driver is installed: {LIBRARY} was not found. Install the driver (580 or "
        "later for objects of the CUDA 13.0 compilers), or use the CPU."
    )


def _not_initialised(error: str) -> str:
    if error != _NO_DEVICE:
        next_step = cuda_errors()["next_steps"].get(error, _OTHERWISE)
        return f"The NVIDIA driver could not be initialised: {error}. {next_step}"
    present = hardware().gpu_names
    here = f", though this machine has {listed(present)}" if present else ""
    hidden = os.environ.get(VISIBLE_DEVICES)
    if hidden is not None:
        return (
            f"The NVIDIA driver shows no GPU to this process{here}: {VISIBLE_DEVICES} is "
            f"{hidden!r}. Unset it, or set it to the index of a GPU."
        )
    if present:
        return (
            f"The NVIDIA driver shows no GPU to this process{here}. Check that it may open "
            "/dev/nvidia*; start a container with `--gpus all`."
        )
    return "An NVIDIA driver is installed, but it found no GPU. Check with nvidia-smi."


def listed(names: Sequence[str]) -> str:
    """GPUs in a message: "2 GPUs (NVIDIA H200, NVIDIA H200)"."""
    return f"{len(names)} GPU{'s' if len(names) > 1 else ''} ({', '.join(names)})"


def _version(library: Any) -> tuple[int, int] | None:
    number = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return None
    return number.value // 1000, number.value % 1000 // 10


def error_name(library: Any, status: int) -> str:
    """What CUDA calls an error; its number where it has no name."""
    name = ctypes.c_char_p()
    if library.cuGetErrorName(status, ctypes.byref(name)) != 0 or name.value is None:
        return f"error {status}"
    return name.value.decode("ascii", "replace")


def _gpu(library: Any, index: int) -> Device:
    device = ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), index)
    name = ctypes.create_string_buffer(256)
    library.cuDeviceGetName(name, len(name), device)
    memory = ctypes.c_size_t()
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    major, minor = (
        _attribute(library, device, which)
        for which in (_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR)
    )
    known = name.value.decode("utf-8", "replace")
    return Device("cuda", known, major * 10 + minor, memory.value, index)


def _attribute(library: Any, device: ctypes.c_int, which: int) -> int:
    value = ctypes.c_int()
    library.cuDeviceGetAttribute(ctypes.byref(value), which, device)
    return value.value


def device_attribute(gpu: int, which: int) -> int:
    """One of CUDA's attributes of a GPU, by its number (CUDA Driver API, CUdevice_attribute)."""
    library, device = cuda_library(), ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), gpu)
    return _attribute(library, device, which)


_LEGACY_STREAM, _PER_THREAD_STREAM = 1, 2
"""CU_STREAM_LEGACY and CU_STREAM_PER_THREAD (CUDA Driver API, "Stream synchronization behavior"):
DLPack numbers them so too, and they are never destroyed."""
_NOT_READY = 600
_given_to: dict[int, set[int]] = {}
"""The streams that arrays of each GPU were given to."""
_ANYBODY = -1


def note_export(gpu: int, stream: int | None) -> None:
    """Say that an array on a GPU was given to another library.

    `stream`: the one that DLPack's `__dlpack__` was called with: None stands for the default
    stream.
    """
    known = (_LEGACY_STREAM, _PER_THREAD_STREAM)
    # Another stream may be destroyed, and must not be asked for then.
    found = _LEGACY_STREAM if stream is None else stream if stream in known else _ANYBODY
    _given_to.setdefault(gpu, set()).add(found)


def wait_for_users(gpu: int) -> None:
    """Wait for what other libraries do with a GPU's arrays, if they were given any.

    Whoever calls this, or `wait_for_stream`, holds the GPU's `Access`, and so its context.
    """
    streams = _given_to.get(gpu)
    if not streams:
        return
    if _ANYBODY in streams:
        check_status(cuda_library().cuCtxSynchronize())
    else:
        for stream in tuple(streams):
            wait_for_stream(stream)


def wait_for_stream(stream: int) -> None:
    """Wait until everything that was ordered before a stream is done."""
    library, handle = cuda_library(), ctypes.c_void_p(stream)
    status = library.cuStreamQuery(handle)
    check_status(library.cuStreamSynchronize(handle) if status == _NOT_READY else status)


def check_status(status: int) -> None:
    """Require that the GPU works: the driver answers with the error of any work before."""
    if status != 0:
        name = error_name(cuda_library(), status)
        raise DeviceError(
            f"The GPU's work for another library has failed: {name}.",
            next_step="start a new process; run it under compute-sanitizer to find the place.",
        )

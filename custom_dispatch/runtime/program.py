"""A loaded module: its functions, on a device."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from iree import runtime as rt

from custom_dispatch.compiled import CompiledModule
from custom_dispatch.errors import CallError, DeviceError, sentence
from custom_dispatch.format.manifest import Manifest
from custom_dispatch.kernel.names import chosen
from custom_dispatch.runtime.access import IREE_ERRORS, access_to, is_out_of_memory, keep_in_forks
from custom_dispatch.runtime.device import OpenDevice, OpenModule, devices, hal_device, open_device
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.device_choice import Choice, choose_device, newest_ptx
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.driver import Device, driver_state, wait_for_stream
from custom_dispatch.runtime.failures import Findings
from custom_dispatch.runtime.flight import Order
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import dtype_of, place, read_array
from custom_dispatch.runtime.module_file import ModuleFile, vm_instance
from custom_dispatch.runtime.weight_files import Given, open_parameters, tool_flags

if TYPE_CHECKING:
    from custom_dispatch.kernel.kernel import Kernel
    from custom_dispatch.runtime.program_report import ProgramReport


class Program:
    """A module on a device. Made by `load`; its functions are attributes.

    >>> program = cd.load("mixed_invocation.vmfb")          # doctest: +SKIP
    >>> program.mixed_invocation(lhs, rhs)                  # doctest: +SKIP
    """

    def __init__(
        self, file: ModuleFile, choice: Choice, providers: Sequence[Any] = (), given: Given = None
    ) -> None:
        self._origin = (file.path, file.content, file.parameters, given)
        self.device: Device = choice.device
        self.device_reason: str = choice.reason
        self.manifest: Manifest | None = file.manifest
        self.label = file.label
        self._size_bytes, self._parts, self._memory = file.size_bytes, file.parts, file.memory
        name = choice.device.argument
        access = access_to(name)
        with access:
            functions = file.functions()
            has_graphs = any(points.graph for points in functions.values())
            device = hal_device(name, graphs=has_graphs)
            try:
                hal = rt.create_hal_module(vm_instance(), device)
                weights = (
                    [rt.create_io_parameters_module(vm_instance(), *providers)] if providers else []
                )
                opened = self._open_device = open_device(name, device, access)
                # The context keeps the module; functions keep the context.
                modules = [*weights, hal, file.vm_module]
                context, said = _open_context(opened, modules, has_graphs)
                told = file.findings()
                findings = Findings(context, opened, told) if told else None
            except IREE_ERRORS as error:
                ended = access.ended_by(file.label, error, device)
                raise ended or _cannot_load(file.label, choice.device, error) from error
            if said:
                raise DeviceError(
                    f"{sentence(file.label)} could not be loaded on {choice.device}: the driver "
                    "could not make the CUDA graph of one of its functions.",
                    next_step="free some of the GPU's memory, or compile the model without "
                    "graph=True; the driver says:",
                    log=said,
                )
        order = Order()
        self._functions: dict[str, Function] = {}
        made: Function
        for name, points in functions.items():
            kernel = _kernel_of(name, self.manifest)
            if kernel is not None:
                points = replace(points, optional=_optional(kernel, points.names))
            parts = (name, points, context, opened, order, findings)
            if kernel is not None and kernel.has_leading_dims:
                from custom_dispatch.runtime.folding import LeadingFunction  # few programs need it

                made = LeadingFunction(kernel, *parts)
            elif points.graph is not None:
                from custom_dispatch.runtime.graph_function import GraphFunction  # likewise

                made = GraphFunction(*parts)
            else:
                made = Function(*parts)
            self._functions[name] = made
        for name, made in self._functions.items():
            keep_in_forks(made)
            if not hasattr(Program, name):  # found at once, without `__getattr__`
                self.__dict__.setdefault(name, made)

    @property
    def functions(self) -> Mapping[str, Function]:
        """Every function that can be called, by name."""
        return MappingProxyType(self._functions)

    def function(self, name: str | None = None) -> Function:
        """Return a function by name; without a name, the only one.

        Raises `CallError`: the module has no function of that name; or no name is given and it does
        not have exactly one.
        """
        owner = f"{sentence(self.label)} has"
        how = "its name, on the command line --function NAME"
        return chosen(owner, self._functions, name, "function", how)

    def report(self) -> ProgramReport:
        """Report the kernels that each function dispatches and how often, the variant of each
        kernel that IREE chooses here with its resources, and the module's parts.

        For a module made by another tool it reports what is known.
        """
        # Loaded here: what is deployed rarely asks.
        from custom_dispatch.runtime.program_report import (
            ProgramReport,
            report_functions,
            report_kernels,
        )

        types = {name: function.type for name, function in self._functions.items()}
        return ProgramReport(
            self.label,
            self.device,
            self.device_reason,
            self._size_bytes,
            self._parts,
            report_functions(types, self.manifest, self._parts, self.device.kind),
            report_kernels(self.manifest, self.device),
            self._memory,
            self.manifest.slower_on(self.device.compute_capability) if self.manifest else (),
        )

    def profile(
        self, *arguments: Any, function: str | None = None, calls: int = 20, **named: Any
    ) -> Any:
        """Call a function, and say where the time goes: in each kernel, and between them.

        A graph is replayed: its arguments are copied in once. On a GPU CUPTI records; on the CPU
        IREE's own tools do, in a process of their own. Arrays are copied to the device first.

        - `*arguments`, `**named`: as for a call.
        - `function`, `calls`: the function's name, optional if there is only one; how many calls
          are recorded.

        Returns: its text is a table. `save_html` and `save_trace` write it to be looked at.
        Raises `CallError`, `DeviceError`, `ToolNotFoundError`: as for a call; or CUPTI is not here,
        does not fit the driver, or serves another.
        """
        # A room to the right of this one, which few programs need.
        profiling = importlib.import_module("custom_dispatch.measure.profile.profiling")
        return profiling.profile(self, function, arguments, named, calls)

    def tool_flags(self, directory: Path) -> list[str]:
        """The flags by which IREE's tools take the module and its weights.

        `directory`: for those that are in no file.
        """
        file, content, needed, given = self._origin
        path = file or directory / "module.vmfb"
        if content is not None:
            path.write_bytes(content)
        return [f"--module={path}", *tool_flags(path, needed, given, directory)]

    def to_device(self, array: Any) -> DeviceArray:
        """An array on the program's device, to be passed to calls without being copied again.

        `array`: a numpy array, or one that supports DLPack. An array already on the device is not
        copied; a `DeviceArray` of another device is copied through the host's memory.

        Raises `CallError`: the value is not an array, or has a dtype that kernels do not take.
        """
        what = "the array"
        read = read_array(array, what)
        device = self._open_device
        if isinstance(read, DeviceArray):
            if read.device == device.name:
                return read
            read = read.to_host()
        kind = dtype_of(read, what)
        with device.access:
            view = place(device, read, kind, what)
            if isinstance(read, ForeignArray) and read.stream is not None:
                wait_for_stream(read.stream)
            return DeviceArray(device, view, kind)

    def __reduce__(self) -> NoReturn:
        raise CallError(
            f"The program of {self.label} cannot be copied or pickled: it has a device open.",
            expected="its module: a file, bytes, or what cd.compile returned",
            next_step="pass that, and cd.load it where it is needed.",
        )

    def __getattr__(self, name: str) -> Function:
        there = ", ".join(self.__dict__.get("_functions", ())) or "none"
        raise AttributeError(f"the program has no function {name!r}; it has: {there}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __repr__(self) -> str:
        return f"Program({self.label} on {self.device}: {', '.join(self._functions)})"


def _open_context(device: OpenDevice, modules: list[Any], graphs: bool) -> tuple[OpenModule, str]:
    """Load modules on a device; return what the driver says if it could not make a graph, too.

    If there is too little memory, buffers that are kept for later calls go first.
    """
    for may_retry in (True, False):
        log = None
        if graphs:
            from custom_dispatch.runtime.graph_log import GraphLog  # few programs need it

            log = GraphLog()
        try:
            context: OpenModule | None = OpenModule(device.access, modules)
        except IREE_ERRORS as error:
            if not (may_retry and is_out_of_memory(error)):
                raise
            context = None
        said = "" if log is None else log.failure()
        if context is not None and not (said and may_retry):
            break
        context = None
        device.give_back_memory()
    assert context is not None  # noqa: S101 - else it was raised
    return context, said


def _kernel_of(name: str, manifest: Manifest | None) -> Kernel | None:
    """The kernel that a function is, where calls may differ from the function's type: they have
    leading dims, or leave operands out.
    """
    use = None if manifest is None else manifest.use_of(name)
    if manifest is None or use is None or use.direct != name:
        return None
    described = next((item for item in manifest.declarations if item.get("name") == name), {})
    operands = str(described.get("operands"))
    return manifest.declaration(name) if "[..." in operands or ", optional" in operands else None


def _optional(kernel: Kernel, names: Sequence[str]) -> frozenset[int]:
    """The places of a kernel's optional operands among the arguments of its function."""
    known = {item.name for item in kernel.inputs if getattr(item, "optional", False)}
    return frozenset(index for index, name in enumerate(names) if name in known)


def _cannot_load(label: str, device: Device, error: Exception) -> DeviceError:
    from custom_dispatch.meanings import meaning_of  # few programs need it

    driver, text = driver_state(), str(error)
    readable = newest_ptx(driver.cuda_version) if driver.cuda_version else None
    words = {
        "name": sentence(label),
        "device": str(device),
        "kind": device.kind,
        "driver": driver.description,
        "limit": f", which reads PTX up to {readable[0]}.{readable[1]}" if readable else "",
    }
    table = Path(__file__).with_name("load_failures.toml")
    return meaning_of(table, text, DeviceError, text, **words)


def load(
    module: str | os.PathLike[str] | bytes | CompiledModule,
    device: str = "auto",
    *,
    parameters: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]] | None = None,
) -> Program:
    """Load a `.vmfb` onto a device.

    - `module`: a file, its bytes, or what `cd.compile` returned. Any `.vmfb` loads; one that this
      package made also describes its kernels.
    - `device`: "auto" takes the first GPU if the module has code for it, else the CPU;
      `Program.device_reason` says why. "cuda" and "cpu" take just that, and "cuda:1" the second
      GPU; or a `torch.device`.
    - `parameters`: the `.irpa` file with its weights, if that is not in the same directory under
      the same name. For modules compiled by other tools, a mapping from the scopes of parameters to
      files.

    Raises `ModuleFileError`: the file is missing or not a module; or its weights are missing,
    truncated, or not those it was compiled with.
    Raises `DeviceError`: no device of this machine can run it; the message lists its targets and
    the devices.
    """
    source = module.bytes if isinstance(module, CompiledModule) else module
    file = ModuleFile(source)
    choice = choose_device(device, sentence(file.label), file.manifest)
    held = module.parameters if isinstance(module, CompiledModule) else None
    given = held if parameters is None else parameters
    providers = open_parameters(file.label, file.path, file.parameters, given)
    try:
        return Program(file, choice, providers, given)
    except DeviceError as error:
        if device != "auto" or choice.device.kind == "cpu" or file.manifest is not None:
            raise
        # What a foreign module holds shows when it is loaded.
        on_gpu = error
    try:
        return Program(file, Choice(devices()[-1], on_gpu.found), providers, given)
    except DeviceError:
        raise on_gpu from None

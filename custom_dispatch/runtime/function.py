"""A function of a loaded module, to be called with arrays."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.cpu.failure import Failure
from custom_dispatch.errors import (
    CallError,
    CustomDispatchError,
    DeviceError,
    KernelError,
    sentence,
)
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.runtime.access import IREE_ERRORS, Access
from custom_dispatch.runtime.arrays import to_device, to_host
from custom_dispatch.runtime.declaration import FunctionType, ValueType
from custom_dispatch.runtime.findings import Findings

_KERNEL_CHECK = re.compile(r"(INVALID_ARGUMENT|FAILED_PRECONDITION); (kernel `[^`]+`: .*?);?\s*$")
# What IREE's two CPU drivers say of a workgroup that returns a number: see `cpu/failure.py`.
_FAILURE = re.compile(r"returned (?:catastrophic error |non-zero \()(\d+)")
_CHECK = "compile it for cpu:checked, which names the line, thread and block."
_FAILURES: dict[int, tuple[str, str]] = {
    Failure.TRAP: ("a kernel executed `trap`", _CHECK),
    Failure.ASSERTION: ("an assertion of a kernel did not hold", _CHECK),
    Failure.DEADLOCK: (
        "the threads of a kernel's block wait for each other at different barriers, or for lanes "
        "of their warp that never come",
        _CHECK,
    ),
    Failure.FINDING: (
        "cpu:checked found something in a kernel, and another call has reported it",
        "see the error of the other call.",
    ),
    Failure.NO_MEMORY: (
        "there is not enough memory to run a block in cpu:checked",
        "use a smaller block, or less shared memory.",
    ),
    Failure.SPIN: (
        "a thread waits in a loop for another one to write memory, and on the CPU warps run one "
        "after another",
        _CHECK,
    ),
}


class Function:
    """A function of a loaded module.

    Call it with numpy arrays, anything that offers DLPack on the CPU, or IREE device arrays.
    Results are numpy arrays, or device arrays when an argument was one.
    """

    def __init__(
        self,
        name: str,
        kind: FunctionType,
        context: Any,
        function: Any,
        device: Any,
        access: Access,
        findings: Findings | None = None,
    ) -> None:
        self.name = name
        self.access = access
        self._findings = findings
        self.type = kind
        self._context = context
        self._function = function
        self.device = device

    def __call__(self, *arguments: Any) -> Any:
        """Run the function.

        Raises
        ------
        CallError
            The arguments do not fit: their number, dtype, rank or sizes.
        DeviceError
            The device failed.
        KernelError
            A kernel failed on the CPU.
        """
        if len(arguments) != len(self.type.inputs):
            raise CallError(
                f"`{self.name}` is called with {len(arguments)} arguments.",
                expected=f"{len(self.type.inputs)}: {self.type}",
                next_step="correct the call.",
            )
        with self.access:
            return self._call(arguments)

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        inputs = rt.VmVariantList(len(arguments))
        on_device = False
        for index, (argument, kind) in enumerate(zip(arguments, self.type.inputs, strict=True)):
            what = f"argument {index} of `{self.name}`"
            if kind.sizes is None:
                push_scalar(inputs, argument, kind.dtype, what)
            elif isinstance(argument, rt.DeviceArray):
                on_device = True
                inputs.push_ref(argument._buffer_view)
            else:
                array = host_array(argument, kind, what)
                try:
                    inputs.push_ref(to_device(self.device, array, kind.dtype))
                except IREE_ERRORS as error:
                    raise self.translated(error) from error
        return self.run(inputs, on_device=on_device)

    def run(self, inputs: Any, *, on_device: bool) -> Any:
        """Run the function on IREE's own values, which are right in number and type.

        Raises
        ------
        CallError, DeviceError, KernelError
            As for a call.
        """
        with self.access:
            return self._run(inputs, on_device)

    def _run(self, inputs: Any, on_device: bool) -> Any:
        kinds = self.type.outputs
        outputs = rt.VmVariantList(len(kinds))
        try:
            self._context.invoke(self._function, inputs, outputs)
        except IREE_ERRORS as error:
            raise self.translated(error) from error
        if len(kinds) == 1:
            return self._result(outputs, 0, kinds[0], on_device)
        results = (
            self._result(outputs, index, kind, on_device) for index, kind in enumerate(kinds)
        )
        return tuple(results) or None

    def _result(self, outputs: Any, index: int, kind: ValueType, on_device: bool) -> Any:
        if kind.sizes is None:
            return outputs.get_variant(index)
        view = outputs.get_as_object(index, rt.HalBufferView)
        if on_device:
            return rt.DeviceArray(self.device, view, implicit_host_transfer=True)
        try:
            return to_host(self.device, view, kind.dtype)
        except IREE_ERRORS as error:
            raise self.translated(error) from error

    def translated(self, error: Exception) -> CustomDispatchError:
        """What a failure of IREE means to the caller."""
        found = None
        if self._findings is not None and failure_of(error) == Failure.FINDING:
            found = self._findings.take()
        ended = self.access.ended_by(self.name, error, self.device)
        return found or ended or translate_failure(self.name, error)

    def __repr__(self) -> str:
        return f"Function({self.name}: {self.type})"


def failure_of(error: Exception) -> int:
    """The number that a kernel returned which failed on the CPU (`cpu/failure.py`), else 0."""
    failed = _FAILURE.search(str(error))
    return 0 if failed is None else int(failed[1])


def translate_failure(name: str, error: Exception) -> CallError | DeviceError | KernelError:
    """What an IREE failure means to the caller."""
    text = str(error)
    failure = failure_of(error)
    if failure in _FAILURES:
        found, next_step = _FAILURES[failure]
        return KernelError(f"`{name}` failed on the CPU: {found}.", next_step=next_step)
    check = _KERNEL_CHECK.search(text.replace("\n", " "))
    if check is not None:
        return CallError(
            f"`{name}` refused the call: {check[2]}.",
            next_step="pass arrays whose sizes fit the kernel's declaration.",
        )
    if "INVALID_ARGUMENT" in text and "mismatch" in text:
        return CallError(
            f"`{name}` refused an argument.",
            next_step="correct the argument; IREE says:",
            log=text.split("; while")[0],
        )
    return DeviceError(f"`{name}` failed.", next_step="IREE says:", log=text)


def push_scalar(inputs: Any, argument: Any, kind: ElementType, what: str) -> None:
    """Add a number to a call's inputs.

    Raises
    ------
    CallError
        It is no number, or the type does not hold it.
    """
    value = scalar_value(argument, kind, what, signless=True)
    (inputs.push_float if kind.is_float else inputs.push_int)(value)


def number_for(value: Any, scalar: Scalar, what: str) -> float | int:
    """A number for a kernel's scalar, as the declared type holds it.

    Raises
    ------
    CallError
        It is no number, or the type does not hold it.
    """
    number = scalar_value(value, scalar.dtype, what)
    if scalar.dtype.is_float and scalar.dtype.bits < 32:
        # Rounded once, from what was given: it is passed as f32, and would be rounded to that
        # first.
        return float(numpy.asarray(number).astype(scalar.dtype.to_numpy()))
    return number


def scalar_value(
    value: Any, kind: ElementType, what: str, *, signless: bool = False
) -> float | int:
    """A number for a scalar argument.

    Parameters
    ----------
    signless
        Take an integer of either signedness, and return it as the signed one of the same bits:
        what a model's integer types mean.

    Raises
    ------
    CallError
        It is no number, or the type does not hold it.
    """
    try:
        number = float(value) if kind.is_float else int(value)
        exact = kind.is_float or number == value
    except (TypeError, ValueError, OverflowError):
        exact = False
        number = 0
    if not exact or isinstance(value, str):
        raise CallError(
            f"{sentence(what)} is {value!r}.",
            expected=f"a number for {kind}",
            next_step="pass a Python or numpy number.",
        )
    if kind.is_float:
        if kind.bits <= 32 and math.isfinite(number):
            with numpy.errstate(over="ignore"):
                held = bool(numpy.isfinite(numpy.asarray(number).astype(kind.to_numpy())))
            if not held:
                raise _out_of_range(what, value, kind)
        return number
    low, high = _integer_range(kind)
    if signless and kind.name != "bool":
        low, high = -(2 ** (kind.bits - 1)), 2**kind.bits - 1
    if not low <= number <= high:
        raise _out_of_range(what, value, kind)
    wraps = signless and kind.name != "bool" and number >= 2 ** (kind.bits - 1)
    return int(number) - (2**kind.bits if wraps else 0)


def _integer_range(kind: ElementType) -> tuple[int, int]:
    if kind.name == "bool":
        return 0, 1
    if kind.name[0] == "u":
        return 0, 2**kind.bits - 1
    return -(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1


def _out_of_range(what: str, value: Any, kind: ElementType) -> CallError:
    return CallError(
        f"{sentence(what)} is {value!r}, which {kind} does not hold.",
        expected=f"a value of type {kind}",
        next_step="pass a smaller value, or declare a larger type.",
    )


def host_array(value: Any, kind: ValueType, what: str) -> numpy.ndarray[Any, Any]:
    """A numpy array for a tensor argument, of exactly its dtype, rank and static sizes.

    Raises
    ------
    CallError
        It is none, or differs in one of them. Nothing is converted silently.
    """
    array = as_numpy(value, what)
    check_dtype(array.dtype, kind.dtype, what)
    sizes = kind.sizes or ()
    if array.ndim != len(sizes):
        raise CallError(
            f"{sentence(what)} has shape {list(array.shape)}, which is rank {array.ndim}.",
            expected=f"rank {len(sizes)}: {kind}",
            next_step="reshape the array.",
        )
    for axis, (size, actual) in enumerate(zip(sizes, array.shape, strict=True)):
        if size is not None and size != actual:
            raise CallError(
                f"{sentence(what)} has size {actual} in dimension {axis}.",
                expected=f"{size}: {kind}",
                next_step="pass an array of that size.",
            )
    return array


def as_numpy(value: Any, what: str) -> numpy.ndarray[Any, Any]:
    """A numpy view of an array, without copying what is on the host already.

    Raises
    ------
    CallError
        It is no array, or is on a GPU.
    """
    if isinstance(value, numpy.ndarray):
        return value
    if isinstance(value, numpy.generic):
        return numpy.asarray(value)
    if isinstance(value, rt.DeviceArray):
        return numpy.asarray(value.to_host())
    if hasattr(value, "__dlpack__"):
        try:
            return numpy.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise CallError(
                f"{sentence(what)} cannot be read as an array: {error}.",
                expected="a dense array in host memory",
                next_step="move it to the CPU and make it contiguous first.",
            ) from error
    raise CallError(
        f"{sentence(what)} is {type(value).__name__}.",
        expected="a numpy array, or one that offers DLPack",
        next_step="make it an array with the declared dtype: numpy.asarray(value, dtype=...).",
    )


def check_dtype(found: numpy.dtype[Any], kind: ElementType, what: str) -> None:
    """Require a dtype; for integers any signedness of the same size.

    Raises
    ------
    CallError
        It is another.
    """
    wanted = kind.to_numpy()
    same_integer = found.kind in "iu" and wanted.kind in "iu" and found.itemsize == wanted.itemsize
    if found == wanted or same_integer:
        return
    raise CallError(
        f"{sentence(what)} has dtype {found}.",
        expected=f"{wanted} ({kind})",
        next_step=f'convert it: array.astype("{wanted}").',
    )

"""Calling a kernel at once: built, compiled and loaded on its first call, then kept."""

import copy
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy

from custom_dispatch.eager.placing import kind_of_device, target_of
from custom_dispatch.eager.prepared import PreparedCall
from custom_dispatch.errors import CallError, DeclarationError, UnsupportedInstructionError
from custom_dispatch.kernel import binding
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import BoundKernel, check_compiler_name
from custom_dispatch.kernel.operand import Buffer, Operand, Out, Scalar, Struct
from custom_dispatch.kernel.target import CHECKED, gpu_index, gpu_name, read_device
from custom_dispatch.runtime.call_arguments import number_for
from custom_dispatch.runtime.driver import driver_state
from custom_dispatch.runtime.folding import fold_call
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import check_dtype, gpu_of, read_array, shape_of
from custom_dispatch.runtime.program import load

if TYPE_CHECKING:
    from custom_dispatch.kernel.choice import Choice

_lock = threading.Lock()
# A kernel's `id`, the device, the compiler, and whether the store is used.
_Key = tuple[int, str, str, bool]
_functions: dict[_Key, Function] = {}
_refused: dict[_Key, UnsupportedInstructionError] = {}
_prepared: dict[_Key, PreparedCall] = {}


def _forked() -> None:
    """Load anew in a child: devices do not survive a fork, and a lock may be held for ever."""
    global _lock
    _lock = threading.Lock()
    _functions.clear()
    _prepared.clear()


os.register_at_fork(after_in_child=_forked)


def _drop(kernel: int) -> None:
    """Keep nothing of a kernel that is gone: a cell of a notebook declares one whenever it runs."""
    for kept in (_functions, _refused, _prepared):
        for key in [key for key in tuple(kept) if key[0] == kernel]:
            kept.pop(key, None)


def launch(bound: BoundKernel, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Run a kernel, or that of a choice which a call wants; see `call`."""
    item = bound.kernel
    device = read_device(bound.device, of_kernel=True)
    if device in ("auto", "cuda") and len(driver_state().gpus) > 1:
        index = gpu_of((*arguments, *keywords.values()))
        device = gpu_name(index) if index else device
    check_compiler_name(bound.compiler)
    if isinstance(item, Kernel) and item.function is not None:
        arguments = _spread(item, arguments)
    if not isinstance(item, Kernel):
        from custom_dispatch.eager.call_choice import choose  # with the tables of choices

        item = choose(cast("Choice", item), arguments, keywords, device)
    return call(item, device, arguments, keywords, compiler=bound.compiler, store=bound.store)


def _spread(kernel: Kernel, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers and arrays of numpy, broadcast to one shape; others stay as they are."""
    if not all(isinstance(each, numpy.ndarray | numpy.generic | float | int) for each in arguments):
        return arguments
    typed = [
        each if isinstance(each, numpy.ndarray) else numpy.asarray(each, item.dtype.to_numpy())
        for each, item in zip(arguments, kernel.arguments, strict=False)
    ]
    return (*numpy.broadcast_arrays(*typed), *arguments[len(typed) :])


def call(
    kernel: Kernel,
    device: str,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    *,
    compiler: str = "auto",
    fallback: bool = True,
    store: bool = True,
) -> Any:
    """Run a kernel on arrays.

    - `fallback`: whether a kernel's reference may run in its place, where its declaration allows
      that.
    - `store`: whether to use the store: reuse what was compiled before, and keep what is new.
    """
    how = _How(device, compiler, fallback, store)
    if not kernel.has_leading_dims:
        return _call(kernel, arguments, keywords, how)
    named = dict(keywords)
    out = take_out(kernel, named)
    values = tuple(binding.match_arguments(kernel, arguments, named))
    folded = fold_call(kernel, kernel.inputs, values, out)
    into = {} if folded.out is None else {"out": folded.out}
    return folded.results(_call(kernel, tuple(folded.arguments), into, how))


class _How(NamedTuple):
    device: str
    compiler: str
    fallback: bool
    store: bool


def _call(kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any], how: _How) -> Any:
    """As `call`, with leading dims as one."""
    device, compiler, fallback, store = how
    key = (id(kernel), device, compiler, store)
    prepared = _prepared.get(key)
    if prepared is not None and not prepared.usable:
        prepared = None  # what "auto" meant is gone: a lost GPU
    signature = None
    if prepared is not None and not keywords:
        signature, arguments = prepared.read(arguments)
        if signature in prepared.checked:
            return prepared.run(arguments)
    keywords = dict(keywords)
    out = take_out(kernel, keywords)
    values = binding.match_arguments(kernel, arguments, keywords)
    checked, dims = check_values(kernel, values)
    _check_launch(kernel, dims)
    # A struct is its numbers, one by one.
    flat = [item for value in checked for item in (value if isinstance(value, tuple) else (value,))]
    kind = kind_of_device(kernel, device)
    try:
        function = _function(kernel, kind, compiler, store)
    except UnsupportedInstructionError as error:
        if not fallback or kernel.fallback is None or kind == CHECKED:
            raise
        from custom_dispatch.eager.reference import run_reference  # most calls need none

        return run_reference(kernel, values, checked, dims, error)
    if out is not None:
        given = {id(read): value for read, value in zip(checked, values, strict=True)}
        # The caller's own objects: `out` may be one of them.
        return function(*(given.get(id(item), item) for item in flat), out=out)
    results = function(*flat)
    if prepared is None:
        prepared = _prepared[key] = PreparedCall(kernel, function)
    elif not keywords:
        prepared.remember(signature)
    return results


def _function(kernel: Kernel, kind: str, compiler: str, store: bool) -> Function:
    key = (id(kernel), kind, compiler, store)
    found = _functions.get(key)
    if found is not None:
        return found
    with _lock:  # one build, however many threads call first
        if key in _refused:
            raise copy.copy(_refused[key])
        if key not in _functions:
            try:
                weakref.finalize(kernel, _drop, id(kernel)).atexit = False
                module = module_for(kernel, kind, compiler=compiler, store=store)
                _functions[key] = _loaded(kernel, kind, module)
            except UnsupportedInstructionError as error:
                _refused[key] = copy.copy(error)  # without frames that hold the kernel
                raise
        return _functions[key]


def module_for(
    kernel: Kernel,
    kind: str,
    *,
    compiler: str = "auto",
    include_dirs: Sequence[Path] = (),
    store: bool = True,
) -> bytes:
    """The module that a call runs on a device of this machine; `kind_of_device` names it."""
    # Loaded here: a program that only loads modules needs no compiler installed.
    from custom_dispatch.eager.kept import module_of

    return module_of(
        kernel,
        target_of(kernel, kind),
        compiler=compiler,
        include_dirs=include_dirs,
        store=store,
        # On the CPU, what takes longer to compile would gain nothing.
        asynchronous=gpu_index(kind) is not None,
    )


def keep(kernel: Kernel, kind: str, module: bytes) -> None:
    """Let calls of a kernel run a module that `module_for` compiled elsewhere."""
    _functions[id(kernel), kind, "auto", True] = _loaded(kernel, kind, module)


def _loaded(kernel: Kernel, kind: str, module: bytes) -> Function:
    program = load(module, device="cpu" if kind == CHECKED else kind)
    return program.function(kernel.name)


def take_out(kernel: Kernel, keywords: dict[str, Any]) -> Any:
    """The arrays to write into, if there are some; an operand may have that name."""
    is_operand = any(operand.name == "out" for operand in kernel.inputs)
    return None if is_operand else keywords.pop("out", None)


def check_values(kernel: Kernel, values: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
    """The inputs of a call as the kernel takes them, and its dims."""
    found = [
        _check_value(kernel, operand, value)
        for operand, value in zip(kernel.inputs, values, strict=True)
    ]
    shapes = {
        operand.name: shape_of(value)
        for operand, value in zip(kernel.inputs, found, strict=True)
        if isinstance(operand, Buffer)
    }
    return found, binding.bind_dims(kernel, shapes)


def _check_value(kernel: Kernel, operand: Operand, value: Any) -> Any:
    """A value as an operand takes it, but for its rank and sizes."""
    what = f"operand `{operand.name}` of kernel `{kernel.name}`"
    if isinstance(operand, Scalar):
        return number_for(value, operand, what)
    if isinstance(operand, Struct):
        numbers = binding.struct_numbers(operand, value, what)
        return tuple(
            number_for(number, leaf.scalar, f"`{leaf.scalar.name}` of {what}")
            for number, leaf in zip(numbers, operand.leaves, strict=True)
        )
    if value is None and operand.optional:
        return numpy.empty((0,) * operand.rank, operand.dtype.to_numpy())
    array = read_array(value, what)
    check_dtype(array, operand.dtype, what)
    return array


def _check_launch(kernel: Kernel, dims: dict[str, int]) -> None:
    """The checks that the compiled wrapper makes too, here with the values in the message."""
    try:
        grids = binding.grids_for(kernel, dims)
        shapes = binding.output_shapes(kernel, dims)
    except DeclarationError as error:
        raise error.saying(f"Kernel `{kernel.name}`: {error.found}", kind=CallError) from None
    for grid in (grid for grid in grids if 0 in grid):
        for operand in kernel.outputs:
            if isinstance(operand, Out) and 0 not in shapes[operand.name]:
                raise CallError(
                    f"Kernel `{kernel.name}`: the grid {grid} is empty for these sizes, so "
                    f"nothing would write `{operand.name}`, which has shape "
                    f"{list(shapes[operand.name])}.",
                    expected="a grid of at least one block wherever there is something to write",
                    next_step="write cd.maximum(..., 1) in the grid, or do not call it for "
                    "empty arrays.",
                )

"""A kernel as an operator of PyTorch, made with `torch.library`.

PyTorch calls it in three ways: with tensors, which runs the kernel on the device they are on; with
fake ones, while `torch.export` and `torch.compile` trace a model, which gives the results' shapes;
and by its name, in what these make of a model.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.frontends.torch.derivative import Derivative
from custom_dispatch.frontends.torch.dtypes import is_same_type, torch_dtype
from custom_dispatch.frontends.torch.shapes import TracedShapes
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import (
    Declared,
    are_same,
    check_declared,
    first_fitting,
    kernels_of,
)
from custom_dispatch.kernel.function import Function
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import check_name
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.link.arguments import argument_names, call_arguments

_DEVICES = ("cpu", "cuda")
_CUDA_ALIGNMENT = 16
"""What kernels may take the address of an operand to be a multiple of: `runtime/incoming.py`."""

_NONE = "No kernel of choice `{}` takes these tensors."


@dataclass(slots=True)
class _Registered:
    item: Kernel | Choice
    operator: Any


_lock = threading.Lock()
_registered: dict[str, _Registered] = {}


def register(kernel: Declared, namespace: str = "custom_dispatch", *, backward: Any = None) -> Any:
    """Make a kernel, or a function, an operator of PyTorch: `torch.ops.NAMESPACE.KERNEL`.

    It takes the `In`s and `InOut`s as tensors, on the CPU or on one GPU, and value-less
    `Scalar`s as ints, floats and bools, in declaration order; a `Struct` is passed as its numbers,
    one by one. It returns the `Out`s and `InOut`s as new tensors and changes none of its arguments.
    Tensors are passed without copying, except those that are not contiguous and views that begin
    at an unaligned address. It runs where the tensors are, and is built on its first call.

    `torch.export` and `torch.compile` take it as one operator, with static or dynamic sizes.
    `torch.vmap` makes one call if the mapped operands and all results have leading dims, `[...,
    n]`, otherwise one per element. Under `torch.autocast` tensors are converted to the type that
    the kernel takes.

    - `kernel`: a kernel; or a choice, whose kernels take the same kinds of numbers: each call takes
      the first that fits it. Or a function: then what is returned broadcasts its tensors and
      numbers, and calls the operator.
    - `namespace`: the operator's namespace.
    - `backward`: its derivative, for `loss.backward()`: a function of PyTorch, or a kernel. It
      takes what it needs by name: the operator's arguments and results, and `grad_y` for the
      gradient of the result `y`. A function returns the gradients of the tensors that the operator
      takes, all in their order, or some as a mapping; a kernel's results are named `grad_x`.
      Without it, a tensor that requires a gradient leads to PyTorch's error.

    Returns: the operator; a second call with the same kernel returns it again.

    Raises `DeclarationError`: the kernel takes no buffer; the namespace is no identifier, or has an
    operator of that name which is not this kernel; or the backward takes or returns a name that the
    kernel does not have.
    """
    kernel = check_declared(kernel, "cd.torch.register")
    made = _register(kernel, check_name(namespace, "namespace"))
    if backward is not None:
        backward = backward.kernel() if isinstance(backward, Function) else backward
        derivative = Derivative(kernel, backward, lambda other: register(other, namespace))
        made.register_autograd(derivative.backward, setup_context=derivative.save)
    return made if not (isinstance(kernel, Kernel) and kernel.function) else _spread(kernel, made)


def _spread(kernel: Kernel, operator: Any) -> Callable[..., Any]:
    """An operator of tensors of one shape, for any that broadcast, and numbers."""

    def call(*arguments: Any) -> Any:
        device = next((x.device for x in arguments if isinstance(x, torch.Tensor)), None)
        given = [
            value
            if isinstance(value, torch.Tensor)
            else torch.tensor(value, dtype=torch_dtype(item.dtype), device=device)
            for value, item in zip(arguments, kernel.arguments, strict=False)
        ]
        return operator(*torch.broadcast_tensors(*given), *arguments[len(given) :])

    return call


def _register(kernel: Kernel | Choice, namespace: str) -> Any:
    schema = _check_schema(kernel)
    name = f"{namespace}::{kernel.name}"
    with _lock:
        known = _registered.get(name)
        if known is not None:
            if not are_same(known.item, kernel):
                raise _taken(name, "another kernel")
            # Declared anew, as in a notebook: its source may be another by now.
            known.item = kernel
            return known.operator
        if hasattr(getattr(torch.ops, namespace), kernel.name):
            raise _taken(name, "an operator that this package did not register")
        entry = _Registered(kernel, None)
        entry.operator = torch.library.custom_op(
            name, lambda *arguments: _run(entry.item, arguments), mutates_args=(), schema=schema
        )
        entry.operator.register_fake(lambda *arguments: _trace(entry.item, arguments))
        entry.operator.register_vmap(
            lambda info, dims, *arguments: map_calls(
                entry.item,
                entry.operator,
                lambda *each: _trace(entry.item, each),
                info.batch_size,
                dims,
                arguments,
            )
        )
        inputs = (each for item in kernels_of(kernel) for each in item.inputs)
        kinds = {torch_dtype(each.dtype) for each in inputs if isinstance(each, Buffer)}
        floats = [kind for kind in kinds if kind.is_floating_point]
        if len(floats) == 1:  # under torch.autocast, operands are converted to what it takes
            for device in _DEVICES:
                entry.operator.register_autocast(device, floats[0])
        _registered[name] = entry
        return entry.operator


def _check_schema(item: Kernel | Choice) -> str:
    """The operator's schema."""
    kernels = kernels_of(item)
    for kernel in kernels:
        if not any(isinstance(value, Buffer) and not value.optional for value in kernel.inputs):
            raise DeclarationError(
                f"Kernel `{kernel.name}` takes no buffer.",
                expected="an In or InOut that is not optional: it runs where that tensor is",
                next_step="declare an InOut in place of an Out, and pass an empty tensor of its "
                "size.",
            )
        if schema_of(kernel) != schema_of(kernels[0]):
            raise DeclarationError(
                f"Choice `{item.name}`: as an operator of PyTorch, `{kernel.name}` is "
                f"{schema_of(kernel)}.",
                expected=f"as `{kernels[0].name}` is: {schema_of(kernels[0])}",
                next_step="declare scalars of the same kind: integers, floats or bools.",
            )
    return schema_of(kernels[0])


def registered_kernel(operator: Any) -> Kernel | Choice | None:
    """The kernel or choice that an operator of a traced model is; None for any other."""
    if not isinstance(operator, torch._ops.OpOverload):
        return None
    known = _registered.get(operator.name())
    return None if known is None else known.item


def _taken(name: str, what: str) -> DeclarationError:
    return DeclarationError(
        f"PyTorch's operator `{name}` is {what}.",
        expected="a name that is free: PyTorch keeps an operator as long as the process lives",
        next_step='choose another namespace: cd.torch.register(kernel, namespace="mine").',
    )


def _whole(item: Kernel | Choice, arguments: Sequence[Any]) -> Sequence[Any]:
    """All arguments: PyTorch leaves those out at the end that have their default, None."""
    return (*arguments, *[None] * (len(kernels_of(item)[0].arguments) - len(arguments)))


def _run(item: Kernel | Choice, arguments: Sequence[Any]) -> Any:
    arguments = _whole(item, arguments)
    kernel = kernels_of(item)[0]
    device = first_fitting(item, lambda one: _check(one, arguments), _NONE.format(item.name))
    values = [_passed(value) if isinstance(value, torch.Tensor) else value for value in arguments]
    results = item.on(str(device))(*call_arguments(kernel, values))
    if len(kernel.outputs) == 1:
        return torch.from_dlpack(results)
    return tuple(map(torch.from_dlpack, results))


def _passed(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as a kernel takes it; itself wherever that is possible."""
    plain = tensor.detach().resolve_neg().contiguous()
    if plain.is_cuda and plain.data_ptr() % _CUDA_ALIGNMENT:
        return plain.clone()
    return plain


def _trace(item: Kernel | Choice, arguments: Sequence[Any]) -> Any:
    """The results' shapes, dtypes and device, from those of the arguments."""
    arguments = _whole(item, arguments)

    def results(kernel: Kernel) -> Any:
        device = _check(kernel, arguments)
        shapes = {
            operand.name: tuple(value.shape)
            for operand, value in zip(kernel.arguments, arguments, strict=True)
            if isinstance(value, torch.Tensor)
        }
        sizes = TracedShapes(kernel, certain=isinstance(item, Kernel)).of(shapes)
        found = tuple(
            torch.empty(sizes[operand.name], dtype=torch_dtype(operand.dtype), device=device)
            for operand in kernel.outputs
        )
        return found[0] if len(found) == 1 else found

    return first_fitting(item, results, _NONE.format(item.name))


def _check(kernel: Kernel, arguments: Sequence[Any]) -> torch.device:
    """Check dtypes and devices; return the device that all tensors are on."""
    first: tuple[str, torch.device] | None = None
    for operand, name, value in zip(
        kernel.arguments, argument_names(kernel), arguments, strict=True
    ):
        if not isinstance(operand, Buffer) or value is None:
            continue
        what = f"Kernel `{kernel.name}`: operand `{name}`"
        if value.layout != torch.strided:
            raise CallError(
                f"{what} is a tensor of layout {value.layout}.",
                expected="a dense tensor",
                next_step="convert it: tensor.to_dense().",
            )
        if not is_same_type(value.dtype, operand.dtype):
            wanted = torch_dtype(operand.dtype)
            raise CallError(
                f"{what} has dtype {value.dtype}.",
                expected=f"{wanted} ({operand.dtype})",
                next_step=f"convert it: tensor.to({wanted}).",
            )
        if first is None:
            first = (name, value.device)
        elif value.device != first[1]:
            raise CallError(
                f"{what} is on {value.device}, and `{first[0]}` on {first[1]}.",
                expected="all tensors on one device",
                next_step=f'move it: tensor.to("{first[1]}").',
            )
    assert first is not None  # noqa: S101 - `register` requires an operand that is always there
    if first[1].type not in (*_DEVICES, "meta"):
        raise CallError(
            f"Kernel `{kernel.name}`: operand `{first[0]}` is on {first[1]}.",
            expected="a tensor on the CPU or on an NVIDIA GPU",
            next_step='move it: tensor.to("cuda").',
        )
    return first[1]


def schema_of(kernel: Kernel) -> str:
    """The operator's schema: "(Tensor x, float epsilon, Tensor? bias=None) -> Tensor".

    A buffer is a tensor, a scalar an int, float or bool, and a struct its numbers one by one. Every
    `Out` and `InOut` is a result; no argument is changed.
    """
    names = argument_names(kernel)
    arguments = kernel.arguments
    # An argument may be left out where all after it may.
    last_needed = max((i for i, item in enumerate(arguments) if not _is_optional(item)), default=-1)
    parts = []
    for index, (item, name) in enumerate(zip(arguments, names, strict=True)):
        default = "=None" if _is_optional(item) and index > last_needed else ""
        parts.append(f"{_type_of(item)} {name}{default}")
    results = ", ".join("Tensor" for _ in kernel.outputs)
    returned = results if len(kernel.outputs) == 1 else f"({results})"
    return f"({', '.join(parts)}) -> {returned}"


def _is_optional(item: Buffer | Scalar) -> bool:
    return isinstance(item, Buffer) and item.optional


def _type_of(item: Buffer | Scalar) -> str:
    if isinstance(item, Buffer):
        return "Tensor?" if item.optional else "Tensor"
    if item.dtype.is_float:
        return "float"
    return "bool" if item.dtype.name == "bool" else "SymInt"


# -- torch.vmap


def map_calls(
    item: Kernel | Choice,
    call: Callable[..., Any],
    sizes: Callable[..., Any],
    count: int,
    dims: Sequence[int | None],
    arguments: Sequence[Any],
) -> tuple[Any, Any]:
    """The results of as many calls as a batch has, and which of their dims is the batch's.

    - `call`: calls the operator.
    - `sizes`: gives results of the right sizes without calling it.
    - `count`: the batch's size.
    - `dims`: which dim of each argument is the batch's; None where it is the same for all.
    """
    if all(_is_folded(kernel, dims) for kernel in kernels_of(item)):
        items = kernels_of(item)[0].arguments
        given = [
            _in_front(value, dim, count)
            if isinstance(operand, Buffer) and operand.batched and value is not None
            else value
            for operand, value, dim in zip(items, arguments, dims, strict=False)
        ]
        results = call(*given)
    elif count:
        each = [call(*_at(index, dims, arguments)) for index in range(count)]
        several = isinstance(each[0], tuple)
        results = tuple(map(torch.stack, zip(*each, strict=True))) if several else torch.stack(each)
    else:
        one = [
            value if dim is None else value.new_empty(value.movedim(dim, 0).shape[1:])
            for value, dim in zip(arguments, dims, strict=True)
        ]
        found = sizes(*one)
        several = isinstance(found, tuple)
        empty = tuple(each.new_empty((0, *each.shape)) for each in (found if several else (found,)))
        results = empty if several else empty[0]
    return results, (0,) * len(results) if isinstance(results, tuple) else 0


def _is_folded(kernel: Kernel, dims: Sequence[int | None]) -> bool:
    """Whether a batch is one more leading dim: of all that it is in, and of all results."""
    return all(item.batched for item in kernel.outputs) and all(
        dim is None or (isinstance(item, Buffer) and item.batched)
        for item, dim in zip(kernel.arguments, dims, strict=False)
    )


def _in_front(value: torch.Tensor, dim: int | None, count: int) -> torch.Tensor:
    return value.expand(count, *value.shape) if dim is None else value.movedim(dim, 0)


def _at(index: int, dims: Sequence[int | None], arguments: Sequence[Any]) -> list[Any]:
    return [
        value if dim is None else value.select(dim, index)
        for value, dim in zip(arguments, dims, strict=True)
    ]

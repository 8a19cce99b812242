"""PyTorch's export of a model that may hold its state anywhere, and is as it was afterwards.

PyTorch puts stand-ins in the place of parameters and buffers while it exports. What else a model
holds, in lists, attributes and caches' objects, is there itself: it is written, so that the state
begins one call late, and what is read of it in Python becomes a constant. So tensors that a model
writes are made buffers for as long as it is exported, and the lists and objects hold those.
"""

import re
import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any
from unittest.mock import patch

import torch
from torch.export.graph_signature import InputKind
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.torch.graph import written_by
from custom_dispatch.frontends.torch.holdings import Change, Holdings, tensors_in

_MOST_NAMES = 3
"""Of those that an error lists."""


class _Writes(TorchDispatchMode):  # type: ignore[misc]
    """Sees which tensors themselves are written, and not stand-ins of theirs."""

    supports_higher_order_operators = True  # such as torch.cond: none declares what it writes

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[int, torch.Tensor] = {}
        self._without_gradient: list[torch.Tensor] = []
        self._before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        declared = schema.arguments if schema is not None and schema.is_mutable else ()
        for index, argument in enumerate(declared):
            if argument.alias_info is not None and argument.alias_info.is_write:
                value = args[index] if index < len(args) else kwargs.get(argument.name)
                for tensor in value if isinstance(value, (list, tuple)) else (value,):
                    self._keep(tensor)
        return func(*args, **kwargs)

    def _keep(self, tensor: Any) -> None:
        plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_meta
        if plain and tensor.layout == torch.strided:
            self.found[id(tensor)] = tensor
            if not tensor.requires_grad:  # which one does that weights are written into
                self._without_gradient.append(tensor)
            storage = tensor.untyped_storage()
            if storage._cdata not in self._before:
                with _disable_current_modes():
                    self._before[storage._cdata] = (storage, storage.clone())

    def undo(self) -> None:
        for storage, before in self._before.values():
            storage.copy_(before)
        for tensor in self._without_gradient:
            tensor.detach_()


def export(
    model: torch.nn.Module,
    arguments: tuple[Any, ...],
    dynamic_shapes: Any,
    states: dict[int, torch.Tensor] | None = None,
) -> torch.export.ExportedProgram:
    """Export a model, which holds then what it held before.

    - `states`: by `id`, tensors that functions write, and are no buffers; those of this one are
      added. What only reads one gets its value otherwise, as a constant.

    Raises `ModelError`: it sets what is no buffer and needs it in its next call, or writes what it
    does not hold.
    Raises `Exception`: whatever PyTorch, and the model's own code, raise.
    """
    states = {} if states is None else states
    before = Holdings(model)
    registered = [
        *model.named_parameters(remove_duplicate=False),
        *model.named_buffers(remove_duplicate=False),
    ]
    names = {id(tensor): name for name, tensor in reversed(registered)}
    added: dict[str, torch.Tensor] = {}

    def add(written: Container[int]) -> bool:
        """Make what is written, and held elsewhere, a buffer; return whether any was none."""
        more = [
            (name, tensor)
            for name, tensor in before.tensors()
            if id(tensor) in written and id(tensor) not in names
        ]
        for name, tensor in more:
            if id(tensor) not in names:
                names[id(tensor)] = _new_name(model, added, name)
                added[names[id(tensor)]] = tensor
                states[id(tensor)] = tensor
        return bool(more)

    def attempt(
        writes: _Writes, changed: Sequence[tuple[Change, Any]] = ()
    ) -> tuple[torch.export.ExportedProgram, list[Change]]:
        try:
            for change, value in changed:
                change.make(value)
            for name, tensor in added.items():
                model.register_buffer(name, tensor, persistent=False)
            with _watched(model, names) as changes, writes, warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The tensor attribute.* assigned during export")
                program = torch.export.export(model, arguments, dynamic_shapes=dynamic_shapes)
            return program, changes
        finally:
            writes.undo()
            before.restore()
            model._non_persistent_buffers_set.difference_update(added)

    add(states)
    while True:
        writes, error = _Writes(), None
        try:
            program, changes = attempt(writes)
            written = _constants_written(program)
        except Exception as caught:  # noqa: BLE001 - any code of the model's runs here
            error, written = caught, writes.found
        if not add(written):
            break
    if error is not None:
        raise error
    if written:
        raise ModelError(
            "The model changes a tensor that it does not hold.",
            expected="a buffer, or a tensor in an attribute, a list or an object of the model's",
            next_step="make it a buffer: self.register_buffer(name, tensor).",
        )
    if changes and not _is_same_again(program, changes, attempt):
        found = ", ".join(f"`{change.name}`" for change in changes[:_MOST_NAMES])
        raise ModelError(
            f"While it runs, the model sets {found}, which is not a buffer.",
            expected="a buffer, whose changes a module keeps between calls",
            next_step="make it one: self.register_buffer(name, tensor); or return the new "
            "value instead. What the first call alone sets is there if the model is called before.",
        )
    return program


@contextmanager
def _watched(model: torch.nn.Module, names: Mapping[int, str]) -> Iterator[list[Change]]:
    """Put PyTorch's stand-ins wherever a model holds a tensor, and list what the model sets."""
    changes: list[Change] = []
    inside: Holdings

    def begin(*_: Any) -> None:
        nonlocal inside
        Holdings(model).exchange({key: attrgetter(name)(model) for key, name in names.items()})
        inside = Holdings(model)

    def end(*_: Any) -> None:
        known = {id(tensor) for _, tensor in inside.tensors(registered=True)}
        changes.extend(
            change
            for change in inside.changes()
            if change.is_number
            or isinstance(change.old, torch.Tensor)
            or isinstance(change.new, torch.Tensor)
            or any(id(tensor) not in known for tensor in tensors_in(change.new))
        )

    hooks = (model.register_forward_pre_hook(begin), model.register_forward_hook(end))
    # Whether a mask is causal depends on data. Its numbers are read where nobody says so.
    layers, is_causal = torch.nn.modules.transformer, lambda *given: given[1] is True
    try:
        with patch.object(layers, "_detect_is_causal_mask", is_causal):
            yield changes
    finally:
        for hook in hooks:
            hook.remove()


def _is_same_again(
    program: torch.export.ExportedProgram, changes: Sequence[Change], attempt: Callable[..., Any]
) -> bool:
    """Whether a model's next call computes the same, after what the first one set.

    Tensors that it set have no values, for it was exported; so it may not read them.
    """
    if not all(change.is_number or isinstance(change.new, torch.Tensor) for change in changes):
        return False
    after = [(change, _stand_in(change.new)) for change in changes]
    try:
        again, more = attempt(_Writes(), after)
    except Exception:  # noqa: BLE001 - any code of the model's runs here
        return False
    constants = list(again.constants.values())
    return (
        str(program.graph) == str(again.graph)
        and not any(change.is_number for change in more)
        and not any(one is other for one in constants for _, other in after)
        and all(map(_is_equal, program.constants.values(), constants))
    )


def _stand_in(value: Any) -> Any:
    """A tensor of the same kind without values; a number itself, or what a symbol stood for."""
    if isinstance(value, torch.Tensor):
        sizes = [_stand_in(size) for size in value.shape]
        return torch.empty(sizes, dtype=value.dtype, device=value.device)
    return value.node.hint if hasattr(value, "node") else value


def _is_equal(one: Any, other: Any) -> bool:
    both = isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)
    return one is other or (both and torch.equal(one, other))


def _constants_written(program: torch.export.ExportedProgram) -> dict[int, torch.Tensor]:
    """By `id`, what a model writes that PyTorch took for constants."""
    written = {node.name for each in program.graph.nodes for node in written_by(each)}
    found = [
        program.constants[str(spec.target)]
        for spec in program.graph_signature.input_specs
        if spec.kind == InputKind.CONSTANT_TENSOR and getattr(spec.arg, "name", "") in written
    ]
    return {id(tensor): tensor for tensor in found}


def _new_name(model: torch.nn.Module, taken: Container[str], name: str) -> str:
    """A buffer's name that says where a tensor is held: `cache.keys[0]` gives `cache_keys_0`."""
    found = re.sub(r"\W+", "_", name.removeprefix("self.")).strip("_")
    while hasattr(model, found) or found in taken:
        found += "_"
    return found

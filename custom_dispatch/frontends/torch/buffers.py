"""Buffers of exported PyTorch models: which a model changes, each with memory of its own."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, InputSpec, OutputKind

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.torch.dtypes import element_type_of
from custom_dispatch.frontends.torch.graph import written_by

STATES = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
"""New values of what a model holds itself."""


def with_buffers(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program with each tensor that it holds and writes as a buffer of its own.

    PyTorch keeps tensors that a module holds elsewhere, as in a list or a cache's object, as
    constants, also where they were registered as buffers besides; and writes them there as well.
    """
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    inputs = dict(zip(placeholders, program.graph_signature.input_specs, strict=True))
    roots = {root for node in program.graph.nodes for root in written_by(node)}
    given = {spec.target for spec in program.graph_signature.output_specs if spec.kind in STATES}
    held = {**program.constants, **program.state_dict}
    written = {
        node: spec
        for node, spec in inputs.items()
        if spec.target in held and (node in roots or spec.target in given)
    }
    for node in written:
        _check_buffer(node, inputs, held)
    constants = [s.target for s in written.values() if s.kind == InputKind.CONSTANT_TENSOR]
    # PyTorch negates these whenever they are read, as `z.conj().imag`: their bytes are others.
    negated = {name for name, each in held.items() if getattr(each, "is_neg", bool)()}
    if not written and not negated:
        return program
    signature = copy.deepcopy(program.graph_signature)
    signature.input_specs = [
        InputSpec(InputKind.BUFFER, spec.arg, spec.target, persistent=False)
        if spec.target in constants
        else spec
        for spec in signature.input_specs
    ]
    # A tensor under two names is read and written under one; `run_decompositions` fails where
    # buffers share memory all the same. What nothing reads needs none.
    state, others = dict(program.state_dict), dict(program.constants)
    for node, spec in inputs.items():
        for kept in (state, others) if not node.users else ():
            value = kept.get(spec.target)
            if isinstance(value, torch.Tensor) and any(
                _overlap(held[each.target], value) for each in written.values()
            ):
                kept[spec.target] = _like(value, value.detach().new_zeros(()).expand(value.shape))
    for kept in (state, others):
        for name in negated & kept.keys():
            kept[name] = _like(kept[name], kept[name].resolve_neg())
    return program._update(program.graph_module, signature, state_dict=state, constants=others)


def _like(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """A new tensor as a parameter where the old one is: PyTorch insists on that."""
    is_parameter = isinstance(old, torch.nn.Parameter)
    return torch.nn.Parameter(new, requires_grad=False) if is_parameter else new


def _check_buffer(
    node: torch.fx.Node, inputs: Mapping[torch.fx.Node, InputSpec], held: Mapping[Any, Any]
) -> None:
    """Require a buffer that modules can keep, and whose memory nothing else has that is used.

    - `inputs`: what each placeholder of the program is.
    - `held`: the tensors that the program holds, by name.
    """
    name = inputs[node].target
    dtype = held[name].dtype
    if element_type_of(dtype) is None:
        kind = str(dtype).removeprefix("torch.")
        raise ModelError(
            f"The model changes its buffer `{name}`, which is {kind}: modules do not keep that.",
            expected="a buffer of real numbers of 8 bits or more, or of bools",
            next_step="keep its real and imaginary parts: torch.view_as_real."
            if dtype.is_complex
            else "keep it as such a one.",
        )
    for other, another in inputs.items():
        value = held.get(another.target) if other is not node and other.users else None
        if isinstance(value, torch.Tensor) and _overlap(held[name], value):
            raise ModelError(
                f"The model changes its buffer `{name}`, which shares memory with "
                f"`{another.target}`.",
                expected="a buffer with memory of its own",
                next_step="register one of them, and take views of it in `forward`.",
            )


def shared_states(
    programs: Sequence[torch.export.ExportedProgram],
) -> tuple[list[dict[str, str]], dict[str, torch.Tensor]]:
    """The tensors that any of several programs changes.

    Returns: for each program the names that it has for them, with the states that they are; and the
    states' first values.

    Raises `ModelError`: one program changes a part of what another one has.
    """
    everything = [{**program.constants, **program.state_dict} for program in programs]
    names: dict[Any, str] = {}
    first: dict[str, torch.Tensor] = {}
    for program, held in zip(programs, everything, strict=True):
        for spec in program.graph_signature.output_specs:
            name = spec.target or ""
            if spec.kind in STATES and (key := _memory(held[name])) not in names:
                while name in first:
                    name += "_"
                names[key], first[name] = name, held[spec.target]
    found: list[dict[str, str]] = [{} for _ in programs]
    for program, held, mine in zip(programs, everything, found, strict=True):
        users = {node.name: node.users for node in program.graph.nodes if node.op == "placeholder"}
        for spec in program.graph_signature.input_specs if first else ():
            value = held.get(spec.target)
            if not isinstance(value, torch.Tensor) or value.is_meta:
                continue
            if (key := _memory(value)) in names:
                mine[str(spec.target)] = names[key]
            elif users[spec.arg.name]:
                for name in (name for name, state in first.items() if _overlap(state, value)):
                    raise ModelError(
                        f"A function changes `{name}`, which shares memory with `{spec.target}` "
                        "of another one.",
                        expected="functions that have the same tensors, or none of each other's",
                        next_step="let both hold the whole tensor, and take views of it.",
                    )
    return found, first


def _memory(tensor: torch.Tensor) -> Any:
    if not tensor.numel():
        return id(tensor)
    return (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.is_meta or other.is_meta or one.device != other.device or not one.numel():
        return False
    spans = []
    for tensor in (one, other):
        last = sum(
            (size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True)
        )
        start = tensor.data_ptr()
        spans.append((start, start + (last + 1) * tensor.itemsize if tensor.numel() else start))
    (start, end), (other_start, other_end) = spans
    return bool(start < other_end and other_start < end)

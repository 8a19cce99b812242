"""A PyTorch model's weights as IREE's parameters: outside of the module, and never as text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import torch
from iree.compiler import ir
from iree.compiler.extras.fx_importer import FxImporterHooks

from custom_dispatch.frontends.outside_weights import OutsideWeights
from custom_dispatch.frontends.torch.dtypes import bytes_of, weight_of
from custom_dispatch.frontends.torch.states import States
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import create
from custom_dispatch.parameters import Parameters

_LEAST_SEVERAL = 2
"""Elements: the importer writes a single one into the operation."""


class Weights(FxImporterHooks):  # type: ignore[misc]
    """What the importer asks about each weight that it meets.

    Parameters
    ----------
    program
        The model, for the weights' names.
    inline_bytes
        Up to which size they become constants of the module.
    digests
        Digests that are known already, by the weight's storage; more are added.
    changed
        The first values of those that are states of the module, by name.
    """

    def __init__(
        self,
        program: torch.export.ExportedProgram,
        inline_bytes: int,
        digests: dict[Any, tuple[torch.Tensor, str]],
        changed: Mapping[str, torch.Tensor],
    ) -> None:
        self._inline_bytes = inline_bytes
        self._digests = digests
        self._module: Any = None
        self._names = {
            id(tensor): name
            for name, tensor in [*program.constants.items(), *program.state_dict.items()]
        }
        self._outside = OutsideWeights()
        self._changed = changed
        self.states = States(changed, inline_bytes, self._outside)

    def prepare_module(self, module_op: ir.Operation) -> None:
        """Keep the module, where the parameters are declared."""
        self._module = module_op

    def resolve_literal(self, gni: Any, literal: Any, info: Any) -> Any:
        """A load of a weight's parameter; None for what the importer is to make a constant."""
        if not isinstance(literal, torch.Tensor) or not _is_plain(literal):
            return None
        kind = gni._cc.tensor_to_vtensor_type(literal)
        tensor_type = builtin_type(kind)
        if tensor_type is None:
            return None
        given = None if info is None else info.input_spec.target
        if given is not None and given in self._changed:
            with ir.InsertionPoint(gni._b):
                return self.states.load(given, kind)
        if literal.nbytes <= self._inline_bytes:
            if literal.dtype != torch.bfloat16 or literal.numel() < _LEAST_SEVERAL:
                return None
            return _literal(gni, literal, kind, tensor_type)
        weight = weight_of(given or self._names.get(id(literal)), literal.detach())
        parameter = self._outside.parameter(weight, self._digest(literal))
        with ir.InsertionPoint(gni._b):
            loaded = self._outside.load(self._module, parameter, tensor_type)
            return create("torch_c.from_builtin_tensor", kind, loaded)

    @property
    def parameters(self) -> Parameters | None:
        """The weights that were left outside; None where there are none."""
        return self._outside.parameters

    def _digest(self, tensor: torch.Tensor) -> str:
        """Of the bytes; each tensor is read once, however often the model is imported."""
        key = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device)
        if key not in self._digests:
            # The tensor is kept, so that nothing else comes to lie at its address.
            self._digests[key] = (tensor, hashlib.sha256(bytes_of(tensor)).hexdigest())
        return self._digests[key][1]


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout == torch.strided
        and not tensor.is_meta
        and not isinstance(tensor, torch._subclasses.FakeTensor)
        and not tensor.dtype.is_complex
    )


def _literal(gni: Any, tensor: torch.Tensor, kind: ir.Type, tensor_type: ir.Type) -> Any:
    """A constant whose bytes are in the operation itself.

    The importer makes resources, and IREE's CPU code generation gives those of bf16 the type f32
    without converting them (`arith.constant` then does not verify).
    """
    value = ir.Attribute.parse(f'dense<"0x{bytes(bytes_of(tensor)).hex()}"> : {tensor_type}')
    with ir.InsertionPoint(gni._b):
        return create("torch.vtensor.literal", kind, value=value)

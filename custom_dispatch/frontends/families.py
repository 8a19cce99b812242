"""Families of kernels in a model: each call becomes one of the kernel for its values.

A family is called as a kernel is, with its compile-time arguments besides:

    torch.operator "torch.NAMESPACE.FAMILY"(%x, %width, %mode)   after the operands, as constants
    torch.operator "onnx.FAMILY"(%x) {torch.onnx.width = 4 : si64, ...}
    stablehlo.custom_call @FAMILY(%x) {mhlo.backend_config = {width = 4 : i64, ...}}
    stablehlo.composite "FAMILY" %x {composite_attributes = {width = 4 : i64, ...}, ...}

They are read and taken away before anything is built, and the call gets the name of the kernel. So
everything behind this meets kernels alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.errors import CallError, LinkError
from custom_dispatch.frontends.call_site import place_of
from custom_dispatch.frontends.model import Model, parse_model
from custom_dispatch.frontends.operations import operations_of
from custom_dispatch.frontends.symbols import functions_of, is_declaration, name_of
from custom_dispatch.kernel.choice import Callee, Choice
from custom_dispatch.kernel.family import Family
from custom_dispatch.kernel.kernel import Kernel

_OPERATOR = "torch.operator"
_ONNX = "onnx."
_ONNX_ATTRIBUTE = "torch.onnx."
# Where the StableHLO dialect has a call's name, and where its attributes.
_NAMES = {"stablehlo.custom_call": "call_target_name", "stablehlo.composite": "name"}
_DICTIONARIES = ("mhlo.backend_config", "backend_config", "composite_attributes")
_CONSTANTS = "torch.constant."


def call_members(model: Model, items: Iterable[Callee]) -> tuple[Model, list[Kernel | Choice]]:
    """Let a model call the kernels of families, for the values that it gives.

    Parameters
    ----------
    items
        What the model may call; families among it.

    Returns
    -------
    tuple
        The model, which is another one if there are families, and what it may call now: the
        kernels that are called in the places of their families.

    Raises
    ------
    LinkError
        A call lacks a value, or has one that its family has no kernel for.
    DeclarationError
        The kernel for a call's values is not right.
    """
    items = list(items)
    families = {item.name: item for item in items if isinstance(item, Family)}
    if not families:
        return model, [item for item in items if not isinstance(item, Family)]
    module = parse_model(model)
    called: dict[str, dict[str, Kernel]] = {name: {} for name in families}
    with module.context, ir.Location.unknown():
        for op in operations_of(module, _OPERATOR, *_NAMES):
            call = _Call(op, families)
            if call.family is not None:
                kernel = call.put_kernel()
                called[call.family.name][kernel.name] = kernel
        for op in functions_of(module):
            if is_declaration(op) and name_of(op) in families:
                raise _declared(families[name_of(op)])
    found: list[Kernel | Choice] = []
    for item in items:
        members = called[item.name].values() if isinstance(item, Family) else (item,)
        found += [member for member in members if member not in found]
    return module, found


def _declared(family: Family) -> LinkError:
    return LinkError(
        f"The model declares the function `{family.name}`, which is a family: nothing says which "
        "of its kernels is meant.",
        expected=f"the name of one, such as `{family.example.name}`",
        next_step="declare that function, and give the kernel: family.kernel("
        f"{', '.join(f'{item.name}=...' for item in family.statics)}).",
    )


class _Call:
    """An operation that may call a family."""

    def __init__(self, op: ir.Operation, families: Mapping[str, Family]) -> None:
        self._op = op
        self._key = _NAMES.get(op.name, "name")
        self._name = str(ir.StringAttr(op.attributes[self._key]).value)
        parts = self._name.split(".")
        self._part = len(parts) - 1
        if op.name == _OPERATOR:
            # "onnx.NAME" or "torch.NAMESPACE.NAME.OVERLOAD"
            self._part = min(self._part, 1 if self._name.startswith(_ONNX) else 2)
        self.family = families.get(parts[self._part])
        if self.family is None and op.name != _OPERATOR and self._name in families:
            self.family, self._part = families[self._name], 0

    def put_kernel(self) -> Kernel:
        """Call the kernel for the values instead; they are no arguments any more."""
        family = self.family
        assert family is not None  # noqa: S101 - asked before
        what = f"The call of `{self._name.removeprefix('torch.')}`{place_of(self._op)}"
        is_torch = self._op.name == _OPERATOR and not self._name.startswith(_ONNX)
        try:
            given = self._operands(family) if is_torch else self._attributes(family)
            kernel = family.kernel(**given)
        except CallError as error:
            raise LinkError(
                f"{what}: {error.found[:1].lower()}{error.found[1:]}",
                expected=error.expected,
                next_step="correct the model, or the family's values.",
            ) from None
        parts = self._name.split(".")
        parts[self._part] = kernel.name
        self._op.attributes[self._key] = ir.StringAttr.get(".".join(parts))
        return kernel

    def _operands(self, family: Family) -> dict[str, Any]:
        """The constants behind the operands of an operator of PyTorch."""
        count = len(family.example.arguments)
        values = list(self._op.operands)[count:]
        found = {
            item.name: _constant(item.name, value)
            for item, value in zip(family.statics, values, strict=False)
        }
        if values:
            self._keep_operands(count + max(0, len(values) - len(family.statics)))
        return found

    def _keep_operands(self, count: int) -> None:
        """Make the operation anew with its first operands."""
        old = self._op
        attributes = {name: old.attributes[name] for name in old.attributes}
        with old.location, ir.InsertionPoint(old):
            self._op = ir.Operation.create(
                old.name,
                results=[item.type for item in old.results],
                operands=list(old.operands)[:count],
                attributes=attributes,
            )
        for before, after in zip(list(old.results), list(self._op.results), strict=True):
            before.replace_all_uses_with(after)
        old.erase()

    def _attributes(self, family: Family) -> dict[str, Any]:
        """The attributes of an operator of ONNX, or of a call of StableHLO."""
        names = [item.name for item in family.statics]
        op, found = self._op, {}
        if op.name == _OPERATOR:
            for name in names:
                key = _ONNX_ATTRIBUTE + name
                if key in op.attributes:
                    found[name] = _value(name, op.attributes[key])
                    del op.attributes[key]
            return found
        for key in _DICTIONARIES:
            if key not in op.attributes or not isinstance(op.attributes[key], ir.DictAttr):
                continue
            entries = {item.name: item.attr for item in op.attributes[key]}
            found |= {name: _value(name, entries.pop(name)) for name in names if name in entries}
            op.attributes[key] = ir.DictAttr.get(entries)
        return found


def _constant(name: str, value: Any) -> Any:
    """What a value of the torch dialect is; None for none."""
    owner = value.owner
    kind = "" if isinstance(owner, ir.Block) else str(owner.name)
    if kind == f"{_CONSTANTS}none":
        return None
    if not kind.startswith(_CONSTANTS):
        raise CallError(
            f"The compile-time argument `{name}` is computed by the model.",
            expected="a number, bool or text that is written there",
        )
    return _value(name, owner.attributes["value"])


def _value(name: str, attribute: ir.Attribute) -> Any:
    for kind, read in _READ:
        if isinstance(attribute, kind):
            return read(attribute)
    raise CallError(
        f"The compile-time argument `{name}` is {attribute}.",
        expected="a number, bool or text",
    )


_READ: Sequence[tuple[Any, Any]] = (
    (ir.BoolAttr, lambda item: bool(item.value)),
    (ir.IntegerAttr, lambda item: int(item.value)),
    (ir.FloatAttr, lambda item: float(item.value)),
    (ir.StringAttr, lambda item: str(item.value)),
)

"""Models that no module can be, and what errors of PyTorch and IREE mean; with the user's line."""

import contextlib
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import torch
from iree.compiler import ir
from iree.compiler.extras.fx_importer import TORCH_DTYPE_TO_MLIR_TYPE_ASM
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from custom_dispatch.errors import CustomDispatchError, ModelError, excerpt, users_line
from custom_dispatch.frontends.torch.dtypes import element_type_of
from custom_dispatch.frontends.torch.graph import node_place, tensor_of
from custom_dispatch.kernel.names import shown
from custom_dispatch.link.dialects.torch_types import element_type
from custom_dispatch.link.operations import kind_of, operations_of
from custom_dispatch.match.state import place_of

# Training mode: which argument says so. A batch norm's update of its averages is in no schema.
_TRAINING = {torch.ops.aten.dropout.default: 2, torch.ops.aten.batch_norm.default: 5}
# What PyTorch prints by itself, with tracebacks, of errors that are raised as well.
_LOGGERS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")


@contextlib.contextmanager
def quiet_tracing(*, with_places: bool = True) -> Iterator[None]:
    """Keep PyTorch from printing errors that it raises, too.

    `with_places`: whether it notes which line of code each operation is from, a tenth of the time.
    """
    config = torch.fx.config
    left_out = config.do_not_emit_stack_traces or not with_places
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(config, "do_not_emit_stack_traces", left_out))
        for name in _LOGGERS:
            stack.enter_context(patch.object(logging.getLogger(name), "disabled", True))
        yield


def _no_values(weight: str) -> ModelError:
    return ModelError(
        f"The weight `{weight}` has no values: it is on the device meta.",
        expected="a model with its weights",
        next_step="load them: model.to_empty(device='cpu'), and load_state_dict.",
    )


def export_error(error: Exception, model: torch.nn.Module | None = None) -> ModelError:
    """What PyTorch's error means, raised while it exports a model."""
    held = () if model is None else (*model.named_parameters(), *model.named_buffers())
    missing = next((name for name, tensor in held if tensor.is_meta), None)
    if missing is not None:
        return _no_values(missing)
    line = users_line(error, Path(torch.__file__).parent)
    here = f" at {line.filename}:{line.lineno}" if line else ""
    own = _own_error(error)
    if own is not None:
        return ModelError(
            f"The model does not fit a kernel{here}: {own.found}",
            expected=own.expected,
            next_step=own.next_step,
            log=own.log,
        )
    if isinstance(error, GuardOnDataDependentSymNode):
        modules = () if model is None else model.modules()
        step = _OF_EXPERTS if any(map(_loops_over_experts, modules)) else _ON_ALL
        return _data_dependent(here, "", excerpt(str(error)), step)
    return ModelError(
        "PyTorch cannot export the model.",
        next_step="correct what torch.export.export finds:",
        log=excerpt(str(error)),
    )


def compile_error(
    programs: Iterable[torch.export.ExportedProgram], error: ModelError
) -> ModelError:
    """What IREE's error means, if the model has something that it is known not to take."""
    for node in (node for program in programs for node in program.graph.nodes):
        if node.meta.get("unbacked_bindings"):
            return _data_dependent(_place_of(node), f": those of {node.target}", error.log)
        tensor = tensor_of(node)
        if node.op == "call_function" and tensor is not None and tensor.dtype.is_complex:
            return ModelError(
                f"IREE does not take the complex numbers of {node.target}{_place_of(node)}.",
                expected="real numbers",
                next_step="compute real and imaginary parts by themselves; IREE says:",
                log=error.log,
            )
    return error


def check_program(program: torch.export.ExportedProgram) -> None:
    """Refuse a model that a module cannot be."""
    for node in program.graph.nodes:
        index = _TRAINING.get(node.target)
        if index is not None and node.args[index] and None not in node.args[3:4]:
            raise ModelError(
                f"The model is in training mode: it calls {node.target} so.",
                expected="a model in evaluation",
                next_step="call model.eval() first.",
            )
        _check_operator(node)
    _check_values(program)


def _check_operator(node: torch.fx.Node) -> None:
    """Refuse an operator of somebody's own that writes into its arguments."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace == "aten":
        return
    for argument in node.target._schema.arguments:
        if argument.alias_info is not None and argument.alias_info.is_write:
            raise ModelError(
                f"The operator `{node.target.name().replace('::', '.')}`{_place_of(node)} changes "
                f"its argument `{argument.name}`.",
                expected="an operator that returns new values: mutates_args=()",
                next_step="return the new value from the operator, and use that in the model; a "
                "kernel that updates a buffer in place is declared with cd.InOut.",
            )


def _check_values(program: torch.export.ExportedProgram) -> None:
    nodes = {node.name: node for node in program.graph.nodes}
    held = {**program.constants, **program.state_dict}
    for spec in program.graph_signature.input_specs:
        name = getattr(spec.arg, "name", "")
        tensor = tensor_of(nodes.get(name))
        if tensor is None:
            continue
        if spec.kind == InputKind.USER_INPUT:
            _check_tensor(f"The model's argument `{name}`", tensor)
            continue
        value = held.get(spec.target)
        if isinstance(value, torch.Tensor) and value.is_meta and nodes[name].users:
            raise _no_values(str(spec.target))
    for index, output in enumerate(program.graph_signature.output_specs):
        if output.kind != OutputKind.USER_OUTPUT:
            continue
        tensor = tensor_of(nodes.get(getattr(output.arg, "name", "")))
        if tensor is not None:
            _check_tensor(f"The model's result {index}", tensor)
            continue
        value = getattr(output.arg, "value", 0)
        if not isinstance(value, bool | int | float):
            raise ModelError(
                f"The model's result {index} is {shown(value)}.",
                expected="tensors and numbers",
                next_step="leave it out of what the model returns.",
            )


def _check_tensor(what: str, tensor: torch.Tensor) -> None:
    known = tensor.dtype in TORCH_DTYPE_TO_MLIR_TYPE_ASM and element_type_of(tensor.dtype)
    if not known:
        raise ModelError(
            f"{what} is {tensor.dtype}, which modules do not take.",
            expected="real numbers of 8 bits or more: float32, bfloat16, int64, uint8, ...",
            next_step="pass complex numbers as real ones (torch.view_as_real), packed ones as "
            "uint8 (tensor.view), and other integers as the next larger type.",
        )
    if tensor.layout != torch.strided:
        raise ModelError(
            f"{what} has the layout {tensor.layout}.",
            expected="a dense tensor",
            next_step="pass tensor.to_dense().",
        )


_ON_ALL = "compute on all elements (torch.where), or take that part out of the model:"
_OF_EXPERTS = 'call model.set_experts_implementation("grouped_mm"), which has no loop over experts:'


def _loops_over_experts(module: torch.nn.Module) -> bool:
    """Whether a model of transformers is one that would do without the loop."""
    allows = getattr(module, "_can_set_experts_implementation", bool)
    used = getattr(getattr(module, "config", None), "_experts_implementation", None)
    return used == "eager" and bool(allows())


def _data_dependent(place: str, what: str, log: str, step: str = _ON_ALL) -> ModelError:
    return ModelError(
        f"Sizes or branches of the model depend on its data{place}{what}.",
        expected="sizes that follow from those of the arguments, as with a mask in place of a "
        "selection",
        next_step=step if log else f"{step[:-1]}.",
        log=log,
    )


def _own_error(error: BaseException | None) -> CustomDispatchError | None:
    """An error of this package that another one was raised from."""
    while error is not None:
        if isinstance(error, CustomDispatchError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _place_of(node: torch.fx.Node) -> str:
    source = node_place(node).source
    return f" at {source}" if source else ""


_FLOATS = re.compile(r"b?f\d")
_CASTS = ("_to_copy", "to", "type_as")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_WRONG = (
    *("abs", "neg", "topk", "sort", "sum", "prod", "scatter_reduce", "pow"),
    *("div", "floor_divide", "remainder", "fmod"),
)


def check_unsigned(module: ir.Module) -> None:
    """Refuse operations whose results would be wrong.

    Found by running: of uint8, `x / 255.0` gives -0.5 for 128, `x == 200` is never true, and a sum
    is that of int8. Casts from unsigned integers, indexing, and sums, products and maxima that stay
    unsigned give what PyTorch says.
    """
    for op in operations_of(module):
        namespace, _, rest = kind_of(op).removeprefix("torch.").partition(".")
        if namespace != "aten":
            continue
        name, _, overload = rest.partition(".")
        given = _elements(op.operands)
        gives = _elements(op.results)
        if _is_wrong(name, overload, given, gives):
            kind = next(item for item in (*given, *gives) if _is_unsigned(item))
            raise ModelError(
                f"{place_of(op)} computes `{name}` with torch.uint{kind[2:]}, which IREE treats as "
                "signed numbers.",
                expected="signed integers or floats in what is computed",
                next_step="convert the tensor first: x.to(torch.int32), or x.float().",
            )


def _is_wrong(name: str, overload: str, given: list[str], gives: list[str]) -> bool:
    if name in _CASTS:
        return any(map(_is_unsigned, gives)) and any(map(_FLOATS.match, given[:1]))
    if not any(map(_is_unsigned, given)):
        return False
    if name in _COMPARISONS:
        return overload == "Scalar" or len(set(given)) > 1
    return name in _WRONG or any(map(_FLOATS.match, gives))


def _is_unsigned(element: str) -> bool:
    return element.startswith("ui")


def _elements(values: Sequence[ir.Value]) -> list[str]:
    return [element for value in values if (element := element_type(value))]

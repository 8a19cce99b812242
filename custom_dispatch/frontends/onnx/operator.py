"""A kernel as an operator of ONNX: a schema, with the inference of its results' types."""

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import onnx
from onnx.defs import OpSchema
from onnx.reference.op_run import OpRun

from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.frontends.onnx import node
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Declared, are_same, check_declared, kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.link.arguments import argument_names, call_arguments

OWN_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training")
"""Those of ONNX itself."""
_VERSION = 1
# What ONNX calls a node: "node scale[mine] (its name)".
_DISPLAYED = re.compile(r"\]? \((.+)\)$")

_lock = threading.RLock()
_registered: dict[tuple[str, str], Kernel | Choice] = {}


def register(kernel: Declared, domain: str = "custom_dispatch") -> type[OpRun]:
    """Make a kernel, a choice or a function an operator of ONNX with the same name.

    Its domain is separate from ONNX's, with version 1.

    A node's inputs are the kernel's `In`s and `InOut`s, in declaration order; an optional one may
    be left out, or be "". Its attributes are the value-less `Scalar`s, all of them: FLOAT for those
    of floating-point types, else INT. Its outputs are the `Out`s and `InOut`s. After
    this `onnx.checker` knows the operator, and `onnx.shape_inference` the types of its results:
    sizes by number, by name (`dim_param`), and `[..., n]` of any rank.

    Returns: a class for ONNX's reference evaluator, which runs the kernel on the best device:
    `onnx.reference.ReferenceEvaluator(model, new_ops=[cd.onnx.register(kernel)])`.

    Raises `DeclarationError`: the domain is ONNX's own or no name, or has an operator of that name
    which is not this kernel.
    """
    kernel = check_declared(kernel, "cd.onnx.register")
    if not isinstance(domain, str) or not domain.isprintable() or domain in OWN_DOMAINS:
        raise DeclarationError(
            f"The domain of kernel `{kernel.name}` is {shown(domain)}.",
            expected="a name that is not one of ONNX's own domains",
            next_step='choose one: cd.onnx.register(kernel, domain="mine").',
        )
    with _lock:
        key = (domain, kernel.name)
        known = _registered.get(key)
        if known is None and onnx.defs.has(kernel.name, domain):
            raise _taken(*key, "an operator that this package did not register")
        if known is not None and not are_same(known, kernel):
            raise _taken(*key, "another kernel")
        if known is None:
            onnx.defs.register_schema(_schema(kernel, domain))
        # Declared anew, as in a notebook: its source may be another by now.
        _registered[key] = kernel
    return evaluated(kernel, domain)


def registered_kernel(domain: str, operator: str) -> Kernel | Choice | None:
    """The kernel that an operator was registered for."""
    return _registered.get((domain, operator))


@contextmanager
def known_operators(kernels: Iterable[tuple[str, Kernel | Choice]]) -> Iterator[None]:
    """Let ONNX know kernels' operators for a while, each in a domain, as far as it does not."""
    with _lock:
        added = []
        try:
            for domain, kernel in kernels:
                if not onnx.defs.has(kernel.name, domain):
                    onnx.defs.register_schema(_schema(kernel, domain))
                    added.append((domain, kernel))
            yield
        finally:
            for domain, kernel in added:
                onnx.defs.deregister_schema(kernel.name, _VERSION, domain)


def check_node(item: Kernel | Choice, given: onnx.NodeProto) -> None:
    """Compare a node's inputs, outputs and attributes with a kernel's operator, as ONNX does."""
    context = onnx.checker.C.CheckerContext()
    context.ir_version, context.opset_imports = onnx.IR_VERSION, {given.domain: _VERSION}
    try:
        with known_operators([(given.domain, item)]):
            onnx.checker.check_node(given, context)
    except onnx.checker.ValidationError as error:
        kernel = kernels_of(item)[0]
        parts = {
            "inputs": [f"{i.name}{' (optional)' * i.optional}" for i in kernel.buffers],
            "outputs": [i.name for i in kernel.outputs],
            "attributes": [
                f"{name} ({onnx.AttributeProto.AttributeType.Name(node.attribute_type(scalar))})"
                for name, scalar in node.scalars_of(kernel).items()
            ],
        }
        raise LinkError(
            f"{node.label_of(given)} does not fit kernel `{item.name}`: "
            f"{str(error).splitlines()[0].rstrip('.')}.",
            expected="; ".join(f"{what} {', '.join(of) or 'none'}" for what, of in parts.items()),
            next_step="correct the model, or the kernel's declaration.",
        ) from None


def _taken(domain: str, name: str, what: str) -> DeclarationError:
    return DeclarationError(
        f"ONNX's operator `{domain}::{name}` is {what}.",
        expected="a name that is free",
        next_step='choose another domain: cd.onnx.register(kernel, domain="mine").',
    )


def _schema(item: Kernel | Choice, domain: str) -> OpSchema:
    option = OpSchema.FormalParameterOption
    kernel = kernels_of(item)[0]
    types: dict[str, list[str]] = {}
    for one in kernels_of(item):
        for operand in (*one.buffers, *one.outputs):
            kinds = types.setdefault(f"T_{operand.name}", [])
            kinds += (
                []
                if node.type_string(operand.dtype) in kinds
                else [node.type_string(operand.dtype)]
            )

    def parameter(operand: Buffer) -> Any:
        return OpSchema.FormalParameter(
            operand.name,
            f"T_{operand.name}",
            f"{operand.dtype}[{operand.declared_shape}]",
            param_option=option.Optional if operand.optional else option.Single,
        )

    schema = OpSchema(
        item.name,
        domain,
        _VERSION,
        str(item),
        inputs=[parameter(operand) for operand in kernel.buffers],
        outputs=[parameter(operand) for operand in kernel.outputs],
        type_constraints=[(name, kinds, "") for name, kinds in types.items()],
        attributes=[
            OpSchema.Attribute(
                name,
                OpSchema.AttrType(node.attribute_type(scalar)),
                f"{scalar.dtype}",
                required=True,
            )
            for name, scalar in node.scalars_of(kernel).items()
        ],
    )
    schema.set_type_and_shape_inference_function(lambda context: _infer(item, domain, context))
    return schema


def _infer(item: Kernel | Choice, domain: str, context: Any) -> None:
    """What ONNX calls for a node: reads its inputs' types, and sets its outputs'."""
    types = [
        node.tensor_type(context.get_input_type(index)) if context.has_input(index) else None
        for index in range(context.get_num_inputs())
    ]
    said = _DISPLAYED.search(str(context.get_display_name()))
    what = node.label(said[1] if said else "", domain, item.name)
    results = node.infer_results(item, what, types)
    for index, result in enumerate(results[: context.get_num_outputs()]):
        kind = onnx.helper.make_tensor_type_proto(result.element, result.shape)
        context.set_output_type(index, kind)


def evaluated(item: Kernel | Choice, domain: str) -> type[OpRun]:
    """The class whose objects are nodes of a model in ONNX's reference evaluator."""
    kernel = kernels_of(item)[0]

    def run(self: Any, *inputs: Any, **overridden: Any) -> tuple[Any, ...]:
        attributes = {
            item.name: onnx.helper.get_attribute_value(item)
            for item in self.onnx_node.attribute
            if not item.ref_attr_name
        } | overridden
        rest = iter(inputs)
        values = [
            next(rest, None) if isinstance(item, Buffer) else attributes[name]
            for name, item in zip(argument_names(kernel), kernel.arguments, strict=True)
        ]
        result = item(*call_arguments(kernel, values))
        return result if isinstance(result, tuple) else (result,)

    return type(item.name, (OpRun,), {"op_domain": domain, "_run": run})

"""Kernels of Pallas in functions of JAX: what JAX records of each call is a kernel's declaration.

JAX lowers a `pallas_call` to Triton's IR, for which it needs no GPU. Triton compiles that when the
kernel is built.
"""

import re
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import jax
import numpy
from iree.compiler import ir
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.jax.primitive import primitive
from custom_dispatch.frontends.triton import RELEASES
from custom_dispatch.installation import require
from custom_dispatch.kernel.dtypes import of_numpy
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import In, InOut, Operand, Out
from custom_dispatch.link.model import new_context
from custom_dispatch.link.operations import operations_of

_CALL = "pallas_call"
_TARGET = "__gpu$xla.gpu.triton"
"""What JAX has XLA call for it."""
_NUMBERS = ("grid_x", "grid_y", "grid_z", "num_stages", "num_warps")
"""What that has beside the IR."""
_HEX_DIGITS = 8


def with_kernels(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A traced function in which calls of Pallas are calls of kernels.

    Raises `ModelError`: a call is not for Triton, or its grid depends on data.
    Raises `ToolNotFoundError`: Triton is not installed.
    """
    return _changed(closed, lambda call: _Call(call).as_kernel()) if _is_loaded() else closed


def interpreted(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What a function computes on the CPU, where JAX interprets calls of Pallas."""
    if not _is_loaded():
        return function(*arguments)
    closed = _changed(
        jax.make_jaxpr(function)(*arguments),
        lambda call: call.replace(params={**call.params, "interpret": True}),
    )
    return jaxpr_as_fun(closed)(*jax.tree.leaves(tuple(arguments)))


def _is_loaded() -> bool:
    """Whether this process has Pallas: no function can call its kernels otherwise."""
    return "jax._src.pallas.pallas_call" in sys.modules


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """A traced function, or a parameter of an equation, with other equations for calls in it."""
    if isinstance(value, ClosedJaxpr):
        return value.replace(jaxpr=_changed(value.jaxpr, change))
    if type(value) in (tuple, list):
        return type(value)(_changed(item, change) for item in value)
    if not isinstance(value, Jaxpr):
        return value
    equations = []
    for each in value.eqns:
        if each.primitive.name == _CALL and not each.params["interpret"]:
            equations.append(change(each))
        else:
            params = {name: _changed(item, change) for name, item in each.params.items()}
            equations.append(each.replace(params=params))
    return value.replace(eqns=equations)


class _Call:
    """An equation that calls a kernel of Pallas, and the kernel that it is."""

    def __init__(self, equation: Any) -> None:
        self.equation, self.params = equation, dict(equation.params)
        name = self.params["name"] or self.params["jaxpr"].debug_info.func_name
        self.name = re.sub(r"\W", "_", str(name), flags=re.ASCII)
        from jax.experimental.pallas import triton

        options = self.params["compiler_params"] or triton.CompilerParams()
        if not isinstance(options, triton.CompilerParams):
            kind = f"{type(options).__module__.rpartition('.')[2]}.{type(options).__name__}"
            raise self._error(
                f"is compiled with {kind}",
                "a kernel for Triton",
                "compiler_params=jax.experimental.pallas.triton.CompilerParams().",
            )
        if self.params["grid_mapping"].num_dynamic_grid_bounds:
            raise self._error(
                "has a grid that depends on data",
                "a grid of numbers, which is known when the function is traced",
                "make the grid as large as it may be, and let blocks do nothing.",
            )
        self.params["compiler_params"] = options

    def _error(self, found: str, expected: str, next_step: str) -> ModelError:
        return ModelError(
            f"The pallas_call `{self.name}` {found}.", expected=expected, next_step=next_step
        )

    def as_kernel(self) -> Any:
        """The equation of a call of the kernel."""
        given = [each.aval for each in self.equation.invars]
        made = [each.aval for each in self.equation.outvars]
        code, config = self._lowered(given)
        operands: list[Operand] = []
        written = dict(sorted(self.params["input_output_aliases"]))
        for index, each in enumerate(given):
            kind = InOut if index in written else In
            operands.append(kind(f"x{index}", self._dtype(each), each.shape))
        for index, each in enumerate(made):
            if index not in written.values():
                operands.append(Out(f"y{index}", self._dtype(each), each.shape))
        for index, result in written.items():  # one address, which Pallas passes twice
            code = re.sub(rf"%arg{len(given) + result}\b(?!:)", f"%arg{index}", code)
        require("triton", "Triton", "pallas_call", RELEASES)
        from custom_dispatch.frontends.triton.compiling import WARP, Form

        options = tuple((name, config[name]) for name in ("num_stages", "num_warps"))
        form = Form(None, self.name, code, (), (), (), (), options)
        digest = sha256(f"{code}{operands}{config}".encode()).hexdigest()[:_HEX_DIGITS]
        kernel = Kernel(
            f"{self.name}_{digest}",
            operands=operands,
            block=WARP * config["num_warps"],
            grid=[config[f"grid_{axis}"] for axis in "xyz"],
            producer=form,
        )
        order = [*written.values(), *(i for i in range(len(made)) if i not in written.values())]
        return self.equation.replace(
            primitive=primitive,
            params={"kernel": kernel, "scalars": ()},
            outvars=[self.equation.outvars[index] for index in order],
        )

    def _dtype(self, aval: Any) -> str:
        found = of_numpy(numpy.dtype(aval.dtype))
        if found is None:
            raise self._error(f"takes an array of {aval.dtype}", "a type of kernels", "convert it.")
        return found.name

    def _lowered(self, given: Sequence[Any]) -> tuple[str, dict[str, int]]:
        """Triton's IR, and the numbers of its launch."""
        from jax.extend.mlir import ir as jax_ir
        from jaxlib.triton import dialect

        def alone(*arrays: Any) -> Any:
            return self.equation.primitive.bind(*arrays, **self.params)

        check = jax.export.DisabledSafetyCheck.custom_call(_TARGET)
        export = jax.export.export(jax.jit(alone), platforms=["cuda"], disabled_checks=[check])
        exported = export(*(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in given))
        with new_context():
            module = ir.Module.parse(exported.mlir_module())
            (call,) = operations_of(module, "stablehlo.custom_call")
            found = {each.name: each.attr for each in call.attributes["mhlo.backend_config"]}
            code = ir.StringAttr(found["ir"]).value_bytes
            numbers = {name: ir.IntegerAttr(found[name]).value for name in _NUMBERS}
        with jax_ir.Context() as context:
            dialect.register_dialect(context)
            context.load_all_available_dialects()
            text = str(jax_ir.Module.parse(code))
        # JAX's own addresses are multiples of 32; those of kernels, of 16.
        return re.sub(r"tt\.divisibility = 32\b", "tt.divisibility = 16", text), numbers

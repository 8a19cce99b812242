"""Functions of JAX as MLIR: exported by JAX, with large arrays that they hold as parameters."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy
from iree.compiler import ir
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from custom_dispatch.errors import CustomDispatchError, ModelError, excerpt, users_line
from custom_dispatch.frontends.functions import Asked, merge
from custom_dispatch.frontends.jax.pallas import with_kernels
from custom_dispatch.frontends.jax.primitive import primitive
from custom_dispatch.frontends.jax.rewriting import Rule, apply_rules
from custom_dispatch.frontends.outside_weights import OutsideWeights, bytes_of, describe
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Names
from custom_dispatch.kernel.dtypes import of_numpy
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.link.arguments import check_arguments
from custom_dispatch.link.model import new_context
from custom_dispatch.link.operations import create, functions_of, is_public, operations_of
from custom_dispatch.match.remaining import remaining_in
from custom_dispatch.parameters import Parameter, Parameters
from custom_dispatch.replaced import Replaced


@dataclass(frozen=True, slots=True)
class Exported:
    """A function as a model."""

    module: ir.Module
    kernels: list[Kernel | Choice]
    """Those that it calls through `cd.jax.call`."""
    parameters: Parameters | None
    """The arrays that are not in the module."""
    replaced: Replaced
    """What rules replaced in it."""


def export_functions(
    asked: Sequence[Asked], inline_bytes: int, called: Sequence[str], rules: Sequence[Rule]
) -> Exported:
    """Export functions as one model; the rest as of `export_function`."""
    found: list[Exported] = []
    weights = OutsideWeights()
    for one in asked:
        given = (one.model, one.arguments, one.name, inline_bytes, called, rules)
        where = (found[0].module.context if found else None, weights)
        with one.named_in_errors():
            found.append(export_function(*given, *where))
    kernels = Names(kernel for each in found for kernel in each.kernels).items
    replaced = functools.reduce(Replaced.and_those, (each.replaced for each in found))
    module = merge([each.module for each in found])
    weights.describe(module)
    return Exported(module, kernels, weights.parameters, replaced)


def export_function(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    name: str,
    inline_bytes: int,
    called: Sequence[str] = (),
    rules: Sequence[Rule] = (),
    context: ir.Context | None = None,
    weights: OutsideWeights | None = None,
) -> Exported:
    """Export a function, and import what comes out.

    - `arguments`: arrays or `jax.ShapeDtypeStruct`s, in any containers; sizes may be symbolic.
    - `name`: the name of the module's function.
    - `inline_bytes`: up to how many bytes an array that the function holds becomes a constant of
      the module.
    - `called`: the names of kernels that it may call in other ways, such as `jax.ffi.ffi_call`.
    - `rules`: they put kernels into it first.
    - `context`, `weights`: of the module that it is to be merged into, if there is one.

    Raises `ModelError`: JAX cannot trace or export the function.
    Raises `DeclarationError`: it calls two kernels of one name.
    """
    _check_call(function, arguments)
    specs, tree = jax.tree.flatten(tuple(arguments))

    def flat(*leaves: Any) -> Any:
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))

    specs = [_spec(item) for item in specs]
    _check_types("argument", specs)
    closed = _tried(lambda: jax.make_jaxpr(flat)(*specs))
    closed, replaced = apply_rules(_tried(lambda: with_kernels(closed)), rules)
    kernels = _kernels_in(closed.jaxpr)
    _check_types("result", closed.out_avals)
    held = [_Held(item) for item in closed.consts]
    outside = [item for item in held if item.array.nbytes > inline_bytes]

    def opened(weights: Sequence[Any], *leaves: Any) -> Any:
        given = iter(weights)
        values = [next(given) if item in outside else item.value for item in held]
        return jaxpr_as_fun(ClosedJaxpr(closed.jaxpr, values))(*leaves)

    names = {*called, *(kernel.name for kernel in kernels)}
    checks = [jax.export.DisabledSafetyCheck.custom_call(symbol) for symbol in names]
    export = jax.export.export(jax.jit(opened, keep_unused=True), disabled_checks=checks)
    arrays = [jax.ShapeDtypeStruct(item.array.shape, item.array.dtype) for item in outside]
    exported = _tried(lambda: export(arrays, *specs))
    module = _parsed(exported, context or new_context())
    with module.context, ir.Location.unknown():
        main = next(op for op in functions_of(module) if is_public(op))
        _drop_assertions(module)
        _say_what_is_broadcast(module)
        main.attributes["sym_name"] = ir.StringAttr.get(name)
        weights = weights or OutsideWeights()
        weights.declared.clear()
        held_outside = {index: _weight(item.array) for index, item in enumerate(outside)}
        weights.load_arguments(module.operation, main, held_outside)
    if rules:
        replaced = replaced.and_those(Replaced(remaining=remaining_in(module, replaced)))
    kinds = [of_numpy(numpy.dtype(item.dtype)) for item in exported.out_avals]
    describe(module, name, [kind.name if kind else "" for kind in kinds])
    return Exported(module, kernels, weights.parameters, replaced)


def _check_call(function: Any, arguments: Any) -> None:
    if not callable(function):
        raise ModelError(
            f"The model is {shown(function)}.",
            expected="a function of JAX",
            next_step="pass the function itself, without calling it.",
        )
    check_arguments(arguments)


def _spec(item: Any) -> Any:
    if isinstance(item, jax.ShapeDtypeStruct):
        return item
    try:
        array = jax.numpy.asarray(item)
    except Exception as error:  # whatever JAX and numpy raise of what they cannot read
        raise ModelError(
            f"An argument of the function is {shown(item)}, which JAX cannot make an array of.",
            expected="an array, a number, or a jax.ShapeDtypeStruct",
            next_step="pass one.",
        ) from error
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _check_types(what: str, items: Sequence[Any]) -> None:
    for index, item in enumerate(items):
        # JAX has types that are not numpy's, such as that of random keys.
        if not isinstance(item.dtype, numpy.dtype) or of_numpy(numpy.dtype(item.dtype)) is None:
            raise ModelError(
                f"The function's {what} {index} is {item.dtype}, which modules do not take.",
                expected="real numbers or bools, each of whole bytes",
                next_step="pass complex numbers as real ones (x.real, x.imag), and integers of "
                "fewer than 8 bits as int8.",
            )


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except CustomDispatchError:
        raise
    except Exception as error:  # any code of the model's runs here
        line = users_line(error, Path(jax.__file__).parent)
        where = f" at {line.filename}:{line.lineno}" if line else ""
        raise ModelError(
            f"JAX cannot export the function{where}.",
            next_step="correct what JAX finds:",
            log=excerpt(f"{type(error).__name__}: {error}"),
        ) from error


def _kernels_in(jaxpr: Jaxpr) -> list[Kernel | Choice]:
    equations = (equation for inner in _jaxprs(jaxpr) for equation in inner.eqns)
    return Names(each.params["kernel"] for each in equations if each.primitive is primitive).items


def _jaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """A traced function, and those in it: of loops, branches, `jit`."""
    yield jaxpr
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            for item in value if isinstance(value, tuple | list) else (value,):
                if isinstance(item, ClosedJaxpr):
                    yield from _jaxprs(item.jaxpr)
                elif isinstance(item, Jaxpr):
                    yield from _jaxprs(item)


def _parsed(exported: Any, context: ir.Context) -> ir.Module:
    with context, ir.Location.unknown():
        try:
            return ir.Module.parse(exported.mlir_module())
        except ir.MLIRError as error:
            raise ModelError(
                "IREE cannot read what JAX exports.",
                next_step="write the function without what the message names:",
                log=str(error)[:4000],
            ) from None


def _drop_assertions(module: ir.Module) -> None:
    """Take away what JAX says of symbolic sizes, in calls that IREE does not know.

    IREE compares arguments with the function's type, and kernels the sizes of their operands.
    """
    for op in operations_of(module, "stablehlo.custom_call"):
        if ir.StringAttr(op.attributes["call_target_name"]).value == "shape_assertion":
            op.erase()


def _say_what_is_broadcast(module: ir.Module) -> None:
    """Have broadcasts say that a size that is not known is that of the result.

    JAX compares sizes as symbols, and refuses to broadcast one that might be 1. IREE takes no
    broadcast of which it does not know which dims it repeats. One that only adds dims of 1 becomes
    a reshape: IREE would put it into the next one, without what is said here.
    """
    for op in operations_of(module, "stablehlo.dynamic_broadcast_in_dim"):
        given, made = (ir.RankedTensorType(value.type) for value in (op.operands[0], op.results[0]))
        where = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
        sizes = [size for dim, size in enumerate(made.shape) if dim not in where]
        same = [made.shape[dim] for dim in where] == list(given.shape) and where == sorted(where)
        if same and all(size == 1 for size in sizes):
            with ir.InsertionPoint(op), op.location:
                shaped = create("stablehlo.dynamic_reshape", made, *op.operands)
            op.results[0].replace_all_uses_with(shaped)
            op.erase()
            continue
        known = [dim for dim in range(given.rank) if given.is_dynamic_dim(dim)]
        op.attributes["known_nonexpanding_dimensions"] = ir.DenseI64ArrayAttr.get(known)


# -- weights


class _Held:
    """An array that a function holds."""

    def __init__(self, value: Any) -> None:
        kind = getattr(value, "dtype", numpy.dtype(object))
        if jax.dtypes.issubdtype(kind, jax.dtypes.extended):
            raise ModelError(
                f"The function holds an array of {kind}, which is not a type of numpy.",
                expected="arrays of numbers",
                next_step="make it in the function, from numbers: jax.random.wrap_key_data.",
            )
        self.value = value
        self.array = numpy.asarray(value)


def _weight(array: Any) -> Parameter:
    return Parameter(
        "", array.dtype.name, array.shape, array.nbytes, functools.partial(bytes_of, array)
    )


def arrays_of(values: Sequence[Any]) -> list[numpy.ndarray[Any, Any]]:
    """What is in containers, in the order of a module's arguments and results."""
    given = jax.tree.leaves(tuple(values))
    for item in given:
        if isinstance(item, jax.ShapeDtypeStruct):
            raise ModelError(
                f"verify is given, and an argument is {shown(item)}, which holds no numbers.",
                expected="arrays, with which the function and its module are run",
                next_step="pass arrays of such sizes, or leave verify out.",
            )
    return [numpy.asarray(jax.numpy.asarray(item)) for item in given]

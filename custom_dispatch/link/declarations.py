"""The functions without a body through which a model calls kernels.

A model in MLIR declares them itself, each named after its kernel. For calls in other dialects
linking declares them: one for each kernel and each number of leading dims that it is called with.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import func

from custom_dispatch.errors import LinkError
from custom_dispatch.format.manifest import FunctionUse, KernelUse, KnownSizes
from custom_dispatch.ir.choice_dispatch import Order, candidates, kernels_in, orders_of
from custom_dispatch.ir.tensor_types import (
    Signature,
    Sizes,
    declared_signature,
    function_type,
    input_types,
    is_folded,
    known_dims,
    output_types,
)
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import fits_none
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.kernel.target import Target
from custom_dispatch.link.call_site import CallSite
from custom_dispatch.link.operations import (
    callee_of,
    calls_of,
    functions_of,
    is_declaration,
    is_public,
    known_sizes,
    name_of,
    type_of,
)
from custom_dispatch.toolchain.library import Library


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A function that stands for a kernel, or for a choice of several, in a model."""

    name: str
    """The kernel's or choice's."""
    orders: tuple[Order, ...]
    """Those that it may dispatch, as each target prefers them: of a choice, those that its type
    fits, as far as that tells."""
    declaration: ir.Operation
    signature: Signature

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All of them."""
        return kernels_in(self.orders)

    @property
    def kernel(self) -> Kernel:
        """The first of them; the others take and return as much."""
        return self.orders[0].kernels[0]

    @property
    def dialect(self) -> str:
        """The dialect of its calls: "func" or "util"."""
        return str(self.declaration.name).partition(".")[0]

    @property
    def is_plain(self) -> bool:
        """Whether it is one kernel, and takes and returns what that sees: leading dims as one."""
        if len(self.kernels) > 1:
            return False
        pairs = zip(self.kernel.arguments, self.signature.inputs, strict=True)
        return not any(isinstance(item, Buffer) and is_folded(item, of) for item, of in pairs)


class Callees:
    """The functions that linking declares, as they are asked for.

    `taken`: the names in the model that they must not have.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.kernels: dict[str, Kernel | Choice] = {}
        """By symbol."""
        self._taken = set(taken)
        self._symbols: dict[tuple[str, str], str] = {}

    def call(
        self,
        module: ir.Module,
        item: Kernel | Choice,
        kernel: Kernel,
        signature: Signature,
        passed: Callable[[Any, ir.Type], Any],
    ) -> list[ir.Value]:
        """Call a function where the insertion point is; return its results. It is declared, if that
        of its type is not yet.

        - `item`: what it stands for.
        - `kernel`: that, or one of a choice's kernels, whose types it has.
        - `passed`: gives the value for one of `Kernel.arguments`, which has to have a type.
        """
        kind = function_type(kernel, signature)
        symbol = self._symbols.get((item.name, kind)) or self._declare(module, item, kind)
        types = map(ir.Type.parse, input_types(kernel, signature))
        operands = [passed(*pair) for pair in zip(kernel.arguments, types, strict=True)]
        results = [ir.Type.parse(kind) for kind in output_types(kernel, signature)]
        return list(func.CallOp(results, symbol, operands).results)

    def _declare(self, module: ir.Module, item: Kernel | Choice, kind: str) -> str:
        symbol, count = item.name, 1
        while symbol in self._taken:
            count += 1
            symbol = f"{item.name}__{count}"
        added = ir.Module.parse(f"func.func private @{symbol}{kind}")
        module.body.append(added.body.operations[0])
        self._taken.add(symbol)
        self._symbols[item.name, kind] = symbol
        self.kernels[symbol] = item
        return symbol


def kernel_functions(
    module: ir.Module, library: Library, calls: Mapping[str, Kernel | Choice]
) -> dict[str, KernelFunction]:
    """The functions through which a model calls kernels, by symbol.

    `calls`: those that linking has declared itself, for calls in other dialects.
    """
    declarations = {name_of(op): op for op in functions_of(module) if is_declaration(op)}
    plain = [kernel for kernel in library.kernels if kernel.function is None]
    given: list[Kernel | Choice] = [*plain, *library.choices]
    names = {item.name for item in given}
    for op in functions_of(module):
        if name_of(op) in names and not is_declaration(op):
            raise LinkError(
                f"The model defines a function `{name_of(op)}` with a body, which is a kernel's "
                "name.",
                expected="a private function without a body, to be replaced by the kernel",
                next_step="remove the body, or rename the function or the kernel.",
            )
    known = ", ".join(sorted(names))
    for name in declarations:
        # A name with a dot is a function of another VM module, found when the file is loaded.
        if name not in names and name not in calls and "." not in name:
            raise LinkError(
                f"The model declares `{name}` without a body, and no kernel has that name.",
                expected=f"a kernel that is given: {known}",
                next_step="give the kernel too, or correct the name.",
            )
    # A call may be of the choice as it was declared, of whose kernels some are here.
    items: dict[str, Kernel | Choice] = {item.name: item for item in given}
    items |= {symbol: items.get(item.name, item) for symbol, item in calls.items()}
    found = {
        symbol: _function(item, op, library.targets)
        for symbol, item in items.items()
        if (op := declarations.get(symbol)) is not None
    }
    if plain and not found:
        first = plain[0]
        raise LinkError(
            f"The model calls none of the kernels: {known}.",
            expected="a declaration such as "
            f"`func.func private @{first.name}{function_type(first, declared_signature(first))}`",
            next_step="declare and call the kernel in the model.",
        )
    return found


def needed(
    choice: Choice,
    module: ir.Module,
    calls: Mapping[str, Kernel | Choice],
    targets: Sequence[Target],
) -> Choice:
    """A choice with those of its kernels that a model's calls of it may take on some targets.

    Where none calls it, it stays as it is.

    `calls`: as of `kernel_functions`.
    """
    symbols = {choice.name, *(symbol for symbol, item in calls.items() if item.name == choice.name)}
    with module.context:
        names = {
            kernel.name
            for op in functions_of(module)
            if is_declaration(op) and name_of(op) in symbols
            for kernel in _function(choice, op, targets).kernels
        }
    return choice.only(names) if names else choice


def _function(
    item: Kernel | Choice, declaration: ir.Operation, targets: Sequence[Target]
) -> KernelFunction:
    """What a function stands for: of a choice, the kernels that its type fits."""
    if isinstance(item, Kernel):
        signature = _signature(item, declaration)
        return KernelFunction(item.name, (Order.of(item, targets),), declaration, signature)
    fitting: list[Kernel] = []
    common: Signature | None = None
    refusals: list[LinkError] = []
    for kernel in item.kernels:
        try:
            found = _signature(kernel, declaration)
        except LinkError as error:
            refusals.append(error)
            continue
        fitting.append(kernel)
        common = found
    if common is None:
        what = f"No kernel of choice `{item.name}` takes the types that the model declares it with."
        raise fits_none(what, refusals)
    names = {kernel.name for kernel in fitting}
    orders = [
        Order(each.targets, tuple(kernel for kernel in each.kernels if kernel.name in names))
        for each in orders_of(item, known_dims(fitting[0], common), targets)
    ]
    return KernelFunction(item.name, candidates(item.name, orders, common), declaration, common)


def _signature(kernel: Kernel, declaration: ir.Operation) -> Signature:
    kind = type_of(declaration)
    site = CallSite(f"The model's declaration of `{kernel.name}`", kernel)
    found = site.types(kind.inputs, kind.results)
    for operand, given in zip(kernel.arguments, kind.inputs, strict=True):
        if isinstance(operand, Scalar) and str(given) != operand.argument_type:
            raise site.refusal(
                f"has {given} for the scalar `{operand.name}`", operand.argument_type
            )
    return found


_Counts = dict[tuple[str, tuple[Sizes, ...]], tuple[int, bool]]
"""By the function that stands for a kernel and the sizes of what it is called with."""


def kernel_uses(
    module: ir.Module, functions: Mapping[str, KernelFunction]
) -> tuple[FunctionUse, ...]:
    """The kernels that each public function calls, by itself or through private functions.

    - `functions`: those without a body that stand for kernels, by symbol.
    """
    bodies = {name_of(op): op for op in functions_of(module) if not is_declaration(op)}
    plain = [symbol for symbol, function in functions.items() if function.is_plain]
    found = []
    for name, op in bodies.items():
        if not is_public(op):
            continue
        uses: dict[str, KernelUse] = {}
        counts = _count(name, bodies, functions, frozenset())
        for (symbol, shapes), (calls, varies) in counts.items():
            function = functions[symbol]
            several = len(function.kernels) > 1  # of a choice, of which one runs
            for kernel in function.kernels:
                before = uses.get(kernel.name, KernelUse(kernel.name, 0))
                uses[kernel.name] = KernelUse(
                    kernel.name,
                    before.calls + calls,
                    before.varies or varies or several,
                    (*before.sizes, *_known_sizes(kernel, shapes, calls)),
                )
        direct = _direct(op, plain)
        kernel_name = None if direct is None else functions[direct].kernel.name
        found.append(FunctionUse(name, tuple(uses[key] for key in sorted(uses)), kernel_name))
    return tuple(found)


def _known_sizes(kernel: Kernel, shapes: tuple[Sizes, ...], calls: int) -> tuple[KnownSizes, ...]:
    """The sizes of a kernel's calls, where those of its operands say all of them."""
    dims = known_dims(kernel, Signature(shapes, ()))
    if any(dim.name not in dims for dim in kernel.dims):
        return ()
    absent = tuple(
        operand.name
        for operand, sizes in zip(kernel.arguments, shapes, strict=True)
        if isinstance(operand, Buffer) and operand.optional and 0 in sizes
    )
    return (KnownSizes(calls, dims, absent),)


def _count(
    name: str, bodies: Mapping[str, ir.Operation], kernels: Collection[str], callers: frozenset[str]
) -> _Counts:
    """Calls of what stands for kernels, and whether data decides how many of them are made."""
    op = bodies[name]
    total: _Counts = {}
    for call in calls_of(op, {*kernels, *bodies}):
        callee = callee_of(call)
        varies = call.parent != op or len(op.regions[0].blocks) != 1  # else it runs once
        if callee in kernels:
            inner: _Counts = {(callee, _shapes(call)): (1, False)}
        elif callee in callers or callee == name:
            # A function that calls itself: what it calls, it calls as often as data says.
            inner = {}
            total = {kernel: (count, True) for kernel, (count, _) in total.items()}
        else:
            inner = _count(callee, bodies, kernels, callers | {name})
        for kernel, (count, also) in inner.items():
            before, already = total.get(kernel, (0, False))
            total[kernel] = (before + count, already or also or varies)
    return total


def _shapes(call: ir.Operation) -> tuple[Sizes, ...]:
    """The sizes of what is passed, also where it is cast to a type that does not say them."""
    found = []
    for operand in call.operands:
        value, sizes = operand, _sizes_of_value(operand)
        while getattr(value.owner, "name", "") == "tensor.cast":
            value = value.owner.operands[0]
            pairs = zip(sizes, _sizes_of_value(value), strict=True)
            sizes = tuple(before if size is None else size for size, before in pairs)
        found.append(sizes)
    return tuple(found)


def _sizes_of_value(value: ir.Value) -> Sizes:
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    return known_sizes(value.type) if is_tensor else ()


def _direct(op: ir.Operation, kernels: Collection[str]) -> str | None:
    """The kernel that a function hands its arguments on to, where it does nothing else."""
    if len(op.regions[0].blocks) != 1:
        return None
    block = op.regions[0].blocks[0]
    body = [inner.operation for inner in block.operations]
    if len(body) != 2 or body[0].name not in ("func.call", "util.call"):
        return None
    call, end = body
    passed = list(call.operands) == list(block.arguments)
    returned = list(end.operands) == list(call.results)
    return callee_of(call) if passed and returned and callee_of(call) in kernels else None

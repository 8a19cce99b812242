"""That the parts of a declaration go together: operands, dims and what is required of them."""

from collections.abc import Mapping, Sequence

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.abi import flattened
from custom_dispatch.kernel.evaluation import dims_of, refuse_device
from custom_dispatch.kernel.expr import Condition, Dim, Expr
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.kernel.operand import Buffer, In, InOut, Operand, Out, Scalar, Struct


def check_operands(kernel: str, operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """Read a kernel's operands; of a struct that is split, those that it holds."""
    if not is_list(operands):
        raise DeclarationError(
            f"Kernel `{kernel}`: operands is given as {shown(operands)}.",
            expected="a list of cd.In, cd.Out, cd.InOut, cd.Scratch, cd.Scalar and cd.Struct, in "
            "the C signature's order",
            next_step='write operands=[cd.In("x", "f32", [n]), ...].',
        )
    found = tuple(operands)
    for operand in found:
        if not isinstance(operand, Buffer | Scalar | Struct) or type(operand) is Buffer:
            raise DeclarationError(
                f"Kernel `{kernel}`: {shown(operand)} is not an operand.",
                expected="cd.In, cd.Out, cd.InOut, cd.Scratch, cd.Scalar or cd.Struct",
                next_step="declare every parameter of the C signature with one of them.",
            )
    found = flattened(found)
    names = [operand.name for operand in found]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(
                f"Kernel `{kernel}` has {names.count(name)} operands named `{name}`.",
                expected="a name for each",
                next_step="rename all but one.",
            )
    if not outputs_of(found):
        raise DeclarationError(
            f"Kernel `{kernel}` has no cd.Out and no cd.InOut, so it computes nothing.",
            expected="at least one of them",
            next_step="declare the buffer that the kernel writes as cd.Out or cd.InOut.",
        )
    return found


def inputs_of(operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """What a call passes, in declaration order: `In`s, `InOut`s, structs, value-less scalars."""
    return tuple(
        operand
        for operand in operands
        if isinstance(operand, Struct)
        or (isinstance(operand, Scalar) and operand.is_argument)
        or isinstance(operand, In | InOut)
    )


def outputs_of(operands: tuple[Operand, ...]) -> tuple[Buffer, ...]:
    """What a call returns: every `Out` and `InOut`, in declaration order."""
    return tuple(operand for operand in operands if isinstance(operand, Out | InOut))


def expressions_of(
    operands: Sequence[Operand],
    grid: Sequence[Expr],
    requires: Sequence[Condition],
    amounts: Mapping[str, Expr | None],
) -> list[tuple[Expr, str]]:
    """Every expression of a declaration, with a description of where it stands."""
    found: list[tuple[Expr, str]] = []
    for operand in operands:
        if isinstance(operand, Buffer):
            found += [(size, f"the shape of `{operand.name}`") for size in operand.shape]
        elif isinstance(operand, Scalar) and operand.value is not None:
            found.append((operand.value, f"the value of `{operand.name}`"))
    found += [(size, "grid") for size in grid]
    found += [(side, "requires") for item in requires for side in (item.left, item.right)]
    return found + [(amount, part) for part, amount in amounts.items() if amount is not None]


def check_dims(
    kernel: str,
    operands: tuple[Operand, ...],
    requires: Sequence[Condition],
    expressions: Sequence[tuple[Expr, str]],
) -> None:
    """Require a buffer that says what each dim is, wherever it is used."""
    inputs = inputs_of(operands)
    _check_leading(kernel, operands, inputs)
    for condition in requires:
        sides, taken = (condition.left, condition.right), "what a kernel takes"
        refuse_device(f"Kernel `{kernel}`: requires", *sides, why=taken, said=condition)
    known = {
        size
        for operand in inputs
        if isinstance(operand, Buffer) and not operand.optional
        for size in operand.shape
        if isinstance(size, Dim)
    }
    if known.issuperset(dims_of(*(expr for expr, _ in expressions))):
        return
    for expr, where in expressions:
        for dim in dims_of(expr):
            if dim not in known:
                raise DeclarationError(
                    f"Kernel `{kernel}`: dim `{dim}`, used in {where}, has no value.",
                    expected="every dim to stand by itself in the shape of an In or InOut that "
                    "is not optional, where a call can read it",
                    next_step=f"declare an input with a size that is `{dim}`, or write a "
                    "number in its place.",
                )


def _check_leading(kernel: str, operands: Sequence[Operand], inputs: Sequence[Operand]) -> None:
    """Require a buffer that says what the leading dims of the others are."""
    buffers = [item for item in operands if isinstance(item, Buffer) and item.batched]
    if not buffers or any(item in inputs and not item.optional for item in buffers):
        return
    raise DeclarationError(
        f"Kernel `{kernel}`: `...`, in the shape of `{buffers[0].name}`, has no value.",
        expected="an In or InOut that is not optional and whose shape begins with `...`",
        next_step="declare an input with leading dims, or write a dim in the place of `...`.",
    )


def check_structure(what: str, parts: Mapping[str, Mapping[str, Sequence[Operand]]]) -> None:
    """Require inputs and results of the same names and kinds, in one order.

    - `what`: what the kernels belong to, for the error: "Choice `scale`".
    - `parts`: the inputs and the results of each kernel, by its name.
    """
    (first, of_first), *rest = parts.items()
    for name, operands in rest:
        for which, wanted in of_first.items():
            expected = ", ".join(map(_described, wanted))
            found = ", ".join(map(_described, operands[which]))
            if expected != found:
                raise DeclarationError(
                    f"{what}: the {which} of `{name}` are {found}.",
                    expected=f"those of `{first}`: {expected}",
                    next_step="declare the same operands, of the same kinds and in the same order; "
                    "types, shapes and what is computed by itself may differ.",
                )


def _described(item: Operand) -> str:
    match item:
        case Scalar(name=name):
            return f"Scalar({name})"
        case Struct(name=name):
            return str(item)
        case Buffer(name=name):
            role = "InOut" if isinstance(item, InOut) else "In" if isinstance(item, In) else "Out"
            return f"{role}({name}{', optional' if item.optional else ''})"


def check_requires(kernel: str, requires: Sequence[Condition]) -> tuple[Condition, ...]:
    """Read a kernel's conditions on dims."""
    example = "requires=[n % 4 == 0, n <= 8192]"
    if not is_list(requires):
        raise DeclarationError(
            f"Kernel `{kernel}`: requires is {_said(requires)}.",
            expected="a list of comparisons of dims, all of which must hold",
            next_step=f"write {example}.",
        )
    for condition in requires:
        if not isinstance(condition, Condition):
            raise DeclarationError(
                f"Kernel `{kernel}`: requires has {_said(condition)} in it.",
                expected="comparisons of dims",
                next_step=f"write {example}.",
            )
    return tuple(requires)


def _said(value: object) -> str:
    is_ours = isinstance(value, Condition) or hasattr(value, "is_same")
    return str(value) if is_ours else shown(value)


def in_order(
    kernel: str,
    operands: Sequence[Operand],
    parameters: Mapping[str, bool],
    constants: Mapping[str, object],
    function: str,
    constants_are: str = "constants",
) -> list[Buffer | Scalar]:
    """Operands in the order of the parameters of a function in another language.

    - `parameters`: their names, and whether each has to be given.
    - `constants`: those that are no operands.
    - `function, constants_are`: its name and that of the keyword for constants, for errors.
    """
    names = [*parameters]
    if not is_list(operands):
        raise DeclarationError(
            f"Kernel `{kernel}`: operands is given as {shown(operands)}.",
            expected="a list of cd.In, cd.Out, cd.InOut and cd.Scalar, named as the parameters",
            next_step=f'write operands=[cd.In("{names[0]}", "f32", [n]), ...].',
        )
    found: list[Buffer | Scalar] = []
    for item in operands:
        if not isinstance(item, Buffer | Scalar):
            raise DeclarationError(
                f"Kernel `{kernel}`: {shown(item)} is given as an operand.",
                expected="cd.In, cd.Out, cd.InOut and cd.Scalar: the function takes nothing else",
                next_step="declare each parameter with one of them.",
            )
        found.append(item)
    named = [*(item.name for item in found), *constants]
    problems = [
        *(f"`{each}` is no parameter of it" for each in named if each not in names),
        *(f"`{each}` is given twice" for each in named if named.count(each) > 1),
        *(f"`{each}` is missing" for each in names if parameters[each] and each not in named),
    ]
    if problems:
        raise DeclarationError(
            f"Kernel `{kernel}`: the declaration does not fit `{function}`: {problems[0]}.",
            expected=f"each of its parameters once: {', '.join(names)}",
            next_step=f"give arrays and numbers as operands=, and constants as {constants_are}=.",
        )
    return sorted(found, key=lambda item: names.index(item.name))

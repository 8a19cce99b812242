"""Several functions of one module: what front ends are given for each, and their models as one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from iree.compiler import ir

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import CustomDispatchError, DeclarationError
from custom_dispatch.kernel.names import check_name
from custom_dispatch.link import operations
from custom_dispatch.link.dialects.torch_dialect import DEFINITION, OPERATOR


@dataclass(frozen=True, slots=True)
class Asked:
    """A function that a front end is asked for."""

    name: str
    model: Any
    arguments: Any = None
    dynamic_shapes: Any = None
    is_alone: bool = True
    """Whether it is the only one of its module."""

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Let errors begin with its name, unless it is alone."""
        try:
            yield
        except CustomDispatchError as error:
            if self.is_alone:
                raise
            raise error.saying(f"Function `{self.name}`: {error.found}") from error


def asked_for(name: str, model: Any, arguments: Any = None, sizes: Any = None) -> list[Asked]:
    """The functions that a front end is asked for, each with what is given for it.

    A mapping has what is given for each of several, by name. Anything else is for all of them, and
    `name` is that of a single one. In a mapping of sizes names may lack.
    """
    whole = [each for each in (arguments, model) if isinstance(each, Mapping)]
    names = list(whole[0]) if whole else [name]
    for each in names:
        check_name(each, "function")
    if not whole:
        return [Asked(name, model, arguments, sizes)]
    sizes = {} if sizes is None else sizes
    fits = isinstance(sizes, Mapping) and set(sizes) <= set(names)
    if not names or name != "main" or not fits or any(set(each) != set(names) for each in whole):
        raise DeclarationError(
            f"Several functions are asked for: {', '.join(names) or 'none'}; and what is given "
            "is not for these.",
            expected="mappings of the same names, one of sizes that may lack some, and no `name`",
            next_step='write {"prefill": ..., "step": ...} for each.',
        )

    def of(each: str, item: Any) -> Any:
        return item[each] if isinstance(item, Mapping) else item

    alone = len(names) == 1
    return [Asked(x, of(x, model), of(x, arguments), sizes.get(x), alone) for x in names]


def merge(modules: Sequence[ir.Module]) -> ir.Module:
    """Move the functions of several models of one context into the first.

    What is private gets another name where its own is taken. A weight that several declare, as
    `OutsideWeights` does, is declared once.
    """
    whole = modules[0]
    taken = {
        operations.name_of(op)
        for each in modules
        for op in operations.functions_of(each)
        if operations.is_public(op)
    }
    for module in modules:
        for op in operations.symbols_of(module):
            name = new = operations.name_of(op)
            if operations.is_function(op) and operations.is_public(op):
                continue
            if name.startswith(operations.PARAMETER) and name in taken:
                op.erase()
                continue
            while new in taken:
                new += "_"
            taken.add(new)
            if new != name:
                ir.SymbolTable.replace_all_symbol_uses(name, new, module.operation)
                op.attributes["sym_name"] = ir.StringAttr.get(new, module.context)
                for user in operations.operations_of(module, OPERATOR):
                    said = user.attributes.get(f"torch.onnx.{DEFINITION}")
                    if said is not None and ir.StringAttr(said).value == name:
                        user.attributes[f"torch.onnx.{DEFINITION}"] = op.attributes["sym_name"]
        if module is not whole:
            for op in list(module.body.operations):
                whole.body.append(op)
    return whole

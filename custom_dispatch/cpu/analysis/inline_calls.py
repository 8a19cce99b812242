"""Putting the bodies of device functions where they are called (PTX ISA 9.0, section 9.7.12.5,
"call", and 7.1, "Function Declarations and Definitions").

A kernel then has one body: barriers and warp operations inside a function are like any others. A
call passes values in `.param` variables (section 5.1.6.3, "Device Function Parameters"). A part of
such a variable that is always written and read in one width becomes a register; a variable of which
an address is taken, or whose parts overlap, stays memory of the thread.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from custom_dispatch import ptx
from custom_dispatch.cpu.text.unsupported import unsupported

_MAX_DEPTH = 128
MAX_STATEMENTS = 200_000
"""A kernel that grows larger than this is refused."""
_ASSERT = ("__assertfail", "__assert_fail")
ASSERTION = "__assertfail"
"""The opcode that a call of one of them becomes; its operands are the call's parameters."""
_HEAP = frozenset({"malloc", "free"})


def inline_calls(module: ptx.Module, entry: ptx.Entry, *, kept: Collection[str] = ()) -> ptx.Entry:
    """An entry whose calls are replaced by the functions' bodies.

    `kept`: the functions whose calls stay calls: `call`, with the function, its result's variable
    and the parameters.
    """
    if not any(isinstance(s, ptx.Instruction) and s.parts[0] == "call" for s in entry.body):
        return entry
    inliner = _Inliner(module, entry, kept=kept)
    body = inliner.expand(entry.body, ())
    variables = (*entry.variables, *inliner.variables)
    return promote_parameters(replace(entry, body=tuple(body), variables=variables))


class _Inliner:
    def __init__(self, module: ptx.Module, entry: ptx.Entry, *, kept: Collection[str]) -> None:
        self._kernel = entry.name
        self._kept = kept
        self._functions: dict[str, ptx.Function] = {}
        for function in module.functions:  # a declaration may precede the definition
            if not function.is_declaration or function.name not in self._functions:
                self._functions[function.name] = function
        self.variables: list[ptx.Variable] = []
        self._calls = 0
        self._statements = 0

    def expand(
        self, body: Sequence[ptx.Statement], callers: tuple[str, ...]
    ) -> list[ptx.Statement]:
        found: list[ptx.Statement] = []
        self._statements += len(body)
        for statement in body:
            if isinstance(statement, ptx.Instruction) and statement.parts[0] == "call":
                if self._statements > MAX_STATEMENTS or len(callers) > _MAX_DEPTH:
                    raise unsupported(self._kernel, statement, "the kernel's calls nest too deep")
                found += self._call(statement, callers)
            else:
                found.append(statement)
        return found

    def _call(self, call: ptx.Instruction, callers: tuple[str, ...]) -> list[ptx.Statement]:
        operands = call.operands
        position = next((i for i, o in enumerate(operands) if not isinstance(o, ptx.Group)), -1)
        target = operands[position] if position >= 0 else None
        groups = [o for o in operands[:position] if isinstance(o, ptx.Group)]
        after = [o for o in operands[position + 1 :] if isinstance(o, ptx.Group)]
        if not isinstance(target, ptx.Symbol):
            raise unsupported(self._kernel, call, "a call through a pointer")
        function = self._functions.get(target.name)
        passed = after[0].elements if after else ()
        if target.name in _ASSERT:
            return [replace(call, opcode=ASSERTION, operands=passed)]
        results = groups[0].elements if groups else ()
        if target.name in self._kept:
            return [replace(call, opcode="call", operands=(target, *results, *passed))]
        if function is None or function.is_declaration:
            raise self._missing(call, target.name)
        if target.name in callers:
            reason, instead = f"`{target.name}` calls itself (recursion)", "write it as a loop"
            raise unsupported(self._kernel, call, reason, instead)
        declared = (*function.results, *function.parameters)
        passed = (*results, *passed)
        if len(declared) != len(passed) or not all(isinstance(o, ptx.Symbol) for o in passed):
            reason = f"the call does not pass what `{target.name}` takes in `.param` variables"
            raise unsupported(self._kernel, call, reason)
        self._calls += 1
        names = {
            parameter.name: operand.name
            for parameter, operand in zip(declared, passed, strict=True)
            if isinstance(operand, ptx.Symbol)
        }
        return self._body(call, function, names, (*callers, target.name))

    def _missing(self, call: ptx.Instruction, name: str) -> Exception:
        """The error for a function that the PTX does not hold: on a GPU, the driver has it."""
        if name == "vprintf":
            reason = "printing (`printf`) needs a C library, which only code for cpu:checked uses"
            return unsupported(self._kernel, call, reason, "use cpu:checked, or do not print")
        reason, instead = f"the function `{name}` is not in the PTX", ""
        if name in _HEAP:
            instead = "pass the memory as an operand, such as cd.Scratch"
        return unsupported(self._kernel, call, reason, instead)

    def _body(
        self,
        call: ptx.Instruction,
        function: ptx.Function,
        names: dict[str, str],
        callers: tuple[str, ...],
    ) -> list[ptx.Statement]:
        """The function's body, with the names of this call."""
        suffix = f"@c{self._calls}"
        end = f"end{suffix}"
        for variable in function.variables:
            if variable.space != "shared":  # which is the same one in every call
                names[variable.name] = variable.name + suffix
            self.variables.append(replace(variable, name=names.get(variable.name, variable.name)))
        for statement in function.body:
            if isinstance(statement, ptx.Label | ptx.BranchTargets):
                names[statement.name] = statement.name + suffix
        found: list[ptx.Statement] = []
        if call.predicate is not None:
            skipped = replace(call.predicate, negated=not call.predicate.negated)
            found.append(_branch(call, end, skipped))
        for statement in function.body:
            if isinstance(statement, ptx.Label):
                found.append(replace(statement, name=names[statement.name]))
            elif isinstance(statement, ptx.BranchTargets):
                targets = tuple(names.get(name, name) for name in statement.targets)
                found.append(replace(statement, name=names[statement.name], targets=targets))
            elif statement.parts[0] == "ret":
                found.append(_branch(statement, end, _guard(statement, suffix)))
            else:
                operands = tuple(_rename(o, names, suffix) for o in statement.operands)
                predicate = _guard(statement, suffix)
                found.append(replace(statement, operands=operands, predicate=predicate))
        found.append(ptx.Label(end, call.line))
        return self.expand(found, callers)


def _branch(
    instead: ptx.Instruction, target: str, predicate: ptx.Register | None
) -> ptx.Instruction:
    return replace(instead, opcode="bra", operands=(ptx.Symbol(target),), predicate=predicate)


def _guard(instruction: ptx.Instruction, suffix: str) -> ptx.Register | None:
    """An instruction's guard, as a call's own register."""
    register = instruction.predicate
    return None if register is None else replace(register, name=register.name + suffix)


def _rename(operand: ptx.Operand, names: Mapping[str, str], suffix: str) -> ptx.Operand:
    """An operand with a call's own registers, variables and labels."""
    if isinstance(operand, ptx.Register):
        return replace(operand, name=operand.name + suffix)
    if isinstance(operand, ptx.Symbol):
        return replace(operand, name=names.get(operand.name, operand.name))
    if isinstance(operand, ptx.Vector | ptx.Group):
        elements = tuple(_rename(element, names, suffix) for element in operand.elements)
        return replace(operand, elements=elements)
    if isinstance(operand, ptx.Pair):
        return ptx.Pair(
            _rename(operand.first, names, suffix), _rename(operand.second, names, suffix)
        )
    if isinstance(operand, ptx.Address):
        base = None if operand.base is None else _rename(operand.base, names, suffix)
        extra = tuple(_rename(element, names, suffix) for element in operand.extra)
        return replace(operand, base=base, extra=extra)
    return operand


_Part = tuple[int, int]
"""Offset and size in bytes."""


def promote_parameters(entry: ptx.Entry) -> ptx.Entry:
    """An entry without those `.param` variables of its body that can be registers."""
    names = {variable.name for variable in entry.variables if variable.space == "param"}
    parts: dict[str, set[_Part]] = {name: set() for name in names}
    for statement in entry.body:
        if not isinstance(statement, ptx.Instruction):
            continue
        access = _access(statement, names)
        if access is not None:
            parts[access[0]].update(access[1])
            continue
        for name in names.intersection(ptx.named_by(statement)):
            parts[name].add((0, 0))  # stays memory
    promoted = {name for name in names if not _overlap(parts[name])}
    body: list[ptx.Statement] = []
    for statement in entry.body:
        access = _access(statement, promoted) if isinstance(statement, ptx.Instruction) else None
        if access is not None and isinstance(statement, ptx.Instruction):
            body += _moves(statement, *access)
        else:
            body.append(statement)
    variables = tuple(variable for variable in entry.variables if variable.name not in promoted)
    return replace(entry, body=tuple(body), variables=variables)


def _access(instruction: ptx.Instruction, names: set[str]) -> tuple[str, list[_Part]] | None:
    """The variable that a load or store of parameter space accesses, and which parts."""
    opcode = instruction.parts
    if opcode[0] not in ("ld", "st") or "param" not in opcode[1].partition("::")[0]:
        return None
    bits = ptx.TYPE_BITS.get(opcode[-1])
    if bits is None or bits < 8 or bits > 64 or len(instruction.operands) != 2:
        return None
    address, value = instruction.operands if opcode[0] == "st" else instruction.operands[::-1]
    place = address.place if isinstance(address, ptx.Address) else None
    if place is None or place.name not in names:
        return None
    if isinstance(value, ptx.Symbol) and value.name in names:
        return None
    count = len(value.elements) if isinstance(value, ptx.Vector) else 1
    return place.name, [(place.offset + i * bits // 8, bits // 8) for i in range(count)]


def _overlap(parts: set[_Part]) -> bool:
    """Whether parts overlap, or one has no size."""
    end = 0
    for start, size in sorted(parts):
        if start < end or size == 0:
            return True
        end = start + size
    return False


def _moves(instruction: ptx.Instruction, name: str, parts: list[_Part]) -> list[ptx.Instruction]:
    """What a load or store becomes."""
    is_store = instruction.parts[0] == "st"
    value = instruction.operands[1 if is_store else 0]
    values: tuple[ptx.Operand, ...] = ptx.elements_of(value)
    signed = instruction.parts[-1].startswith("s")
    found = []
    for (start, size), element in zip(parts, values, strict=True):
        register = ptx.Register(f"{name}+{start}", f"b{8 * size}")
        target, source = (register, element) if is_store else (element, register)
        opcode = f"mov.b{8 * size}"
        if signed and not is_store and isinstance(target, ptx.Register):
            opcode = f"cvt.s{ptx.TYPE_BITS[target.type]}.s{8 * size}"
        if isinstance(target, ptx.Symbol):  # `_`: not wanted
            continue
        found.append(replace(instruction, opcode=opcode, operands=(target, source)))
    return found

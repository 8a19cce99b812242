"""A device function's PTX as the body of a `linalg.generic`."""

from dataclasses import dataclass, replace

from custom_dispatch import ptx
from custom_dispatch.cpu.analysis.control_flow import build_graph
from custom_dispatch.cpu.analysis.inline_calls import inline_calls, promote_parameters
from custom_dispatch.cpu.analysis.liveness import registers_of
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.errors import CustomDispatchError, PtxError
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.function import Function
from custom_dispatch.scalar.arith_builder import ArithBuilder
from custom_dispatch.scalar.refusals import refuse_more_than_arithmetic
from custom_dispatch.scalar.scalar_frame import ScalarFrame
from custom_dispatch.scalar.structure import Structure

_RESULT = ("custom_dispatch", "result")
"""How the opcode begins by which `toolchain/function.cuh` gives a result."""


@dataclass(frozen=True, slots=True)
class ScalarCode:
    """A function of numbers, as operations on one element of each operand."""

    arguments: tuple[str, ...]
    """The values that stand for the operands, of their own types."""
    lines: tuple[str, ...]
    results: tuple[str, ...]
    """The values that are its results, of their own types."""


def translate(text: str, function: Function) -> ScalarCode:
    """Translate a function to operations of `arith`, `math` and `scf`.

    `text`: the PTX of `function_source.function_ptx`.

    Raises `UnsupportedInstructionError`: the function is more than arithmetic on its operands.
    """
    module = ptx.read_module(text)
    entry = module.entry(function.symbol)
    if entry is None or len(entry.parameters) != len(function.arguments):
        raise PtxError(f"Function `{function.name}`: its PTX is that of another declaration.")
    entry = _in_registers(_inlined(module, entry, function))
    graph = build_graph(entry)
    b = ArithBuilder()
    frame = ScalarFrame(b, entry, graph, function)
    refuse_more_than_arithmetic(frame, module, frame.thread.instructions)
    for register in registers_of(frame.thread.instructions):
        frame.declare_register(register)
    names = tuple(f"%in{index}" for index in range(len(function.arguments)))
    start = {}
    for parameter, name, scalar in zip(entry.parameters, names, function.arguments, strict=True):
        bits = b.named(name, scalar.dtype.mlir)
        kind = int_type(scalar.dtype.bits)
        operation = "zext" if scalar.dtype.mlir == "i1" else "bitcast"
        start[f"{parameter.name}+0"] = bits.cast(operation, kind)
    results = tuple(f"result{index}" for index in range(len(function.results)))
    values = Structure(frame, b, graph, results).write(start)
    frame.values = dict(values)
    found = tuple(
        _as_type(frame, name, item.dtype)
        for name, item in zip(results, function.results, strict=True)
    )
    return ScalarCode(names, (*b.entry_lines, *b.lines), found)


def _as_type(frame: ScalarFrame, register: str, kind: ElementType) -> str:
    """A result's register as a value of the result's own type."""
    if kind.mlir == "i1":
        return frame.read(register).cmp("ne", 0)
    return frame.read(register).resize(kind.bits).cast("bitcast", kind.mlir)


def _inlined(module: ptx.Module, entry: ptx.Entry, function: Function) -> ptx.Entry:
    """The entry with what it calls in the calls' place."""
    try:
        return inline_calls(module, entry)
    except CustomDispatchError as error:
        found = error.found.replace(f"Kernel `{entry.name}`", f"Function `{function.name}`", 1)
        found = found.replace(", which only code for cpu:checked uses", "")
        step = "write it as a loop" if "recursion" in found else "write this part without it"
        raise error.saying(found, f"{step}, or declare a cd.Kernel instead.") from None


def _in_registers(entry: ptx.Entry) -> ptx.Entry:
    """The entry with its parameters, and its results, as registers."""
    parameters = tuple(
        ptx.Variable("param", each.name, each.type, (), each.align, None, False, entry.line)
        for each in entry.parameters
    )
    entry = promote_parameters(replace(entry, variables=(*entry.variables, *parameters)))
    return replace(entry, body=tuple(map(_result_in_register, entry.body)))


def _result_in_register(statement: ptx.Statement) -> ptx.Statement:
    if not isinstance(statement, ptx.Instruction) or statement.parts[:2] != _RESULT:
        return statement
    index, kind = statement.parts[2:4]
    register = ptx.Register(f"result{index}", kind)
    return replace(statement, opcode=f"mov.{kind}", operands=(register, *statement.operands))

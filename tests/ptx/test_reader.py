"""Reading PTX: what comes out, and what malformed text gives."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ptx_texts import SIMPLE

from custom_dispatch.errors import PtxError
from custom_dispatch.ptx import (
    Address,
    BranchTargets,
    Expression,
    Float,
    Group,
    Instruction,
    Integer,
    Label,
    Module,
    Pair,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
    read_module,
    type_size,
)

MODULE = read_module(SIMPLE)
ENTRY = MODULE.entries[0]
_HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"


def instructions(base: str) -> list[Instruction]:
    return [
        statement
        for statement in ENTRY.body
        if isinstance(statement, Instruction) and statement.parts[0] == base
    ]


def test_header() -> None:
    assert (MODULE.version, MODULE.target, MODULE.address_size) == ((9, 0), ("sm_90a", "debug"), 64)


def test_entries_with_their_directives() -> None:
    assert [entry.name for entry in MODULE.entries] == ["simple_mul", "bare"]
    assert ENTRY.max_threads == (256, 2, 1)
    assert ENTRY.required_threads is None
    assert MODULE.entries[1].required_threads == (8, 1, 1)
    assert ENTRY.max_registers == 32
    assert MODULE.entry("bare") is MODULE.entries[1]
    assert MODULE.entry("missing") is None


def test_parameters_with_sizes_and_spans() -> None:
    pointer, struct, scalar = ENTRY.parameters
    assert (pointer.type, pointer.size_bytes, pointer.align) == ("u64", 8, 8)
    assert (pointer.pointer_space, pointer.pointer_align) == ("global", 16)
    assert (struct.type, struct.count, struct.size_bytes, struct.align) == ("b8", 12, 12, 4)
    assert (scalar.type, scalar.count, scalar.size_bytes) == ("f32", None, 4)
    assert scalar.pointer_space is None
    assert SIMPLE[struct.span.start : struct.span.end] == (
        ".param .align 4 .b8 simple_mul_param_1[12]"
    )


def test_spans_give_the_text_back() -> None:
    text = SIMPLE[ENTRY.span.start : ENTRY.span.end]
    assert text.startswith(".visible .entry simple_mul(")
    assert text.endswith("ret;\n}")
    between = SIMPLE[ENTRY.parameters_span.start : ENTRY.parameters_span.end]
    assert between.strip().endswith("simple_mul_param_2")
    assert SIMPLE[ENTRY.body_span.start - 1] == "{"
    assert SIMPLE[ENTRY.body_span.end] == "}"
    (branch,) = (i for i in instructions("bra") if i.predicate and i.predicate.negated)
    assert SIMPLE[branch.span.start : branch.span.end] == "@!%p1 bra $L__BB0_2;"


def test_variables_with_initializers() -> None:
    by_name = {variable.name: variable for variable in MODULE.variables}
    table, halves, dynamic = by_name["table"], by_name["halves"], by_name["dynamic"]
    assert (table.space, table.size_bytes, table.align) == ("global", 8, 4)
    assert table.initializer == (Integer(1), Integer(2), Integer(255), Integer(4))
    assert (halves.space, halves.dims, halves.size_bytes) == ("const", (2, 2), 32)
    assert halves.initializer == (
        (Float(0x3FE0000000000000, 64), Float(0x3FD0000000000000, 64)),
        (Float(0xBFF8000000000000, 64),),
    )
    assert (dynamic.is_extern, dynamic.size_bytes) == (True, 0)
    assert by_name["place"].initializer == Symbol("table", 4)
    assert (by_name["corner"].size_bytes, by_name["corner"].align) == (16, 16)
    (local,) = ENTRY.variables
    assert (local.space, local.name, local.size_bytes) == ("local", "__local_depot0", 32)


def test_operands_of_every_shape() -> None:
    (load,) = instructions("ld")[2:]
    assert load.operands == (
        Vector(tuple(Register(f"%f{i}", "f32") for i in (1, 2, 3, 4))),
        Address(Register("%rd1", "b64"), -16),
    )
    assert instructions("ld")[1].operands[1] == Address(Symbol("simple_mul_param_1"), 8)
    assert instructions("setp")[0].operands[0] == Pair(
        Register("%p1", "pred"), Register("%p0", "pred")
    )
    assert instructions("setp")[0].operands[2] == Integer(-1)
    assert instructions("mov")[0].operands[1] == SpecialRegister("%tid.x")
    assert instructions("mov")[1].operands[1] == Expression("( 1 + 2 ) * 3")
    (store,) = instructions("st")
    assert store.parts == ("st", "shared::cta", "f32")
    assert store.operands == (Address(Symbol("dynamic"), 4), Float(0x3F800000, 32))
    (call,) = instructions("call")
    assert call.operands == (
        Group((Symbol("retval0"),)),
        Symbol("helper"),
        Group((Symbol("param0"), Symbol("param1"))),
    )
    (texture,) = instructions("tex")
    assert texture.operands[1] == Address(
        Symbol("image"), 0, (Vector((Register("%r1", "b32"), Register("%r2", "b32"))),)
    )


def test_what_the_headers_of_half_precision_write() -> None:
    body = "{.reg.b32 a;\nmov.u32 a, WARP_SZ;\n}"
    (entry,) = read_module(_HEADER + f".entry k()\n{{\n{body}\nret;\n}}").entries
    (move, _) = entry.body
    assert isinstance(move, Instruction)
    assert move.operands == (Register("a@1", "b32"), Integer(32))


def test_nested_scopes_keep_their_names_apart() -> None:
    (add,) = instructions("add")
    assert add.operands == (Register("%r1@1", "b32"), Register("%r2", "b32"), Integer(16))
    labels = [statement.name for statement in ENTRY.body if isinstance(statement, Label)]
    assert labels == ["AGAIN@1", "DONE@1", "DONE@2", "$L__BB0_2", "$L__BB0_3"]
    targets = [i.operands[0] for i in instructions("bra")]
    assert targets == [
        Symbol("$L__BB0_2"),
        Symbol("AGAIN@1"),
        Symbol("DONE@1"),
        Symbol("DONE@2"),
    ]


def test_branch_tables() -> None:
    (table,) = (s for s in ENTRY.body if isinstance(s, BranchTargets))
    assert (table.name, table.targets) == ("$L_brx_0", ("$L__BB0_2", "$L__BB0_3"))


def test_lines_and_source_locations() -> None:
    first, second = instructions("ld")[0], instructions("setp")[0]
    assert SIMPLE.splitlines()[first.line - 1].startswith("\tld.param.u64")
    assert str(first.location) == "/home/me/mul.cu:7"
    assert str(second.location) == "/usr/include/x.h:55"


def test_functions() -> None:
    (helper,) = MODULE.functions
    assert (helper.name, helper.is_declaration) == ("helper", True)
    assert [parameter.name for parameter in helper.results] == ["result"]
    assert [parameter.name for parameter in helper.parameters] == ["helper_0"]


def test_trailing_nul_is_taken() -> None:
    assert read_module(SIMPLE + "\0\n") == MODULE


def test_a_bank_of_registers_costs_nothing() -> None:
    text = _HEADER + ".entry k() { .reg .b32 %r<4000000000>; mov.u32 %r3999999999, 1; ret; }"
    (move, _) = read_module(text).entries[0].body
    assert isinstance(move, Instruction)
    assert move.operands[0] == Register("%r3999999999", "b32")


@pytest.mark.parametrize(("name", "size"), [("pred", 1), ("f16x2", 4), ("b128", 16), ("texref", 8)])
def test_type_sizes(name: str, size: int) -> None:
    assert type_size(name) == size


@pytest.mark.parametrize(
    ("text", "line", "found", "expected"),
    [
        ("", 1, "the end of the text", "`.version` at the start of a PTX module"),
        ("hello", 1, "`hello`", "`.version` at the start of a PTX module"),
        (".version nine", 1, "`nine`", "a version such as `9.0`"),
        (".version 9.0\n.entry", 2, "`.entry`", "`.target` after `.version`"),
        (_HEADER + "é", 4, "the character '\\xe9'", "PTX, which is ASCII text"),
        (_HEADER + "/* x", 4, "a comment without its end", "a closing `*/`"),
        (_HEADER + '"x', 4, "a string without its end", 'a closing `"` on the line'),
        (_HEADER + ".entry k() {\nadd.s32 %r1", 5, "the end of the text", "`;` after the operands"),
        (_HEADER + ".entry k() {\nadd.s32 %r1,;", 5, "`;`", "an operand"),
        (_HEADER + ".entry k() { @%p1 ret; }", 4, "`%p1`", "a declared predicate register"),
        (_HEADER + ".entry k(.param .u33 x) {}", 4, "`.u33`", "a type such as `.b32`"),
        (_HEADER + ".entry k() { ret;", 4, "the end of the text", "an instruction, a label"),
        (_HEADER + ".global .align 3 .b8 x;", 4, "`3`", "an alignment, which is a power of two"),
        (_HEADER + ".visible 7", 4, "`7`", "`.entry`, `.func` or a variable after its linkage"),
        (_HEADER + ".global .b8 x[" + "9" * 5000 + "];", 4, "`999", "the number of elements"),
        (_HEADER + ".global .b8 x = " + "{" * 99, 4, "`{`", "nested at most 16 deep"),
        (_HEADER + ".entry k() " + "{" * 999, 4, "`{`", "scopes nested at most 128 deep"),
    ],
)
def test_malformed_text_names_line_found_and_expected(
    text: str, line: int, found: str, expected: str
) -> None:
    with pytest.raises(PtxError) as caught:
        read_module(text)
    assert caught.value.found.startswith(f"PTX line {line}: found {found}")
    assert expected in caught.value.expected
    assert caught.value.next_step.startswith("give PTX as nvcc -ptx, NVRTC or cuobjdump")


def read_or_refuse(text: str) -> Module | None:
    try:
        return read_module(text)
    except PtxError:
        return None


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    assert read_or_refuse(text) is None  # too short to be a module by chance
    read_or_refuse(_HEADER + text)


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    read_or_refuse(_HEADER + data.decode("latin-1"))


@given(st.lists(st.sampled_from([*'{}[]()@!,;:|<>+-="', *SIMPLE.split()]), max_size=60))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_order_of_words_is_read_or_refused(words: list[str]) -> None:
    read_or_refuse(_HEADER + ".entry k() {" + " ".join(words))
    read_or_refuse(_HEADER + " ".join(words))


@given(st.integers(0, len(SIMPLE)))
def test_a_truncated_module_is_refused_or_lacks_what_was_cut(cut: int) -> None:
    module = read_or_refuse(SIMPLE[:cut])
    if module is not None:
        assert len(module.entries) <= len(MODULE.entries)
        assert cut >= SIMPLE.index(".target")


@given(st.integers(0, len(SIMPLE) - 1), st.characters())
def test_a_changed_character_is_read_or_refused(place: int, character: str) -> None:
    read_or_refuse(SIMPLE[:place] + character + SIMPLE[place + 1 :])


@pytest.mark.parametrize(
    "part", ["add.s32 %r1, %r2, 3;\n", "{", "(", "[", "{{", "a:", "@", "[[{", "(1+", ".loc 1 "]
)
def test_time_grows_with_the_text_and_no_faster(part: str) -> None:
    def seconds(count: int) -> float:
        text = _HEADER + ".entry k() { mov.u32 " + part * count
        # Collecting garbage takes as long as the process is large, whatever is read.
        gc.disable()
        try:
            start = time.process_time()
            read_or_refuse(text)
            return time.process_time() - start
        finally:
            gc.enable()

    seconds(100)
    assert seconds(40000) < 40 * max(seconds(4000), 0.005)


def test_a_place_in_an_inlined_function_knows_where_it_was_called() -> None:
    text = (
        '.version 9.0\n.target sm_80\n.address_size 64\n.file 1 "k.cu"\n'
        ".visible .entry k()\n{\n.reg .b32 %r<2>;\n"
        ".loc 1 8 3\nmov.u32 %r1, 1;\n"
        ".loc 1 5 3, function_name $L__info_string0, inlined_at 1 8 3\nmov.u32 %r1, 2;\n"
        ".loc 1 2 3, function_name $L__info_string1, inlined_at 1 5 3\nmov.u32 %r1, 3;\n"
        ".loc 1 5 3, function_name $L__info_string0, inlined_at 1 9 8\nmov.u32 %r1, 4;\nret;\n}\n"
    )
    # A function that is inlined into itself again and again has a last caller all the same.
    again = ".loc 1 5 3, function_name $L__info_string0, inlined_at 1 5 3\nmov.u32 %r1, 5;\n" * 99
    entry = read_module(text.replace("ret;", again + "ret;")).entries[0]
    locations = [s.location for s in entry.body if isinstance(s, Instruction) and s.location]
    callers = [[place.line for place in location.callers] for location in locations]
    assert callers[:4] == [[], [8], [5, 8], []]
    assert max(map(len, callers)) <= 65


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_afterwards_as_it_was_before(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        read_module(SIMPLE)
        assert gc.isenabled() is enabled
        with pytest.raises(PtxError):
            read_module("no PTX")
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()

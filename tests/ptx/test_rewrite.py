"""An entry's parameters as IREE passes them: every form of a load, and what cannot be rewritten."""

from __future__ import annotations

from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.abi import Abi, abi_of
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx.edits import apply_edits
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.ptx.rewrite import check_rewritten, is_rewritten, rewrite_entry
from custom_dispatch.toolchain.ptxas import assemble

Y = cd.Out("y", "f32", [4])
P = cd.Struct("p", 16, b=("f32", 4), h=("i16", 2), c=("u8", 4), d="f64")

MODULE = """\
.version 8.0
.target sm_90
.address_size 64
{before}
.visible .entry k(
\t.param .align 16 .b8 k_param_0[32],
\t.param .u64 .ptr .global .align 4 k_param_1,
\t.param .f64 k_param_2
)
.maxntid 64, 1, 1
{{
\t.reg .pred %p<3>;
\t.reg .b16 %rs<9>;
\t.reg .f32 %f<9>;
\t.reg .b32 %r<9>;
\t.reg .f64 %fd<9>;
\t.reg .b64 %rd<9>;
{body}
\tret;
}}
"""


def abi(*operands: Any) -> Abi:
    return abi_of("k", operands or (P, Y, cd.Scalar("s", "f64")))


def rewritten(body: str, before: str = "", target: str = "sm_90", **changes: str) -> str:
    """The text, assembled."""
    text = MODULE.format(body=body, before=before).replace("sm_90", target)
    for old, new in changes.items():
        text = text.replace(old, new)
    result = apply_edits(text, rewrite_entry(text, read_module(text), "k", abi()))
    assemble(result.encode(), Arch.parse(target))
    return result


def words(*numbers: int, size: int = 32, parameter: int = 0) -> list[str]:
    return [f"k_iree_word_{parameter}_{number}_of_{size}_bytes" for number in numbers]


def line(text: str, beginning: str) -> str:
    return next(item.strip() for item in text.splitlines() if item.strip().startswith(beginning))


def test_the_parameters_are_bindings_and_then_words() -> None:
    text = rewritten("")
    entry = read_module(text).entry("k")
    assert entry is not None
    assert [p.name for p in entry.parameters] == [
        "k_iree_binding_1",
        *words(*range(8)),
        *words(0, 1, size=8, parameter=2),
    ]
    assert (entry.parameters[0].pointer_space, entry.parameters[0].pointer_align) == ("global", 4)
    assert entry.max_threads == (64, 1, 1)
    assert is_rewritten(entry)


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ("ld.param.f32 %f1, [k_param_0+4];", ["ld.param.f32 %f1, [{w[1]}];"]),
        ("ld.param.u32 %rd1, [k_param_0+8];", ["ld.param.u32 %rd1, [{w[2]}];"]),
        ("ld.param.s16 %r1, [k_param_0+18];", ["ld.param.s16 %r1, [{w[4]}+2];"]),
        ("@!%p1 ld.param.u8 %rs1, [k_param_0+23];", ["@!%p1 ld.param.u8 %rs1, [{w[5]}+3];"]),
        (
            "ld.param.v4.f32 {%f1, %f2, %f3, %f4}, [k_param_0];",
            [f"ld.param.f32 %f{i + 1}, [{{w[{i}]}}];" for i in range(4)],
        ),
        (
            "ld.param.v4.u8 {%rs1, _, %rs3, %rs4}, [k_param_0+20];",
            [
                "ld.param.u8 %rs1, [{w[5]}];",
                "ld.param.u8 %rs3, [{w[5]}+2];",
                "ld.param.u8 %rs4, [{w[5]}+3];",
            ],
        ),
        (
            "ld.param.v2.b64 {%rd1, %rd2}, [k_param_0+16];",
            ["mov.b64 %rd1, {{%iree_low, %iree_high}};", "ld.param.b32 %iree_high, [{w[7]}];"],
        ),
        (
            "@%p1 ld.param.f64 %fd1, [k_param_2];",
            [
                "@%p1 ld.param.b32 %iree_low, [k_iree_word_2_0_of_8_bytes];",
                "@%p1 ld.param.b32 %iree_high, [k_iree_word_2_1_of_8_bytes];",
                "@%p1 mov.b64 %fd1, {{%iree_low, %iree_high}};",
            ],
        ),
        ("ld.param.u32 %r1, [k_param_2+4];", ["[k_iree_word_2_1_of_8_bytes];"]),
        ("ld.param.u64 %rd1, [k_param_1];", ["ld.param.u64 %rd1, [k_iree_binding_1];"]),
        ("ld.param.u32 %r1, [k_param_1+4];", ["ld.param.u32 %r1, [k_iree_binding_1+4];"]),
        ("ld.param::entry.u32 %r1, [k_param_0];", ["ld.param::entry.u32 %r1, [{w[0]}];"]),
        (
            "{ .reg .b64 %rd1; ld.param.u64 %rd1, [k_param_0]; }",
            ["mov.b64 %rd1, {{%iree_low, %iree_high}};"],
        ),
    ],
)
def test_a_load_is_from_words(load: str, expected: list[str]) -> None:
    text = rewritten(load, **{".version 8.0": ".version 8.3"})
    for item in expected:
        assert item.format(w=words(*range(8))) in text
    assert "k_param_" not in text


@pytest.mark.parametrize(
    "access",
    [
        "mov.b64 %rd1, k_param_0; ld.param.f32 %f1, [%rd1+4];",
        "mov.u64 %rd1, k_param_0+16; add.s64 %rd2, %rd1, 4; ld.param.u8 %rs1, [%rd2];",
        "mov.b64 %rd1, k_param_0; cvta.param.u64 %rd2, %rd1; ld.f32 %f1, [%rd2+4];",
        "cvta.param.u64 %rd2, k_param_0; cvta.to.param.u64 %rd3, %rd2; ld.param.u32 %r1, [%rd3];",
        "mov.b64 %rd1, k_param_0; isspacep.param %p1, %rd1;",
    ],
)
def test_an_address_is_that_of_a_copy(access: str) -> None:
    text = rewritten(access, **{".version 8.0": ".version 8.3"})
    assert ".local .align 16 .b8 k_iree_copy_0[32];" in text
    assert "st.local.b32 [k_iree_copy_0+28], %iree_word;" in text
    after = text.partition("mov.b64 %rd1" if "mov.b64 %rd1" in access else "copy_0+28")[2]
    assert "k_iree_copy_0" in text
    assert ".param" not in after.partition("\tret;")[0].replace("ld.param.b32 %iree_word", "")


def test_a_pointers_address_is_that_of_a_copy_too() -> None:
    text = rewritten("mov.b64 %rd1, k_param_1; ld.param.u64 %rd2, [%rd1];")
    assert "ld.param.b64 %iree_pointer, [k_iree_binding_1];" in text
    assert "ld.local.u64 %rd2, [%rd1];" in text


@pytest.mark.parametrize(
    ("body", "before", "found", "expected"),
    [
        ("ld.param.u32 %r1, [k_param_0+2];", "", "`ld.param.u32` in line 18", "aligned loads"),
        ("ld.param.u64 %rd1, [k_param_0+28];", "", "`ld.param.u64` in line 18", "inside the"),
        ("st.param.u32 [k_param_0], %r1;", "", "`st.param.u32` in line 18", "a load, or a move"),
        ("add.u64 %rd1, k_param_0, 4;", "", "`add.u64` in line 18", "a load, or a move"),
        (
            "mov.b64 %rd1, k_param_0; cvta.param.u64 %rd2, %rd1; prefetch.tensormap [%rd2];",
            "",
            "`prefetch.tensormap` in line 18",
            "no tensor map",
        ),
        (
            "mov.b64 %rd1, k_param_0;",
            ".func f(.param .b64 a) { .reg .b64 %a<3>; .reg .b32 %b<2>; ld.param.u64 %a1, [a]; "
            "ld.param.u32 %b1, [%a1]; ret; }",
            "`ld.param.u32` in line 4",
            "no function that takes an address in parameter space",
        ),
    ],
)
def test_what_cannot_be_rewritten_is_refused(
    body: str, before: str, found: str, expected: str
) -> None:
    with pytest.raises(PtxError) as caught:
        rewritten(body, before)
    assert caught.value.found.startswith(found)
    assert "adapting `p` to IREE's calling convention" in caught.value.found
    assert expected in caught.value.expected
    assert "pass it in a buffer" in caught.value.next_step


def test_a_name_of_an_inner_scope_is_another() -> None:
    text = rewritten("{ .param .b32 k_param_0; st.param.b32 [k_param_0], %r1; }")
    assert "st.param.b32 [k_param_0], %r1;" in text


def test_an_entry_is_rewritten_once_and_for_one_declaration() -> None:
    text = rewritten("ld.param.f64 %fd1, [k_param_2];")
    module = read_module(text)
    assert rewrite_entry(text, module, "k", abi()) == []
    entry = module.entry("k")
    assert entry is not None
    check_rewritten(entry.name, [p.name for p in entry.parameters], "kernel", abi(), "k_sm_90.ptx")
    others = [
        abi(cd.Scalar("s", "f64"), Y, P),
        abi(P, Y, cd.Scalar("s", "f32")),
        abi(P, Y, cd.Scalar("s", "f32"), cd.Scalar("t", "f32")),
        abi(Y, P, cd.Scalar("s", "f64")),
    ]
    for other in others:
        with pytest.raises(PtxError) as caught:
            check_rewritten(
                entry.name, [p.name for p in entry.parameters], "kernel", other, "k_sm_90.ptx"
            )
        assert caught.value.found == (
            "Kernel `kernel`: `k_sm_90.ptx` was adapted to IREE for another declaration."
        )
        assert "build it again" in caught.value.next_step

"""What may name a `__global__` function: it goes into C++ source, so hardly anything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.sources import check_entry, cpp_name

GOOD = {
    "scale": "&scale",
    "ns::scale": "&ns::scale",
    "::scale": "&::scale",
    "rms_norm<float,256>": "&rms_norm<float, 256>",
    "a::b< int ,  3u>::c": "&a::b<int, 3u>::c",
    "k<(N+2)*3, -1, true>": "&k<(N+2)* 3, -1, true>",
    "k<unsigned long long, ns::t<float>>": "&k<unsigned long long, ns::t<float>>",
    "k()": "static_cast<void (*)()>(&k)",
    "scale(const float *,float*, int)": (
        "static_cast<void (*)(const float*, float*, int)>(&scale)"
    ),
    "k<int>(T<int> const &, void (*)(int))": (
        "static_cast<void (*)(T<int> const&, void(*)(int))>(&k<int>)"
    ),
}
BAD = [
    *("", " ", "a;b", "a b", "a<", "a>", "a<(>)", "a\n", 'a<"x">', "a{}", "1a", "a::", "a::1"),
    *("a(", "a()b", "a,b", "a<b>c", "<a>", "a/*", "a//", "a<b>()()", "a'", "\xe4", "a\0", "a<b"),
    *("a)", "a*", "&a", "a\\", "#a", "a<b\n>", "a<b\t>", "a[1]", "a<x?1:2>", "a=b", "a@b", "a`"),
    *('k); __asm__("exit', "k<int>{}", "a<b>>", "a(b))", "x" * 10_001, "a<" + "b" * 10_000 + ">"),
    *("a<::>::", ":::a", "a:::b", "a<" * 5000 + ">" * 5000),
]


@pytest.mark.parametrize("entry", GOOD)
def test_cpp_names_are_taken(entry: str) -> None:
    name = check_entry("kernel", entry)
    assert cpp_name(name).address == GOOD[entry]
    assert check_entry("kernel", name) == name == str(cpp_name(name))


@pytest.mark.parametrize("entry", [*BAD, 5, None, b"scale", ["scale"]])
def test_anything_else_is_refused(entry: object) -> None:
    with pytest.raises(DeclarationError) as caught:
        check_entry("kernel", entry)
    assert caught.value.expected
    assert caught.value.next_step
    assert len(str(caught.value)) < 600


@given(st.text("ab<>(),:*& \n;\"'{}\\/#[]?=-+1.", max_size=20))
def test_what_passes_is_balanced_and_has_no_other_character(text: str) -> None:
    try:
        address = cpp_name(check_entry("kernel", text)).address
    except DeclarationError:
        return
    assert re.fullmatch(r"[\w<>(),:*& .+-]+", address)
    assert address.count("(") == address.count(")")
    assert address.count("<") == address.count(">")


def test_a_refusal_says_what_a_name_is() -> None:
    with pytest.raises(DeclarationError) as caught:
        check_entry("scale", "scale<float>;")
    assert caught.value.found == (
        "Kernel `scale`: entry 'scale<float>;' is not the name of a function."
    )
    assert "rms_norm<float, 256>" in caught.value.expected
    assert "alias" in caught.value.next_step

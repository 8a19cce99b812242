"""Asking a compiler where the fields of a struct parameter lie: what it is asked, and its answer.

C++ has no list of a struct's fields, but it knows whether there is one of a name, where, and of
what type. So the names that a declaration gives are asked for; one that the struct has not says
nothing, because a declaration may name the fields as it likes. Constants hold the answers, as in
`descriptor.py`, whose types these templates use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Struct
from custom_dispatch.toolchain.entry_point import CField

# No C++ field is named so, and a question with such a name would not compile (C++20, [lex.key]).
_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast struct switch template this thread_local
throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
xor xor_eq
"""
_WORDS = 5
"""32-bit words that describe a field: found, offset, code, bytes, class."""


@dataclass(frozen=True, slots=True)
class StructFields:
    """The fields of one parameter that a compiler is asked about."""

    entry: str
    """The entry as declared."""
    parameter: int
    """The parameter's position in the C signature."""
    names: tuple[str, ...]


def fields_of(kernels: Sequence[Kernel]) -> tuple[StructFields, ...]:
    """Every field of every struct that kernels declare."""
    keywords = _KEYWORDS.split()
    return tuple(
        StructFields(kernel.entry, parameter.index, names)
        for kernel in kernels
        for parameter in kernel.abi.parameters
        if isinstance(parameter.operand, Struct)
        if (names := tuple(f.name for f in parameter.operand.fields if f.name not in keywords))
    )


# Names end in `_`, so that no macro of a source is likely to hit them. NVRTC knows another word for
# where a field lies.
_HEAD = """
#ifdef __CUDACC_RTC__
#define {namespace}_offset_(Type_, name_) __INTADDR__(&((Type_*)0)->name_)
#else
#define {namespace}_offset_(Type_, name_) __builtin_offsetof(Type_, name_)
#endif
namespace {namespace} {{
template <unsigned, class> struct at_ {{ typedef void type_; }};
template <class Result_, class Type_, class... Types_>
struct at_<0, Result_ (*)(Type_, Types_...)> {{ typedef Type_ type_; }};
template <unsigned index_, class Result_, class Type_, class... Types_>
struct at_<index_, Result_ (*)(Type_, Types_...)> : at_<index_ - 1, Result_ (*)(Types_...)> {{}};
template <class Type_> struct element_ : plain_<Type_> {{}};
template <class Type_, decltype(sizeof(0)) count_>
struct element_<Type_[count_]> : element_<Type_> {{}};
template <class...> struct void_ {{ typedef void type_; }};
template <class Type_, unsigned offset_, unsigned bytes_> struct found_ {{
  typedef typename element_<Type_>::type_ type_;
  __device__ static constexpr parameter_ get_() {{
    return {{{{1, offset_, code_of_<type_>::value_, bytes_,
             __is_class(type_) || __is_union(type_)}}}};
  }}
}};
struct none_ {{ __device__ static constexpr parameter_ get_() {{ return {{{{}}}}; }} }};
{fields}
}}
"""
_FIELD = """\
template <class Type_, class = void> struct field_{index}_ : none_ {{}};
template <class Type_>
struct field_{index}_<Type_, typename void_<number_<{namespace}_offset_(Type_, {name})>>::type_>
    : found_<decltype(Type_::{name}), {namespace}_offset_(Type_, {name}),
             sizeof(Type_::{name})> {{}};
"""
_ITEM = """\
extern "C" __device__ const {namespace}::parameter_ {variable}{index}[] = {{{parts}}};
"""


def write_questions(
    asked: Sequence[StructFields], addresses: dict[str, str], namespace: str, variable: str
) -> str:
    """C++ to stand behind the head of `descriptor.py`.

    Parameters
    ----------
    addresses
        Of each entry the expression for its address.
    namespace, variable
        The head's namespace, and what the constants' names begin with.
    """
    if not asked:
        return ""
    names = list(dict.fromkeys(name for item in asked for name in item.names))
    fields = "".join(
        _FIELD.format(namespace=namespace, index=index, name=name)
        for index, name in enumerate(names)
    )
    text = _HEAD.format(namespace=namespace, fields=fields)
    for index, item in enumerate(asked):
        function = f"decltype({addresses[item.entry]})"
        struct = f"{namespace}::at_<{item.parameter}, {function}>::type_"
        parts = (
            f"{namespace}::field_{names.index(name)}_<{struct}>::get_()" for name in item.names
        )
        text += _ITEM.format(
            namespace=namespace, variable=variable, index=index, parts=", ".join(parts)
        )
    return text


def read_fields(
    asked: StructFields, words: Sequence[int], codes: Sequence[str]
) -> tuple[CField, ...]:
    """What the constants say: the fields that the struct has.

    Parameters
    ----------
    words
        Those of the constant; zeros at the end may be missing.
    codes
        The element types that codes stand for.
    """
    whole = [*words, *[0] * (_WORDS * len(asked.names) - len(words))]
    found = []
    for index, name in enumerate(asked.names):
        is_there, offset, code, size, is_class = whole[index * _WORDS :][:_WORDS]
        if is_there:
            found.append(CField(name, offset, codes[code], size, bool(is_class)))
    return tuple(found)

"""Sizes and inputs on the command line: every form, and only `CallError` for everything else."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_dispatch.cli.notation import format_result, parse_input, parse_sizes
from custom_dispatch.cli.run import save
from custom_dispatch.errors import CallError
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, of_numpy


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("8xf32=2", numpy.full(8, 2, numpy.float32)),
        ("2x2xi32=1 2 3 4", numpy.array([[1, 2], [3, 4]], numpy.int32)),
        ("2x2xi32=[1,2][3,4]", numpy.array([[1, 2], [3, 4]], numpy.int32)),
        ("4xf64", numpy.zeros(4)),
        ("0x3xf16", numpy.zeros((0, 3), numpy.float16)),
        ("f32=1.5", numpy.array(1.5, numpy.float32)),
        ("3xi1=1 0 1", numpy.array([True, False, True])),
        ("2xu8=255", numpy.full(2, 255, numpy.uint8)),
        ("2xf32=nan inf", numpy.array([numpy.nan, numpy.inf], numpy.float32)),
    ],
)
def test_arrays(text: str, wanted: numpy.ndarray) -> None:
    found = parse_input(text)
    assert found.dtype == wanted.dtype
    numpy.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize(("text", "wanted"), [("3", 3), ("-1", -1), ("1.5", 1.5), ("1e3", 1000.0)])
def test_numbers(text: str, wanted: float) -> None:
    found = parse_input(text)
    assert found == wanted
    assert type(found) is type(wanted)


def test_files(tmp_path: Path) -> None:
    wanted = numpy.arange(6, dtype=numpy.int16).reshape(2, 3)
    numpy.save(tmp_path / "a.npy", wanted)
    numpy.testing.assert_array_equal(parse_input(f"@{tmp_path / 'a.npy'}"), wanted, strict=True)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("shape", [(2, 3), ()])
def test_files_of_types_that_numpy_lacks(
    name: str, shape: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dtype = numpy.dtype(getattr(ml_dtypes, name))
    wanted = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape[::-1]).T.astype(dtype)
    path, both = tmp_path / "a.npy", tmp_path / "a.npz"
    save([path], [wanted])
    assert f"numpy.load(FILE).view(ml_dtypes.{name})" in capsys.readouterr().err
    assert parse_input(f"@{path}").dtype == dtype
    numpy.testing.assert_array_equal(parse_input(f"@{path}"), wanted)
    numpy.testing.assert_array_equal(numpy.load(path).view(dtype), wanted)
    save([both], [wanted])
    assert numpy.load(both)["result_0"].dtype.names == (str(of_numpy(dtype)),)


def test_files_as_ml_dtypes_makes_them(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    numpy.save(path, numpy.array([1.5, -2], ml_dtypes.bfloat16))
    assert parse_input(f"@{path}").tolist() == [1.5, -2]
    for name, problem in (
        ("float8_e4m3fn", "it does not name its type"),
        ("float8_e5m2", "descr is not a valid dtype descriptor: '<f1'"),
    ):
        numpy.save(path, numpy.ones(2, getattr(ml_dtypes, name)))
        with pytest.raises(CallError, match=f"cannot be read: {problem}") as caught:
            parse_input(f"@{path}")
        assert 'array.view([("f8E5M2", "u1")])' in caught.value.next_step


def test_files_that_hold_no_single_array(tmp_path: Path) -> None:
    numpy.savez(tmp_path / "several.npz", a=numpy.zeros(2))
    numpy.save(tmp_path / "objects.npy", numpy.array([{}], object), allow_pickle=True)
    (tmp_path / "text.npy").write_text("no array")
    for name in ("several.npz", "objects.npy", "text.npy", "missing.npy", "."):
        with pytest.raises(CallError, match="cannot be read"):
            parse_input(f"@{tmp_path / name}")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is not an input"),
        ("8yf32=2", "is not an input"),
        ("8xf31=2", "is not an input"),
        ("-8xf32=2", "is not an input"),
        ("4xf32=1 2 3", "has 3 values"),
        ("4xf32=a", "the value 'a'"),
        ("4xi32=1.5", "the value '1.5'"),
        ("4xi8=128", "does not hold"),
        ("4xu8=-1", "does not hold"),
        ("4xf16=1e10", "does not hold"),
        ("4xf32=1e300", "does not hold"),
        ("1048576x1048576x1048576xf32=0", "bytes of memory"),
    ],
)
def test_refused(text: str, part: str) -> None:
    with pytest.raises(CallError) as caught:
        parse_input(text)
    assert part in str(caught.value)
    assert "next step: " in str(caught.value)


SIZES = st.lists(st.integers(0, 5).map(str), max_size=4).map(lambda sizes: "x".join([*sizes, ""]))
TYPES = st.sampled_from([*ELEMENT_TYPES, "i1", "f31", "", "complex64"])
VALUES = st.one_of(
    st.just(""),
    st.lists(st.one_of(st.integers(), st.floats(), st.text(max_size=5)), max_size=6).map(
        lambda values: "=" + " ".join(map(str, values))
    ),
)
NEARLY = st.tuples(SIZES, TYPES, VALUES).map("".join)


@given(st.one_of(st.text(), NEARLY, st.text().map("@".__add__)))
def test_any_text_is_an_input_or_a_call_error(text: str) -> None:
    try:
        value = parse_input(text)
    except CallError:
        return
    assert isinstance(value, int | float | numpy.ndarray)


@given(
    st.lists(st.integers(0, 4), max_size=3),
    st.sampled_from([name for name, kind in ELEMENT_TYPES.items() if name != "bool"]),
)
def test_results_read_as_inputs(sizes: list[int], name: str) -> None:
    wanted = numpy.ones(sizes, ELEMENT_TYPES[name].to_numpy())
    found = parse_input(format_result(wanted))
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    numpy.testing.assert_array_equal(found, wanted)


def test_sizes_and_ranges() -> None:
    assert parse_sizes(()) == [{}]
    assert parse_sizes(("n=3", "m=4,k=5")) == [{"n": 3, "m": 4, "k": 5}]
    assert [item["n"] for item in parse_sizes(("n=1024:65536:x4",))] == [1024, 4096, 16384, 65536]
    assert [item["n"] for item in parse_sizes(("n=1:9",))] == [1, 2, 4, 8]
    assert parse_sizes(("m=2", "n=0:10:5")) == [
        {"m": 2, "n": 0},
        {"m": 2, "n": 5},
        {"m": 2, "n": 10},
    ]
    assert [tuple(item.values()) for item in parse_sizes(("m=1:2", "n=3:9:x3"))] == [
        *((1, 3), (1, 9), (2, 3), (2, 9))
    ]


def test_steps_by_a_fraction_go_over_sizes_that_end_in_zeros() -> None:
    found = [item["n"] for item in parse_sizes(("n=1:512:x1.4",))]
    assert found == [1, 2, 3, 4, 5, 8, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("n",), "'n' is no size"),
        (("n=-1",), "'n=-1' is no size"),
        (("n=1.5",), "is no size"),
        (("n=1:2:y3",), "is no size"),
        (("n=" + "9" * 300,), "is no size"),
        (("n=1", "n=2"), "`n` is given twice"),
        (("n=1:9:1", "m=1:9:1"), "The ranges of `n` and `m` have over 64 sizes together"),
        (("n=1:9:1.5",), "has steps that are no whole numbers"),
        (("n=0:8:x2",), "never comes to its end"),
        (("n=1:8:x1",), "never comes to its end"),
        (("n=1:8:0",), "never comes to its end"),
        (("n=9:8",), "begins above its end"),
        (("n=1:1000:1",), "has more than 64 sizes"),
    ],
)
def test_wrong_sizes_are_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CallError, match=message):
        parse_sizes(words)


def test_the_next_step_is_right_for_every_commands_option() -> None:
    with pytest.raises(CallError) as caught:
        parse_sizes(("n",))  # of `bench --dims` and `tune --shape`
    assert caught.value.next_step == "write n=1024 or n=1024:1048576:x4."

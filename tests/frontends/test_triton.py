"""Functions of Triton as kernels: what is declared, what is built, and what is refused."""

from __future__ import annotations

import importlib
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import CustomDispatchError, DeclarationError, PtxError, SourceError

triton = pytest.importorskip("triton")
from frontends import triton_functions as functions  # noqa: E402

from custom_dispatch.frontends.triton import compiling, specialising  # noqa: E402

n, m, k = cd.dim("n"), cd.dim("m"), cd.dim("k")
ADD = {
    "operands": [
        cd.Scalar("n", "i32", n),
        cd.In("x_ptr", "f32", [n]),
        cd.In("y_ptr", "f32", [n]),
        cd.Out("out_ptr", "f32", [n]),
    ],
    "constexprs": {"BLOCK": 1024},
    "grid": lambda meta: cd.ceildiv(n, meta["BLOCK"]),
}


def declared(**changes: Any) -> Any:
    return cd.triton.kernel(functions.add, **{**ADD, **changes})


def test_a_kernel_has_the_functions_parameters_in_their_order() -> None:
    add = declared(name="added", requires=[n % 16 == 0])
    assert isinstance(add, cd.Kernel)
    assert add.name == "added"
    assert [item.name for item in add.operands] == ["x_ptr", "y_ptr", "out_ptr", "n"]


def test_facts_that_hold_for_some_sizes_make_a_choice() -> None:
    add = declared()
    assert isinstance(add, cd.Choice)
    assert [kernel.name for kernel in add.kernels] == ["add_16_n", "add_any"]
    forms = [kernel.producer for kernel in add.kernels]
    assert [form.divisible for form in forms] == [
        ("x_ptr", "y_ptr", "out_ptr", "n"),
        ("x_ptr", "y_ptr", "out_ptr"),
    ]
    assert add.which(n=4096, target="cuda:sm_80").kernel == "add_16_n"
    assert add.which(n=4097, target="cuda:sm_80").kernel == "add_any"


@pytest.mark.parametrize(
    ("value", "known"),
    [
        (n * 16, True),
        (n * 4 * (m * 4), True),
        (n * 16 + 8, False),
        (n, False),
        (m, True),
        (cd.maximum(m, 64 * n), True),
        (k * 3, True),
        (cd.ceildiv(m, 2), False),
    ],
)
def test_what_conditions_prove(value: Any, known: bool) -> None:
    conditions = [m % 32 == 0, k == 4096]
    assert specialising.is_multiple(value, conditions) == known


def test_up_to_three_conditions_have_all_combinations() -> None:
    sizes = [cd.dim(name) for name in "abcd"]
    assert len(list(specialising.multiples(sizes[:3], []))) == 8
    assert [len(each) for each in specialising.multiples(sizes, [])] == [4, 0]


def test_a_kernel_of_triton_is_built_and_runs_without_a_gpu() -> None:
    add = declared()
    x, y = np.random.default_rng(1).standard_normal((2, 5000)).astype("f")
    for size in (5000, 4096):
        np.testing.assert_array_equal(add.on("cpu")(x[:size], y[:size]), x[:size] + y[:size])


def test_each_target_has_its_own_shared_memory() -> None:
    sizes = {"m": 128, "n": 192, "k": 96}
    product = cd.triton.kernel(
        functions.product,
        operands=[
            cd.In("a_ptr", "f16", [128, 96]),
            cd.In("b_ptr", "f16", [96, 192]),
            cd.Out("c_ptr", "f16", [128, 192]),
            *(cd.Scalar(name, "i32", size) for name, size in sizes.items()),
        ],
        constexprs={"BM": 64, "BN": 64, "BK": 32},
        grid=(2, 3),
    )
    assert isinstance(product, cd.Kernel)  # the sizes prove all there is
    library = cd.build(product, ["cuda:sm_80", "cuda:sm_90a", "cpu"])
    (built,) = library.kernels
    amounts = [built.for_target(each).dynamic_shared_memory for each in library.targets[:2]]
    assert amounts[0] != amounts[1]
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((128, 96), (96, 192)))
    want = a.astype("f") @ b.astype("f")
    assert np.abs(product.on("cpu")(a, b) - want).max() < 0.02


def test_a_target_may_have_code_of_another_language(tmp_path: Path) -> None:
    source = tmp_path / "own.cu"
    source.write_text(
        'extern "C" __global__ void own(const float* x, const float* y, float* out, int n) {\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) out[i] = x[i] - y[i];\n}\n"
    )
    own = cd.Implementation(source=source, entry="own", block=256, grid=cd.ceildiv(n, 256))
    add = declared(name="or_less", requires=[n % 16 == 0], implementations={"cpu": own})
    x = np.arange(32, dtype="f")
    assert (add(x, np.ones(32, "f")) == x - 1).all()


def test_a_number_that_is_one_is_no_parameter() -> None:
    row = cd.triton.kernel(
        functions.scale_rows,
        operands=[
            cd.In("x_ptr", "f32", [n]),
            cd.Out("y_ptr", "f32", [n]),
            cd.Scalar("step", "i32", 1),
            cd.Scalar("width", "i32", n),
            cd.Scalar("factor", "f32"),
        ],
        constexprs={"bias_ptr": None, "BLOCK": 64},
        grid=1,
        requires=[n % 16 == 0, n <= 64],
    )
    assert [item.name for item in row.operands] == ["x_ptr", "y_ptr", "width", "factor"]
    np.testing.assert_array_equal(row.on("cpu")(np.ones(48, "f"), 2.5), np.full(48, 2.5, "f"))


def test_what_triton_compiled_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    add = declared(requires=[n % 16 == 0], constexprs={"BLOCK": 512})
    cd.build(add, ["cuda:sm_80"])

    def compiled(*_: Any, **__: Any) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiling.triton, "compile", compiled)
    cd.build(add, ["cuda:sm_80"])


def test_configurations_are_a_choice() -> None:
    tuned = cd.triton.autotuned(
        functions.negate,
        operands=[
            cd.In("x_ptr", "f32", [n]),
            cd.Out("y_ptr", "f32", [n]),
            cd.Scalar("n", "i32", n),
        ],
        constexprs={"EVEN": False},
        grid=lambda meta: cd.ceildiv(n, meta["BLOCK"]),
    )
    names = ["negate_BLOCK256_w2_s3", "negate_BLOCK1024_w4_s3"]
    forms = [f"{name}_{form}" for name in names for form in ("16_n", "any")]
    assert [kernel.name for kernel in tuned.kernels] == forms
    x = np.arange(1000, dtype="f")
    np.testing.assert_array_equal(tuned.on("cpu")(x), -x)


def test_what_does_not_fit_the_function_is_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"operands": ADD["operands"][1:]}, "`n` is missing"),
        ({"constexprs": {}}, "`BLOCK` is missing"),
        ({"operands": [*ADD["operands"], cd.Scalar("z", "f32")]}, "`z` is no parameter of it"),
        ({"constexprs": {"BLOCK": 8, "n": 4}}, "`n` is given twice"),
    ]
    for changes, problem in cases:
        with pytest.raises(DeclarationError) as caught:
            declared(**changes)
        assert str(caught.value) == (
            f"Kernel `add`: the declaration does not fit `add`: {problem}.\n"
            "  expected: each of its parameters once: x_ptr, y_ptr, out_ptr, n, BLOCK\n"
            "  next step: give arrays and numbers as operands=, and constants as constexprs=."
        )
    with pytest.raises(DeclarationError, match=r"`BLOCK` is a tl\.constexpr") as caught:
        declared(operands=[*ADD["operands"], cd.Scalar("BLOCK", "i32", 8)], constexprs={})
    assert caught.value.next_step == "give its value: constexprs={'BLOCK': ...}."


def test_what_is_no_function_of_triton_is_refused() -> None:
    with pytest.raises(DeclarationError, match="is not a Triton function"):
        cd.triton.kernel(len, operands=[], grid=1)
    with pytest.raises(DeclarationError, match="is given as an operand"):
        declared(operands=["x_ptr"])
    with pytest.raises(DeclarationError, match=r"its configurations are \[\]"):
        cd.triton.autotuned(functions.add, operands=[], grid=1)
    with pytest.raises(DeclarationError, match=r"`EVEN` would be computed by @triton\.heuristics"):
        cd.triton.kernel(functions.negate, operands=[], grid=1, constexprs={"BLOCK": 64})
    hooked = triton.Config({"BLOCK": 64}, pre_hook=print)
    with pytest.raises(DeclarationError, match="has a pre_hook"):
        cd.triton.autotuned(functions.add, hooked, **{**ADD, "constexprs": {}})


ONE = {
    "operands": [cd.In("x_ptr", "f32", [n]), cd.Out("y_ptr", "f32", [n])],
    "constexprs": {"BLOCK": 64},
    "grid": 1,
}


def test_tritons_own_error_is_told() -> None:
    kernel = cd.triton.kernel(functions.mistaken, **ONE)
    with pytest.raises(SourceError) as caught:
        cd.build(kernel, ["cuda:sm_80"])
    text = str(caught.value)
    assert text.startswith(
        f"Kernel `mistaken`: Triton {triton.__version__} does not compile `mistaken` for sm_80.\n"
        "  next step: correct what it says:\n"
    )
    assert "tl.store(y_ptr" in text


def test_a_function_that_reads_something_else_since_is_refused() -> None:
    operands = [*ONE["operands"], cd.Scalar("n", "i32", 64)]
    kernel = cd.triton.kernel(functions.by_global, **{**ONE, "operands": operands})
    before = functions.FACTOR
    functions.FACTOR = triton.language.constexpr(4.0)
    try:
        with pytest.raises(DeclarationError, match="`FACTOR`, which `by_global` reads, was "):
            cd.build(kernel, ["cuda:sm_80"])
    finally:
        functions.FACTOR = before


@pytest.mark.parametrize("version", [None, "3.1.0", "4.0.0"])
def test_triton_that_is_missing_or_unknown(
    monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    def installed(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    loaded = cd.triton
    monkeypatch.setattr(metadata, "version", installed)
    with pytest.raises(CustomDispatchError) as caught:
        importlib.reload(loaded)
    found = "not installed in this Python environment." if version is None else "installed."
    named = "Triton is" if version is None else f"Triton {version} is"
    assert str(caught.value).splitlines()[:2] == [
        f"{named} {found}",
        "  expected: the package triton, which `cd.triton` is for, of a release from 3.6 to before "
        "3.10",
    ]
    assert "triton" in caught.value.next_step


def test_what_a_function_writes_is_compared_with_its_operands() -> None:
    n_scalar, x, y, _ = ADD["operands"]
    swapped = [n_scalar, cd.Out("x_ptr", "f32", [n]), y, cd.In("out_ptr", "f32", [n])]
    line = 1 + functions.add.fn.__code__.co_firstlineno
    with pytest.raises(PtxError) as caught:
        cd.build(declared(operands=swapped, requires=[n % 16 == 0]), ["cuda:sm_80"])
    assert caught.value.found.startswith(
        "Kernel `add`: operand `out_ptr` is declared as cd.In, and `add` of `"
    )
    place = re.search(r"triton_functions\.py:(\d+)\.$", caught.value.found)
    assert place is not None
    assert line < int(place[1]) < line + 10
    unwritten = [n_scalar, x, cd.Out("y_ptr", "f32", [n]), cd.InOut("out_ptr", "f32", [n])]
    with pytest.raises(PtxError, match=r"`y_ptr` is declared as cd\.Out, and nothing in `add` of"):
        cd.build(declared(operands=unwritten, requires=[n % 16 == 0]), ["cuda:sm_80"])

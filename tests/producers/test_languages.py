"""Functions of Numba, Warp, CuTe DSL, CUDA Tile and TileLang as kernels: `cd.numba` and so on.

Where a language is installed, its own compiler runs; elsewhere what does not need it is tested.
"""

from __future__ import annotations

import importlib
import re
import runpy
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from producers.declared import LANGUAGES, SAXPY, SCALE_ROWS, m, n

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, SourceError, ToolNotFoundError
from custom_dispatch.frontends import languages
from custom_dispatch.kernel.layouts import layouts

k = cd.dim("k")
MODULES = {"numba": "numba.cuda", "warp": "warp", "cute": "cutlass", "tile": "cuda.tile"}
MODULES["tilelang"] = "tilelang"
SIZES = [(1, 1), (7, 33), (64, 128), (3, 1001)]
FUNCTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "numba": {
        "saxpy": {"block": 256},
        "scale_rows": {"block": (16, 8), "grid": (cd.ceildiv(m, 16), cd.ceildiv(n, 8))},
        "row_sum": {"block": 128, "grid": m},
    },
    "warp": {
        "saxpy": {"block": 256, "dim": n, "grid": None},
        "scale_rows": {"block": 128, "dim": [m, n]},
        "row_sum": {"block": 64, "dim": [m, n]},
    },
    "cute": {
        "saxpy": {"block": 256},
        "scale_rows": {"block": 128, "grid": m},
        "row_sum": {"block": 128, "grid": m, "dynamic_shared_memory": 512},
    },
    "tile": {
        "saxpy": {"constants": {"SIZE": 256}},
        "scale_rows": {
            "constants": {"ROWS": 8, "COLUMNS": 32},
            "grid": (cd.ceildiv(m, 8), cd.ceildiv(n, 32)),
        },
        "row_sum": {"constants": {"COLUMNS": 256}, "grid": m},
    },
}


def function(language: str, name: str) -> Any:
    said = f"{layouts()[language].language} is not installed"
    pytest.importorskip(MODULES[language], reason=said)
    module = importlib.import_module(f"producers.{language}_kernels")
    return getattr(module, f"_{name}" if language == "cute" else name)


def kernel(language: str, which: str, **given: Any) -> cd.Kernel:
    out = (cd.InOut if language == "warp" else cd.Out)("out", "f32", [m])
    operands = {
        "saxpy": SAXPY["operands"][::-1],  # in any order
        "scale_rows": SCALE_ROWS,
        "row_sum": [out, cd.In("x", "f32", [m, n])],
    }
    grid = {"grid": SAXPY["grid"]} if which == "saxpy" else {}
    given = {"operands": operands[which]} | grid | FUNCTIONS[language][which] | given
    return getattr(cd, language).kernel(function(language, which), **given)


@pytest.mark.parametrize("target", ["cpu", "cpu:checked"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_functions_are_right(language: str, target: str) -> None:
    names = ("saxpy", "scale_rows", "row_sum")
    saxpy, scale_rows, row_sum = (kernel(language, each, name=each) for each in names)
    library = cd.build([saxpy, scale_rows, row_sum], ["cuda:sm_80", "cuda:sm_90a"])
    assert {item.target.symbol for item in library.objects} == {"sm_80", "sm_90a"}
    random = np.random.default_rng()
    for size in (1, 255, 256, 1001):
        x, y = random.random((2, size), np.float32)
        a = np.float32(random.random())
        np.testing.assert_allclose(saxpy.on(target)(x, y, a), a * x + y, rtol=1e-6)
    for rows, columns in SIZES:
        x, y = random.random((rows, columns), np.float32), random.random(rows, np.float32)
        np.testing.assert_array_equal(scale_rows.on(target)(x, y), x * y[:, None])
        zeros = [np.zeros(rows, np.float32)] if language == "warp" else []
        np.testing.assert_allclose(row_sum.on(target)(x, *zeros), x.sum(1), rtol=1e-5)


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_compiled_before_it_is_built(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no compiler today")

    monkeypatch.setitem(languages._COMPILERS, language, fail)
    made = kernel(language, "saxpy", name="saxpy")
    with pytest.raises(SourceError) as caught:
        cd.build(made, ["cuda:sm_80"])
    assert caught.value.found == (
        f"Kernel `saxpy`: {layouts()[language].language} does not compile it for sm_80."
    )
    assert caught.value.log == "no compiler today"


@pytest.mark.parametrize("language", LANGUAGES)
def test_operands_that_do_not_fit(language: str) -> None:
    x, y, out, a = SAXPY["operands"]
    given = FUNCTIONS[language]["saxpy"]
    for operands, problem in (
        ([x, y, out], "`a` is missing."),
        ([x, y, out, a, cd.Scalar("b", "f32")], "`b` is no parameter of it."),
        ([x, y, out, a, a], "`a` is given twice."),
    ):
        with pytest.raises(DeclarationError) as caught:
            kernel(language, "saxpy", **given | {"operands": operands})
        assert caught.value.found.endswith(problem)


def test_warps_types_are_compared() -> None:
    operands = [cd.In("x", "f64", [n]), *SAXPY["operands"][1:]]
    made = kernel("warp", "saxpy", operands=operands)
    with pytest.raises(SourceError) as caught:
        cd.build(made, ["cuda:sm_80"])
    assert caught.value.log == "x has 1 dimensions of float32, and is In(x: f64[n])"


def test_the_compilers_own_words() -> None:
    made = kernel("numba", "saxpy", operands=SCALE_ROWS[:1] + SAXPY["operands"][1:])
    with pytest.raises(SourceError, match="Numba does not compile it for sm_80") as caught:
        cd.build(made, ["cuda:sm_80"])
    assert "No implementation of function" in caught.value.log


@pytest.mark.parametrize("version", [None, "0.0.9", "99.0"])
@pytest.mark.parametrize("language", [*LANGUAGES, "tilelang"])
def test_a_language_that_is_missing_or_unknown(
    language: str, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", installed)
    layout = layouts()[language]
    with pytest.raises(ToolNotFoundError) as caught:
        getattr(cd, language).kernel(lambda x: None, operands=[])
    is_there = "not installed in this Python environment." if version is None else "installed."
    assert caught.value.found == (
        f"{layout.language} is {is_there}"
        if version is None
        else f"{layout.language} {version} is {is_there}"
    )
    assert caught.value.expected == (
        f"the package {layout.package}, which `cd.{language}` is for, of a release from "
        f"{layout.releases[0]} to before {layout.releases[1]}"
    )
    assert language in caught.value.next_step


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    function("numba", "saxpy")  # or it is skipped
    page = (Path(__file__).parents[2] / "docs/producers.md").read_text()
    code, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "page.py").write_text(code)
    runpy.run_path(str(tmp_path / "page.py"))
    assert capsys.readouterr().out == "[1. 3. 5. 7.]\n"


def test_products_of_cuda_tile_are_for_ampere_where_they_need_tensor_maps() -> None:
    half = {"A": [m, k], "B": [k, n]}
    operands = [*(cd.In(a, "f16", s) for a, s in half.items()), cd.Out("C", "f16", [m, n])]
    made = cd.tile.kernel(
        function("tile", "product"),
        operands=operands,
        constants=dict.fromkeys(("TM", "TN", "TK"), 32),
        grid=(cd.ceildiv(m, 32), cd.ceildiv(n, 32)),
    )
    cd.build(made, ["cuda:sm_80", "cuda:sm_90a"])
    a, b = (np.random.default_rng().random(s).astype("e") for s in ((40, 64), (64, 48)))
    wanted = a.astype("f") @ b.astype("f")
    np.testing.assert_allclose(np.asarray(made.on("cpu")(a, b), "f"), wanted, rtol=2e-3)


def test_constants_of_cute_between_operands() -> None:
    made = cd.cute.kernel(
        function("cute", "shifted"),
        operands=[cd.In("x", "f32", [n]), cd.Out("out", "f32", [n]), cd.Scalar("by", "i64")],
        constants={"FACTOR": 3},
        block=64,
        grid=1,
    )
    x = np.random.default_rng().random(77, np.float32)
    np.testing.assert_allclose(made.on("cpu")(x, -4), 3 * x - 4, rtol=1e-5, atol=1e-5)


def tilelang_product(**given: Any) -> cd.Kernel:
    operands = [
        cd.In("b", "f16", [k, n]),
        cd.In("a", "f16", [m, k]),
        cd.Out("c", "f16", [m, n]),
    ]
    return cd.tilelang.kernel(function("tilelang", "product"), **{"operands": operands} | given)


def test_functions_of_tilelang_say_how_they_are_launched() -> None:
    made = tilelang_product()
    assert [str(each) for each in made.grid] == ["(n + 63) // 64", "(m + 63) // 64", "1"]
    assert [item.name for item in made.operands] == [*"abckmn"]
    assert (made.name, made.block, made.dynamic_shared_memory) == ("product", (128, 1, 1), 16384)
    operands = [cd.In("x", "f32", [m, n]), cd.Out("out", "f32", [m])]
    row_sum = cd.tilelang.kernel(function("tilelang", "row_sum"), operands=operands)
    saxpy = cd.tilelang.kernel(function("tilelang", "saxpy"), **SAXPY)
    assert [item.name for item in saxpy.operands] == ["y", "x", "out", "a", "n"]  # the function's
    library = cd.build([made, row_sum, saxpy], ["cuda:sm_80", "cuda:sm_90a"])
    assert {item.target.symbol for item in library.objects} == {"sm_80", "sm_90a"}
    random = np.random.default_rng()
    for target in ("cpu", "cpu:checked"):
        for rows, columns in SIZES[:3]:
            x = random.random((rows, columns), np.float32)
            np.testing.assert_allclose(row_sum.on(target)(x), x.sum(1), rtol=1e-5)
        x, y = random.random((2, 1001), np.float32)
        np.testing.assert_allclose(saxpy.on(target)(y, x, 2), 2 * x + y, rtol=1e-6)
    a, b = (random.random(size).astype("e") for size in ((40, 64), (64, 72)))
    wanted = a.astype("f") @ b.astype("f")
    np.testing.assert_allclose(np.asarray(made.on("cpu")(a, b), "f"), wanted, rtol=3e-3)


@pytest.mark.parametrize(
    ("shape", "dtype"), [([m, n], "f16"), ([k, n], "f32"), ([k, n, 1], "f16"), ([k, 64], "f16")]
)
def test_operands_that_are_not_as_tilelang_has_them(shape: Any, dtype: str) -> None:
    operands = [cd.In("a", "f16", [m, k]), cd.In("b", dtype, shape), cd.Out("c", "f16", [m, n])]
    with pytest.raises(DeclarationError) as caught:
        tilelang_product(operands=operands)
    assert caught.value.found.startswith("Kernel `product`: `")
    assert caught.value.next_step == "correct the operand; sizes of one name are one dim."


def test_operands_of_tilelang_that_are_missing() -> None:
    with pytest.raises(DeclarationError, match="`b` is missing"):
        tilelang_product(operands=[cd.In("a", "f16", [m, k]), cd.Out("c", "f16", [m, n])])


def test_sizes_of_tilelang_that_are_computed_and_of_64_bits() -> None:
    spread, x = function("tilelang", "spread"), cd.In("x", "f32", [m, n])
    made = cd.tilelang.kernel(spread, operands=[x, cd.Out("out", "f32", [m, n * 2])])
    assert [item.name for item in made.operands] == ["x", "out", "m", "w"]
    given = np.random.default_rng().random((3, 70), np.float32)
    found = np.asarray(made.on("cpu")(given))
    np.testing.assert_array_equal(found.reshape(3, 70, 2), np.stack([given, -given], -1))
    with pytest.raises(DeclarationError, match=r"`out` is Out\(out: f32\[m, n\]\)") as caught:
        cd.tilelang.kernel(spread, operands=[x, cd.Out("out", "f32", [m, n])])
    assert caught.value.expected == "float32[m, n * 2], as TileLang has it"


def test_a_grid_of_tilelang_that_is_computed_in_other_ways() -> None:
    doubled = function("tilelang", "doubled")
    operands = [cd.In("x", "f32", [n]), cd.Out("out", "f32", [n])]
    with pytest.raises(DeclarationError) as caught:
        cd.tilelang.kernel(doubled, operands=operands)
    assert caught.value.found == "Kernel `doubled`: TileLang computes its grid or a size by Min."
    assert caught.value.next_step == "write grid=[...], or another size."
    made = cd.tilelang.kernel(doubled, operands=operands, grid=3)
    x = np.random.default_rng().random(1000, np.float32)
    np.testing.assert_array_equal(made.on("cpu")(x), 2 * x)


@pytest.mark.parametrize("language", [*LANGUAGES, "tilelang"])
def test_what_is_no_function_is_refused(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "require", lambda *_: None)
    with pytest.raises(DeclarationError) as caught:
        getattr(cd, language).kernel(3, operands=[], grid=1)
    assert caught.value.found == f"cd.{language}.kernel is given 3."
    assert caught.value.expected == f"a function of {layouts()[language].language}"

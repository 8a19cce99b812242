"""PTX of other languages with its arrays as they pass them, from files: `cd.prebuilt`."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from producers import declared
from producers.declared import LANGUAGES, PTX, SAXPY, SCALE_ROWS, m, n, saxpy, scale_rows

import custom_dispatch as cd
from custom_dispatch.errors import CustomDispatchError, DeclarationError, PtxError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.ptxas import assemble

OTHERS = [pytest.param(each, marks=pytest.mark.thorough) for each in LANGUAGES[1:]]
TARGETS = ["cpu", pytest.param("cpu:checked", marks=pytest.mark.thorough)]
SIZES = [(1, 1), (7, 33), (64, 128), (3, 1001)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("language", ["numba", *OTHERS])
def test_vectors_and_a_number(language: str, target: str) -> None:
    made = saxpy(language)
    library = cd.build(made, ["cuda:sm_80", "cuda:sm_90a"])
    assert {item.target.symbol for item in library.objects} == {"sm_80", "sm_90a"}
    random = np.random.default_rng()
    for size in (1, 255, 256, 1001):
        x, y = random.random((2, size), np.float32)
        a = np.float32(random.random())
        np.testing.assert_allclose(made.on(target)(x, y, a), a * x + y, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_two_dimensions(language: str, target: str) -> None:
    made = scale_rows(language)
    random = np.random.default_rng()
    for rows, columns in SIZES:
        x, y = random.random((rows, columns), np.float32), random.random(rows, np.float32)
        np.testing.assert_array_equal(made.on(target)(x, y), x * y[:, None])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("language", ["numba", *OTHERS])
def test_sums_in_shared_memory_or_by_atomics(language: str, target: str) -> None:
    made = declared.row_sum(language)
    random = np.random.default_rng()
    for rows, columns in SIZES:
        x = random.random((rows, columns), np.float32)
        found = made.on(target)(x, *([np.zeros(rows, np.float32)] if language == "warp" else []))
        np.testing.assert_allclose(found, x.sum(1), rtol=1e-5)


def test_a_model_calls_it(tmp_path: Path) -> None:
    model = """
    func.func private @numba_saxpy(tensor<?xf32>, tensor<?xf32>, f32) -> tensor<?xf32>
    func.func @step(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %a = arith.constant 4.0 : f32
      %z = call @numba_saxpy(%x, %y, %a) : (tensor<?xf32>, tensor<?xf32>, f32) -> tensor<?xf32>
      return %z : tensor<?xf32>
    }
    """
    module = cd.compile(model, [saxpy("numba")])  # for every default target
    program = cd.load(module.save(tmp_path / "step.vmfb"), device="cpu")
    x = np.arange(77, dtype=np.float32)
    np.testing.assert_array_equal(program.step(x, x), 5 * x)


def test_known_sizes_are_static_in_cutes_tensors() -> None:
    operands = [cd.In("x", "f32", [m, 64]), cd.In("y", "f32", [m]), cd.Out("out", "f32", [m, 64])]
    made = scale_rows("cute", operands)
    with pytest.raises(PtxError, match=r"\[24\], 24 bytes, where operand `x_array` is declared"):
        cd.build(made, ["cuda:sm_80"])


def test_known_numbers_are_not_passed() -> None:
    operands = [cd.In("x", "f32", [4, 8]), cd.In("y", "f32", [4]), cd.Out("out", "f32", [4, 8])]
    made = scale_rows("numba", operands, block=(4, 8), grid=1)
    assert made.abi.passed_bytes == (8, 8, 8)
    x, y = np.random.default_rng().random((4, 8), np.float32), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(made.on("cpu")(x, y), x * y[:, None])
    cd.build(made, ["cuda:sm_80"])


def test_no_copies_are_made_for_known_numbers() -> None:
    # Warp's code reads sizes and strides two at a time, of which the second is known.
    for item in cd.build(scale_rows("warp"), ["cuda:sm_80", "cuda:sm_90a"]).objects:
        assert ".local" not in item.data.decode()


@pytest.mark.parametrize("layout", ["plain", *LANGUAGES])
@pytest.mark.parametrize("language", LANGUAGES)
def test_another_layout_is_refused(language: str, layout: str) -> None:
    if language == layout:
        return
    dim = n if layout == "warp" else None
    with pytest.raises(DeclarationError) as caught:
        saxpy(language, layout=layout, dim=dim, grid=1)
    named = {"numba": "Numba", "warp": "Warp", "cute": "CuTe DSL", "tile": "CUDA Tile"}
    assert caught.value.found == (
        f"Kernel `{language}_saxpy`: "
        f"`{PTX / ('warp_kernels' if language == 'warp' else language + '_saxpy')}.ptx` is code of "
        f"{named[language]}, and layout is '{layout}'."
    )
    assert caught.value.expected == f"code of {named.get(layout, 'another compiler')}"
    assert caught.value.next_step == f"write layout='{language}'."


def test_code_of_nobody_is_plain(tmp_path: Path) -> None:
    text = (PTX / "tile_saxpy.ptx").read_text().replace("NV_TILE_LAUNCH", "SOMETHING")
    path = tmp_path / "k_sm_80.ptx"
    path.write_text(text)
    with pytest.raises(DeclarationError, match="is code of another compiler, and layout is 'tile'"):
        cd.prebuilt.kernel(path, layout="tile", **SAXPY)
    made = cd.prebuilt.kernel(path, **SAXPY)
    assert made.name == "k"
    with pytest.raises(PtxError, match="takes 10 parameters, of which nothing reads"):
        cd.build(made, ["cuda:sm_80"])


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_another_rank_or_order_are_refused(order: str, tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text((PTX / "numba_scale_rows.ptx").read_text().replace("Li2E1C", f"Li2E1{order}"))
    operands = SCALE_ROWS if order == "F" else [SCALE_ROWS[1], SCALE_ROWS[0], SCALE_ROWS[2]]
    with pytest.raises(DeclarationError) as caught:
        cd.prebuilt.kernel(path, layout="numba", operands=operands, block=64, grid=1)
    column = " (column-major)" if order == "F" else ""
    assert caught.value.found == (
        f"Kernel `k`: its code takes arrays of 2{column}, 1, 2{column} dimensions."
    )
    assert caught.value.expected == (
        "those of the operands, in row-major order: "
        + ", ".join(f"{item.name} {item.rank}" for item in operands)
    )


def test_machine_code_of_cuda_tile(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^\.language.*\n", "", (PTX / "tile_saxpy.ptx").read_text())
    path = tmp_path / "saxpy_sm_80.cubin"
    path.write_bytes(assemble(text.replace("9.4", "9.0").encode(), Arch(80)).cubin)
    made = cd.prebuilt.kernel(path, layout="tile", **SAXPY)
    assert (made.name, made.block) == ("saxpy", (128, 1, 1))
    (item,) = cd.build(made, ["cuda:sm_80"]).objects
    assert item.kind == "cubin"
    with pytest.raises(DeclarationError, match="declares no object for target cuda:sm_90a"):
        cd.build(made, ["cuda:sm_90a"])


def test_files_by_target_have_entries_of_their_own(tmp_path: Path) -> None:
    text = (PTX / "tile_saxpy.ptx").read_text()
    later = tmp_path / "later.ptx"
    later.write_text(
        text.replace(" saxpy", " saxpy_90")
        .replace("[saxpy_", "[saxpy_90_")
        .replace(".target sm_80", ".target sm_90a")
    )
    files = {"cuda:sm_80": PTX / "tile_saxpy.ptx", "cuda:sm_90a": later}
    made = cd.prebuilt.kernel(files, layout="tile", **SAXPY)
    library = cd.build(made, ["cuda:sm_80", "cuda:sm_90a"])
    assert sorted(item.entries[0].symbol for item in library.objects) == ["saxpy", "saxpy_90"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"layout": "wrap"}, "cd.prebuilt.kernel: layout is 'wrap'."),
        ({"dim": n}, "Kernel `numba_saxpy`: dim is Dim(name='n'), and it is code of Numba."),
        ({"entry": "other"}, "has no kernel `other`."),
        ({"operands": 3}, "Kernel `numba_saxpy`: operands is given as 3."),
        ({"block": None}, "Kernel `numba_saxpy`: block is given as None."),
        ({"grid": None}, "Kernel `numba_saxpy`: grid is given as None."),
    ],
)
def test_mistakes(given: dict[str, Any], found: str) -> None:
    with pytest.raises(CustomDispatchError) as caught:
        saxpy("numba", **given)
    assert caught.value.found.endswith(found)


def test_mistakes_of_warps_launches() -> None:
    for dim in (None, [], [n] * 4):
        with pytest.raises(DeclarationError, match=r"and it is code of Warp\.") as caught:
            saxpy("warp", dim=dim)
        assert (
            caught.value.expected == "one to three sizes of the launch, as `wp.launch` takes them"
        )
    with pytest.raises(CustomDispatchError, match="has 3 kernels: saxpy_cuda_kernel_forward, "):
        saxpy("warp", entry=None)


def test_mistakes_of_files(tmp_path: Path) -> None:
    given = {"operands": SAXPY["operands"], "grid": 1, "block": 32}
    with pytest.raises(DeclarationError, match="has neither a source nor objects"):
        cd.prebuilt.kernel({}, **given)
    with pytest.raises(DeclarationError, match="code is given as 3"):
        cd.prebuilt.kernel(3, **given)  # type: ignore[arg-type]
    with pytest.raises(PtxError, match="does not exist"):
        cd.prebuilt.kernel(tmp_path / "k.ptx", **given)


def test_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/producers.md").read_text()
    _, code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "saxpy.ptx").write_text((PTX / "numba_saxpy.ptx").read_text())
    (tmp_path / "declared.py").write_text(code)
    found = runpy.run_path(str(tmp_path / "declared.py"), {"cd": cd})["saxpy"]
    x = np.arange(9, dtype=np.float32)
    np.testing.assert_array_equal(found.on("cpu")(x, x, 2), 3 * x)

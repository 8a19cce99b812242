"""One declaration: what a kernel is, and every way to declare it wrongly."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_values import NOT_TEXT, Unprintable

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError

Declare = Callable[..., cd.Kernel]
n, m = cd.dim("n"), cd.dim("m")


def test_declaring_a_kernel_loads_neither_iree_nor_cuda_nor_numpy() -> None:
    script = """
import sys
import custom_dispatch as cd
n = cd.dim("n")
cd.Kernel("k", source="none.cu", operands=[cd.InOut("x", "bf16", [n])], block=64,
          grid=cd.ceildiv(n, 64))
heavy = ("iree", "cuda", "numpy", "ml_dtypes", "click", "rich", "torch", "jax")
print(sorted({name.partition(".")[0] for name in sys.modules} & set(heavy)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_a_source_lies_beside_the_declaring_file(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        "import custom_dispatch as cd\n"
        "def make(kind=cd.Kernel):\n"
        '    return kind("k", source="sub/k.cu", operands=[cd.InOut("x", "f32", [1])], '
        "block=1, grid=1)\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        import kernels  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("kernels", None)
    assert kernels.make().source == tmp_path.resolve() / "sub" / "k.cu"


def test_at_a_prompt_a_source_lies_in_the_working_directory(tmp_path: Path) -> None:
    script = (
        "import custom_dispatch as cd\n"
        'k = cd.Kernel("k", source="k.cu", operands=[cd.InOut("x", "f32", [1])], block=1, grid=1)\n'
        "print(k.source)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.strip() == str(tmp_path / "k.cu"), done.stderr


def test_a_kernel_is_data(declare: Declare) -> None:
    kernel = declare()
    assert repr(kernel) == (
        "Kernel(scale(In(x: f32[n]), Out(y: f32[n]), Scalar(factor: f32), Scalar(count: i32 = n)))"
    )
    assert [operand.name for operand in kernel.inputs] == ["x", "factor"]
    assert [operand.name for operand in kernel.outputs] == ["y"]
    assert kernel.dims == (n,)
    assert kernel.entry == "scale"
    twin = pickle.loads(pickle.dumps(kernel))  # noqa: S301
    assert (twin.name, twin.operands, twin.block, twin.grid) == (
        kernel.name, kernel.operands, kernel.block, kernel.grid,
    )  # fmt: skip
    with pytest.raises(AttributeError):
        kernel.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    "operands",
    [None, "xy", b"xy", {"x": 1}, {1}, cd.InOut("x", "f32", [1]), Unprintable(), (o for o in ())],
)
def test_operands_that_are_no_list_are_refused(declare: Declare, operands: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(operands=operands)
    assert caught.value.found.startswith("Kernel `scale`: operands is given as ")
    assert "in the C signature's order" in caught.value.expected


@pytest.mark.parametrize("operand", [None, "x", n, ("x", "f32", [1]), Unprintable(), cd.In])
def test_what_is_no_operand_is_refused(declare: Declare, operand: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(operands=[cd.InOut("x", "f32", [n]), operand])
    assert caught.value.found.endswith(" is not an operand.")
    assert caught.value.expected == "cd.In, cd.Out, cd.InOut, cd.Scratch, cd.Scalar or cd.Struct"


def test_two_operands_of_one_name_are_refused(declare: Declare) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(operands=[cd.In("x", "f32", [n]), cd.Out("x", "f32", [n])])
    assert caught.value.found == "Kernel `scale` has 2 operands named `x`."
    same = cd.InOut("x", "f32", [n])
    with pytest.raises(DeclarationError, match="has 3 operands named `x`"):
        declare(operands=[same, same, same])


@pytest.mark.parametrize("operands", [[], [cd.In("x", "f32", [n])], [cd.Scalar("x", "i32")]])
def test_a_kernel_that_writes_nothing_is_refused(declare: Declare, operands: Any) -> None:
    with pytest.raises(DeclarationError, match=r"`scale` has no cd\.Out and no cd\.InOut"):
        declare(operands=operands, grid=1)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"grid": m}, "grid"),
        ({"operands": [cd.In("x", "f32", [n]), cd.Out("y", "f32", [m])]}, "the shape of `y`"),
        ({"operands": [cd.InOut("x", "f32", [n]), cd.Scalar("c", "i32", m)]}, "the value of `c`"),
        (
            {"operands": [cd.In("x", "f32", [n, m + 1]), cd.Out("y", "f32", [n])]},
            "the shape of `x`",
        ),
    ],
)
def test_a_dim_that_no_call_can_read_is_refused(declare: Declare, changes: Any, where: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(**changes)
    assert caught.value.found == f"Kernel `scale`: dim `m`, used in {where}, has no value."
    assert "shape of an In or InOut" in caught.value.expected


def test_a_kernel_has_a_source_or_objects(declare: Declare) -> None:
    for changes, said in (
        ({"source": None}, "neither a source nor objects"),
        ({"source": None, "objects": {}}, "neither a source nor objects"),
        ({"objects": {"cuda:sm_80": "a.ptx"}}, "both a source and objects"),
        ({"producer": object()}, "both a source and a producer"),
    ):
        with pytest.raises(DeclarationError) as caught:
            declare(**changes)
        assert caught.value.found == f"Kernel `scale` has {said}."
        assert 'objects={"cuda:sm_90": "kernel.ptx"}' in caught.value.next_step


@pytest.mark.parametrize("source", [value for value in NOT_TEXT if value is not None] + [""])
def test_a_source_that_is_no_path_is_refused(declare: Declare, source: Any) -> None:
    with pytest.raises(DeclarationError, match="Kernel `scale`: source is given as "):
        declare(source=source)


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ("a.ptx", "objects is given as 'a.ptx'"),
        ([("cuda:sm_80", "a.ptx")], "objects is given as [("),
        ({"sm_80": "a.ptx"}, "did you mean 'cuda:sm_80'?"),
        ({80: "a.ptx"}, "A target is given as 80"),
        ({"cpu": "a.ptx"}, "an object is given for target cpu"),
        ({"cuda:sm_80": 5}, "the object for cuda:sm_80 is given as 5"),
        ({"cuda:sm_80": ""}, "the object for cuda:sm_80 is given as ''"),
        (
            {"cuda:sm_80": "a.ptx", cd.Target.parse("cuda:sm_80"): "b.ptx"},
            "two objects are given for target cuda:sm_80",
        ),
    ],
)
def test_objects_that_are_none_are_refused(declare: Declare, objects: Any, said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(source=None, objects=objects)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        *(None, "-O3", b"-O3", [1], [b"-O3"], {"-O3": 1}, {"-O3"}, (o for o in ["-O3"]), 3),
        *(["-DX=\ud800"], ["-DX=\0"]),
    ],
)
def test_options_that_are_no_list_of_texts_are_refused(declare: Declare, options: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(options=options)
    assert caught.value.found.startswith("Kernel `scale`: options is ")
    assert "one an option" in caught.value.expected


@pytest.mark.parametrize("reference", [1, "x", [lambda: 1]])
def test_a_reference_that_is_no_function_is_refused(declare: Declare, reference: Any) -> None:
    with pytest.raises(DeclarationError, match="Kernel `scale`: reference is "):
        declare(reference=reference)


def test_an_entry_may_be_a_cpp_name(declare: Declare) -> None:
    assert declare(entry="ns::scale<float,256>").entry == "ns::scale<float, 256>"
    assert declare().entry == "scale"
    with pytest.raises(DeclarationError, match="entry 5 is not the name of a function"):
        declare(entry=5)


def test_include_directories_are_beside_the_declaration(declare: Declare, tmp_path: Path) -> None:
    kernel = declare(include_dirs=["include", tmp_path])
    declaring = Path(__file__).parents[1]  # conftest.py calls `Kernel`
    assert kernel.include_dirs == (declaring / "include", tmp_path)
    for wrong in ("include", None, 5, [5], [""]):
        with pytest.raises(DeclarationError, match="Kernel `scale`: "):
            declare(include_dirs=wrong)


@pytest.mark.parametrize(
    "operands",
    [
        [cd.In("x", "f32", [n]), cd.Out("y", "f32", [..., n])],
        [cd.In("x", "f32", [cd.batch, n]), cd.Out("y", "f32", [..., n])],
        [
            cd.In("x", "f32", [n]),
            cd.In("z", "f32", [..., n], optional=True),
            cd.Out("y", "f32", [n]),
        ],
    ],
)
def test_leading_dims_come_from_an_operand_that_is_always_there(
    declare: Declare, operands: list[Any]
) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(operands=operands)
    assert "Kernel `scale`: `...`, in the shape of " in caught.value.found
    assert caught.value.found.endswith(" has no value.")


def test_the_batch_is_known_where_an_input_has_leading_dims(declare: Declare) -> None:
    operands = [cd.In("x", "f32", [..., n]), cd.Out("y", "f32", [cd.batch])]
    assert declare(operands=operands, grid=cd.batch).has_leading_dims
    with pytest.raises(DeclarationError, match="dim `batch`, used in grid, has no value"):
        declare(grid=cd.batch)

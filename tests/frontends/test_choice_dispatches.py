"""How many dispatches of a choice are left in a module: those that sizes of a call decide over.

IREE keeps a dispatch whose grid it finds to be empty, so what is known has to be decided before.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

import custom_dispatch as cd
from custom_dispatch import compilation
from custom_dispatch.errors import CallError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.frontends.torch.importer import export_model
from custom_dispatch.ir.compiler_tool import compile_mlir, device_flags
from custom_dispatch.ir.executable import embedded
from tests.places import import_program

n = cd.dim("n")
# What a kernel multiplies by says which one it was.
SOURCE = """
extern "C" __global__ void SCALED(const float* x, const float* bias, const float* residual,
                                  float* y, int rows, int n) {
  for (int i = threadIdx.x; i < rows * n; i += blockDim.x)
    y[i] = x[i] * BY + (bias ? bias[i % n] : 0.0f) + (residual ? residual[i] : 0.0f);
}
"""
FACTORS = {"few": 2, "quarters": 3, "rest": 4}


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> cd.Choice:
    """For at most 4 rows, for rows of whole packs, and for any."""
    source = tmp_path_factory.mktemp("dispatches") / "scaled.cu"
    source.write_text(SOURCE)

    def kernel(name: str, *requires: Any) -> cd.Kernel:
        return cd.Kernel(
            name,
            source=source,
            entry=name,
            options=[f"-DSCALED={name}", f"-DBY={FACTORS[name]}"],
            operands=[
                cd.In("x", "f32", [..., n]),
                cd.In("bias", "f32", [n], optional=True),
                cd.In("residual", "f32", [..., n], optional=True),
                cd.Out("y", "f32", [..., n]),
                cd.Scalar("rows", "i32", cd.batch),
                cd.Scalar("n", "i32", n),
            ],
            block=64,
            grid=1,
            requires=requires,
        )

    kernels = [kernel("few", cd.batch <= 4), kernel("quarters", n % 4 == 0), kernel("rest")]
    return cd.Choice("scaled", kernels)


@pytest.fixture(scope="module")
def library(scaled: cd.Choice) -> cd.Library:
    return cd.build(scaled, ["cuda:sm_80"])


def dispatched(model: Any, library: cd.Library) -> dict[str, list[str]]:
    """The kernels that each public function dispatches, as IREE has it at the end."""
    linked = link(model, library, embedded)
    flags = [*device_flags(library), "--compile-to=stream"]
    text = compile_mlir(linked.bytecode, flags).decode()
    found: dict[str, list[str]] = {}
    for function in text.split("util.func public @")[1:]:
        name = re.split(r"[\W$]", function, maxsplit=1)[0]
        names = re.findall(r"stream\.cmd\.dispatch @custom_dispatch_\w+::@\w+::@(\w+)", function)
        found[name] = found.get(name, []) + names
    return found


def function(name: str, x: str, bias: str, residual: str) -> tuple[str, str]:
    """A call in MLIR, and the declaration of what it calls; an absent operand is never cast."""
    types = f"(tensor<{x}>, tensor<{bias}>, tensor<{residual}>) -> tensor<{x}>"
    arguments = [f"%x: tensor<{x}>"]
    made = []
    for operand, kind in (("bias", bias), ("residual", residual)):
        if kind.startswith("0x"):
            made.append(f"%{operand} = tensor.empty() : tensor<{kind}>")
        else:
            arguments.append(f"%{operand}: tensor<{kind}>")
    lines = "\n  ".join([*made, f"%y = call @scaled(%x, %bias, %residual) : {types}"])
    text = f"func.func @{name}({', '.join(arguments)}) -> tensor<{x}> {{\n  {lines}\n"
    return f"{text}  return %y : tensor<{x}>\n}}\n", f"func.func private @scaled{types}\n"


@pytest.mark.parametrize(
    ("x", "bias", "residual", "left"),
    [
        ("2x8xf32", "8xf32", "2x8xf32", ["few"]),
        ("2x8xf32", "0xf32", "0x0xf32", ["few"]),
        ("9x8xf32", "?xf32", "?x?xf32", ["quarters"]),
        ("9x7xf32", "7xf32", "0x0xf32", ["rest"]),
        ("?x8xf32", "8xf32", "0x0xf32", ["few", "quarters"]),
        ("?x?x8xf32", "0xf32", "?x?x8xf32", ["few", "quarters"]),
        ("?x7xf32", "?xf32", "?x7xf32", ["few", "rest"]),
        ("?x?xf32", "0xf32", "?x?xf32", ["few", "quarters", "rest"]),
    ],
)
def test_a_model_in_mlir_holds_what_its_sizes_leave_open(
    library: cd.Library, x: str, bias: str, residual: str, left: list[str]
) -> None:
    text, declaration = function("main", x, bias, residual)
    assert dispatched(declaration + text, library) == {"main": left}


class Model(torch.nn.Module):
    """Calls with all, with either and with none of what may be absent."""

    def __init__(self, choice: cd.Choice) -> None:
        super().__init__()
        self.scaled = cd.torch.register(choice, "dispatches")

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> Any:
        first = self.scaled(x, bias, x)
        return self.scaled(first, bias), self.scaled(first, None, x), self.scaled(first)


def model_of(choice: cd.Choice, rows: int, *open_dims: int) -> bytes:
    x, bias = torch.ones(rows, 3, 8), torch.ones(8)
    dims = {axis: torch.export.Dim(f"d{axis}", min=2) for axis in open_dims}
    program = export_model(Model(choice).eval(), (x, bias), (dims, None))
    return import_program(program, "main", 1 << 20).module


@pytest.mark.parametrize(
    ("rows", "open_dims", "left"),
    [(1, (), ["few"]), (2, (), ["quarters"]), (2, (0, 1), ["few", "quarters"])],
)
def test_an_operator_of_pytorch_does(
    scaled: cd.Choice, library: cd.Library, rows: int, open_dims: tuple[int, ...], left: list[str]
) -> None:
    found = dispatched(model_of(scaled, rows, *open_dims), library)["main"]
    assert Counter(found) == dict.fromkeys(left, 4)


def test_what_every_kernel_asks_for_is_still_checked(scaled: cd.Choice) -> None:
    text, declaration = function("main", "?x8xf32", "?xf32", "?x?xf32")
    program = cd.load(cd.compile(declaration + text, scaled, ["cpu"]), "cpu")
    none, bias = np.zeros(0, np.float32), np.full(8, 10, np.float32)
    for rows, factor in ((3, 2), (5, 3)):
        x = np.ones((rows, 8), np.float32)
        assert (program.main(x, none, none.reshape(0, 0)) == factor).all()
        assert (program.main(x, bias, x) == factor + 11).all()
        for wrong, said in (
            ((x, bias[:7], x), r"`x`.shape\[1\] and `bias`.shape\[0\] disagree on dim n"),
            ((x, bias, x[:2]), r"`x`.shape\[0\] and `residual`.shape\[0\] disagree"),
        ):
            with pytest.raises(CallError, match="choice `scaled`: " + said):
                program.main(*wrong)


@pytest.mark.parametrize(
    ("rows", "columns", "built"),
    [("2", "8", {"few"}), ("9", "8", {"quarters"}), ("?", "7", {"few", "rest"})],
)
def test_what_calls_cannot_take_is_not_built(
    rows: str, columns: str, built: set[str], scaled: cd.Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(kernels: Any, targets: Any, **_: Any) -> cd.Library:
        (choice,) = kernels
        assert {kernel.name for kernel in choice.kernels} == built
        raise Built

    class Built(Exception):  # noqa: N818 - it is none
        pass

    monkeypatch.setattr(compilation, "build", build)
    kind = f"tensor<{rows}x{columns}xf32>"
    types = f"({kind}, tensor<{columns}xf32>, {kind})"
    text = f"""
        func.func private @scaled{types} -> {kind}
        func.func @main(%x: {kind}, %bias: tensor<{columns}xf32>) -> {kind} {{
          %y = call @scaled(%x, %bias, %x) : {types} -> {kind}
          return %y : {kind}
        }}
    """
    with pytest.raises(Built):
        cd.compile(text, scaled, ["cuda:sm_80"], store=False)

"""What a kernel requires of sizes: declared, and asked wherever it is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path
from custom_dispatch.measure.check import check_kernel

Declare = Callable[..., cd.Kernel]
n, m = cd.dim("n"), cd.dim("m")
SOURCE = """
extern "C" __global__ void twice_by_four(const float4* x, float4* y, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    float4 v = x[i];
    y[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
  }
}
"""
QUARTERS = "n % 4 == 0, n <= 8192"


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> cd.Kernel:
    """A kernel that reads four elements at once."""
    source = tmp_path_factory.mktemp("twice") / "twice.cu"
    source.write_text(SOURCE)
    return cd.Kernel(
        "twice_by_four",
        source=source,
        operands=[
            cd.In("x", "f32", [n]),
            cd.Out("y", "f32", [n]),
            cd.Scalar("count", "i32", n // 4),
        ],
        block=64,
        grid=1,
        requires=[n % 4 == 0, n <= 8192],
        reference=lambda x: 2 * x,
    )


@pytest.mark.parametrize(
    ("requires", "found"),
    [
        (n % 4 == 0, "requires is n % 4 == 0."),
        ("n % 4 == 0", "requires is 'n % 4 == 0'."),
        ([n % 4], "requires has n % 4 in it."),
        ([True], "requires has True in it."),
        ([cd.dim("k") == 8], "dim `k`, used in requires, has no value"),
        (
            [cd.compute_capability >= 80],
            "requires depends on the device (compute_capability >= 80)",
        ),
    ],
)
def test_what_is_no_list_of_comparisons_is_refused(
    declare: Declare, requires: Any, found: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(requires=requires)
    assert found in caught.value.found
    assert caught.value.found.startswith("Kernel `scale`")


def test_comparisons_by_order_do_not_chain() -> None:
    with pytest.raises(DeclarationError) as caught:
        bool(0 < n < 9)
    assert caught.value.next_step.startswith(
        "for `and` and for chains put each comparison into the list: requires=[n > 0, n < 8]; for "
        "`or` and `if` write cd.where(condition, a, b), or put a kernel for each case into a "
        "cd.Choice."
    )


def test_a_call_that_does_not_fit_is_refused_with_its_values(twice: cd.Kernel) -> None:
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(twice.on("cpu")(x), 2 * x)
    for size, found in (
        (7, "requires n % 4 == 0, which does not hold for n = 7."),
        (8196, "requires n <= 8192, which does not hold for n = 8196."),
    ):
        with pytest.raises(CallError) as caught:
            twice.on("cpu")(np.zeros(size, np.float32))
        assert caught.value.found == f"Kernel `twice_by_four` {found}"
        assert caught.value.expected == QUARTERS


def model(size: str) -> str:
    kind = f"tensor<{size}xf32>"
    return f"""
      func.func private @twice_by_four({kind}) -> {kind}
      func.func @main(%x: {kind}) -> {kind} {{
        %0 = call @twice_by_four(%x) : ({kind}) -> {kind}
        return %0 : {kind}
      }}"""


def test_a_module_refuses_it_when_it_runs(twice: cd.Kernel) -> None:
    for program in (
        cd.load(cd.compile(None, twice, ["cpu"]), "cpu"),
        cd.load(cd.compile(model("?"), twice, ["cpu"]), "cpu"),
    ):
        (function,) = program.functions.values()
        np.testing.assert_array_equal(function(np.ones(8, np.float32)), np.full(8, 2))
        with pytest.raises(CallError) as caught:
            function(np.zeros(7, np.float32))
        said = (
            "kernel `twice_by_four`: n % 4 == 0 is required, and does not hold: n is `x`.shape[0]"
        )
        assert said in str(caught.value)


def test_a_model_of_known_sizes_is_refused_when_it_is_linked(twice: cd.Kernel) -> None:
    library = cd.build([twice], ["cuda:sm_80"])
    text = link(model("8"), library, by_path).text
    assert "scf.if" not in text[text.index("func.func private @twice_by_four(") :]
    with pytest.raises(LinkError) as caught:
        link(model("7"), library, by_path)
    found = "requires n % 4 == 0, which does not hold for n = 7, as the model's sizes are."
    assert caught.value.found == f"Kernel `twice_by_four` {found}"
    assert caught.value.expected == QUARTERS


def test_an_operator_of_pytorch_asks_it_when_it_is_traced(twice: cd.Kernel) -> None:
    operator = cd.torch.register(twice)

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return operator(x)

    with pytest.raises(CallError, match="requires n % 4 == 0, which does not hold for n = 7"):
        operator(torch.zeros(7))
    quarter = torch.export.Dim("quarter", max=2048)
    program = torch.export.export(Model(), (torch.zeros(8),), dynamic_shapes=({0: 4 * quarter},))
    (out,) = (node for node in program.graph.nodes if node.op == "output")
    assert len(out.args[0][0].meta["val"].shape) == 1


def test_sizes_that_fit_are_checked(twice: cd.Kernel, tmp_path: Path) -> None:
    results = list(check_kernel(twice, "cpu"))
    assert [result.dims["n"] for result in results] == [0, 4, 8, 64, 1000]
    assert all(result.passed for result in results)
    odd = cd.Kernel(
        "odd",
        source=tmp_path / "odd.cu",
        operands=twice.operands,
        block=1,
        grid=1,
        requires=[n == 123],
        reference=lambda x: x,
    )
    with pytest.raises(DeclarationError, match="no sizes that are tried are what it requires"):
        list(check_kernel(odd, "cpu"))

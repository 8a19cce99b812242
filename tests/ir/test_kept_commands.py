"""IREE records the commands of a call of known sizes once, when the module is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.ir.compiler_tool import run_compiler

MODEL = """
func.func private @simple_mul(tensor<{n}xf32>, tensor<{n}xf32>) -> tensor<{n}xf32>
func.func @step(%x: tensor<{n}xf32>, %y: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %0 = call @simple_mul(%x, %y) : (tensor<{n}xf32>, tensor<{n}xf32>) -> tensor<{n}xf32>
  %1 = call @simple_mul(%0, %y) : (tensor<{n}xf32>, tensor<{n}xf32>) -> tensor<{n}xf32>
  return %1 : tensor<{n}xf32>
}}
"""


GATHERED = """
func.func private @simple_mul(tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
func.func @step(%x: tensor<8xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<64xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %eight = arith.constant 8 : index
    %at = arith.remui %i, %eight : index
    %one = tensor.extract %x[%at] : tensor<8xf32>
    linalg.yield %one : f32
  } -> tensor<64xf32>
  %1 = call @simple_mul(%0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
"""


def test_what_is_gathered_from_an_argument_is_no_constant(tmp_path: Path) -> None:
    """Kernels on it need no barrier, for which the host would wait: transformers' masks."""
    emitted = cd.emit(
        simple_mul, ["cuda:sm_80"], output=tmp_path / "m.mlir", into=GATHERED, embed=True
    )
    flags = [each for each in emitted.command if each.startswith("--")]
    done = run_compiler(["-", "-o", "-", "--compile-to=hal", *flags], emitted.text.encode())
    assert done.stdout.decode().count("hal.device.queue.execute") == 1


@pytest.mark.parametrize(
    ("targets", "size", "keeps"),
    [
        (["cuda:sm_80"], "64", True),
        (["cuda:sm_80", "cuda:sm_90", "cpu"], "64", True),
        # The grid is a value of the call.
        (["cuda:sm_80"], "?", False),
        # What a check compares with is the length of the call's own buffer.
        (["cpu:checked"], "64", False),
    ],
)
def test_commands_are_recorded_once(
    targets: list[str], size: str, keeps: bool, tmp_path: Path
) -> None:
    emitted = cd.emit(
        simple_mul, targets, output=tmp_path / "m.mlir", into=MODEL.format(n=size), embed=True
    )
    flags = [each for each in emitted.command if each.startswith("--")]
    done = run_compiler(["-", "-o", "-", "--compile-to=hal", *flags], emitted.text.encode())
    assert done.returncode == 0, done.stderr
    stored = [line for line in done.stdout.decode().splitlines() if "util.global.store" in line]
    assert any("!hal.command_buffer" in line for line in stored) is keeps

"""Powers in models, of which IREE alone computes some wrongly on CPUs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul

NUMBERS = [-np.inf, -3.0, -2.5, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 3.0, np.inf, np.nan]
EXPONENTS = [*NUMBERS, 4.0, 7.0, -4.0]
PAIRS = np.array([*product(NUMBERS, EXPONENTS)], np.float32)
CONSTANTS = (-4, -1, 2, 7)
COUNT, SIZE = len(PAIRS), len(NUMBERS)
CONSTANT_POWERS = "\n".join(
    f"""
  %c{number} = arith.constant dense<{exponent}.0> : tensor<{SIZE}xf32>
  %f{number} = math.powf %x, %c{number} : tensor<{SIZE}xf32>
  %n{number} = arith.constant dense<{exponent}> : tensor<{SIZE}xi32>
  %i{number} = math.fpowi %x, %n{number} : tensor<{SIZE}xf32>, tensor<{SIZE}xi32>"""
    for number, exponent in enumerate(CONSTANTS)
)
RESULTS = ", ".join(f"%f{number}, %i{number}" for number in range(len(CONSTANTS)))
TYPES = ", ".join([f"tensor<{SIZE}xf32>"] * (2 * len(CONSTANTS)))
MODEL = f"""
#map = affine_map<(d0) -> (d0)>
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @open(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {{
  %product = call @simple_mul(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %z = math.powf %x, %y : tensor<?xf32>
  return %z : tensor<?xf32>
}}
func.func @doubles(%x: tensor<{COUNT}xf64>, %y: tensor<{COUNT}xf64>) -> tensor<{COUNT}xf64> {{
  %empty = tensor.empty() : tensor<{COUNT}xf64>
  %z = linalg.generic {{indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}}
      ins(%x, %y : tensor<{COUNT}xf64>, tensor<{COUNT}xf64>) outs(%empty : tensor<{COUNT}xf64>) {{
  ^bb0(%a: f64, %b: f64, %c: f64):
    %power = math.powf %a, %b : f64
    linalg.yield %power : f64
  }} -> tensor<{COUNT}xf64>
  return %z : tensor<{COUNT}xf64>
}}
func.func @integers(%x: tensor<{COUNT}xf32>, %y: tensor<{COUNT}xi64>) -> tensor<{COUNT}xf32> {{
  %z = math.fpowi %x, %y : tensor<{COUNT}xf32>, tensor<{COUNT}xi64>
  return %z : tensor<{COUNT}xf32>
}}
func.func @constants(%x: tensor<{SIZE}xf32>) -> ({TYPES}) {{
  {CONSTANT_POWERS}
  return {RESULTS} : {TYPES}
}}
"""


def agree(found: Any, expected: Any) -> None:
    """Numbers are close, with the sign of each zero, and NaN is where it should be."""
    found = np.asarray(found)
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@np.errstate(all="ignore")
def test_powers_are_those_of_ieee_754() -> None:
    program = cd.load(cd.compile(MODEL, simple_mul, ["cpu"]), device="cpu")
    x, y = PAIRS.T.copy()
    agree(program.open(x, y), np.power(x, y))
    agree(program.doubles(x.astype(np.float64), y.astype(np.float64)), np.power(PAIRS[:, 0], y))
    n = np.nan_to_num(y, nan=5, posinf=6, neginf=-7).astype(np.int64)
    agree(program.integers(x, n), np.power(x, n.astype(np.float32)))
    x = np.array(NUMBERS, np.float32)
    found = program.constants(x)
    for exponent, of_float, of_integer in zip(CONSTANTS, found[::2], found[1::2], strict=True):
        agree(of_float, np.power(x, np.float32(exponent)))
        agree(of_integer, np.power(x, np.float32(exponent)))

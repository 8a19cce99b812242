"""A model whose functions are graphs, as several tests take it."""

from __future__ import annotations

from typing import Any

import numpy as np

COUNT = 64
T = f"tensor<{COUNT}xf32>"
KERNEL = f"func.func private @simple_mul({T}, {T}) -> {T}\n"
# The state is multiplied by what comes in, and by a number of the model.
MODEL = f"""
util.global private mutable @kept = dense<2.0> : {T}
{KERNEL}
func.func @step(%x: {T}, %y: {T}) -> ({T}, {T}) {{
  %0 = call @simple_mul(%x, %y) : ({T}, {T}) -> {T}
  %1 = arith.addf %0, %y : {T}
  %old = util.global.load @kept : {T}
  %new = call @simple_mul(%old, %1) : ({T}, {T}) -> {T}
  util.global.store %new, @kept : {T}
  return %1, %new : {T}, {T}
}}
func.func @kept_now() -> {T} {{
  %old = util.global.load @kept : {T}
  return %old : {T}
}}
"""
# Which branch is run depends on a value of the call.
BRANCH = f"""
{KERNEL}
func.func @main(%x: {T}, %on: tensor<i1>) -> {T} {{
  %0 = tensor.extract %on[] : tensor<i1>
  %1 = scf.if %0 -> {T} {{
    %2 = func.call @simple_mul(%x, %x) : ({T}, {T}) -> {T}
    scf.yield %2 : {T}
  }} else {{
    scf.yield %x : {T}
  }}
  return %1 : {T}
}}
"""


def drawn(seed: int = 0) -> Any:
    """Random f32, as many as an argument has."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, COUNT).astype(np.float32)

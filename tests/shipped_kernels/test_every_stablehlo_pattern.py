"""Every shipped pattern of StableHLO, looked for in a model of nothing but what it says."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.extend
import pytest

from cuda_kernels.patterns.stablehlo import everything
from custom_dispatch.frontends.jax.exporting import export_function
from custom_dispatch.link.declarations import Callees
from custom_dispatch.match.replace import replace_places
from tests.shipped_kernels.every_pattern import LEADING, Case, cases, parts, shape_of

SWAPPED = ("add", "mul", "max")
CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr"}
"""What calls functions, and what it calls them."""


def otherwise(function: Any, *arrays: Any) -> Any:
    """What a function computes, with the operands of sums, products and maxima swapped."""

    def run(closed: Any, *given: Any) -> list[Any]:
        jaxpr = closed.jaxpr
        values = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        values |= zip(jaxpr.invars, given, strict=True)
        for equation in jaxpr.eqns:
            primitive, named = equation.primitive, equation.params
            taken = [
                each.val if isinstance(each, jax.extend.core.Literal) else values[each]
                for each in equation.invars
            ]
            if primitive.name in SWAPPED:
                taken.reverse()
            if primitive.name in CALLS:
                inner = named[CALLS[primitive.name]]
                found = jax.jit(functools.partial(run, inner))(*taken)
            else:
                found = primitive.bind(*taken, **named)
                found = found if primitive.multiple_results else [found]
            values |= zip(equation.outvars, found, strict=True)
        return [values[each] for each in jaxpr.outvars]

    return run(jax.make_jaxpr(function)(*arrays), *arrays)


def arrays_of(case: Case) -> list[jax.ShapeDtypeStruct]:
    pattern = case.pattern
    given = [pattern.arguments[name] for name in case.names]
    return [
        jax.ShapeDtypeStruct(
            shape_of(pattern, item, LEADING),
            item.dtype.to_numpy(),
        )
        for item in given
    ]


@pytest.mark.parametrize("patterns", parts(everything))
def test_every_pattern_is_found(patterns: list[Any]) -> None:
    functions, given = [], []
    for pattern in patterns:
        variants = [(each, tuple(pattern.parameters(each))) for each in pattern.computes]
        for case in cases(pattern, variants):
            arrays = arrays_of(case)
            functions += [case, lambda *each, case=case: otherwise(case, *each)]
            given += [arrays, arrays]

    def model(*arrays: Any) -> Any:
        rest = iter(arrays)
        return [
            function(*itertools.islice(rest, len(each)))
            for function, each in zip(functions, given, strict=True)
        ]

    module = export_function(model, tuple(itertools.chain(*given)), "main", 0).module
    report = replace_places(module, patterns, Callees([]))
    assert len(report) == len(functions), report

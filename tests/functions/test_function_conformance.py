"""Functions inside generated code give what their kernel forms give."""

import numpy as np
import pytest

import custom_dispatch as cd
from tests.functions.conformance import as_kernels, both, differing, in_generated_code, operands
from tests.functions.functions import BOUNDS, EXACT, declare

QUICK = ("my_gelu", "nested", "pick", "brains", "pairs", "divmod")


def check(functions: list[cd.Function]) -> None:
    generated, kernels = in_generated_code(functions), as_kernels(functions)
    for function in functions:
        values = operands(function, 7, BOUNDS.get(function.name))
        for found, wanted in both(generated, kernels, function, values):
            places = np.flatnonzero(differing(values, found, wanted))[:3]
            shown = [(*(x[i] for x in values), found[i], wanted[i]) for i in places]
            assert not shown, function.name


def test_the_same_numbers_as_the_kernel_form() -> None:
    check([function for function in EXACT if function.name in QUICK])


@pytest.mark.thorough
def test_further_types_and_instructions() -> None:
    check([function for function in EXACT if function.name not in QUICK])


def test_functions_of_the_c_library_are_those_of_mlir() -> None:
    function = declare("of_c_library", "f32", source="c_library.cu", x="f32")
    program = in_generated_code([function])
    x = np.linspace(-9, 9, 512, dtype=np.float32)
    wide = x.astype(np.float64)
    wanted = np.tanh(wide) + np.exp(-wide * wide) * np.sin(wide) + np.abs(wide) ** 0.3
    np.testing.assert_allclose(np.asarray(program.call_of_c_library(x)), wanted, atol=1e-6)
